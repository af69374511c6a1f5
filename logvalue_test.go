package ralph_test

import (
	"bytes"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
)

func TestStateLogValue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		s    ralph.State
		want string
	}{
		{"zero", ralph.State{}, "state.iteration=0\n"},
		{"a loop that begins", ralph.Start(ralph.Task{ID: "T1", Agent: "coder", Prompt: "A long prompt."}),
			"state.loop=T1.coder state.task=T1 state.agent=coder state.iteration=1\n"},
		{"one that has stopped", ralph.State{Loop: "a", Iteration: 3, Attempt: 2, Stop: ralph.StopFailed, Detail: "no\n\x1b[2Jmore", Elapsed: 90 * time.Second,
			Usage: ralph.Usage{InputTokens: 40, OutputTokens: 2, CostUSD: new(0.5), Estimated: true}, Unpriced: 1, Feedback: "not this"},
			`state.loop=a state.iteration=3 state.attempt=2 state.stop=failed state.detail="no more" state.elapsed=1m30s state.tokens=42 state.estimated=true state.unpriced=1 state.cost_usd=0.5` + "\n"},
		{"one that runs", ralph.State{Iteration: 1, Attempt: 1, Running: true, Paused: true, Usage: ralph.Usage{CostUSD: new(math.NaN())}},
			"state.iteration=1 state.running=true state.paused=true\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			h := slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
				if len(groups) == 0 {
					return slog.Attr{}
				}
				return a
			}})
			slog.New(h).Info("", "state", tt.s)
			if diff := cmp.Diff(tt.want, b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
