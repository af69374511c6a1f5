package ralph_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

func TestUsageString(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		u    ralph.Usage
		want string
	}{
		{ralph.Usage{Requests: 3, Messages: 5, InputTokens: 1200, OutputTokens: 340, CostUSD: new(0.0123)}, "3 requests, 1200 tokens in, 340 out, $0.0123"},
		{ralph.Usage{Requests: 1, OutputTokens: 7}, "1 request, 0 tokens in, 7 out, cost unknown"},
		{ralph.Usage{Requests: 2, CostUSD: new(0.0)}, "2 requests, $0"},
		{ralph.Usage{}, "cost unknown"},
		{ralph.Usage{Requests: -1, InputTokens: -1, OutputTokens: 1, CostUSD: new(math.NaN())}, "0 tokens in, 1 out, cost unknown"},
		{ralph.Usage{CostUSD: new(math.Inf(1))}, "cost unknown"},
		{ralph.Usage{CostUSD: new(-1.0)}, "cost unknown"},
		{ralph.Usage{Estimated: true}, "cost unknown"},
		{ralph.Usage{CostUSD: new(0.00001)}, "< $0.0001"},
		{ralph.Usage{CostUSD: new(0.00001), Estimated: true}, "< $0.0001"},
		{ralph.Usage{CostUSD: new(0.0), Estimated: true}, "≈ $0"},
		{ralph.Usage{CostUSD: new(0.00123), Estimated: true}, "≈ $0.0012"},
		{ralph.Usage{CostUSD: new(0.00996), Estimated: true}, "≈ $0.010"},
		{ralph.Usage{CostUSD: new(0.0123), Estimated: true}, "≈ $0.012"},
		{ralph.Usage{CostUSD: new(0.0996), Estimated: true}, "≈ $0.10"},
		{ralph.Usage{CostUSD: new(0.372), Estimated: true}, "≈ $0.37"},
		{ralph.Usage{CostUSD: new(12.345), Estimated: true}, "≈ $12.35"},
	} {
		for _, verb := range []string{"%v", "%s", "%+v"} {
			if got := fmt.Sprintf(verb, tt.u); got != tt.want {
				t.Errorf("%s: %q, want %q", verb, got, tt.want)
			}
		}
		if got := tt.u.Cost(); !strings.HasSuffix(tt.want, got) {
			t.Errorf("the cost is %q, in %q", got, tt.want)
		}
	}
}

func TestUsageAdd(t *testing.T) {
	t.Parallel()
	const most = math.MaxInt64
	for _, tt := range []struct{ a, b, want ralph.Usage }{
		{ralph.Usage{}, ralph.Usage{}, ralph.Usage{}},
		{ralph.Usage{Requests: 1, Messages: 2, InputTokens: 3, OutputTokens: 4, CostUSD: new(0.5)}, ralph.Usage{Requests: 10, Messages: 20, InputTokens: 30, OutputTokens: 40, CostUSD: new(0.25)},
			ralph.Usage{Requests: 11, Messages: 22, InputTokens: 33, OutputTokens: 44, CostUSD: new(0.75)}},
		{ralph.Usage{CostUSD: new(0.5)}, ralph.Usage{}, ralph.Usage{CostUSD: new(0.5)}},                   // what is unknown adds nothing
		{ralph.Usage{CostUSD: new(0.0)}, ralph.Usage{}, ralph.Usage{CostUSD: new(0.0)}},                   // and nothing is not unknown
		{ralph.Usage{CostUSD: new(math.NaN())}, ralph.Usage{CostUSD: new(-1.0)}, ralph.Usage{}},           // no amounts
		{ralph.Usage{InputTokens: most}, ralph.Usage{InputTokens: 1}, ralph.Usage{InputTokens: most}},     // stays at the largest
		{ralph.Usage{InputTokens: most - 1}, ralph.Usage{InputTokens: 1}, ralph.Usage{InputTokens: most}}, // which is reached
		{ralph.Usage{CacheRead: 3, CacheWrite: most}, ralph.Usage{CacheRead: 4, CacheWrite: 1}, ralph.Usage{CacheRead: 7, CacheWrite: most}},
		{ralph.Usage{CacheRead: -1}, ralph.Usage{CacheWrite: -1}, ralph.Usage{}},
		{ralph.Usage{CostUSD: new(0.5), Estimated: true}, ralph.Usage{CostUSD: new(0.25)}, ralph.Usage{CostUSD: new(0.75), Estimated: true}},
		{ralph.Usage{Estimated: true}, ralph.Usage{CostUSD: new(0.25)}, ralph.Usage{CostUSD: new(0.25)}}, // nothing was estimated
		{ralph.Usage{CostUSD: new(math.NaN()), Estimated: true}, ralph.Usage{}, ralph.Usage{}},
		{ralph.Usage{Requests: -5, OutputTokens: -5}, ralph.Usage{Requests: 2, OutputTokens: 3}, ralph.Usage{Requests: 2, OutputTokens: 3}},
		{ralph.Usage{CostUSD: new(math.MaxFloat64)}, ralph.Usage{CostUSD: new(math.MaxFloat64)}, ralph.Usage{CostUSD: new(math.MaxFloat64)}},
	} {
		for _, got := range []ralph.Usage{tt.a.Add(tt.b), tt.b.Add(tt.a)} {
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%v and %v (-want +got):\n%s", tt.a, tt.b, diff)
			}
		}
	}
	known := new(0.5)
	sum, other := (ralph.Usage{CostUSD: known}).Add(ralph.Usage{}), (ralph.Usage{}).Add(ralph.Usage{CostUSD: known})
	*known = 9
	if *sum.CostUSD != 0.5 || *other.CostUSD != 0.5 {
		t.Errorf("%v and %v: the sum shares its cost", sum, other)
	}
}

