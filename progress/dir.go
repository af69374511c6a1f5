package progress

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/environ"
	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/redact"
)

// A Dir is a folder that holds a journal for each loop: what was agreed when it
// started (its task, limits and guarded hashes, and Local.Meta), and all that came
// of it, in the order in which it happened. Loops are resumed from it, also after
// the machine has lost power, and other processes see, steer and stop them by it.
// It must lie where the agent does not work, see [Resume] and [WorkspaceDir]; what an
// agent with the user's rights can do to it all the same, only a sandbox prevents.
//
// [Dir.Open] and [Dir.Create] hold a loop for this process, and [Journal.Run] runs it.
// Without them a Dir is itself the Log of a [ralph.Local], whose Control and Pending are
// its methods of these names, and whose raw writer is made by its Output. One Dir serves
// many loops of a process, concurrently, and many processes may have a Dir on one
// folder. It is also the Store of a [ralph.Hook], see [Dir.Update].
//
// An event is durable when Append returns: it survives the end of the process, and,
// unless NoSync is set, that of the machine. A line that a crash has torn is taken out
// when the journal is next written to, and its bytes are kept beside it, in a file that
// ends in .torn. Nothing else is ever changed in a journal: it is only appended to,
// since a file that is rewritten can be lost as a whole. One that cannot be read is a
// [*CorruptError] and stays where it is until [Dir.SetAside].
//
// Files and folder are made for this user alone. What is written is redacted. The zero
// value needs a Path; a Dir must not be copied.
type Dir struct {
	// Path is the folder. It is made when something is recorded.
	Path string
	// Redactor hides secrets in all that is written, see [Redactor.Log] for what of
	// an event that is. Its zero value hides what looks like a secret. An answer is
	// verified after a crash as it is on record: redacted.
	Redactor Redactor
	// Parent is the name of the session, pipeline or loop that the loops which begin by
	// Append belong to: whoever cancels, pauses or holds the parent does so to all of
	// them. "" = none.
	Parent string
	// NoSync leaves it to the system when to write to the disk, which is about 50 times
	// as fast. What Append has returned from then still survives the end of the
	// process, but a loss of power may take the last seconds.
	NoSync bool

	disk     file.Disk // nil = the operating system's
	mu       sync.Mutex
	made     bool // the folder, durably
	journals map[string]*journal
	turns    [32]sync.Mutex // of updates, see turn
	redactor *eventRedactor
}

var _ ralph.ProgressLog = (*Dir)(nil)

// WorkspaceDir is the usual folder for the loops that work in a workspace:
// ralph/<name> in $XDG_STATE_HOME, or in ~/.local/state if that is not set. The
// name is the workspace's with a hash of its path, all links resolved.
//
// The folder lies outside the workspace on purpose: what stands in the workspace is the
// agent's. Nothing is made until something is recorded. It is an error if the workspace
// does not exist, or if $XDG_STATE_HOME is not set and there is no home folder.
func WorkspaceDir(workspace string) (*Dir, error) {
	home, err := environ.StateHome()
	if err != nil {
		return nil, fmt.Errorf("progress: no folder for records: %w", err)
	}
	path, err := filepath.Abs(workspace)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil, fmt.Errorf("progress: %w", err)
	}
	return &Dir{Path: filepath.Join(home, "ralph", fileName(path))}, nil
}

// Under returns a Dir on the same folder for the loops that belong to a session, a
// pipeline or another loop, see Parent. Close it, too, for it has files of its own
// open.
func (d *Dir) Under(parent string) *Dir {
	return &Dir{Path: d.Path, Redactor: d.Redactor, Parent: parent, NoSync: d.NoSync, disk: d.disk}
}

// File is the path of the loop's journal, whether there is one or not: lines of JSON,
// as [ReadJSONL] reads them.
func (d *Dir) File(loop string) string { return d.file(loop, ".jsonl") }

func (d *Dir) file(loop, end string) string { return filepath.Join(d.Path, fileName(loop)+end) }

// fileName makes a name for files of any text: legible where it can be, and another one
// for another text, also for file systems that ignore case. The legible part is for
// people who look into the folder; the hash keeps names apart that differ only in what
// a file name cannot hold.
func fileName(text string) string {
	legible := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || r == '-') {
			return r
		}
		return '_'
	}, filepath.Base(text))
	sum := sha256.Sum256([]byte(text))
	return legible[:min(len(legible), 60)] + "-" + hex.EncodeToString(sum[:6])
}

// Make makes the folder, if it is not there. Append does so by itself; call Make to
// find out before a loop starts whether it can be done.
//
// All folders above that it makes are synced into theirs: a journal that is durable in
// a folder whose own name is not would be gone after a loss of power.
func (d *Dir) Make() error {
	if d.Path == "" {
		return errors.New("progress: Dir has no Path")
	}
	info, err := os.Stat(d.Path)
	d.mu.Lock()
	known := d.made
	d.mu.Unlock()
	if err == nil && info.IsDir() && known {
		return nil
	}
	there := d.Path // the last folder above it that is there
	for {
		above := filepath.Dir(there)
		if _, err := os.Stat(there); err == nil || above == there {
			break
		}
		there = above
	}
	err = d.on().Folder(d.Path)
	if err == nil {
		err = d.hide()
	}
	if err != nil {
		return fmt.Errorf("progress: %w", err)
	}
	made := d.Path
	for ; made != there; made = filepath.Dir(made) {
		if err := d.sync(filepath.Dir(made)); err != nil {
			return fmt.Errorf("progress: %w", err)
		}
	}
	// Who made the others may have died before it synced their names.
	for above := filepath.Dir(made); made != above; made, above = above, filepath.Dir(above) {
		if d.sync(above) != nil {
			break // it is not ours
		}
	}
	d.mu.Lock()
	d.made = true
	d.mu.Unlock()
	return nil
}

