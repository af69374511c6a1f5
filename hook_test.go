package ralph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// A host is a program with sessions, as small as a test needs it. What it does when it
// is given a prompt a test may change.
type host struct {
	hook   ralph.Hook
	inject func(ctx context.Context, session, prompt string) error // nil = the session has it

	mu       sync.Mutex
	messages map[string][]ralph.Message
	prompts  []string // all that were injected, or tried to
	notices  []ralph.Notice
}

func newHost() *host {
	h := &host{messages: map[string][]ralph.Message{}}
	h.hook = ralph.Hook{
		Store: &ralph.MemoryStore{}, Verifier: verify.String{},
		Inject: func(ctx context.Context, session, prompt string) error {
			h.mu.Lock()
			h.prompts = append(h.prompts, prompt)
			h.mu.Unlock()
			if h.inject != nil {
				return h.inject(ctx, session, prompt)
			}
			h.says(session, "user", prompt)
			return nil
		},
		Messages: func(_ context.Context, session string) ([]ralph.Message, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.messages[session], nil
		},
		Notify: func(_ context.Context, n ralph.Notice) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.notices = append(h.notices, n)
		},
	}
	return h
}

// another is a second Hook of the same program, or that of a second one: it shares the
// store and the sessions.
func (h *host) another() *ralph.Hook {
	return &ralph.Hook{Store: h.hook.Store, Verifier: h.hook.Verifier, Inject: h.hook.Inject, Messages: h.hook.Messages, Notify: h.hook.Notify, Delay: h.hook.Delay}
}

func (h *host) says(session, role, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.messages[session] = append(h.messages[session], ralph.Message{Role: role, Content: text})
}

// injected is how many prompts were.
func (h *host) injected() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.prompts)
}

// start starts a loop and injects its first prompt, as its caller does.
func (h *host) start(t *testing.T, session string, task ralph.Task) ralph.HookState {
	t.Helper()
	if task.Prompt == "" {
		task.Prompt = "Do it."
	}
	x, err := h.hook.Start(t.Context(), session, task)
	if err != nil {
		t.Fatal(err)
	}
	h.says(session, "user", task.Prompt)
	return x
}

// answer has the agent say something and come to rest.
func (h *host) answer(t *testing.T, session, text string) ralph.HookState {
	t.Helper()
	h.says(session, "assistant", text)
	return h.idle(t, session)
}

func (h *host) idle(t *testing.T, session string) ralph.HookState {
	t.Helper()
	x, err := h.hook.Idle(t.Context(), ralph.Turn{Session: session})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// state is what the store has of a session, over or not.
func (h *host) state(t *testing.T, session string) (x ralph.HookState) {
	t.Helper()
	err := h.hook.Store.Update(t.Context(), session, func(is ralph.HookState) (ralph.HookState, error) { x = is; return is, nil })
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// change changes the state of a session as a person does, who steers the loop.
func (h *host) change(t *testing.T, session string, f func(ralph.State) ralph.State) {
	t.Helper()
	h.changeAll(t, session, func(x *ralph.HookState) { x.State = f(x.State) })
}

// inBubble runs a subtest whose time is its own.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func TestDetectCompletionPromise(t *testing.T) {
	for _, test := range []struct {
		name, promise string
		yes, no       []string
	}{
		{"should detect <promise>DONE</promise>", "", []string{"<promise>DONE</promise>", "All is well. <promise>DONE</promise> Bye."}, []string{"DONE", "<promise>DONE", "<promise>UNDONE</promise>", "promise DONE promise"}},
		{"should handle whitespace variations", "", []string{"<promise> DONE </promise>", "<promise>\n\tDONE\r\n</promise>"}, []string{"<promise>DO NE</promise>"}},
		{"should be case insensitive", "", []string{"<promise>done</promise>", "<PROMISE>Done</Promise>"}, nil},
		{"should handle custom promises", "ALL (1.0) FIXED?", []string{"<promise>ALL (1.0) FIXED?</promise>"}, []string{"<promise>ALL 1x0 FIXED</promise>", "<promise>DONE</promise>"}},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			for want, answers := range map[bool][]string{true: test.yes, false: test.no} {
				for _, answer := range answers {
					h := newHost()
					h.start(t, "s", ralph.Task{Promise: test.promise})
					if x := h.answer(t, "s", answer); (x.State.Stop == ralph.StopVerified) != want || !want && x.State.Iteration != 2 {
						t.Errorf("%q: %q, iteration %d", answer, x.State.Stop, x.State.Iteration)
					}
				}
			}
		})
	}
}

