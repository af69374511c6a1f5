package ralph_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// play is one attempt after another, each the expected one.
func play(s ralph.State, its ...ralph.Iteration) ralph.State {
	for _, it := range its {
		it.Number, it.Attempt = s.Iteration, s.Attempt
		s = s.Next(it)
	}
	return s
}

func times(n int, it ralph.Iteration) []ralph.Iteration {
	var its []ralph.Iteration
	for range n {
		its = append(its, it)
	}
	return its
}

// TestLimitBorders: each limit stops the loop when it is reached, not one
// before and not one after.
func TestLimitBorders(t *testing.T) {
	t.Parallel()
	type it = ralph.Iteration
	type limits = ralph.Limits
	const hour = time.Hour
	same := it{Workspace: "a", Usage: ralph.Usage{InputTokens: 1}}
	tokens := func(n int64) it { return it{Usage: ralph.Usage{InputTokens: n - n/2, OutputTokens: n / 2}} }
	cost := func(usd float64) it { return it{Usage: ralph.Usage{CostUSD: new(usd)}} }
	fails := it{Fault: ralph.FaultError}
	limited := it{Fault: ralph.FaultRateLimit, RetryAfter: hour}
	for _, tt := range []struct {
		name   string
		limits limits
		its    []it
		want   string // as describe says it, without what was used
	}{
		{"iterations, one before", limits{Iterations: 3}, times(2, it{}), "3.1"},
		{"iterations", limits{Iterations: 3}, times(3, it{}), "3.1 STOP iterations"},
		{"ten iterations if nothing is said, one before", limits{}, times(9, it{}), "10.1"},
		{"ten iterations if nothing is said", limits{}, times(10, it{}), "10.1 STOP iterations"},
		{"unlimited", limits{Iterations: -1, Duration: hour}, times(500, it{}), "501.1"},

		{"retries, the last", limits{Retries: 2}, times(2, fails), "1.3"},
		{"retries, none is left", limits{Retries: 2}, times(3, fails), "2.1"},
		{"three retries if nothing is said", limits{}, times(3, fails), "1.4"},
		{"three retries if nothing is said, none is left", limits{}, times(4, fails), "2.1"},
		{"no retries", limits{Retries: -1}, times(1, fails), "2.1"},

		{"failures, one before", limits{Retries: -1, Failures: 2}, times(1, fails), "2.1"},
		{"failures", limits{Retries: -1, Failures: 2}, times(2, fails), "2.1 STOP failed"},
		{"failures in a row", limits{Retries: -1, Failures: 2}, []it{fails, {}, fails}, "4.1"},
		{"three failures if nothing is said, one before", limits{Retries: -1}, times(2, fails), "3.1"},
		{"three failures if nothing is said", limits{Retries: -1}, times(3, fails), "3.1 STOP failed"},
		{"failures never stop it", limits{Retries: -1, Failures: -1}, times(9, fails), "10.1"},

		{"stalls, one before", limits{Stalls: 2}, times(2, same), "3.1"}, // the first is compared with nothing
		{"stalls", limits{Stalls: 2}, times(3, same), "3.1 STOP stalled"},
		{"stalls in a row", limits{Stalls: 2}, []it{same, same, {Workspace: "b"}, {Workspace: "b"}}, "5.1"},
		{"stalls off", limits{}, times(9, same), "10.1"},

		{"tokens, one before", limits{Tokens: 100}, []it{tokens(50), tokens(49)}, "3.1"},
		{"tokens", limits{Tokens: 100}, []it{tokens(50), tokens(50)}, "2.1 STOP tokens"},
		{"tokens, one after", limits{Tokens: 100}, []it{tokens(50), tokens(51)}, "2.1 STOP tokens"},

		{"cost and its forecast, below", limits{CostUSD: 1}, []it{cost(0.25), cost(0.25)}, "3.1"},
		{"cost and its forecast, just enough", limits{CostUSD: 1}, []it{cost(0.25), cost(0.25), cost(0.25)}, "4.1"},
		{"cost and its forecast, a little too much", limits{CostUSD: 1}, []it{cost(0.25), cost(0.5)}, "2.1 STOP cost (spent $0.7500 of $1.0000; another iteration like the last ($0.5000) would exceed it)"},
		{"cost", limits{CostUSD: 1}, []it{cost(0.5), cost(0.5)}, "2.1 STOP cost (spent $1.0000 of $1.0000)"},

		{"duration, one before", limits{Duration: hour}, []it{{Elapsed: hour - 1}}, "2.1"},
		{"duration", limits{Duration: hour}, []it{{Elapsed: hour}}, "1.1 STOP duration"},
		{"duration, with waits", limits{Duration: hour}, []it{limited}, "1.1 STOP duration"},
		{"duration, with waits, one before", limits{Duration: hour + 1}, []it{limited}, "1.2"},

		{"waits, as long as allowed", limits{Wait: 2 * hour}, times(2, limited), "1.3"},
		{"waits, one more than allowed", limits{Wait: 2*hour - 1}, times(2, limited), "1.2 STOP rate_limited"},
		{"a day of waits if nothing is said", limits{}, times(24, limited), "1.25"},
		{"a day of waits if nothing is said, and one more", limits{}, times(25, limited), "1.25 STOP rate_limited"},
		{"waits without end", limits{Wait: -1}, times(100, limited), "1.101"},

		{"blind for tokens, not after a retry", limits{Iterations: -1, Tokens: 9}, times(1, fails), "1.2"},
		{"blind for tokens", limits{Iterations: -1, Tokens: 9}, times(1, it{}), "1.1 STOP tokens (tokens is the only limit, and the agent does not say how many it uses)"},
		{"blind for tokens after their first", limits{Iterations: -1, Tokens: 9}, append(times(1, tokens(1)), times(3, it{})...), "5.1"},
		{"blind for tokens, but not for time", limits{Iterations: -1, Tokens: 9, Duration: hour}, times(3, it{}), "4.1"},
		{"blind for tokens, but counted", limits{Iterations: 9, Tokens: 9}, times(3, it{}), "4.1"},
		{"blind for tokens, not for cost", limits{Iterations: -1, Tokens: 9, CostUSD: 9}, times(3, cost(1)), "4.1"},
		{"blind for cost, not for tokens", limits{Iterations: -1, Tokens: 9, CostUSD: 9}, times(3, tokens(1)), "4.1"},
		{"blind for both", limits{Iterations: -1, Tokens: 9, CostUSD: 9}, times(1, it{}), "1.1 STOP cost (cost_usd and tokens are the only limits, and the agent does not say what it uses)"},
		{"blind for cost, but not for time", limits{Iterations: -1, CostUSD: 9, Duration: hour}, times(3, it{}), "4.1"},
		{"blind for cost, but counted", limits{Iterations: 9, CostUSD: 9}, times(3, it{}), "4.1"},
	} {
		got := describe(play(ralph.Start(ralph.Task{Limits: tt.limits}), tt.its...))
		if rest, ok := strings.CutPrefix(got, tt.want); !ok || rest != "" && rest[0] != ' ' || strings.Contains(rest, "STOP") {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestOverBorders: what an attempt in progress has used counts.
func TestOverBorders(t *testing.T) {
	t.Parallel()
	s := play(ralph.Start(ralph.Task{Limits: ralph.Limits{CostUSD: 1, Tokens: 100, Duration: time.Hour}}),
		ralph.Iteration{Elapsed: time.Minute, Usage: ralph.Usage{InputTokens: 10, OutputTokens: 10, CostUSD: new(0.25)}})
	for _, tt := range []struct {
		live    ralph.Usage
		elapsed time.Duration
		want    ralph.StopReason
	}{
		{ralph.Usage{}, 0, ""},
		{ralph.Usage{InputTokens: 79}, 0, ""},
		{ralph.Usage{InputTokens: 79, OutputTokens: 1}, 0, ralph.StopTokens},
		{ralph.Usage{CostUSD: new(0.7499)}, 0, ""},
		{ralph.Usage{CostUSD: new(0.75)}, 0, ralph.StopCost},
		{ralph.Usage{CostUSD: new(0.75), InputTokens: 100}, time.Hour, ralph.StopCost},
		{ralph.Usage{}, 59*time.Minute - 1, ""},
		{ralph.Usage{}, 59 * time.Minute, ralph.StopDuration},
		{ralph.Usage{}, -time.Hour, ""},
	} {
		if got := s.Over(tt.live, tt.elapsed); got != tt.want {
			t.Errorf("%v after %v: %q, want %q", tt.live, tt.elapsed, got, tt.want)
		}
	}
	if got := ralph.Start(ralph.Task{}).Over(ralph.Usage{CostUSD: new(1e9), InputTokens: 1 << 60}, 1<<60); got != "" {
		t.Errorf("without limits: %q", got)
	}
}

func TestLimitsValidate(t *testing.T) {
	t.Parallel()
	for _, l := range []ralph.Limits{
		{}, {Iterations: -1, Tokens: 1}, {Iterations: -1, Duration: 1}, {Iterations: -1, CostUSD: 0.01}, {VerifyTimeout: -1, Wait: -1, Retries: -1, Failures: -1},
	} {
		if err := l.Validate(); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
	for want, l := range map[string]ralph.Limits{
		"cost_usd is -1": {CostUSD: -1}, "tokens is -1": {Tokens: -1}, "stalls is -1": {Stalls: -1}, "iteration_timeout is -1ns": {IterationTimeout: -1},
		"duration is -1ns": {Duration: -1}, "unlimited iterations": {Iterations: -1, VerifyTimeout: 1, IterationTimeout: 1, Wait: 1},
	} {
		if err := l.Validate(); err == nil || !strings.HasPrefix(err.Error(), "ralph: limits: "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := (ralph.Limits{Tokens: -1, Stalls: -1}).Validate(); strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not a line for each problem: %v", err)
	}
}

// TestLimitOnTheSpot: limits that are reached already stop the loop at once.
func TestLimitOnTheSpot(t *testing.T) {
	t.Parallel()
	two := play(ralph.Start(ralph.Task{}), ralph.Iteration{Elapsed: time.Hour}, ralph.Iteration{})
	waits := play(two, ralph.Iteration{Fault: ralph.FaultRateLimit, RetryAfter: time.Hour})
	retries := play(waits, ralph.Iteration{Fault: ralph.FaultError})
	waited := play(waits, ralph.Iteration{Fault: ralph.FaultInterrupted})
	for _, tt := range []struct {
		name   string
		s      ralph.State
		limits ralph.Limits
		want   string
	}{
		{"two are allowed", two, ralph.Limits{Iterations: 2}, "2.1 STOP iterations"},
		{"three are", two, ralph.Limits{Iterations: 3}, "3.1 elapsed"},
		{"as long as it took", two, ralph.Limits{Duration: time.Hour}, "2.1 STOP duration"},
		{"a little more", two, ralph.Limits{Duration: time.Hour + 1}, "3.1 elapsed"},
		{"as long as it waits", waits, ralph.Limits{Wait: time.Hour}, "3.2 rate_limits"},
		{"a little less", waits, ralph.Limits{Wait: time.Hour - 1}, "3.2 STOP rate_limited (waiting for 1h0m0s of 59m59.999999999s)"},
		{"any wait", waits, ralph.Limits{Wait: -1}, "3.2 rate_limits"},
		{"a wait that is over", waited, ralph.Limits{Wait: 1}, "3.3 rate_limits"},
		{"a wait before a retry is none", retries, ralph.Limits{Wait: 1}, "3.3 retries"},
		{"nothing has run", ralph.Start(ralph.Task{}), ralph.Limits{Iterations: 1}, "1.1"},
		{"not valid", two, ralph.Limits{Iterations: -1}, "3.1 elapsed"},
	} {
		if got := describe(tt.s.Limit(tt.limits)); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestFailedIterations: a rejection for want of
// checks is a failed iteration, a rejection of the work is not.
func TestFailedIterations(t *testing.T) {
	t.Parallel()
	unable := ralph.Verdict{Checks: []ralph.Check{{Status: ralph.CheckUnable}}}
	for _, tt := range []struct {
		name string
		task ralph.Task
		it   ralph.Iteration
		want int
	}{
		{"a claim is rejected", ralph.Task{}, ralph.Iteration{Claimed: true, Verdict: ralph.Reject("no")}, 0},
		{"a claim cannot be checked", ralph.Task{}, ralph.Iteration{Claimed: true, Verdict: unable}, 1},
		{"nothing was claimed", ralph.Task{}, ralph.Iteration{Verdict: unable}, 0},
		{"nothing was claimed, but everything is verified", ralph.Task{Always: true}, ralph.Iteration{Verdict: unable}, 1},
		{"a time-out without a change", ralph.Task{}, ralph.Iteration{Fault: ralph.FaultTimeout, Workspace: "a"}, 1},
		{"a time-out with a change", ralph.Task{}, ralph.Iteration{Fault: ralph.FaultTimeout, Workspace: "b"}, 0},
		{"a time-out with files", ralph.Task{}, ralph.Iteration{Fault: ralph.FaultTimeout, Workspace: "a", Files: []string{"x"}}, 0},
		{"a time-out, and nothing is known", ralph.Task{}, ralph.Iteration{Fault: ralph.FaultTimeout}, 0},
	} {
		s := ralph.Start(tt.task)
		s.Workspace = "a"
		if s = play(s, tt.it); s.Failures != tt.want || s.Iteration != 2 {
			t.Errorf("%s: %s", tt.name, describe(s))
		}
	}
}
