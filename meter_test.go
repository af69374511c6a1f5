package ralph_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestLiveOfCarelessRunners: counts that a runner lets fall, costs that it forgets and
// numbers that it changes later are those that it told; an estimate that it takes back
// was one of a part, and the cost is unknown. Be it recorded while it runs or not.
func TestLiveOfCarelessRunners(t *testing.T) {
	t.Parallel()
	cost := func(n int64, usd float64) ralph.Usage { return ralph.Usage{InputTokens: n, CostUSD: &usd} }
	estimated := func(u ralph.Usage) ralph.Usage { u.Estimated = true; return u }
	for _, tt := range []struct {
		name string
		told []ralph.Usage
		want ralph.Usage
		stop ralph.StopReason
	}{
		{name: "counts fall", told: []ralph.Usage{cost(500, 1), cost(5, 2)}, want: cost(500, 2), stop: ralph.StopIterations},
		{name: "all is forgotten", told: []ralph.Usage{cost(500, 1), {}}, want: cost(500, 1), stop: ralph.StopIterations},
		{name: "an estimate falls", told: []ralph.Usage{estimated(cost(5, 2)), estimated(cost(6, 1))}, want: estimated(cost(6, 1)), stop: ralph.StopIterations},
		{name: "an estimate is taken back", told: []ralph.Usage{estimated(cost(5, 1)), {InputTokens: 9}}, want: ralph.Usage{InputTokens: 9}, stop: ralph.StopCost},
	} {
		for _, recorded := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				l := ralph.Local{Verifier: verify.String{}, Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
					for _, u := range tt.told {
						if u.CostUSD == nil {
							req.Live(u)
						} else {
							sum := *u.CostUSD
							u.CostUSD = &sum
							req.Live(u)
							sum = 0
						}
						<-time.After(2 * time.Second)
					}
					return ralph.Response{Output: "working"}, nil
				})}
				var ended ralph.Usage
				if recorded {
					l.Log = ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
						if ev.Kind == ralph.EventIterationEnded {
							ended = ev.Iteration.Usage
						}
						return nil
					})
				}
				iterations := 1
				if tt.stop == ralph.StopCost { // before another one
					iterations = 2
				}
				s, _ := l.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: iterations, CostUSD: 100, Priced: true}}))
				if s.Stop != tt.stop {
					t.Errorf("%s, recorded %t: stopped %q, want %q: %s", tt.name, recorded, s.Stop, tt.stop, s.Detail)
				}
				if !recorded {
					ended = s.Usage
				}
				if diff := cmp.Diff(tt.want, ended); diff != "" {
					t.Errorf("%s, recorded %t:\n%s", tt.name, recorded, diff)
				}
			})
		}
	}
}