func TestRalphLoopHook(t *testing.T) {
	inBubble(t, "should start loop and save state", func(t *testing.T) {
		h := newHost()
		now := time.Now().UTC().Round(0)
		x, err := h.hook.Start(t.Context(), "s", ralph.Task{Prompt: "Do it.", Title: "a description"})
		if err != nil {
			t.Fatal(err)
		}
		saved, err := h.another().State(t.Context(), "s")
		if diff := cmp.Diff(x, saved); diff != "" || err != nil {
			t.Error(diff, err)
		}
		s := x.State
		if !x.Active() || x.Session != "s" || s.Iteration != 1 || s.Task.Limits.Iterations != 100 || s.Task.Promise != "DONE" ||
			s.Task.Match != ralph.MatchFold || s.Task.Prompt != "Do it." || s.Task.Title != "a description" || !x.Asked.Equal(now) {
			t.Errorf("%+v", x)
		}
		if h.injected() != 0 {
			t.Error("the first prompt is the caller's to inject:", h.prompts)
		}
	})
	inBubble(t, "should detect completion and clear state", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		x := h.answer(t, "s", "<promise>DONE</promise>")
		if x.State.Stop != ralph.StopVerified || !x.Last.Claimed || !x.State.Verdict.Passed {
			t.Errorf("%+v", x)
		}
		if left := h.state(t, "s"); !left.IsZero() || h.injected() != 0 {
			t.Error(left, h.prompts)
		}
	})
	inBubble(t, "should increment on session.idle without completion", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{Promise: "FIXED", Limits: ralph.Limits{Iterations: 7}})
		x := h.answer(t, "s", "I have begun.")
		want := "[RALPH LOOP - ITERATION 2/7]\n\nYour previous attempt did not output the completion promise. Continue working on the task.\n\n" +
			"IMPORTANT:\n- Review your progress so far\n- Continue from where you left off\n- When FULLY complete, output: <promise>FIXED</promise>\n" +
			"- Do not stop until the task is truly done\n\nOriginal task:\nDo it."
		if diff := cmp.Diff([]string{want}, h.prompts); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(x, h.state(t, "s")); diff != "" || x.State.Iteration != 2 || !x.State.Running || x.Busy != "" {
			t.Errorf("%s%+v", diff, x)
		}
	})
	inBubble(t, "should stop at max iterations", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{Limits: ralph.Limits{Iterations: 2}})
		h.answer(t, "s", "One.")
		x := h.answer(t, "s", "Two.")
		if x.State.Stop != ralph.StopIterations || h.injected() != 1 || !h.state(t, "s").IsZero() {
			t.Error(x.State.Stop, h.prompts)
		}
		h.start(t, "s", ralph.Task{Limits: ralph.Limits{Iterations: 1}})
		if x := h.answer(t, "s", "<promise>DONE</promise>"); x.State.Stop != ralph.StopVerified {
			t.Error("a claim that is verified in the last allowed iteration is a success:", x.State.Stop)
		}
	})
	inBubble(t, "should cancel on user abort", func(t *testing.T) {
		for _, abort := range []error{
			&ralph.SessionError{Name: "MessageAbortedError"}, &ralph.SessionError{Name: "AbortError", Message: "by the user"},
			context.Canceled, ralph.ErrCancelled, fmt.Errorf("wrapped: %w", &ralph.SessionError{Name: "AbortError"}),
		} {
			h := newHost()
			h.start(t, "s", ralph.Task{})
			h.start(t, "other", ralph.Task{})
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // as it often is when a user breaks off
			if err := h.hook.Error(ctx, "s", abort); err != nil {
				t.Fatal(err)
			}
			if x := h.answer(t, "s", "Broken o"); !x.IsZero() || h.injected() != 0 || !h.state(t, "s").IsZero() {
				t.Error(abort, x, h.prompts)
			}
			if !h.state(t, "other").Active() {
				t.Error("another session's loop is over")
			}
		}
	})
	inBubble(t, "should skip during recovery", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		if err := h.hook.Error(t.Context(), "s", &ralph.SessionError{Name: "AbortedByProviderError"}); err != nil {
			t.Fatal(err)
		}
		h.says("s", "assistant", "Half an ans")
		<-time.After(5*time.Second - 1)
		if x, err := h.another().Idle(t.Context(), ralph.Turn{Session: "s"}); !errors.Is(err, ralph.ErrRecovering) || x.State.Iteration != 1 || h.injected() != 0 {
			t.Error("the window is kept in the store:", x, err, h.prompts)
		}
		<-time.After(time.Nanosecond)
		if x := h.idle(t, "s"); x.State.Iteration != 2 || h.injected() != 1 {
			t.Error(x, h.prompts)
		}
		if err := h.hook.Error(t.Context(), "without a loop", errors.New("x")); err != nil || !h.state(t, "without a loop").IsZero() {
			t.Error(err, h.state(t, "without a loop"))
		}
		h.hook.Recovery = -1
		if err := h.hook.Error(t.Context(), "s", errors.New("again")); err != nil {
			t.Fatal(err)
		}
		if x := h.answer(t, "s", "More."); x.State.Iteration != 3 {
			t.Error(x)
		}
	})
}

