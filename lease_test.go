package ralph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestHookWithCancel cancels a loop in each part of an event.
func TestHookWithCancel(t *testing.T) {
	for _, when := range []struct {
		name string
		at   time.Duration
	}{{"in the verification", time.Minute}, {"in the delay", 2*time.Minute + time.Second/4}, {"in the injection", 3 * time.Minute}} {
		for _, other := range []bool{false, true} {
			inBubble(t, fmt.Sprintf("%s/%v", when.name, other), func(t *testing.T) {
				h := newHost()
				h.hook.Verifier = slow(2*time.Minute, ralph.Pass())
				if when.at > time.Minute {
					h.hook.Verifier = slow(2*time.Minute, ralph.Reject("No."))
				}
				h.inject = func(context.Context, string, string) error { <-time.After(2 * time.Minute); return nil }
				h.start(t, "s", ralph.Task{})
				h.says("s", "assistant", claimed)
				var ended time.Time
				var first ralph.HookState
				done := make(chan error, 1)
				go func() {
					var err error
					first, err = h.hook.Idle(t.Context(), ralph.Turn{Session: "s"})
					ended = time.Now()
					done <- err
				}()
				<-time.After(when.at)
				by := &h.hook
				if other {
					by = h.another()
				}
				injected := h.injected()
				if was, err := by.Cancel(t.Context(), "s"); !was || err != nil {
					t.Fatal(was, err)
				}
				cancelled := time.Now()
				if was, err := by.Cancel(t.Context(), "s"); was || err != nil {
					t.Error("cancelling twice is harmless:", was, err)
				}
				// A new loop, before the old event is through.
				begun := h.start(t, "s", ralph.Task{Prompt: "Do that."})
				if err := <-done; err != nil || first.State.Stop == ralph.StopVerified {
					t.Error(err, first.State.Stop)
				}
				if by == &h.hook && when.at <= time.Minute && !ended.Equal(cancelled) {
					t.Error("the verification went on for", ended.Sub(cancelled))
				}
				if ended.Sub(cancelled) > time.Minute && when.at <= time.Minute {
					t.Error("it went on for", ended.Sub(cancelled))
				}
				if h.injected() != injected {
					t.Error("a prompt for a cancelled loop:", h.prompts)
				}
				<-time.After(time.Hour)
				if x := h.state(t, "s"); x.State.Iteration != 1 || x.Seen != begun.Seen || x.State.Task.Prompt != "Do that." || !x.Active() {
					t.Errorf("the old event has changed the new loop: %+v", x)
				}
			})
		}
	}
}

// TestHookThatIsCancelledByItsHost cancels a loop from what the host is called for before a
// prompt is injected.
func TestHookThatIsCancelledByItsHost(t *testing.T) {
	for _, delay := range []time.Duration{-1, 0} {
		for _, by := range []string{"Notify", "Log"} {
			inBubble(t, fmt.Sprint(by, delay), func(t *testing.T) {
				h := newHost()
				h.hook.Delay = delay
				cancel := func(ctx context.Context) {
					if was, err := h.hook.Cancel(ctx, "s"); !was || err != nil {
						t.Error(was, err)
					}
				}
				switch by {
				case "Notify":
					h.hook.Notify = func(ctx context.Context, n ralph.Notice) {
						if n.Title == "Ralph Loop" {
							cancel(ctx)
						}
					}
				case "Log":
					h.hook.Log = ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
						if ev.Kind == ralph.EventIterationStarted && ev.Iteration.Number == 2 {
							cancel(ctx)
						}
						return nil
					})
				}
				h.start(t, "s", ralph.Task{})
				if x := h.answer(t, "s", "More."); x.Active() || h.injected() != 0 {
					t.Errorf("active: %v, prompts: %q", x.Active(), h.prompts)
				}
			})
		}
	}
}

