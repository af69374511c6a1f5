package ralph_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ralph-loop/ralph"
)

// TestRelayHostile: who does not ask as AskRelay does gets nothing, and holds nobody up.
func TestRelayHostile(t *testing.T) {
	t.Parallel()
	r := newRelay(t, ralph.Task{})
	nothing := func(conn net.Conn) {
		t.Helper()
		if got, err := io.ReadAll(conn); len(got) > 0 {
			t.Errorf("%s, %v", got, err)
		}
	}
	var silent []net.Conn
	for i := range 100 {
		silent = append(silent, r.raw(t, []string{"", "s", r.secret(), r.question("x")[:40]}[i%4]))
	}
	wrong := strings.Repeat("A", len(r.secret()))
	for name, text := range map[string]string{
		"wrong secret": wrong + strings.TrimPrefix(r.question("x"), r.secret()),
		"no secret":    strings.TrimPrefix(r.question("x"), r.secret()),
		"no JSON":      r.secret() + "GET / HTTP/1.1\r\n\r\n",
		"a list":       r.secret() + "[]",
		"no end":       wrong + strings.Repeat("x", 1<<20),
		"too long":     r.secret() + `{"text":"` + strings.Repeat("x", 65<<20),
	} {
		t.Run(name, func(t *testing.T) { nothing(r.raw(t, text)) })
	}
	r.raw(t, r.question("x")[:50]).Close()
	if got, err := ralph.AskRelay(t.Context(), ralph.Ask{Kind: ralph.AskStop, Session: "c"}, wrong+"@"+strings.TrimPrefix(r.place, r.secret()+"@")); err == nil || got != (ralph.Answer{}) {
		t.Errorf("%+v, %v", got, err)
	}
	r.iteration(t, 1)
	for range 5 {
		if got := r.stop(t, "x", 0); got.Prompt == "" {
			t.Errorf("%+v", got)
		}
	}
	r.iteration(t, 6)
	for _, conn := range silent {
		nothing(conn) // and ends
	}
}

