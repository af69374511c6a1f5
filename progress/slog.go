package progress

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/term"
)

// Slog returns a log that hands events on as structured records, for programs that keep
// all their logs that way. A nil l is [slog.Default]. The message of a record is the
// event's kind, and its time the event's. It has no answers, prompts and lists.
//
//	debug  running, answered, requested, hook, step, and kinds that are not known
//	info   the others
//	warn   iteration_ended with a fault, a rejected claim or a call for help; answered, if
//	       its verification was interrupted; waiting; loop_stopped at a limit, or cancelled
//	error  loop_stopped as failed or invalid
//
// Its attributes, without those that are empty: loop, task, agent; iteration and
// attempt; of an attempt that has ended outcome, claimed, verified, blocked, fault,
// error, elapsed, tokens, cost_usd, feedback; text; of a loop that starts or stops state,
// see [ralph.State.LogValue]. Texts are as [Printable] makes them. For secrets, put
// [Redactor.Log] before it.
//
// An error of its handler is that of Append, and so stops the loop. It may be called
// concurrently.
func Slog(l *slog.Logger) ralph.ProgressLog {
	return ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		// It is asked for at each event: programs set the default after they have made the
		// rest. The handler is called, and not the Logger, which would take the time of now
		// and keep its handler's error to itself.
		handler := cmp.Or(l, slog.Default()).Handler()
		level := levelOf(ev)
		if !handler.Enabled(ctx, level) {
			return nil
		}
		at := ev.Time
		if at.IsZero() {
			at = time.Now()
		}
		// No place in the source: it would be this line for every record.
		r := slog.NewRecord(at, level, string(ev.Kind), 0)
		r.AddAttrs(attrsOf(ev)...)
		return handler.Handle(ctx, r)
	})
}

// levelOf is how much an event matters to who looks for trouble.
// A limit that is reached is no error: it is what limits are for. One that cannot go on
// without a person is.
// What comes each second is for debugging, and so is a kind of a later version: it may
// come as often, and who has alarms on the level must not be woken by an update.
func levelOf(ev ralph.Event) slog.Level {
	switch ev.Kind {
	case ralph.EventLoopStarted, ralph.EventIterationStarted, ralph.EventLearned, ralph.EventGuided, ralph.EventLimitsChanged,
		ralph.EventPaused, ralph.EventContinued, ralph.EventReopened, ralph.EventCancelled:
		return slog.LevelInfo
	case ralph.EventWaiting:
		return slog.LevelWarn
	case ralph.EventAnswered:
		if ev.Text != "" {
			return slog.LevelWarn
		}
	case ralph.EventIterationEnded:
		if it := ev.Iteration; it.Fault != "" || it.Blocked || it.Claimed && !it.Verdict.Passed {
			return slog.LevelWarn
		}
		return slog.LevelInfo
	case ralph.EventLoopStopped:
		if ev.State == nil {
			return slog.LevelInfo
		}
		switch ev.State.Stop {
		case ralph.StopVerified:
			return slog.LevelInfo
		case ralph.StopFailed, ralph.StopInvalid:
			return slog.LevelError
		}
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// attrsOf is what a record says of an event.
// Numbers stay numbers, in the units of the event's own fields, so that a program that
// collects records can add them up.
// The keys are few and always mean the same, as those who search records need it. What is
// empty is left out, but not claimed and verified: there false is what people search for.
// A cost that is not known has no attribute, for 0 would be added up as free.
func attrsOf(ev ralph.Event) []slog.Attr {
	it := ev.Iteration
	var attrs []slog.Attr
	text := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	text("loop", term.Line(ev.Loop))
	text("task", term.Line(ev.Task))
	text("agent", term.Line(ev.Agent))
	if it.Number > 0 {
		attrs = append(attrs, slog.Int("iteration", it.Number), slog.Int("attempt", it.Attempt))
	}
	if ev.Kind == ralph.EventIterationEnded {
		text("outcome", string(it.Outcome))
		attrs = append(attrs, slog.Bool("claimed", it.Claimed), slog.Bool("verified", it.Verdict.Passed))
		if it.Blocked {
			attrs = append(attrs, slog.Bool("blocked", true))
		}
	}
	text("fault", string(it.Fault))
	text("error", term.Line(it.Error))
	if it.Elapsed > 0 {
		attrs = append(attrs, slog.Duration("elapsed", it.Elapsed))
	}
	used := it.Usage.Add(it.Verdict.Usage)
	if n := used.InputTokens + used.OutputTokens; n > 0 {
		attrs = append(attrs, slog.Int64("tokens", n))
	}
	if used.CostUSD != nil {
		attrs = append(attrs, slog.Float64("cost_usd", *used.CostUSD))
	}
	text("feedback", Printable(it.Verdict.Feedback))
	text("text", Printable(ev.Text))
	// Other events have a state, too, but a record for each with all of it would be mostly
	// what the last one said.
	if ev.State != nil && (ev.Kind == ralph.EventLoopStarted || ev.Kind == ralph.EventLoopStopped) {
		attrs = append(attrs, slog.Any("state", *ev.State))
	}
	return attrs
}
