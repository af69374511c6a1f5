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
	"time"

	"github.com/ralph-loop/ralph"
)

// TestRelay: a stop is answered with the next prompt and with what the user is told, and
// with nothing when the loop does not go on.
func TestRelay(t *testing.T) {
	t.Parallel()
	pause := func(t *testing.T, r *relayed, on bool) {
		if err := r.store.Update(t.Context(), "s", func(x ralph.HookState) (ralph.HookState, error) { x.State = x.State.Pause(on); return x, nil }); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(t *testing.T, r *relayed, q ralph.Ask) ralph.Answer {
		a, err := ralph.AskRelay(t.Context(), q, r.place)
		if err != nil {
			t.Error(err)
		}
		return a
	}
	for name, tt := range map[string]struct {
		task ralph.Task
		then func(t *testing.T, r *relayed) ralph.Answer
		want string // the prompt
		note string
	}{
		"no promise": {then: func(t *testing.T, r *relayed) ralph.Answer { return r.stop(t, "I go on.", 0) }, want: "ITERATION 2/100", note: "Ralph Loop: Iteration 2/100"},
		"a false one": {then: func(t *testing.T, r *relayed) ralph.Answer {
			r.verdict <- ralph.Reject("TestX fails")
			return r.stop(t, doneText, 0)
		}, want: "TestX fails", note: "Ralph Loop: Iteration 2/100"},
		"a true one": {then: func(t *testing.T, r *relayed) ralph.Answer {
			r.verdict <- ralph.Pass()
			return r.stop(t, doneText, 0)
		}, note: "Ralph Loop Complete!: Task completed after 1 iteration(s)"},
		"it was over": {then: func(t *testing.T, r *relayed) ralph.Answer {
			r.verdict <- ralph.Pass()
			r.stop(t, doneText, 0)
			return r.stop(t, "Something else.", 0)
		}},
		"the last iteration": {task: ralph.Task{Limits: ralph.Limits{Iterations: 1}}, then: func(t *testing.T, r *relayed) ralph.Answer { return r.stop(t, "", 0) },
			note: "Ralph Loop Stopped: Max iterations (1) reached without completion"},
		"paused": {then: func(t *testing.T, r *relayed) ralph.Answer { pause(t, r, true); return r.stop(t, "", 0) }, note: "Ralph Loop: Iteration 2/100"},
		"paused, and no longer": {then: func(t *testing.T, r *relayed) ralph.Answer {
			pause(t, r, true)
			r.stop(t, "", 0)
			pause(t, r, false)
			return r.stop(t, "", 0)
		}, want: "ITERATION 2/100"},
		"cancelled by its user": {then: func(t *testing.T, r *relayed) ralph.Answer {
			return ask(t, r, ralph.Ask{Kind: ralph.AskCancel, Session: "c"})
		}, note: "Ralph Loop Cancelled: Stopped at iteration 1"},
		"cancelled": {then: func(t *testing.T, r *relayed) ralph.Answer {
			ask(t, r, ralph.Ask{Kind: ralph.AskCancel, Session: "c"})
			return r.stop(t, "", 0)
		}},
		"cancelled while it verifies": {then: func(t *testing.T, r *relayed) ralph.Answer {
			waits := r.later(t, doneText)
			<-r.begun
			ask(t, r, ralph.Ask{Kind: ralph.AskCancel, Session: "c"})
			return <-waits
		}},
		"cancelled before its prompt was given to any": {then: func(t *testing.T, r *relayed) ralph.Answer {
			r.stop(t, doneText, 1)
			r.verdict <- ralph.Reject("no")
			r.failed(t)
			ask(t, r, ralph.Ask{Kind: ralph.AskCancel, Session: "c"})
			return r.stop(t, "", 0)
		}},
		"gone for good": {then: func(t *testing.T, r *relayed) ralph.Answer {
			ask(t, r, ralph.Ask{Kind: ralph.AskEnd, Session: "c", Text: "clear"})
			return r.stop(t, "", 0)
		}},
		"it can be resumed": {then: func(t *testing.T, r *relayed) ralph.Answer {
			ask(t, r, ralph.Ask{Kind: ralph.AskEnd, Session: "c", Text: "prompt_input_exit"})
			return r.stop(t, "", 0)
		}, want: "ITERATION 2/100", note: "Ralph Loop: Iteration 2/100"},
		"another question": {then: func(t *testing.T, r *relayed) ralph.Answer {
			return ask(t, r, ralph.Ask{Kind: "other", Session: "c"})
		}, note: "Ralph Loop Started: Max 100 iterations. Complete with <promise>DONE</promise>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRelay(t, tt.task)
			got := tt.then(t, r)
			if !strings.Contains(got.Prompt, tt.want) || (tt.want == "") != (got.Prompt == "") || got.Note != tt.note || !got.Ours {
				t.Errorf("%+v", got)
			}
		})
	}
}

