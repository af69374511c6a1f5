package progress_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestSlog: the record of each kind of event, with its level, and nothing that is empty.
func TestSlog(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	state := func(stop ralph.StopReason) *ralph.State { return &ralph.State{Iteration: 2, Attempt: 1, Stop: stop} }
	ended := func(it ralph.Iteration) ralph.Event {
		it.Number, it.Attempt = 1, 1
		return ralph.Event{Kind: ralph.EventIterationEnded, Iteration: it}
	}
	for _, tt := range []struct {
		ev   ralph.Event
		want string
	}{
		{ralph.Event{Kind: ralph.EventLoopStarted, Loop: "T1.coder", Task: "T1", Agent: "coder", State: state("")}, "level=INFO msg=loop_started loop=T1.coder task=T1 agent=coder state.iteration=2"},
		{ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 2, Attempt: 1}}, "level=INFO msg=iteration_started iteration=2 attempt=1"},
		{ralph.Event{Kind: ralph.EventRunning, Iteration: ralph.Iteration{Number: 2, Attempt: 1, Elapsed: time.Second, Usage: ralph.Usage{InputTokens: 2, OutputTokens: 3, CostUSD: new(0.5)}}},
			"level=DEBUG msg=running iteration=2 attempt=1 elapsed=1s tokens=5 cost_usd=0.5"},
		{ralph.Event{Kind: ralph.EventAnswered, Answer: &ralph.Response{Output: "not this"}}, "level=DEBUG msg=answered"},
		{ralph.Event{Kind: "later"}, "level=DEBUG msg=later"},
		{ended(ralph.Iteration{Outcome: ralph.OutcomeSuccess, Claimed: true, Verdict: ralph.Verdict{Passed: true}}), "level=INFO msg=iteration_ended iteration=1 attempt=1 outcome=success claimed=true verified=true"},
		{ended(ralph.Iteration{}), "level=INFO msg=iteration_ended iteration=1 attempt=1 claimed=false verified=false"},
		{ended(ralph.Iteration{Claimed: true, Verdict: ralph.Verdict{Feedback: "no\x1b[2J"}}), "level=WARN msg=iteration_ended iteration=1 attempt=1 claimed=true verified=false feedback=no"},
		{ended(ralph.Iteration{Blocked: true}), "level=WARN msg=iteration_ended iteration=1 attempt=1 claimed=false verified=false blocked=true"},
		{ended(ralph.Iteration{Fault: ralph.FaultError, Error: "a\nb"}), `level=WARN msg=iteration_ended iteration=1 attempt=1 claimed=false verified=false fault=error error="a b"`},
		{ralph.Event{Kind: ralph.EventWaiting, Text: "waiting 1s", State: state("")}, `level=WARN msg=waiting text="waiting 1s"`},
		{ralph.Event{Kind: ralph.EventCancelled}, "level=INFO msg=cancelled"},
		{ralph.Event{Kind: ralph.EventLoopStopped, State: state(ralph.StopVerified)}, "level=INFO msg=loop_stopped state.iteration=2 state.stop=verified"},
		{ralph.Event{Kind: ralph.EventLoopStopped, State: state(ralph.StopIterations)}, "level=WARN msg=loop_stopped state.iteration=2 state.stop=iterations"},
		{ralph.Event{Kind: ralph.EventLoopStopped, State: state(ralph.StopFailed)}, "level=ERROR msg=loop_stopped state.iteration=2 state.stop=failed"},
		{ralph.Event{Kind: ralph.EventLoopStopped}, "level=INFO msg=loop_stopped"},
	} {
		var b bytes.Buffer
		log := progress.Slog(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})))
		tt.ev.Time = at
		if err := log.Append(t.Context(), tt.ev); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff("time=2026-01-01T12:00:00.000Z "+tt.want+"\n", b.String()); diff != "" {
			t.Error(diff)
		}
	}
}

// TestSlogHandler: what the handler does not want it does not get, and its error is
// Append's.
func TestSlogHandler(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	log := progress.Slog(slog.New(failingHandler{slog.DiscardHandler, full}))
	if err := log.Append(t.Context(), ralph.Event{Kind: ralph.EventRunning}); err != nil {
		t.Error("of a level that is off:", err)
	}
	if err := log.Append(t.Context(), ralph.Event{Kind: ralph.EventPaused}); !errors.Is(err, full) {
		t.Error(err)
	}
}

type failingHandler struct {
	slog.Handler
	err error
}

func (h failingHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }
func (h failingHandler) Handle(context.Context, slog.Record) error    { return h.err }