// TestUndecided: a rejection that says nothing about the work.
func TestUndecided(t *testing.T) {
	t.Parallel()
	const passed, failed, warning, skipped, unable, timeout = ralph.CheckPassed, ralph.CheckFailed, ralph.CheckWarning, ralph.CheckSkipped, ralph.CheckUnable, ralph.CheckTimeout
	for _, tt := range []struct {
		passed bool
		checks []ralph.CheckStatus
		want   bool
	}{
		{false, nil, false},
		{false, []ralph.CheckStatus{unable}, true},
		{false, []ralph.CheckStatus{timeout}, true},
		{false, []ralph.CheckStatus{passed, warning, skipped, unable}, true},
		{false, []ralph.CheckStatus{passed, warning, skipped}, false},
		{false, []ralph.CheckStatus{unable, failed}, false},
		{false, []ralph.CheckStatus{failed, timeout}, false},
		{true, []ralph.CheckStatus{unable}, false},
		{true, nil, false},
	} {
		v := ralph.Verdict{Passed: tt.passed}
		for _, status := range tt.checks {
			v.Checks = append(v.Checks, ralph.Check{Status: status})
		}
		if got := v.Undecided(); got != tt.want {
			t.Errorf("%+v: %t", v, got)
		}
	}
}

// TestUsageIsAtLeastWhatWasToldLive: what the stream told while the agent ran was
// used, whatever the end says; a cost that the end tells stands.
func TestUsageIsAtLeastWhatWasToldLive(t *testing.T) {
	t.Parallel()
	usage := func(n int64, cost float64) ralph.Usage {
		return ralph.Usage{Requests: n, Messages: n + 1, InputTokens: n + 2, OutputTokens: n + 3, CacheRead: n / 2, CacheWrite: n / 5, CostUSD: &cost}
	}
	estimated := func(u ralph.Usage) ralph.Usage { u.Estimated = true; return u }
	for _, tt := range []struct {
		name            string
		live, end, want ralph.Usage
	}{
		{"the end tells less", usage(10, 2), usage(1, 1), usage(10, 1)},
		{"the end tells more", usage(1, 1), usage(10, 2), usage(10, 2)},
		{"the end tells nothing", usage(10, 2), ralph.Usage{}, usage(10, 2)},
		{"the end tells what was estimated", estimated(usage(10, 2)), usage(10, 1), usage(10, 1)},
		{"the end estimates what was told", usage(10, 2), estimated(usage(10, 1)), usage(10, 2)},
		{"the end tells no cost", estimated(usage(10, 2)), ralph.Usage{Requests: 10}, estimated(usage(10, 2))},
		{"all is estimated", estimated(usage(10, 1)), estimated(usage(10, 2)), estimated(usage(10, 2))},
	} {
		l := &ralph.Local{Verifier: verify.String{}, Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			req.Live(tt.live)
			return ralph.Response{Output: "working", Usage: tt.end}, nil
		})}
		it, err := l.Iterate(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."}))
		if diff := cmp.Diff(tt.want, it.Usage); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", tt.name, err, diff)
		}
	}
}
