package tasks_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/verify"
)

// TestSessionInterruptedVerification: a session that is interrupted while it verifies keeps
// the agent's answer. What it made up itself, when it asked about a box that was ticked in
// an attempt that broke off, is no answer afterwards: no word of the agent's is in it.
func TestSessionInterruptedVerification(t *testing.T) {
	for name, test := range map[string]struct {
		broken bool // the first attempt, by the first interrupt
		asked  []string
		runs   int
	}{
		"answer": {false, []string{"I did what I could.", "I did what I could."}, 1},
		"box":    {true, []string{"", "", "I did what I could."}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "- [ ] T001 One.\n", map[string][]string{"T001": {"tick T001", "tick T001"}}, false)
			var outputs []string
			for i := range 4 {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				shut := func() error { cancel(errors.New("shut down")); return context.Cause(ctx) }
				s := d.session()
				crew := s.Runner
				s.Runner = ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
					resp, err := crew.Run(ctx, req)
					if test.broken && i == 0 {
						return resp, shut()
					}
					return resp, err
				})
				s.Verifier = ralph.VerifierFunc(func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
					if outputs = append(outputs, c.Output); len(outputs) == 1 {
						return ralph.Verdict{}, shut()
					}
					return verify.String{}.Verify(ctx, c)
				})
				report, err := s.Run(ctx)
				if last := err == nil; last != (report.Status == tasks.SessionCompleted) {
					t.Fatal(report.Status, err)
				} else if last {
					break
				}
			}
			if !slices.Equal(outputs, test.asked) || len(d.crew.runs) != test.runs {
				t.Errorf("the verifier was asked about %q, %d runs of the agent", outputs, len(d.crew.runs))
			}
			for e, err := range (&progress.Dir{Path: d.records}).Loops(t.Context()) {
				if err != nil || e.State.Running || e.State.Stop != ralph.StopVerified {
					t.Error(e.Loop, e.Status, err)
				}
			}
		})
	}
}
