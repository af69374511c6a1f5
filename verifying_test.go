package ralph_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
)

// TestVerificationIsPaid: what a verification has used counts in the loop,
// whatever became of it, and is on record with its verdict.
func TestVerificationIsPaid(t *testing.T) {
	t.Parallel()
	judged := ralph.Usage{Requests: 1, InputTokens: 20, CostUSD: new(0.5)}
	for name, tt := range map[string]struct {
		verify   func(context.CancelCauseFunc) (ralph.Verdict, error)
		used     ralph.Usage // on record with the verdict
		unpriced int
	}{
		"it passes": {func(context.CancelCauseFunc) (ralph.Verdict, error) {
			return ralph.Verdict{Passed: true, Usage: judged}, nil
		}, judged, 0},
		"it rejects": {func(context.CancelCauseFunc) (ralph.Verdict, error) { return ralph.Verdict{Usage: judged}, nil }, judged, 0},
		"it fails": {func(context.CancelCauseFunc) (ralph.Verdict, error) {
			return ralph.Verdict{Usage: judged}, errors.New("no answer")
		}, judged, 0},
		"it comes too late": {func(context.CancelCauseFunc) (ralph.Verdict, error) {
			<-time.After(time.Hour)
			return ralph.Verdict{Passed: true, Usage: judged}, nil
		}, judged, 0},
		"it is interrupted": {func(stop context.CancelCauseFunc) (ralph.Verdict, error) {
			stop(errors.New("Ctrl-C"))
			return ralph.Verdict{Usage: judged}, nil
		}, judged, 0},
		"it used nothing": {func(context.CancelCauseFunc) (ralph.Verdict, error) { return ralph.Pass(), nil }, ralph.Usage{}, 0},
		"of unknown cost": {func(context.CancelCauseFunc) (ralph.Verdict, error) {
			return ralph.Verdict{Passed: true, Usage: ralph.Usage{InputTokens: 20, CostUSD: new(math.NaN())}}, nil
		}, ralph.Usage{InputTokens: 20}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				agent := ralph.Usage{Requests: 2, InputTokens: 100, CostUSD: new(1.0)}
				s, log, _ := runLoop(t, ctx, ralph.Local{
					Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
						return ralph.Response{Output: done, Usage: agent}, nil
					}),
					Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return tt.verify(cancel) }),
				}, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1, VerifyTimeout: time.Hour - time.Second}}))
				forecast := agent.Add(tt.used).CostUSD
				if ctx.Err() != nil {
					forecast = nil // that is no whole iteration
				}
				for what, diff := range map[string]string{
					"in all":       cmp.Diff(agent.Add(tt.used), s.Usage),
					"verifying":    cmp.Diff(tt.used, s.Verifying),
					"the forecast": cmp.Diff(forecast, s.LastCost),
				} {
					if diff != "" {
						t.Errorf("%s: %s", what, diff)
					}
				}
				if s.Unpriced != tt.unpriced {
					t.Errorf("unpriced: %d, want %d", s.Unpriced, tt.unpriced)
				}
				for _, ev := range log.events(t) {
					if ev.Kind == ralph.EventIterationEnded {
						if diff := cmp.Diff(tt.used, ev.Iteration.Verdict.Usage); diff != "" {
							t.Errorf("on record: %s", diff)
						}
					}
				}
				if s.Done() && cmp.Diff(tt.used, s.Verdict.Usage) != "" {
					t.Errorf("the completion record: %+v", s.Verdict)
				}
			})
		})
	}
}
