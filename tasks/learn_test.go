package tasks_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// TestSessionLearns: the loop of each item that begins asks what it can learn, with the
// misses that an item has; a box that was ticked before asks nothing. What it learned holds
// for it, and is in its prompt.
func TestSessionLearns(t *testing.T) {
	t.Parallel()
	s, w, _ := list(t, three, says("Not yet.", nil), tick("Done.", "T002", "T003"), says("Not yet.", nil))
	var asked []string
	s.Method = "external"
	s.Verifier = ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Verdict{Passed: true}, nil })
	s.Learn = func(_ context.Context, st ralph.State, usual, most int) (ralph.Lesson, error) {
		if usual != 3 || most != 3 || st.Task.Method != "external" {
			t.Errorf("usually %d, at most %d, method %q", usual, most, st.Task.Method)
		}
		asked = append(asked, st.Task.ID)
		l := st.Task.Limits
		l.Iterations = 1
		return ralph.Lesson{Limits: l, Rejections: []string{"the tests fail"}, Why: "for the test"}, nil
	}
	report, err := s.Run(t.Context())
	if err == nil {
		t.Error("T001 is open")
	}
	if got := strings.Join(report.Skipped, " "); got != "T001 T002" && got != "T001" {
		t.Errorf("skipped %s", got)
	}
	if got := strings.Join(asked, " "); got != "T001 T002" {
		t.Errorf("asked for %s", got)
	}
	if len(w.prompts) != 2 || !strings.Contains(w.prompts[0], "the tests fail") {
		t.Errorf("%d prompts: %q", len(w.prompts), w.prompts)
	}
}