// failed waits until no hook was there for a prompt.
func (r *relayed) failed(t testing.TB) {
	t.Helper()
	until(t, "failed", func() bool {
		x, err := r.Hook.State(t.Context(), "s")
		return err != nil || x.Failed != "" && x.Busy == "" && r.Waiting() == 0
	})
}

// TestRelayOfOthers: events of other sessions change nothing, and are not taken for the
// session's whose client has not told its ID yet.
func TestRelayOfOthers(t *testing.T) {
	t.Parallel()
	r := newRelay(t, ralph.Task{})
	ask := func(kind, session string) ralph.Answer {
		a, err := ralph.AskRelay(t.Context(), ralph.Ask{Kind: kind, Session: session, Text: "clear"}, r.place)
		if err != nil {
			t.Error(err)
		}
		return a
	}
	for _, kind := range []string{ralph.AskStop, ralph.AskEnd, ralph.AskCancel} {
		for _, session := range []string{"", "other", "s"} {
			if got := ask(kind, session); got != (ralph.Answer{}) {
				t.Errorf("%s of %q: %+v", kind, session, got)
			}
		}
	}
	r.iteration(t, 1)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r.Client = ""
	r.listen(t)
	for _, kind := range []string{ralph.AskEnd, ralph.AskCancel} {
		if got := ask(kind, "first"); got.Ours {
			t.Errorf("%s: %+v", kind, got)
		}
	}
	if got := ask(ralph.AskStop, ""); got.Ours {
		t.Errorf("%+v", got)
	}
	if got := ask(ralph.AskStop, "first"); !strings.Contains(got.Prompt, "ITERATION 2/") {
		t.Errorf("%+v", got)
	}
	if got := ask(ralph.AskStop, "second"); got.Ours {
		t.Errorf("%+v", got)
	}
	r.iteration(t, 2)
}

// TestRelayStillVerifying: a hook is answered before it must, the claim is verified once,
// and the next stop gets the verdict, whether it comes before that or after.
func TestRelayStillVerifying(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		verdict ralph.Verdict
		before  bool // the next stop comes before the verdict
		want    string
	}{
		"rejected, then asked": {ralph.Reject("TestX fails"), false, "TestX fails"},
		"asked, then rejected": {ralph.Reject("TestX fails"), true, "TestX fails"},
		"passed, then asked":   {ralph.Pass(), false, ""},
		"asked, then passed":   {ralph.Pass(), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRelay(t, ralph.Task{})
			for range 3 {
				if got := r.stop(t, doneText, 1); got.Prompt != ralph.StillVerifying {
					t.Errorf("%+v", got)
				}
			}
			var got ralph.Answer
			if tt.before {
				waits := r.later(t, "I wait.")
				until(t, "waiting", func() bool { return r.Waiting() == 4 })
				r.verdict <- tt.verdict
				got = <-waits
			} else {
				r.verdict <- tt.verdict
				until(t, "over", func() bool {
					x, err := r.Hook.State(t.Context(), "s")
					return err != nil || (x.Failed != "" || !x.Active()) && r.Waiting() == 0
				})
				got = r.stop(t, "I wait.", 0)
			}
			if !strings.Contains(got.Prompt, tt.want) || (tt.want == "") != (got.Prompt == "") || got.Note == "" {
				t.Errorf("%+v", got)
			}
			if tt.want != "" {
				r.iteration(t, 2)
			}
			if n := r.verified.Load(); n != 1 {
				t.Errorf("verified %d times", n)
			}
		})
	}
}

