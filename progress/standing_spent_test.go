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

// TestSpentUnknown: a sum that is not whole does not look whole.
func TestSpentUnknown(t *testing.T) {
	t.Parallel()
	for limit, want := range map[float64]string{0: "$0.3700 (cost of 2 attempts unknown)", 5: "$0.3700 of $5.0000 (cost of 2 attempts unknown)"} {
		e := progress.Entry{Loop: "l", State: ralph.Start(ralph.Task{ID: "l", Limits: ralph.Limits{CostUSD: limit}}), Untold: 1}
		e.State.Usage, e.State.Unpriced = ralph.Usage{CostUSD: new(0.37)}, 1
		st := (&progress.Dir{Path: t.TempDir()}).Stand(t.Context(), e)
		if got := st.Spent(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestAskedToStop: that somebody has asked a loop to stop does not change how many
// iterations it is said to have been allowed.
func TestAskedToStop(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]string{9: "iteration 1/9", -1: "iteration 1"} {
		s := ralph.Start(ralph.Task{ID: "l", Prompt: "x", Limits: ralph.Limits{Iterations: limit}})
		var out strings.Builder
		d := &progress.Display{W: &out}
		s.Running = true
		st := (&progress.Dir{Path: t.TempDir()}).Stand(t.Context(), progress.Entry{Loop: s.Loop, State: s.Finish()})
		if got := st.Where(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		finished := s.Finish()
		for _, ev := range []ralph.Event{
			{Kind: ralph.EventLoopStarted, State: &s}, {Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 1, Attempt: 1}},
			{Kind: ralph.EventLimitsChanged, State: &ralph.State{Task: ralph.Task{Limits: finished.Task.Limits}, Asked: finished.Asked}},
			{Kind: ralph.EventIterationEnded, Iteration: ralph.Iteration{Number: 1, Attempt: 1}},
		} {
			ev.Loop, ev.Task = s.Loop, "l"
			if err := d.Append(t.Context(), ev); err != nil {
				t.Fatal(err)
			}
		}
		d.Close()
		if got := out.String(); !strings.Contains(got, want+": no claim") {
			t.Errorf("%q does not say %q", got, want+": no claim")
		}
	}
}

// TestSaidOnce: what came of an attempt is not said twice by its error.
func TestSaidOnce(t *testing.T) {
	t.Parallel()
	for want, it := range map[string]ralph.Iteration{
		": interrupted (cancelled by ralph cancel)": {Fault: ralph.FaultInterrupted, Error: "cancelled: cancelled by ralph cancel"},
		": rate limited (You've hit your limit)":    {Fault: ralph.FaultRateLimit, Error: "rate limit: You've hit your limit"},
		": ended by its budget\n":                   {Fault: ralph.FaultBudget, Error: "the budget is spent"},
		": error (exit status 9: oops)":             {Fault: ralph.FaultError, Error: "exit status 9: oops"},
	} {
		var out strings.Builder
		d := &progress.Display{W: &out}
		it.Number, it.Attempt = 1, 1
		for _, kind := range []ralph.EventKind{ralph.EventIterationStarted, ralph.EventIterationEnded} {
			if err := d.Append(t.Context(), ralph.Event{Kind: kind, Loop: "l", Task: "l", Iteration: it}); err != nil {
				t.Fatal(err)
			}
		}
		d.Close()
		if got := out.String(); !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}