// TestHookThatIsStartedAtTheEnd starts a loop where the last one of the session is told to be
// over, before its state is cleared.
func TestHookThatIsStartedAtTheEnd(t *testing.T) {
	for name, end := range map[string]func(h *host) error{
		"verified": func(h *host) error {
			_, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s", Text: claimed})
			return err
		},
		"cancelled": func(h *host) error { _, err := h.hook.Cancel(t.Context(), "s"); return err },
	} {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		h.hook.Log = ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
			if ev.Kind == ralph.EventLoopStopped {
				h.start(t, "s", ralph.Task{Prompt: "Do that."})
			}
			return nil
		})
		if err := end(h); err != nil {
			t.Error(name, err)
		}
		if x := h.state(t, "s"); !x.Active() || x.State.Task.Prompt != "Do that." {
			t.Errorf("%s: %+v", name, x)
		}
	}
}

// TestHookLeases has one deal with an event as long as it lives, and another when it
// does not.
func TestHookLeases(t *testing.T) {
	inBubble(t, "a slow verifier", func(t *testing.T) {
		h := newHost()
		h.hook.Verifier = slow(5*time.Minute-1, ralph.Pass())
		h.start(t, "s", ralph.Task{})
		h.says("s", "assistant", claimed)
		stops := make(chan ralph.StopReason)
		for _, hook := range []*ralph.Hook{&h.hook, h.another(), h.another()} {
			go func() {
				x, err := hook.Idle(t.Context(), ralph.Turn{Session: "s"})
				if err != nil {
					t.Error(err)
				}
				stops <- x.State.Stop
			}()
		}
		begun := time.Now()
		got := []ralph.StopReason{<-stops, <-stops, <-stops}
		slices.Sort(got)
		if !slices.Equal(got, []ralph.StopReason{"", "", ralph.StopVerified}) || time.Since(begun) > 5*time.Minute+time.Second {
			t.Error(got, time.Since(begun))
		}
	})
	for name, ahead := range map[string]time.Duration{"a dead holder": 0, "a dead holder whose clock was set back since": 3 * time.Hour} {
		aDeadHolder(t, name, ahead)
	}
	inBubble(t, "an error before the clock was set back", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		h.says("s", "assistant", claimed)
		if err := h.hook.Error(t.Context(), "s", errors.New("overloaded")); err != nil {
			t.Fatal(err)
		}
		h.changeAll(t, "s", func(x *ralph.HookState) { x.Recovering = x.Recovering.Add(3 * time.Hour) })
		if x := h.idle(t, "s"); x.State.Stop != ralph.StopVerified {
			t.Errorf("%+v", x)
		}
	})
	inBubble(t, "an injection that does not heed its context", func(t *testing.T) {
		h := newHost()
		h.inject = func(_ context.Context, session, prompt string) error {
			<-time.After(time.Minute)
			h.says(session, "user", prompt)
			return nil
		}
		h.start(t, "s", ralph.Task{})
		h.says("s", "assistant", "More.")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first := make(chan error, 1)
		go func() {
			_, err := h.hook.Idle(ctx, ralph.Turn{Session: "s"})
			first <- err
		}()
		<-ctx.Done()
		if x, err := h.another().Idle(t.Context(), ralph.Turn{Session: "s"}); !errors.Is(err, ralph.ErrNoMessage) || x.State.Iteration != 2 {
			t.Error(err, x.State.Iteration)
		}
		if err := <-first; err != nil || h.injected() != 1 {
			t.Errorf("%v, %d prompts", err, h.injected())
		}
	})
	for name, seconds := range map[string]time.Duration{"in verification": time.Minute, "in the delay": 5*time.Minute + time.Millisecond} {
		inBubble(t, "a context that ends "+name, func(t *testing.T) {
			h := newHost()
			usage := ralph.Usage{InputTokens: 7}
			h.hook.Verifier = ralph.VerifierFunc(func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				v, err := slow(5*time.Minute-1, ralph.Reject("No.")).Verify(ctx, c)
				v.Usage = usage
				return v, err
			})
			h.start(t, "s", ralph.Task{})
			h.says("s", "assistant", claimed)
			cause := errors.New("the host stops")
			ctx, cancel := context.WithTimeoutCause(t.Context(), seconds, cause)
			defer cancel()
			if _, err := h.hook.Idle(ctx, ralph.Turn{Session: "s", ID: "e1"}); !errors.Is(err, cause) {
				t.Error(err)
			}
			if x := h.state(t, "s"); x.Busy != "" || !x.Active() || h.injected() != 0 {
				t.Errorf("%+v", x)
			}
			x, err := h.another().Idle(t.Context(), ralph.Turn{Session: "s", ID: "e1"})
			if err != nil || x.State.Iteration != 2 || h.injected() != 1 {
				t.Error(err, x, h.prompts)
			}
			if want := map[bool]int64{true: 14, false: 7}[seconds == time.Minute]; x.State.Verifying.InputTokens != want || x.State.Usage.InputTokens != want {
				t.Errorf("what was spent is spent: %+v", x.State.Usage)
			}
		})
	}
}

