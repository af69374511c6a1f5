package ralph_test

import (
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// TestTransitions holds a row for every arrow of the state diagrams this package
// comes from (a session's, an iteration's and the execution loop's), and for every
// line of the table of faults.
func TestTransitions(t *testing.T) {
	t.Parallel()
	one := ralph.Limits{Iterations: 1}
	last := ralph.Limits{Iterations: 1, Retries: -1, Failures: 1}
	reject, pass := ralph.Reject("1 test fails"), ralph.Pass()
	unable := ralph.Verdict{Feedback: "no pytest", Checks: []ralph.Check{{Status: ralph.CheckUnable}}}
	type it = ralph.Iteration
	const sec = time.Second
	for _, tt := range []struct {
		arrow  string
		limits ralph.Limits
		it     it
		want   string // iteration.attempt, and what follows
	}{
		{"session: start → running", ralph.Limits{}, it{}, "2.1 unpriced=1"},
		{"session: running → completed", ralph.Limits{}, it{Claimed: true, Verdict: pass}, "1.1 STOP verified unpriced=1"},
		{"session: running → interrupted", ralph.Limits{}, it{Fault: ralph.FaultInterrupted}, "1.2"},
		{"session: running → failed, the maximum is reached", one, it{}, "1.1 STOP iterations (the limit of iterations, 1, is reached, and the task is not verified) unpriced=1"},
		{"iteration: → success", ralph.Limits{}, it{Outcome: ralph.OutcomeSuccess}, "2.1 unpriced=1"},
		{"iteration: → failure, agent error", last, it{Fault: ralph.FaultError, Error: "broke", Outcome: ralph.OutcomeFailure}, "1.1 STOP failed (broke) failures=1 unpriced=1"},
		{"iteration: → skipped", ralph.Limits{}, it{Outcome: ralph.OutcomeSkipped}, "2.1 unpriced=1"},
		{"execution: promise found → verified → exit", one, it{Claimed: true, Verdict: pass}, "1.1 STOP verified unpriced=1"},
		{"execution: promise found → failed → continue", ralph.Limits{}, it{Claimed: true, Verdict: reject}, `2.1 unpriced=1 feedback="1 test fails"`},
		{"execution: promise found → failed → limit", one, it{Claimed: true, Verdict: reject}, `1.1 STOP iterations (the limit of iterations, 1, is reached, and the task is not verified) unpriced=1 feedback="1 test fails"`},
		{"execution: no promise → continue", ralph.Limits{}, it{}, "2.1 unpriced=1"},
		{"execution: no promise → limit reached", one, it{}, "1.1 STOP iterations (the limit of iterations, 1, is reached, and the task is not verified) unpriced=1"},
		{"execution: verification could not run → continue", ralph.Limits{}, it{Claimed: true, Verdict: unable}, `2.1 failures=1 unpriced=1 feedback="The checks could not be run, so this says nothing about your work: no pytest"`},
		{"fault: error, retried", ralph.Limits{}, it{Fault: ralph.FaultError}, "1.2 retries=1 wait=262ms elapsed=262ms unpriced=1"},
		{"fault: incomplete, retried", ralph.Limits{}, it{Fault: ralph.FaultIncomplete}, "1.2 retries=1 wait=262ms elapsed=262ms unpriced=1"},
		{"fault: empty, retried", ralph.Limits{}, it{Fault: ralph.FaultEmpty}, "1.2 retries=1 wait=262ms elapsed=262ms unpriced=1"},
		{"fault: retries used up", ralph.Limits{Retries: -1}, it{Fault: ralph.FaultEmpty}, "2.1 failures=1 unpriced=1"},
		{"fault: permanent", ralph.Limits{}, it{Fault: ralph.FaultPermanent, Error: "not installed"}, "1.1 STOP failed (not installed)"},
		{"fault: rate limit, waited for", one, it{Fault: ralph.FaultRateLimit, RetryAfter: sec}, "1.2 rate_limits=1 wait=1s waited=1s elapsed=1s"},
		{"fault: rate limit, too long", ralph.Limits{Wait: sec}, it{Fault: ralph.FaultRateLimit, RetryAfter: 2 * sec, Error: "429"}, "1.1 STOP rate_limited (429) rate_limits=1"},
		{"fault: timeout, an iteration", last, it{Fault: ralph.FaultTimeout}, "1.1 STOP iterations (the limit of iterations, 1, is reached, and the task is not verified) unpriced=1"},
		{"fault: budget, cost", ralph.Limits{CostUSD: 1}, it{Fault: ralph.FaultBudget}, "1.1 STOP cost (ended in mid-run) unpriced=1"},
		{"fault: budget, tokens", ralph.Limits{Tokens: 1}, it{Fault: ralph.FaultBudget}, "1.1 STOP tokens (ended in mid-run) unpriced=1"},
		{"fault: budget, duration", ralph.Limits{Duration: sec}, it{Fault: ralph.FaultBudget, Elapsed: sec}, "1.1 STOP duration (used 1s of 1s; ended in mid-run) elapsed=1s unpriced=1"},
		{"fault: interrupted", last, it{Fault: ralph.FaultInterrupted, Elapsed: sec, Usage: ralph.Usage{InputTokens: 3}}, "1.2 elapsed=1s tokens=3"},
		{"blocked", ralph.Limits{}, it{Blocked: true}, "1.1 STOP blocked (the agent says that it cannot go on) unpriced=1"},
	} {
		tt.it.Number, tt.it.Attempt = 1, 1
		if got := describe(ralph.Start(ralph.Task{Limits: tt.limits}).Next(tt.it)); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.arrow, got, tt.want)
		}
	}
}
