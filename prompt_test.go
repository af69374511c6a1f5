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

// TestPromptSaysWhatDoneMeans: each of the texts that say so, without the others.
func TestPromptSaysWhatDoneMeans(t *testing.T) {
	t.Parallel()
	for want, task := range map[string]ralph.Task{
		"\n\nAll endpoints need a token.\n":                      {Outcome: "All endpoints need a token."},
		"\n\nAcceptance criteria:\n\n- [ ] 401 without\n":        {Acceptance: []string{"401 without"}},
		"\n\nSuccess criteria for you: it is committed\n":        {Success: "it is committed"},
		"\n\nSuccess criteria for the tester: it is committed\n": {Success: "it is committed", Agent: "tester"},
	} {
		if got := ralph.Start(task).Prompt(); !strings.Contains(got, "## What done means"+want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if got := ralph.Start(ralph.Task{Prompt: "Add JWT.", HowVerified: "`go test`"}).Prompt(); strings.Contains(got, "What done means") {
		t.Errorf("nothing says it, but:\n%s", got)
	}
}

// TestPromptShowsThePromiseThatIsLookedFor: an agent that copies the line that it
// is shown has made the promise, in every mode.
func TestPromptShowsThePromiseThatIsLookedFor(t *testing.T) {
	t.Parallel()
	for _, m := range []ralph.Match{ralph.MatchLastLine, ralph.MatchOwnLine, ralph.MatchAnywhere, ralph.MatchFold} {
		for _, always := range []bool{false, true} {
			task := ralph.Task{Prompt: "Do it.", Promise: "ALL  TESTS\tPASS", Blocked: "I  AM STUCK ", Match: m, Always: always}
			var lines []string
			for line := range strings.Lines(ralph.Start(task).Prompt()) {
				if strings.HasPrefix(line, "<promise>") {
					lines = append(lines, line)
				}
			}
			want := []string{task.Promise, task.Blocked}
			if always {
				want = want[1:]
			}
			if len(lines) != len(want) {
				t.Fatalf("%q: shown are %q", m, lines)
			}
			for i, promise := range want {
				if p := ralph.FindPromise("Done.\n"+lines[i], promise, m); !p.Found {
					t.Errorf("%q: %q is shown, which is no promise of %q: %s", m, lines[i], promise, p.Why)
				}
			}
		}
	}
}

// TestOpening: a session's first prompt has all that [ralph.State.Prompt] says of the task,
// and nothing of iterations; and the promise is not its last line.
func TestOpening(t *testing.T) {
	t.Parallel()
	task := ralph.Task{Prompt: " Add JWT.\n", Outcome: "All endpoints need a token.", Acceptance: []string{"401 without"}, Promise: "AUTH DONE", HowVerified: "`go test` must pass"}
	for name, tt := range map[string]struct {
		change func(*ralph.Task)
		begins string
	}{
		"a task":         {func(*ralph.Task) {}, "Add JWT.\n\n---\n\n## What done means\n\nAll endpoints need a token.\n\nAcceptance criteria:\n\n- [ ] 401 without\n\n## When you are done\n"},
		"only a prompt":  {func(t *ralph.Task) { t.Outcome, t.Acceptance = "", nil }, "Add JWT.\n\n---\n\n## When you are done\n"},
		"only a title":   {func(t *ralph.Task) { t.Prompt, t.Title, t.Outcome, t.Acceptance = "", "JWT", "", nil }, "# JWT\n\n---\n\n## When you are done\n"},
		"nothing but it": {func(t *ralph.Task) { t.Prompt, t.Outcome, t.Acceptance = "", "", nil }, "## When you are done\n"},
	} {
		t.Run(name, func(t *testing.T) {
			task := task
			tt.change(&task)
			s := ralph.Start(task)
			got := s.Opening()
			if !strings.HasPrefix(got, tt.begins) || !strings.HasSuffix(got, s.Signal()) || !strings.Contains(got, "\n\n<promise>AUTH DONE</promise>\n\n") {
				t.Errorf("%s", got)
			}
			if strings.Contains(got, "iteration") || strings.HasSuffix(strings.TrimSpace(got), "</promise>") || strings.Contains(got, "\n\n\n") {
				t.Errorf("%s", got)
			}
		})
	}
}
