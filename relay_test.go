package ralph_test

import (
	"context"
	"errors"
	"strings"
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

// TestRelayUnread: a session whose last words could not be read is asked for them, which
// spends no iteration; but not for ever, and not when its loop is over.
func TestRelayUnread(t *testing.T) {
	t.Parallel()
	r := newRelay(t, ralph.Task{})
	ask := func(unread bool) ralph.Answer {
		a, err := ralph.AskRelay(t.Context(), ralph.Ask{Kind: ralph.AskStop, Session: "c", Unread: unread}, r.place)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for range 3 {
		if a := ask(true); !strings.Contains(a.Prompt, "once more") {
			t.Errorf("%+v", a)
		}
		r.iteration(t, 1)
	}
	if a := ask(true); !strings.Contains(a.Prompt, "ITERATION 2") {
		t.Errorf("%+v", a)
	}
	r.iteration(t, 2)
	if _, err := r.Hook.Cancel(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if a := ask(true); a.Prompt != "" {
		t.Errorf("cancelled: %+v", a)
	}
}

// TestRelayTellsErrors: that a stop could not be dealt with is told, for the session rests.
func TestRelayTellsErrors(t *testing.T) {
	t.Parallel()
	r := newRelay(t, ralph.Task{})
	told := make(chan ralph.Notice, 10)
	r.Hook.Notify = func(_ context.Context, n ralph.Notice) { told <- n }
	r.Hook.Template = "{{NOBODY}}" // a failure in the middle
	if a := r.stop(t, "More.", 0); a.Prompt != "" || !strings.Contains(a.Note, "NOBODY") {
		t.Errorf("%+v", a)
	}
	close(told)
	var last ralph.Notice // after that of the iteration
	for last = range told {
	}
	if last.Variant != "warning" || !strings.Contains(last.Message, "NOBODY") {
		t.Errorf("%+v", last)
	}
}