// hide keeps the folder out of git's sight: it may lie in a workspace after all.
func (d *Dir) hide() error {
	if err := create(filepath.Join(d.Path, ".gitignore"), "*\n"); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Every write goes through this, so that tests can let the disk fail, or lose power, at
// each one of them.
func (d *Dir) on() file.Disk {
	if d.disk == nil {
		return file.OS{}
	}
	return d.disk
}

// sync makes the names in a folder durable. Without it a file may be on the disk under
// no name.
func (d *Dir) sync(folder string) error {
	if d.NoSync {
		return nil
	}
	return d.on().Sync(folder)
}

// journal is what is known of a loop's journal. A loop has one of them in a process, so
// that Append, Control and Pending, which come from several goroutines, agree on what
// was read.
func (d *Dir) journal(loop string) *journal {
	d.mu.Lock()
	defer d.mu.Unlock()
	j := d.journals[loop]
	if j == nil {
		if d.journals == nil {
			d.journals = map[string]*journal{}
		}
		j = &journal{d: d, loop: loop, path: d.File(loop)}
		d.journals[loop] = j
	}
	return j
}

// forget drops what is known of a loop that is over. A process that runs loops for
// months would otherwise keep all of them in memory.
func (d *Dir) forget(loop string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.journals, loop)
}

// Append implements [ralph.ProgressLog]. The start of a loop that has not run yet
// begins a new journal. The journal of an earlier loop of that name is kept, with .last
// before the end of its file's name, and replaces the one that was kept before. A loop
// that starts is held by this process until it stops or the Dir is closed; a loop with
// a Parent is held by whoever holds the parent. An event without a time gets one.
//
// An error that wraps [ralph.ErrCancelled] says that the event is recorded, and that
// another process has cancelled the loop before it. The error is a [*HeldError] if
// another process holds the loop. After any error that does not wrap
// [ralph.ErrCancelled], the event counts as not recorded.
//
// The journal of the loop before is kept because a new loop of the same name is often
// begun by mistake, or to compare; only one is kept, so that the folder does not grow
// with every run.
func (d *Dir) Append(ctx context.Context, ev ralph.Event) error {
	if ev.Loop == "" {
		return errors.New("progress: Dir: an event without the name of its loop")
	}
	j := d.journal(ev.Loop)
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.append(ctx, ev)
	if err == nil && ev.Kind == ralph.EventLoopStopped && !j.open {
		err = j.release()
		d.forget(ev.Loop)
	}
	return err
}

// Control is a [ralph.Local.Control]: it hands out what other processes have asked for
// since it was last called, see [Dir.Guide], [Dir.Limit], [Dir.Pause] and [Dir.Cancel],
// also what they have asked of the loop's Parent. It is cheap to ask: unless somebody
// has written, it looks at the size of a file.
func (d *Dir) Control(ctx context.Context, s ralph.State) (ralph.State, error) {
	j := d.journal(s.Loop)
	j.mu.Lock()
	defer j.mu.Unlock()
	s, err := j.control(s)
	if err == nil && d.Parent != "" && d.Parent != s.Loop {
		p := d.journal(d.Parent)
		p.mu.Lock()
		defer p.mu.Unlock()
		s, err = p.command(s, j)
	}
	return s, err
}

// Pending is a [ralph.Local.Pending]: it returns the recorded answer of the attempt
// that was running when its process died, or nil if the agent had not answered. The
// answer is as it was recorded: redacted.
func (d *Dir) Pending(_ context.Context, s ralph.State) (*ralph.Event, error) {
	j := d.journal(s.Loop)
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.pending(s)
}

// Output returns the raw writer of an attempt, for [ralph.Local.Output]. It writes the
// agent's raw output, redacted, to the file [Dir.Raw] names, of which the first and the
// last MiB are kept. Each attempt has a file of its own, so that a retry does not
// overwrite what the one before it shows. The attempt's end on record closes the
// writer. If the file cannot be made, the error is that of each Write.
func (d *Dir) Output(req ralph.Request) io.Writer {
	j := d.journal(req.Loop)
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.output(req)
}

// Raw is the path of the file with the raw output of an attempt, for [OpenRaw].
// Iterations and attempts count from 1.
func (d *Dir) Raw(loop string, iteration, attempt int) string {
	return filepath.Join(d.file(loop, ".raw"), fmt.Sprintf("%04d.%d", iteration, attempt))
}

// Close lets go of all loops that this Dir holds; their journals stay as they are. The
// Dir can be used again.
func (d *Dir) Close() error {
	d.mu.Lock()
	journals := d.journals
	d.journals = nil
	d.mu.Unlock()
	var errs []error
	for _, j := range journals {
		j.mu.Lock()
		errs = append(errs, j.closeRaw(), j.release())
		j.mu.Unlock()
	}
	return errors.Join(errs...)
}

// redacted is an event as it is written. The rules are made once: building them costs
// far more than applying them.
func (d *Dir) redacted(ev ralph.Event) ralph.Event {
	d.mu.Lock()
	if d.redactor == nil {
		d.redactor = &eventRedactor{redact.New(d.Redactor.Secrets), d.Redactor.Task}
	}
	r := d.redactor
	d.mu.Unlock()
	return r.event(ev)
}