// TestRelayLostHooks: the prompt for a hook that has died is the next one's, and that
// spends no iteration.
func TestRelayLostHooks(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, r *relayed){
		"while it waits": func(t *testing.T, r *relayed) {
			cmd, out := asks(t, r.place, doneText)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-r.begun
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			if cmd.Wait(); out.Len() > 0 {
				t.Errorf("it says %s", out)
			}
			r.verdict <- ralph.Reject("TestX fails")
		},
		"before it reads the answer": func(t *testing.T, r *relayed) {
			conn := r.raw(t, r.question(doneText))
			r.verdict <- ralph.Reject("TestX fails")
			if _, err := conn.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
			conn.Close()
		},
		"after another's time is over": func(t *testing.T, r *relayed) {
			r.stop(t, doneText, 1)
			conn := r.raw(t, r.question("I wait."))
			until(t, "waiting", func() bool { return r.Waiting() == 2 })
			r.verdict <- ralph.Reject("TestX fails")
			if _, err := conn.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
			conn.Close()
		},
	} {
		for size, prompt := range map[string]string{"": "Do it.", ", of a long prompt": strings.Repeat("Do it. ", 200_000)} {
			t.Run(name+size, func(t *testing.T) {
				t.Parallel()
				r := newRelay(t, ralph.Task{Prompt: prompt})
				lose(t, r)
				r.failed(t)
				got := r.stop(t, "Is anybody there?", 0)
				if !strings.Contains(got.Prompt, "ITERATION 2/100") || !strings.Contains(got.Prompt, "TestX fails") || got.Note != "Ralph Loop: Iteration 2/100" {
					t.Errorf("%.200s: %s", got.Prompt, got.Note)
				}
				r.iteration(t, 2)
				if n := r.verified.Load(); n != 1 {
					t.Errorf("verified %d times", n)
				}
			})
		}
	}
	t.Run("one of two", func(t *testing.T) {
		t.Parallel()
		r := newRelay(t, ralph.Task{})
		lives := r.later(t, doneText)
		<-r.begun
		conn := r.raw(t, r.question(doneText)) // which is asked first
		until(t, "waiting", func() bool { return r.Waiting() == 2 })
		conn.Close()
		r.verdict <- ralph.Reject("TestX fails")
		if got := <-lives; !strings.Contains(got.Prompt, "ITERATION 2/100") {
			t.Errorf("%+v", got)
		}
		r.iteration(t, 2)
	})
}

// TestRelayCrowd: many hooks of one stop are one stop: one of them gets the prompt.
func TestRelayCrowd(t *testing.T) {
	t.Parallel()
	r := newRelay(t, ralph.Task{})
	const hooks = 50
	prompts := 0
	var waits []<-chan ralph.Answer
	for range hooks {
		waits = append(waits, r.later(t, doneText))
	}
	until(t, "waiting", func() bool { return r.Waiting() == hooks })
	r.verdict <- ralph.Reject("TestX fails")
	for _, w := range waits {
		if a := <-w; a.Prompt != "" {
			prompts++
		} else if !a.Ours {
			t.Errorf("%+v", a)
		}
	}
	if n := r.verified.Load(); prompts != 1 || n != 1 {
		t.Errorf("%d prompts, verified %d times", prompts, n)
	}
	r.iteration(t, 2)
}

// A slowStore takes its time to note that a prompt was injected.
type slowStore struct {
	ralph.MemoryStore
	reached chan struct{}
	goOn    chan struct{}
}

func (s *slowStore) Update(ctx context.Context, session string, change func(ralph.HookState) (ralph.HookState, error)) error {
	injected := false
	err := s.MemoryStore.Update(ctx, session, func(x ralph.HookState) (ralph.HookState, error) {
		to, err := change(x)
		if injected = err == nil && x.Injecting && !to.Injecting && to.State.Iteration == 2; injected {
			return x, errSlow
		}
		return to, err
	})
	if !injected {
		return err
	}
	s.reached <- struct{}{}
	<-s.goOn
	return s.MemoryStore.Update(ctx, session, change)
}

var errSlow = errors.New("not yet")

// TestRelayNextStop: a stop that comes before the one before it was noted is one of its own.
func TestRelayNextStop(t *testing.T) {
	t.Parallel()
	for name, within := range map[string]time.Duration{"that waits": 0, "that cannot wait": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &slowStore{reached: make(chan struct{}), goOn: make(chan struct{})}
			r := newRelay(t, ralph.Task{})
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			r.Hook = &ralph.Hook{Store: store, Verifier: r.Hook.Verifier, Inject: r.Inject, Notify: r.Notify, Delay: -1}
			if _, err := r.Hook.Start(t.Context(), "s", ralph.Task{Prompt: "Do it."}); err != nil {
				t.Fatal(err)
			}
			r.listen(t)
			if got := r.stop(t, "One.", 0); !strings.Contains(got.Prompt, "ITERATION 2/") {
				t.Errorf("%+v", got)
			}
			<-store.reached
			if within > 0 {
				if got := r.stop(t, "Two.", within); got.Prompt != ralph.StillVerifying {
					t.Errorf("%+v", got)
				}
			}
			next := r.later(t, "Two.")
			store.goOn <- struct{}{}
			if got := <-next; !strings.Contains(got.Prompt, "ITERATION 3/") {
				t.Errorf("%+v", got)
			}
			r.iteration(t, 3)
		})
	}
}

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