func TestRalphLoopIntegration(t *testing.T) {
	inBubble(t, "should complete after agent outputs promise", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		h.answer(t, "s", "I have begun.")
		if x := h.answer(t, "s", "It is done: <promise> done </promise>"); x.State.Stop != ralph.StopVerified {
			t.Fatal(x)
		}
		if active, err := h.hook.Active(t.Context(), "s"); active || err != nil {
			t.Error(active, err)
		}
		if x := h.answer(t, "s", "Anything else?"); !x.IsZero() || h.injected() != 1 {
			t.Error("the session is its user's again:", x, h.prompts)
		}
	})
	inBubble(t, "should continue for multiple iterations", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		begun := time.Now()
		for i := 2; i <= 60; i++ {
			x := h.answer(t, "s", "More.") // the same answer each time
			if want := fmt.Sprintf("[RALPH LOOP - ITERATION %d/100]", i); x.State.Iteration != i || !strings.HasPrefix(h.prompts[i-2], want) {
				t.Fatal(i, x, h.prompts[i-2])
			}
		}
		if d := time.Since(begun); d != 59*500*time.Millisecond {
			t.Error("a half second before each prompt, not", d)
		}
	})
}

// TestHookWithMessageCases has sessions that hold a promise somewhere.
func TestHookWithMessageCases(t *testing.T) {
	n := 0
	for _, c := range promiseCases(t) {
		if c.Format != "messages-json" {
			continue
		}
		n++
		inBubble(t, c.ID, func(t *testing.T) {
			var session struct {
				Current  int `json:"current_iteration"`
				Messages []struct {
					ralph.Message
					Iteration int `json:"iteration"`
				} `json:"messages"`
			}
			if err := json.Unmarshal([]byte(c.Text), &session); err != nil {
				t.Fatal(err)
			}
			h := newHost()
			task, now := ralph.Task{Prompt: "Go", Promise: c.Promise}, 0
			for i, m := range session.Messages {
				switch {
				case m.Iteration < session.Current:
					h.says("s", m.Role, m.Content)
					now = i + 1
				case m.Role == "user":
					task.Prompt = m.Content
				}
			}
			if _, err := h.hook.Start(t.Context(), "s", task); err != nil {
				t.Fatal(err)
			}
			for _, m := range session.Messages[now:] {
				h.says("s", m.Role, m.Content)
			}
			x, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s"})
			if got := x.State.Stop == ralph.StopVerified; got != c.want() || err != nil && !errors.Is(err, ralph.ErrNoMessage) {
				t.Errorf("%v, %v: %s", x.State.Stop, err, c.Why)
			}
			if !c.want() && !x.Active() {
				t.Error("the loop is over:", x.State.Stop)
			}
		})
	}
	if n < 4 {
		t.Errorf("only %d cases", n)
	}
}

// TestHookPrompt: who opens a session again gets the prompt that it is to have, also the
// first, and one that could not be injected; the answer to it is judged.
func TestHookPrompt(t *testing.T) {
	inBubble(t, "again", func(t *testing.T) {
		h := newHost()
		if _, err := h.hook.Prompt(t.Context(), "s"); !errors.Is(err, ralph.ErrNoLoop) {
			t.Error(err)
		}
		x := h.start(t, "s", ralph.Task{})
		if got, err := h.hook.Prompt(t.Context(), "s"); err != nil || got != x.State.Opening() {
			t.Errorf("%q, %v", got, err)
		}
		h.inject = func(context.Context, string, string) error { return errors.New("no connection") }
		h.says("s", "assistant", "More.")
		if _, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s"}); err == nil {
			t.Fatal("injected")
		}
		got, err := h.hook.Prompt(t.Context(), "s")
		if x := h.state(t, "s"); err != nil || !strings.HasPrefix(got, "[RALPH LOOP - ITERATION 2/100]") || !x.State.Running || x.Failed != "" {
			t.Errorf("%q, %v, %+v", got, err, x)
		}
		h.says("s", "user", got)
		if x := h.answer(t, "s", "<promise>DONE</promise>"); x.State.Stop != ralph.StopVerified || x.State.Iteration != 2 {
			t.Error(x.State.Stop, x.State.Iteration)
		}
	})
}
