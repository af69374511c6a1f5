package ralph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// wary is a verifier that prepares its tasks, and refuses some.
type wary struct{ verify.String }

func (wary) Validate(t ralph.Task) error {
	if t.Outcome != "" {
		return errors.New("cannot be checked")
	}
	return nil
}

func (wary) Prepare(_ context.Context, t ralph.Task) (ralph.Task, error) {
	t.Guarded = map[string]string{"exam": "0a"}
	return t, nil
}

func TestHookStart(t *testing.T) {
	defaults := ralph.Task{Promise: "FIXED", Prompt: "The default.", Match: "last_line", Blocked: "STUCK", Limits: ralph.Limits{Iterations: 9, Failures: 2, Duration: time.Hour}}
	inBubble(t, "its task, the hook's, the defaults", func(t *testing.T) {
		h := newHost()
		h.hook.Task = defaults
		x, err := h.hook.Start(t.Context(), "s", ralph.Task{Prompt: "Mine.", Limits: ralph.Limits{Iterations: 4}})
		want := ralph.Task{Prompt: "Mine.", Promise: "FIXED", Match: "last_line", Blocked: "STUCK",
			Limits: ralph.Limits{Iterations: 4, Retries: -1, Failures: 2, Duration: time.Hour}}
		if diff := cmp.Diff(want, x.State.Task); diff != "" || err != nil {
			t.Error(diff, err)
		}
		if x, err = h.hook.Start(t.Context(), "other", ralph.Task{}); err != nil || x.State.Task.Prompt != "The default." || x.State.Loop != "other" {
			t.Error(x, err)
		}
	})
	inBubble(t, "the verifier prepares", func(t *testing.T) {
		h := newHost()
		h.hook.Verifier = wary{}
		x, err := h.hook.Start(t.Context(), "s", ralph.Task{Prompt: "Go."})
		if err != nil || x.State.Task.Guarded["exam"] != "0a" || !x.State.Prepared || !maps.Equal(h.state(t, "s").State.Task.Guarded, x.State.Task.Guarded) {
			t.Error(x, err)
		}
	})
	for _, test := range []struct {
		name, session, err string
		task               ralph.Task
		change             func(*ralph.Hook)
	}{
		{name: "no session", session: "", err: "needs an ID"},
		{name: "disabled", change: func(h *ralph.Hook) { h.Disabled = true }, err: "disabled"},
		{name: "no task", task: ralph.Task{Prompt: " "}, err: "Prompt"},
		{name: "a task that is not valid", task: ralph.Task{Prompt: "Go.", Promise: "a\nb"}, err: "line break"},
		{name: "unlimited", task: ralph.Task{Prompt: "Go.", Limits: ralph.Limits{Iterations: -1}}, err: "iterations"},
		{name: "the verifier cannot", task: ralph.Task{Prompt: "Go.", Outcome: "x"}, change: func(h *ralph.Hook) { h.Verifier = wary{} }, err: "cannot be checked"},
		{name: "no messages", change: func(h *ralph.Hook) {
			h.Messages = func(context.Context, string) ([]ralph.Message, error) { return nil, errors.New("no access") }
		}, err: `the messages of session "s": no access`},
		{name: "no store", change: func(h *ralph.Hook) { h.Store = nil }, err: "no Store"},
		{name: "no verifier", change: func(h *ralph.Hook) { h.Verifier = nil }, err: "no Verifier"},
		{name: "no inject", change: func(h *ralph.Hook) { h.Inject = nil }, err: "no Inject"},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			h := newHost()
			store := h.hook.Store
			session := "s"
			if test.name == "no session" {
				session = ""
			}
			if test.change != nil {
				test.change(&h.hook)
			}
			if test.task.Prompt == "" {
				test.task.Prompt = "Go."
			}
			x, err := h.hook.Start(t.Context(), session, test.task)
			if err == nil || !strings.HasPrefix(err.Error(), "ralph: ") || !strings.Contains(err.Error(), test.err) || !x.IsZero() {
				t.Error(x, err)
			}
			for x := range store.All(t.Context()) {
				t.Errorf("%+v", x)
			}
		})
	}
	inBubble(t, "a log that fails", func(t *testing.T) {
		h := newHost()
		h.hook.Log = ralph.ProgressLogFunc(func(context.Context, ralph.Event) error { return errors.New("disk full") })
		x, err := h.hook.Start(t.Context(), "s", ralph.Task{Prompt: "Go."})
		if err == nil || !strings.Contains(err.Error(), "disk full") || !x.Active() || !h.state(t, "s").Active() {
			t.Error(x, err)
		}
	})
	inBubble(t, "an active loop", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		h.answer(t, "s", "More.")
		before := h.state(t, "s")
		_, err := h.another().Start(t.Context(), "s", ralph.Task{Prompt: "Do that."})
		if !errors.Is(err, ralph.ErrActive) || err.Error() != `ralph: session "s": the session has an active loop: iteration 2 of 100; cancel it first` {
			t.Error(err)
		}
		if diff := cmp.Diff(before, h.state(t, "s")); diff != "" {
			t.Error(diff)
		}
		h.answer(t, "s", claimed)
		if x := h.start(t, "s", ralph.Task{Prompt: "Do that."}); x.State.Iteration != 1 {
			t.Error(x)
		}
	})
	inBubble(t, "two at once", func(t *testing.T) {
		h := newHost()
		errs := make(chan error)
		for range 2 {
			go func() { _, err := h.another().Start(t.Context(), "s", ralph.Task{Prompt: "Go."}); errs <- err }()
		}
		if one, two := <-errs, <-errs; (one == nil) == (two == nil) || !errors.Is(errors.Join(one, two), ralph.ErrActive) || len(h.notices) != 1 {
			t.Error(one, two, h.notices)
		}
	})
}

