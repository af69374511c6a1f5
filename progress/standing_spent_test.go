package progress_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

func TestStandingSpent(t *testing.T) {
	t.Parallel()
	told := ralph.Usage{InputTokens: 100, OutputTokens: 20, CostUSD: new(0.37)}
	estimated, unknown := told, told
	estimated.Estimated, unknown.CostUSD = true, nil
	for _, tt := range []struct {
		used   ralph.Usage
		limits ralph.Limits
		want   string
	}{
		{ralph.Usage{}, ralph.Limits{}, ""},
		{unknown, ralph.Limits{Iterations: 3}, ""},
		{told, ralph.Limits{}, "$0.3700"},
		{estimated, ralph.Limits{CostUSD: 5}, "≈ $0.37 of $5.0000"},
		{unknown, ralph.Limits{CostUSD: 5, Tokens: 500}, "an unknown part of $5.0000, 120 of 500 tokens"},
		{ralph.Usage{}, ralph.Limits{Tokens: 500}, "an unknown part of 500 tokens"},
		{told, ralph.Limits{CostUSD: 5, Duration: 8 * time.Hour}, "$0.3700 of $5.0000, 4m0s of 8h0m0s"},
	} {
		e := progress.Entry{Loop: "l", State: ralph.Start(ralph.Task{ID: "l", Limits: tt.limits})}
		e.State.Usage, e.State.Elapsed = tt.used, 4*time.Minute
		st := (&progress.Dir{Path: t.TempDir()}).Stand(t.Context(), e)
		if got := st.Spent(); got != tt.want {
			t.Errorf("%v of %+v: %q, want %q", tt.used, tt.limits, got, tt.want)
		}
		if line := st.Line(time.Time{}); strings.Contains(line, ", spent ") != (tt.want != "") || !strings.Contains(line, tt.want) {
			t.Errorf("%q does not tell %q", line, tt.want)
		}
	}
}

// TestBannerCost: an estimate is shown as one, an unknown cost as unknown, and nothing at
// all of what was not told.
func TestBannerCost(t *testing.T) {
	t.Parallel()
	for want, u := range map[string]ralph.Usage{
		"\nCost: ≈ $0.37\n": {CostUSD: new(0.37), Estimated: true}, "\nCost: $0.3700\n": {CostUSD: new(0.37)}, "\nCost: unknown\n": {InputTokens: 3}, "": {},
	} {
		var out strings.Builder
		b := &progress.Banner{W: &out, Mode: "build"}
		if err := b.Append(context.Background(), ralph.Event{Kind: ralph.EventIterationEnded, Iteration: ralph.Iteration{Number: 1, Usage: u}}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, want) || want == "" && strings.Contains(got, "Cost") {
			t.Errorf("%v: %s", u, got)
		}
	}
}
