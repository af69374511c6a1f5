//go:build linux

package e2e_test

import (
	"math"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
)

// manyRequests is work that asks the model again and again. The budgets of the tests
// are passed by the third answer. The fourth begins what only its end ends, so that a
// client which has asked for it, as it may, asks for nothing more.
func manyRequests() []modelserver.Turn {
	work := func(shell string) modelserver.Turn {
		return modelserver.Turn{Shell: shell, InputTokens: 1000, OutputTokens: 100}
	}
	return []modelserver.Turn{
		work("echo one"), work("echo two"), work("echo three"), work("sleep 300"),
		{Text: "It went on.", Repeat: true},
	}
}

// TestE2EBudgetEndsARun: whatever a client tells, and when, a budget that is passed
// while it runs ends it after at most one more request.
func TestE2EBudgetEndsARun(t *testing.T) {
	for _, agent := range e2eAgents() {
		price := ralph.Price{Input: 100, Output: 1000}
		if agent == "claude" { // it may tell its cost when it is interrupted, by its own price
			price = ralph.Price{Input: 4, Output: 20}
		}
		cost := func(in, out int64) float64 { return float64(in)*price.Input*1e-6 + float64(out)*price.Output*1e-6 }
		for name, tt := range map[string]struct {
			limits ralph.Limits
			stop   ralph.StopReason
		}{
			"cost":   {ralph.Limits{CostUSD: cost(2500, 250)}, ralph.StopCost},
			"tokens": {ralph.Limits{Tokens: 2500}, ralph.StopTokens},
		} {
			t.Run(name+"/"+agent, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				gitInit(t, dir)
				e := newE2E(t, agent, dir, manyRequests())
				c := e.command()
				c.Prices = ralph.Prices{"*": price}
				s, log, err := e.run(e.context(), c, tt.limits)
				if s.Stop != tt.stop || s.Iteration != 1 || len(log.ended) != 1 || log.ended[0].Fault != ralph.FaultBudget {
					e.Fatalf("stopped: %s in iteration %d, faults %q, %v", s.Stop, s.Iteration, log.faults(), err)
				}
				n, u := int64(len(e.server.Requests())), s.Usage
				if n < 3 || n > 4 {
					e.Errorf("%d requests; the third passes the budget", n)
				}
				// The third one passes it as soon as its input is told, before its output is.
				if u.InputTokens < 3000 || u.InputTokens > n*1000 || u.OutputTokens < 200 || u.OutputTokens > n*100 {
					e.Errorf("after %d requests: %v", n, u)
				}
				if u.CostUSD == nil || !u.Estimated && agent != "claude" || math.Abs(*u.CostUSD-cost(u.InputTokens, u.OutputTokens)) > 1e-9 {
					e.Errorf("the cost is %s, of %v", u.Cost(), u)
				}
			})
		}
	}
}