func TestHookThatIsDisabled(t *testing.T) {
	h := newHost()
	h.hook.Delay = -1
	h.start(t, "s", ralph.Task{})
	off := h.another()
	off.Disabled = true
	before := h.state(t, "s")
	h.says("s", "assistant", claimed)
	x, err := off.Idle(t.Context(), ralph.Turn{Session: "s"})
	if err := errors.Join(err, off.Error(t.Context(), "s", context.Canceled), off.Deleted(t.Context(), "s")); err != nil || !x.IsZero() {
		t.Error(x, err)
	}
	if diff := cmp.Diff(before, h.state(t, "s")); diff != "" {
		t.Error(diff)
	}
}

func TestHookWithoutSession(t *testing.T) {
	h := newHost()
	_, start := h.hook.Start(t.Context(), "", ralph.Task{Prompt: "Go."})
	_, idle := h.hook.Idle(t.Context(), ralph.Turn{})
	_, cancel := h.hook.Cancel(t.Context(), "")
	_, active := h.hook.Active(t.Context(), "")
	update := h.hook.Store.Update(t.Context(), "", func(x ralph.HookState) (ralph.HookState, error) { return x, nil })
	for i, err := range []error{start, idle, cancel, active, update, h.hook.Error(t.Context(), "", errors.New("x")), h.hook.Deleted(t.Context(), "")} {
		if !errors.Is(err, ralph.ErrNoSession) {
			t.Error(i, err)
		}
	}
}

