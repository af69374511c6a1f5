package ralph

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/internal/stream"
)

// A ledger is the file in which a client writes down what it uses while it runs,
// because its stream tells that only at the end. It is read as it grows, in bounded
// memory, and raises what the stream tells; that it is not there, or cannot be read,
// is no error.
//
// These files are the clients' own and their form may change, so nothing rests on them:
// they make a budget hold earlier, while what the stream tells at its end holds in any
// case.
type ledger struct {
	// folders are where it may be, with the client's variables, of which $tmp is the
	// run's TMPDIR; the first one of which all variables are set is taken.
	folders []string
	// file is its place there: {session} is the run's session and {id} the first eight
	// characters of that, {day} a day as 2006/01/02, * any name.
	file string
	// env makes the client write it; {tmp} is the run's TMPDIR.
	env []string
	// unless is how the names of the variables begin of which none may be set: the
	// person has the client write elsewhere.
	unless []string
}

// Bounds of what is read of a ledger.
const (
	ledgerEvery = 250 * time.Millisecond // looked at so often, and when the client prints
	ledgerPause = 10 * time.Second       // the longest time between two searches for it
	ledgerPiece = 64 << 10
	ledgerLook  = 4 << 20  // bytes at a time
	ledgerRest  = 64 << 20 // bytes at the end
)

// environ returns what makes a client with this environment write its ledger. A person
// who has the client report elsewhere has decided that; the budget then holds by the
// stream alone.
func (l ledger) environ(env []string, tmp string) []string {
	for _, e := range env {
		if slices.ContainsFunc(l.unless, func(name string) bool { return strings.HasPrefix(e, name) }) {
			return nil
		}
	}
	var more []string
	for _, e := range l.env {
		more = append(more, strings.ReplaceAll(e, "{tmp}", tmp))
	}
	return more
}

// A ledgerReader reads the ledger of one run.
type ledgerReader struct {
	ledger
	root    string // the folder it is in; "" = there is none
	started time.Time
	file    *os.File // nil = not found yet
	next    time.Time
	pause   time.Duration
	buf     []byte
}

// reader returns what reads the ledger of a client that runs with env, whose later
// entries count.
//
// The client's environment decides and not ours, for Command.Env may move the client's
// folders.
func (l ledger) reader(env []string, tmp string, now time.Time) *ledgerReader {
	r := &ledgerReader{ledger: l, started: now}
	for _, folder := range l.folders {
		missing := false
		folder = os.Expand(folder, func(name string) string {
			if name == "tmp" {
				return tmp
			}
			value := lookup(env, name)
			missing = missing || value == ""
			return value
		})
		if !missing && filepath.IsAbs(folder) {
			r.root = folder
			break
		}
	}
	return r
}

// read hands at most limit bytes that are new to take. A file that was cut or replaced
// gives what it holds; the decoder passes over what is no record of its dialect.
func (r *ledgerReader) read(session string, limit int, take func([]byte)) {
	if r.file == nil && !r.find(session) {
		return
	}
	if r.buf == nil {
		r.buf = make([]byte, ledgerPiece)
	}
	for limit > 0 {
		n, err := r.file.Read(r.buf[:min(limit, len(r.buf))])
		if n > 0 {
			take(r.buf[:n])
			limit -= n
		}
		if err != nil || n == 0 {
			return // more may come
		}
	}
}

// find looks for the file, less often the longer it is not there.
//
// The folder may hold thousands of sessions, so the search backs off. It goes through a
// root that no link leaves, and takes regular files only: the agent can write there
// too.
func (r *ledgerReader) find(session string) bool {
	now := time.Now()
	if r.root == "" || now.Before(r.next) || strings.Contains(r.ledger.file, "{") && !plainSession(session) {
		return false
	}
	r.pause = min(max(2*r.pause, ledgerEvery), ledgerPause)
	r.next = now.Add(r.pause)
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return false
	}
	defer root.Close() // nothing was written
	for _, pattern := range r.patterns(session) {
		names, _ := fs.Glob(root.FS(), pattern) // it is well formed
		for _, name := range names {
			if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
				continue
			}
			if r.file, err = file.OpenIn("usage", root, name); err == nil {
				return true
			}
		}
	}
	return false
}

// patterns are where the file may be: on the day before, too, for days begin at another
// time elsewhere.
func (r *ledgerReader) patterns(session string) []string {
	name := strings.NewReplacer("{session}", session, "{id}", session[:min(len(session), 8)]).Replace(r.ledger.file)
	if !strings.Contains(name, "{day}") {
		return []string{name}
	}
	var all []string
	for day := -1; day <= 1; day++ {
		all = append(all, strings.ReplaceAll(name, "{day}", r.started.AddDate(0, 0, day).Format("2006/01/02")))
	}
	return all
}

// plainSession reports whether a session's name can be a part of a file's. The
// session's ID comes from the stream, which the agent's tools can print to: with a
// slash or a star in it, another file would be read.
func plainSession(s string) bool {
	return len(s) >= 8 && len(s) <= 128 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
}

// close lets the file go; an error of it would say nothing about what was read.
func (r *ledgerReader) close() {
	if r.file != nil {
		r.file.Close() // nothing was written
	}
}

// follow reads the ledger while the client runs, if somebody is told of it. What it
// returns reads the rest, and is to be called once, when the client has ended; its
// error is a panic of Live.
//
// It looks by the clock and whenever the client prints: a call that has ended shows in
// both places at about the same time, and a budget should not be late by a whole tick.
func (f *feed) follow(r *ledgerReader, live bool) (end func() error) {
	f.kick = make(chan struct{}, 1)
	done, stopped := make(chan struct{}), make(chan struct{})
	var panicked error
	look := func(limit int) {
		f.mu.Lock()
		session := f.decoder.Session()
		f.mu.Unlock()
		panicked = plugin.Call("Request.Live", func() error {
			r.read(session, limit, func(p []byte) {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.decoder.Ledger(p)
			})
			return nil
		})
	}
	go func() {
		defer close(stopped)
		if !live || r.root == "" {
			return
		}
		tick := time.NewTicker(ledgerEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			case <-f.kick:
			}
			if look(ledgerLook); panicked != nil {
				f.cancel(panicked)
				return
			}
		}
	}()
	return func() error {
		close(done)
		<-stopped
		r.next = time.Time{}
		if panicked == nil {
			look(ledgerRest)
		}
		r.close()
		return panicked
	}
}

// pricing estimates costs by the Command's prices. Without a model in the stream it is
// the one that was asked for, which is a guess only where a client chooses by itself.
func (c *Command) pricing() stream.Pricing {
	if c.Prices == nil {
		return nil
	}
	return func(model string, u stream.Usage) (float64, bool) {
		return c.Prices.Cost(cmp.Or(model, c.Model), Usage(u))
	}
}
