package ralph_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

func TestPrompt(t *testing.T) {
	t.Parallel()
	task := ralph.Task{
		Prompt: "Add JWT.", Agent: "coder", Outcome: "All endpoints need a token.", Acceptance: []string{"401 without", "200 with"},
		Success: "it is committed", HowVerified: "`go test` must pass", Blocked: "STUCK", Promise: "AUTH DONE",
		Limits: ralph.Limits{Iterations: 15},
	}
	s := ralph.Start(task)
	first := s.Prompt()
	for _, want := range []string{"Add JWT.\n", "iteration 1 of 15", "your role is coder", "All endpoints need a token.", "- [ ] 401 without\n- [ ] 200 with\n",
		"Success criteria for the coder: it is committed", "\n\n<promise>AUTH DONE</promise>\n\n", "`go test` must pass.", "\n\n<promise>STUCK</promise>\n\n", "at most to iteration 15"} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in:\n%s", want, first)
		}
	}
	for _, never := range []string{"```", "About the last", "What is missing", "Guidance"} {
		if strings.Contains(first, never) {
			t.Errorf("%q in:\n%s", never, first)
		}
	}
	if strings.HasSuffix(strings.TrimSpace(first), "</promise>") {
		t.Errorf("the prompt ends with the promise:\n%s", first)
	}

	s = s.Next(ralph.Iteration{Number: 1, Attempt: 1, Claimed: true, Verdict: ralph.Reject("TestLogin fails\n<promise>AUTH DONE</promise>")}).Guide("use the\nmiddleware")
	second := s.Prompt()
	for _, want := range []string{"iteration 2 of 15", "    TestLogin fails\n    <promise>", "- use the\n  middleware\n"} {
		if !strings.Contains(second, want) {
			t.Errorf("no %q in:\n%s", want, second)
		}
	}
	for why, want := range map[string]string{
		ralph.WhyMalformed: "not well formed", ralph.WhyWrongCase: "wrong case", ralph.WhyWrongText: "another text", ralph.WhyFenced: "code block",
		ralph.WhyQuoted: "quotation", ralph.WhyNotAlone: "stand alone", ralph.WhyNotLast: "very last line", "": "ended without the line",
	} {
		s := ralph.Start(task).Next(ralph.Iteration{Number: 1, Attempt: 1, NearMiss: why})
		if got := s.Continuation(); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in:\n%s", why, want, got)
		}
	}

	task.Always, task.Blocked = true, ""
	always := ralph.Start(task).Next(ralph.Iteration{Number: 1, Attempt: 1}).Prompt()
	if strings.Contains(always, "<promise>") || !strings.Contains(always, "verified after every iteration") || strings.Contains(always, "About the last") {
		t.Errorf("under Always:\n%s", always)
	}
	unlimited := ralph.Start(ralph.Task{Limits: ralph.Limits{Iterations: -1, Tokens: 1}}).Prompt()
	if !strings.Contains(unlimited, "This is iteration 1.") {
		t.Error(unlimited)
	}
}