// TestHookIsSteered has a person steer the loop by its state.
func TestHookIsSteered(t *testing.T) {
	inBubble(t, "pause", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		h.change(t, "s", func(s ralph.State) ralph.State { return s.Pause(true) })
		if x := h.answer(t, "s", "More."); x.State.Iteration != 2 || x.State.Running || x.Busy != "" || h.injected() != 0 {
			t.Error(x, h.prompts)
		}
		if x := h.idle(t, "s"); x.State.Iteration != 2 || h.injected() != 0 {
			t.Error(x)
		}
		h.change(t, "s", func(s ralph.State) ralph.State { return s.Pause(false).Guide("Mind the gap.") })
		if x := h.idle(t, "s"); !x.State.Running || h.injected() != 1 || !strings.Contains(h.prompts[0], "- Mind the gap.") {
			t.Error(x, h.prompts)
		}
		h.change(t, "s", func(s ralph.State) ralph.State { return s.Pause(true) })
		if x := h.answer(t, "s", claimed); x.State.Stop != ralph.StopVerified {
			t.Error("a paused loop's answer is judged:", x)
		}
	})
	inBubble(t, "pause in the delay", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		go func() {
			<-time.After(time.Millisecond)
			h.change(t, "s", func(s ralph.State) ralph.State { return s.Pause(true) })
		}()
		if x := h.answer(t, "s", "More."); x.State.Running || h.injected() != 0 || x.Busy != "" {
			t.Error(x, h.prompts)
		}
	})
	inBubble(t, "guide", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		h.change(t, "s", func(s ralph.State) ralph.State { return s.Guide("Mind the gap.") })
		h.answer(t, "s", "More.")
		h.change(t, "s", func(s ralph.State) ralph.State { return s.Guide("Faster.") })
		h.answer(t, "s", "More.")
		h.answer(t, "s", "More.")
		for i, want := range []string{"gap", "Faster", ""} {
			if got := strings.Contains(h.prompts[i], "gap"); got != (want == "gap") {
				t.Error(i, h.prompts[i])
			}
			if got := strings.Contains(h.prompts[i], "Faster"); got != (want == "Faster") {
				t.Error(i, h.prompts[i])
			}
		}
	})
	inBubble(t, "limits", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{Limits: ralph.Limits{Iterations: 2}})
		h.answer(t, "s", "More.")
		h.change(t, "s", func(s ralph.State) ralph.State { return s.Limit(ralph.Limits{Iterations: 3, Retries: -1}) })
		if x := h.answer(t, "s", "More."); x.State.Iteration != 3 || !strings.HasPrefix(h.prompts[1], "[RALPH LOOP - ITERATION 3/3]") {
			t.Error(x, h.prompts)
		}
		if x := h.answer(t, "s", "More."); x.State.Stop != ralph.StopIterations {
			t.Error(x)
		}
	})
}

// TestHookBudgets has limits of time, money and tokens.
func TestHookBudgets(t *testing.T) {
	inBubble(t, "time", func(t *testing.T) {
		h := newHost()
		h.hook.Verifier = slow(10*time.Minute, ralph.Reject("No."))
		h.start(t, "s", ralph.Task{Limits: ralph.Limits{Duration: 45 * time.Minute, VerifyTimeout: time.Hour}})
		<-time.After(20 * time.Minute)
		if x := h.answer(t, "s", claimed); x.State.Elapsed != 30*time.Minute || x.Last.Elapsed != 30*time.Minute {
			t.Error(x.State.Elapsed)
		}
		<-time.After(10 * time.Minute)
		if x := h.answer(t, "s", claimed); x.State.Stop != ralph.StopDuration {
			t.Error(x.State.Stop, x.State.Elapsed)
		}
	})
	cost := 0.4
	for stop, limits := range map[ralph.StopReason]ralph.Limits{ralph.StopCost: {CostUSD: 1}, ralph.StopTokens: {Tokens: 100}} {
		inBubble(t, fmt.Sprint(stop), func(t *testing.T) {
			h := newHost()
			h.start(t, "s", ralph.Task{Limits: limits})
			for i := 1; ; i++ {
				h.says("s", "assistant", "More.")
				x, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s", Usage: ralph.Usage{InputTokens: 50, CostUSD: &cost}})
				if err != nil {
					t.Fatal(err)
				}
				if x.State.Done() {
					if x.State.Stop != stop || i != 2 || x.State.Usage.InputTokens != 100 || *x.State.Usage.CostUSD != 0.8 {
						t.Error(i, x.State.Stop, x.State.Usage)
					}
					return
				}
			}
		})
	}
}