// aDeadHolder has one die while he deals with an event, by a clock that is ahead.
func aDeadHolder(t *testing.T, name string, ahead time.Duration) {
	inBubble(t, name, func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		h.says("s", "assistant", claimed)
		dies := h.another()
		dies.Store = &mortal{MemoryStore: h.hook.Store.(*ralph.MemoryStore), n: 2}
		if _, err := dies.Idle(t.Context(), ralph.Turn{Session: "s", Messages: h.messages["s"]}); !errors.Is(err, errDead) {
			t.Fatal(err)
		}
		h.changeAll(t, "s", func(x *ralph.HookState) { x.Until = x.Until.Add(ahead) })
		begun := time.Now()
		if x := h.idle(t, "s"); x.State.Stop != ralph.StopVerified {
			t.Errorf("%+v", x)
		}
		if d := time.Since(begun); d < 9*time.Second || d > 11*time.Second {
			t.Error("waited", d)
		}
	})
}

// changeAll changes a session's state behind the hook's back.
func (h *host) changeAll(t *testing.T, session string, change func(*ralph.HookState)) {
	t.Helper()
	err := h.hook.Store.Update(t.Context(), session, func(x ralph.HookState) (ralph.HookState, error) { change(&x); return x, nil })
	if err != nil {
		t.Fatal(err)
	}
}

// TestHookWithFiftySessions has them all at once.
func TestHookWithFiftySessions(t *testing.T) {
	h := newHost()
	h.hook.Delay = time.Microsecond
	h.hook.Verifier = verify.String{Contains: []string{"really"}}
	var all sync.WaitGroup
	for i := range 50 {
		session := fmt.Sprint("session ", i)
		all.Go(func() {
			h.start(t, session, ralph.Task{Promise: fmt.Sprint("P", i)})
			for n := range i % 7 {
				if x := h.answer(t, session, fmt.Sprintf("<promise>P%d</promise> <promise>P%d</promise>", i+1, i+100*n)); x.State.Iteration != n+2 {
					t.Error(session, x)
				}
				all.Go(func() { h.hook.State(t.Context(), "") })
			}
			if x := h.answer(t, session, fmt.Sprintf("It is really done: <promise>P%d</promise>", i)); x.State.Stop != ralph.StopVerified || x.State.Iteration != i%7+1 || x.Session != session {
				t.Errorf("%s: %+v", session, x)
			}
		})
	}
	all.Wait()
	for x, err := range h.hook.Store.All(t.Context()) {
		t.Error("left:", x, err)
	}
	want := 0
	for i := range 50 {
		want += i % 7
	}
	if h.injected() != want {
		t.Error(h.injected(), "prompts, not", want)
	}
}

// A counted store counts how often an update changes the loop of a session, which is a
// write that its host waits for.
type counted struct {
	ralph.MemoryStore
	t *testing.T
	n int
}

func (c *counted) Update(ctx context.Context, session string, change func(ralph.HookState) (ralph.HookState, error)) error {
	return c.MemoryStore.Update(ctx, session, func(x ralph.HookState) (ralph.HookState, error) {
		to, err := change(x)
		if asJSON(c.t, to.State) != asJSON(c.t, x.State) {
			c.n++
		}
		return to, err
	})
}

// TestHookWritesOnce: without a delay an answer and the prompt that follows it are one
// change of the loop.
func TestHookWritesOnce(t *testing.T) {
	inBubble(t, "no delay", func(t *testing.T) {
		h, store := newHost(), &counted{t: t}
		h.hook.Store, h.hook.Delay = store, -1
		h.start(t, "s", ralph.Task{})
		for i := range 3 {
			h.answer(t, "s", "More.")
			if store.n != i+2 || h.injected() != i+1 {
				t.Errorf("%d changes, %d prompts", store.n, h.injected())
			}
		}
	})
}
