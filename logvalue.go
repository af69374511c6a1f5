package ralph

import (
	"log/slog"

	"github.com/ralph-loop/ralph/internal/term"
)

// LogValue makes a State a [slog.LogValuer]: a group with what people ask of a loop,
// and not its prompt, feedback or lists, which would fill a log. Keys whose value is
// zero are left out, but iteration:
//
//   - loop, task, agent, iteration, attempt (if it is not the first)
//   - running and paused (true)
//   - stop, and detail in one line that may be shown on a terminal
//   - elapsed, tokens (input and output together), cost_usd (absent = not known),
//     estimated (true), unpriced (attempts of unknown cost)
func (s State) LogValue() slog.Value {
	used := Usage{}.Add(s.Usage) // without what is no amount
	attrs := []slog.Attr{
		slog.String("loop", s.Loop), slog.String("task", s.Task.ID), slog.String("agent", s.Task.Agent),
		slog.Int("iteration", s.Iteration), slog.Int("attempt", s.Attempt),
		slog.Bool("running", s.Running), slog.Bool("paused", s.Paused),
		slog.String("stop", string(s.Stop)), slog.String("detail", term.Line(s.Detail)),
		slog.Duration("elapsed", s.Elapsed), slog.Int64("tokens", used.tokens()),
		slog.Bool("estimated", used.Estimated), slog.Int("unpriced", s.Unpriced),
	}
	kept := attrs[:0]
	for _, a := range attrs {
		zero := a.Value.Equal(slog.StringValue("")) || a.Value.Equal(slog.BoolValue(false)) ||
			a.Value.Equal(slog.IntValue(0)) || a.Value.Equal(slog.DurationValue(0))
		if a.Key == "iteration" || !zero && !(a.Key == "attempt" && s.Attempt == 1) {
			kept = append(kept, a)
		}
	}
	if used.CostUSD != nil {
		kept = append(kept, slog.Float64("cost_usd", *used.CostUSD))
	}
	return slog.GroupValue(kept...)
}
