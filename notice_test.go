package ralph_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/ralph-loop/ralph"
)

func TestHookNotices(t *testing.T) {
	started := ralph.Notice{Session: "s", Title: "Ralph Loop Started", Message: "Max 3 iterations. Complete with <promise>DONE</promise>", Variant: "info", For: 3 * time.Second}
	second := ralph.Notice{Session: "s", Title: "Ralph Loop", Message: "Iteration 2/3", Variant: "info", For: 2 * time.Second}
	third := second
	third.Message = "Iteration 3/3"
	unlimited, more := started, second
	unlimited.Message, more.Message = "Max ∞ iterations. Complete with <promise>ALL FIXED</promise>", "Iteration 2/∞"
	for _, test := range []struct {
		name string
		task ralph.Task
		do   func(t *testing.T, h *host)
		want []ralph.Notice
	}{
		{"complete", ralph.Task{}, func(t *testing.T, h *host) {
			h.answer(t, "s", "More.")
			h.answer(t, "s", claimed)
		}, []ralph.Notice{started, second, {Session: "s", Title: "Ralph Loop Complete!", Message: "Task completed after 2 iteration(s)", Variant: "success", For: 5 * time.Second}}},
		{"stopped", ralph.Task{}, func(t *testing.T, h *host) {
			for range 3 {
				h.answer(t, "s", "More.")
			}
		}, []ralph.Notice{started, second, third, {Session: "s", Title: "Ralph Loop Stopped", Message: "Max iterations (3) reached without completion", Variant: "warning", For: 5 * time.Second}}},
		{"stopped for another reason", ralph.Task{Blocked: "STUCK"}, func(t *testing.T, h *host) {
			h.answer(t, "s", "<promise>STUCK</promise>")
		}, []ralph.Notice{started, {Session: "s", Title: "Ralph Loop Stopped", Message: "blocked at iteration 1: the agent says that it cannot go on", Variant: "warning", For: 5 * time.Second}}},
		{"cancelled", ralph.Task{}, func(t *testing.T, h *host) {
			h.answer(t, "s", "More.")
			h.cancel(t, "s", true)
			h.cancel(t, "s", false)
		}, []ralph.Notice{started, second, {Session: "s", Title: "Ralph Loop Cancelled", Message: "Stopped at iteration 2", Variant: "info", For: 2 * time.Second},
			{Session: "s", Title: "No Active Loop", Message: "No Ralph Loop is currently running", Variant: "info"}}},
		{"unlimited", ralph.Task{Promise: "ALL  FIXED", Limits: ralph.Limits{Iterations: -1, Duration: time.Hour}}, func(t *testing.T, h *host) {
			h.answer(t, "s", "More.")
			if !strings.HasPrefix(h.prompts[0], "[RALPH LOOP - ITERATION 2/∞]") {
				t.Error(h.prompts[0])
			}
		}, []ralph.Notice{unlimited, more}},
		{"aborted", ralph.Task{}, func(t *testing.T, h *host) {
			if err := h.hook.Error(t.Context(), "s", context.Canceled); err != nil {
				t.Error(err)
			}
		}, []ralph.Notice{started}},
		{"a prompt that fails is told of once", ralph.Task{}, func(t *testing.T, h *host) {
			h.inject = func(context.Context, string, string) error { return errors.New("no connection") }
			h.says("s", "assistant", "More.")
			for range 3 {
				h.hook.Idle(t.Context(), ralph.Turn{Session: "s"})
			}
		}, []ralph.Notice{started, second}},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			h := newHost()
			h.hook.Task = ralph.Task{Limits: ralph.Limits{Iterations: 3}}
			h.start(t, "s", test.task)
			test.do(t, h)
			if diff := cmp.Diff(test.want, h.notices, cmpopts.IgnoreFields(ralph.Notice{}, "State", "Last")); diff != "" {
				t.Error(diff)
			}
		})
	}
	inBubble(t, "that panic", func(t *testing.T) {
		h := newHost()
		h.hook.Notify = func(context.Context, ralph.Notice) { panic("no screen") }
		h.start(t, "s", ralph.Task{})
		if x := h.answer(t, "s", "More."); x.State.Iteration != 2 || h.injected() != 1 {
			t.Error(x)
		}
	})
}

// cancel cancels a session's loop, if there is one.
func (h *host) cancel(t *testing.T, session string, want bool) {
	t.Helper()
	if was, err := h.hook.Cancel(t.Context(), session); was != want || err != nil {
		t.Error(was, err)
	}
}

func TestHookTemplate(t *testing.T) {
	for _, test := range []struct{ name, template, prompt, want, err string }{
		{"each occurrence", "{{ITERATION}} {{ITERATION}} ${MAX} {PROMISE} {{PROMISE}}: {{PROMPT}} {{PROMPT}}", "Go.", "2 2 100 DONE DONE: Go. Go.", ""},
		{"what is filled in is not looked at again", "{{PROMPT}} {{MAX}}", "{{PROMPT}} {{MAX}} $& {{NOBODY}} $1", "{{PROMPT}} {{MAX}} $& {{NOBODY}} $1 100", ""},
		{"other text", "$& $HOME {x} {{PROMPT}}", "Go.", "$& $HOME {x} Go.", ""},
		{"why it goes on", "{{FEEDBACK}}", "Go.", "Your previous attempt did not output the completion promise. Continue working on the task.", ""},
		{"a name that nobody knows", "{{ITERATON}}", "Go.", "", "ITERATON"},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			h := newHost()
			h.hook.Template = test.template
			_, err := h.hook.Start(t.Context(), "s", ralph.Task{Prompt: test.prompt})
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || !h.state(t, "s").IsZero() {
					t.Error(err)
				}
				return
			}
			h.says("s", "user", test.prompt)
			h.answer(t, "s", "More.")
			if diff := cmp.Diff([]string{test.want}, h.prompts); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

// TestHookPrompts tells the session what is missing.
func TestHookPrompts(t *testing.T) {
	for _, test := range []struct {
		name   string
		task   ralph.Task
		answer string
		want   string
	}{
		{"a claim that was rejected", ralph.Task{}, claimed, "ITERATION 2/100]\n\n## What is missing"},
		{"the feedback", ralph.Task{}, claimed, "    The tests fail: {{PROMPT}}\n"},
		{"nearly a promise", ralph.Task{Match: "last_line"}, claimed + "\nBye.", "more text followed it"},
		{"until the tests pass", ralph.Task{Always: true}, "More.", "    The tests fail: {{PROMPT}}\n"},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			h := newHost()
			h.hook.Verifier = slow(0, ralph.Reject("The tests fail: {{PROMPT}}"))
			h.start(t, "s", test.task)
			if x := h.answer(t, "s", test.answer); x.State.Iteration != 2 || h.injected() != 1 || !strings.Contains(h.prompts[0], test.want) {
				t.Errorf("%+v\n%q", x, h.prompts)
			}
		})
	}
}

// TestNoticeTellsWhy: who is told that a loop goes on can tell why.
func TestNoticeTellsWhy(t *testing.T) {
	inBubble(t, "rejected", func(t *testing.T) {
		h := newHost()
		h.hook.Verifier = ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
			return ralph.Reject("two tests fail"), nil
		})
		h.start(t, "s", ralph.Task{})
		h.answer(t, "s", "<promise>DONE</promise>")
		if n := h.notices[len(h.notices)-1]; !n.Last.Claimed || n.Last.Verdict.Feedback != "two tests fail" || n.State.Iteration != 2 {
			t.Errorf("%+v", n)
		}
	})
}