// TestRelayOnDisk: the socket and the file are this user's alone, nothing is written
// through a link, and nothing is left.
func TestRelayOnDisk(t *testing.T) {
	for name, tmp := range map[string]string{"": "", "a long path": strings.Repeat("/a", 60), "a relative one": "./x"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			tmp = strings.Replace(tmp, "/a", dir+"/a", 1)
			if tmp != "" {
				if err := os.MkdirAll(tmp, 0o700); err != nil {
					t.Fatal(err)
				}
				t.Setenv("TMPDIR", tmp)
			}
			r := &ralph.Relay{Hook: newRelay(t, ralph.Task{}).Hook, Session: "s", File: filepath.Join(dir, "new", "place")}
			other := filepath.Join(dir, "other")
			if err := errors.Join(os.Mkdir(filepath.Dir(r.File), 0o700), os.WriteFile(other, []byte("theirs"), 0o644), os.Symlink(other, r.File)); err != nil {
				t.Fatal(err)
			}
			place, err := r.Listen(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if again, err := r.Listen(t.Context()); err == nil || again != "" {
				t.Errorf("it listens twice: %q", again)
			}
			_, path, _ := strings.Cut(place, "@")
			for name, want := range map[string]string{filepath.Dir(path): "drwx------", r.File: "-rw-------"} {
				if info, err := os.Lstat(name); err != nil || info.Mode().String() != want || !filepath.IsAbs(name) {
					t.Errorf("%s: %v, %v", name, info, err)
				}
			}
			text, err := os.ReadFile(r.File)
			if theirs, err2 := os.ReadFile(other); string(text) != place || string(theirs) != "theirs" || errors.Join(err, err2) != nil {
				t.Errorf("%s, %s, %v, %v", text, theirs, err, err2)
			}
			if err := errors.Join(r.Close(), r.Close()); err != nil {
				t.Error(err)
			}
			gone(t, filepath.Dir(path), r.File)
			if again, err := r.Listen(t.Context()); err != nil || again == place {
				t.Errorf("%q, %v", again, err)
			}
			if err := os.WriteFile(r.File, []byte("another's"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if text, err := os.ReadFile(r.File); string(text) != "another's" {
				t.Errorf("another Relay's: %s, %v", text, err)
			}
			if _, err := r.Listen(t.Context()); err != nil { // what was left there
				t.Error(err)
			}
			if info, err := os.Lstat(r.File); err != nil || info.Mode().String() != "-rw-------" {
				t.Errorf("%v, %v", info, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("an error", func(t *testing.T) {
		dir := t.TempDir()
		t.Setenv("TMPDIR", t.TempDir())
		if err := os.WriteFile(filepath.Join(dir, "full"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		h := newRelay(t, ralph.Task{}).Hook
		was, _ := os.ReadDir(os.TempDir())
		for _, r := range []*ralph.Relay{{Hook: h, Session: "s", File: filepath.Join(dir, "full", "place")}, {Hook: h, Session: "s", File: filepath.Dir(dir)}, {Session: "s"}, {Hook: h}, {Hook: &ralph.Hook{}, Session: "s"}} {
			if place, err := r.Listen(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "ralph: ") || place != "" {
				t.Errorf("%q, %v", place, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		if now, err := os.ReadDir(os.TempDir()); len(now) != len(was) {
			t.Errorf("%v, %v; there was %v", now, err, was)
		}
	})
}

func gone(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestRelayClose: it ends what waits and what verifies, also by the end of the context;
// those who wait let the session rest.
func TestRelayClose(t *testing.T) {
	t.Parallel()
	for name, closes := range map[string]func(r *relayed, cancel func()){
		"closed":         func(r *relayed, _ func()) {},
		"cancelled":      func(_ *relayed, cancel func()) { cancel() },
		"closed by many": func(r *relayed, _ func()) { var g sync.WaitGroup; g.Go(func() { r.Close() }); r.Close(); g.Wait() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRelay(t, ralph.Task{})
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var err error
			if r.place, err = r.Listen(ctx); err != nil {
				t.Fatal(err)
			}
			waits := r.later(t, doneText)
			silent := r.raw(t, "")
			<-r.begun
			closes(r, cancel)
			if name != "cancelled" {
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			if got := <-waits; got.Prompt != "" || !got.Ours {
				t.Errorf("%+v", got)
			}
			if text, err := io.ReadAll(silent); len(text) > 0 {
				t.Errorf("%s, %v", text, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if _, err := ralph.AskRelay(t.Context(), ralph.Ask{Kind: ralph.AskStop, Session: "c"}, r.place); err == nil || !strings.HasPrefix(err.Error(), "ralph: nobody drives this session any more: ") {
				t.Error(err)
			}
			// The claim is judged by whoever comes next.
			r.listen(t)
			r.verdict <- ralph.Pass()
			if got := r.stop(t, doneText, 0); !strings.HasPrefix(got.Note, "Ralph Loop Complete!") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestRelayAttend: it ends with the loop, with the session, with the client, and with ctx.
func TestRelayAttend(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	for name, tt := range map[string]struct {
		then func(t *testing.T, r *relayed, client *exec.Cmd, cancel context.CancelCauseFunc)
		why  string
		err  error
	}{
		"the loop": {then: func(t *testing.T, r *relayed, _ *exec.Cmd, _ context.CancelCauseFunc) {
			r.verdict <- ralph.Pass()
			if got := r.stop(t, doneText, 0); !strings.HasPrefix(got.Note, "Ralph Loop Complete!") {
				t.Errorf("%+v", got)
			}
		}},
		"the session": {then: func(t *testing.T, r *relayed, _ *exec.Cmd, _ context.CancelCauseFunc) {
			if a, err := ralph.AskRelay(t.Context(), ralph.Ask{Kind: ralph.AskEnd, Session: "c", Text: "logout"}, r.place); err != nil || !a.Ours {
				t.Errorf("%+v, %v", a, err)
			}
		}, why: "logout"},
		"the session, nobody knows why": {then: func(t *testing.T, r *relayed, _ *exec.Cmd, _ context.CancelCauseFunc) {
			if _, err := ralph.AskRelay(t.Context(), ralph.Ask{Kind: ralph.AskEnd, Session: "c"}, r.place); err != nil {
				t.Error(err)
			}
		}, why: "ended"},
		"the client": {then: func(t *testing.T, r *relayed, client *exec.Cmd, _ context.CancelCauseFunc) {
			client.Process.Kill()
			client.Wait()
		}, why: "its client has ended"},
		"ctx": {then: func(t *testing.T, r *relayed, _ *exec.Cmd, cancel context.CancelCauseFunc) { cancel(stopped) }, err: stopped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRelay(t, ralph.Task{})
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			client := exec.Command(os.Args[0])
			client.Env = append(os.Environ(), agentMode+"=relay")
			if err := client.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { client.Process.Kill(); client.Wait() })
			r.File = filepath.Join(t.TempDir(), "place")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var acts sync.WaitGroup
			why, err := r.Attend(ctx, client.Process.Pid, func() {
				acts.Go(func() {
					place, err := os.ReadFile(r.File)
					if err != nil {
						t.Error(err)
					}
					r.place = string(place)
					tt.then(t, r, client, cancel)
				})
			})
			acts.Wait()
			if why != tt.why || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Errorf("%q, %v", why, err)
			}
			gone(t, r.File)
		})
	}
}

// TestRelayAttendTells: the hook that waits at the end of a loop tells the user of it,
// although the loop is over before that is told.
func TestRelayAttendTells(t *testing.T) {
	t.Parallel()
	r := newRelay(t, ralph.Task{})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	ended, looked := make(chan struct{}), make(chan struct{})
	r.Hook = &ralph.Hook{Store: &lookedAt{Store: &r.store, ended: ended, looked: looked}, Verifier: r.Hook.Verifier, Inject: r.Inject, Delay: -1,
		Notify: func(ctx context.Context, n ralph.Notice) {
			close(ended)
			<-looked
			for range 1000 { // Attend has every occasion to end
				runtime.Gosched()
			}
			r.Notify(ctx, n)
		}}
	r.File = filepath.Join(t.TempDir(), "place")
	var waits <-chan ralph.Answer
	why, err := r.Attend(t.Context(), 0, func() {
		place, err := os.ReadFile(r.File)
		if err != nil {
			t.Error(err)
		}
		r.place = string(place)
		r.verdict <- ralph.Pass()
		waits = r.later(t, doneText)
	})
	if got := <-waits; why != "" || err != nil || !strings.HasPrefix(got.Note, "Ralph Loop Complete!") {
		t.Errorf("%q, %v, %+v", why, err, got)
	}
}

// A lookedAt is a Store that tells when it is looked at after an end.
type lookedAt struct {
	ralph.Store
	ended, looked chan struct{}
	once          sync.Once
}

func (s *lookedAt) Update(ctx context.Context, session string, change func(ralph.HookState) (ralph.HookState, error)) error {
	err := s.Store.Update(ctx, session, change)
	select {
	case <-s.ended:
		s.once.Do(func() { close(s.looked) })
	default:
	}
	return err
}

// TestAskRelay: places are tried in turn; that none has the session is no error, that one
// does not answer is.
func TestAskRelay(t *testing.T) {
	t.Parallel()
	ours, others := newRelay(t, ralph.Task{}), newRelay(t, ralph.Task{})
	others.Client = "other"
	if err := others.Close(); err != nil {
		t.Fatal(err)
	}
	others.listen(t)
	dead := "secret@" + filepath.Join(t.TempDir(), "hook")
	for name, tt := range map[string]struct {
		places []string
		ours   bool
		err    string
	}{
		"none":                {},
		"none is set":         {places: []string{"", ""}},
		"ours":                {places: []string{ours.place}, ours: true},
		"ours last":           {places: []string{"", dead, "x", others.place, ours.place}, ours: true},
		"others'":             {places: []string{others.place, ""}},
		"nobody's":            {places: []string{dead}, err: "ralph: nobody drives this session any more: dial unix"},
		"nobody's, others'":   {places: []string{dead, others.place}, err: "ralph: nobody drives this session any more: dial unix"},
		"it is not a place":   {places: []string{"x"}, err: "ralph: nobody drives this session any more: what should name its place does not"},
		"it is not its place": {places: []string{"x" + ours.place}, err: "ralph: nobody drives this session any more: "},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ralph.AskRelay(t.Context(), ralph.Ask{Kind: ralph.AskStop, Session: "c"}, tt.places...)
			if got.Ours != tt.ours || (tt.err == "") != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	t.Run("the context's end", func(t *testing.T) {
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-ours.begun; cancel(enough) }()
		if got, err := ralph.AskRelay(ctx, ralph.Ask{Kind: ralph.AskStop, Session: "c", Text: doneText}, ours.place); !errors.Is(err, enough) || got != (ralph.Answer{}) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// startRelay starts a program with a Relay.
func startRelay(t *testing.T, mode string) (cmd *exec.Cmd, out *bufio.Reader, place string) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), agentMode+"=relay "+mode, "TMPDIR="+t.TempDir())
	stdout, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	out = bufio.NewReader(stdout)
	if place, err = out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd, out, strings.TrimSpace(place)
}

// TestRelayDies: a hook that waits for a program that is killed is told so.
func TestRelayDies(t *testing.T) {
	t.Parallel()
	relay, said, place := startRelay(t, "0")
	hook, out := asks(t, place, doneText)
	if err := hook.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := said.ReadString('\n'); line != "verifying\n" {
		t.Errorf("%q, %v", line, err)
	}
	relay.Process.Kill()
	if err := hook.Wait(); err != nil || !bytes.HasPrefix(out.Bytes(), []byte("error: ralph: nobody drives this session any more: ")) {
		t.Errorf("%s, %v", out, err)
	}
}
