package ralph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestCancelledContext: a caller who cancels with ErrCancelled has cancelled the
// loop, whatever it does then; another cause interrupts it.
func TestCancelledContext(t *testing.T) {
	t.Parallel()
	hangs := ralph.VerifierFunc(func(ctx context.Context, _ ralph.Claim) (ralph.Verdict, error) {
		<-ctx.Done()
		return ralph.Verdict{}, ctx.Err()
	})
	slowly := ralph.VerifierFunc(func(ctx context.Context, _ ralph.Claim) (ralph.Verdict, error) {
		<-ctx.Done()
		<-time.After(time.Second)
		return ralph.Pass(), nil
	})
	state := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})
	attempt := "iteration_started running answered iteration_ended "
	for _, tt := range []struct {
		name     string
		at       time.Duration
		runner   ralph.Runner
		verifier ralph.Verifier
		state    ralph.State
		kinds    string // after loop_started
	}{
		{"before it begins", 0, working(0, ralph.Usage{}), hangs, state, "cancelled"},
		{"before it goes on", 0, working(0, ralph.Usage{}), hangs, state.Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 1, Attempt: 1}}), "cancelled iteration_ended"},
		{"while an attempt runs", time.Minute, working(time.Second, ralph.Usage{InputTokens: 9}), hangs, state, "iteration_started running cancelled answered iteration_ended"},
		{"while it is verified", time.Minute, ralph.Replay(done), hangs, state, "iteration_started answered cancelled iteration_ended"},
		{"while it is verified, too late", time.Minute, ralph.Replay(done), slowly, state, "iteration_started answered cancelled iteration_ended"},
		{"while it waits", time.Minute, limited(time.Hour), hangs, state, strings.ReplaceAll(attempt, "running ", "") + "waiting cancelled waiting"},
		{"while it is paused", time.Minute, limited(time.Hour), hangs, state.Pause(true), "cancelled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for reason, cause := range map[string]error{"": ralph.ErrCancelled, "lunch": fmt.Errorf("%w: lunch", ralph.ErrCancelled)} {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					if tt.at == 0 {
						cancel(cause)
					}
					time.AfterFunc(tt.at, func() { cancel(cause) })
					l := ralph.Local{Runner: tt.runner, Verifier: tt.verifier}
					if tt.state.Paused {
						l.Control = func(_ context.Context, s ralph.State) (ralph.State, error) { return s, nil }
					}
					s, log, err := runLoop(t, ctx, l, tt.state)
					if stopReason(t, err) != ralph.StopCancelled || !errors.Is(err, ralph.ErrCancelled) || s.Detail != reason {
						t.Errorf("%v: %s", err, describe(s))
					}
					if want := "loop_started " + tt.kinds + " loop_stopped"; log.kinds(t) != want {
						t.Errorf("recorded\n%s, want\n%s", log.kinds(t), want)
					}
				})
			}
			if tt.at == 0 {
				return
			}
			synctest.Test(t, func(t *testing.T) { // and a Ctrl-C does not
				cause := errors.New("Ctrl-C")
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				time.AfterFunc(tt.at, func() { cancel(cause) })
				s, log, err := runLoop(t, ctx, ralph.Local{Runner: tt.runner, Verifier: tt.verifier,
					Control: func(_ context.Context, s ralph.State) (ralph.State, error) { return s, nil }}, tt.state)
				passed := tt.name == "while it is verified, too late" // what was verified is verified
				if passed != (err == nil) || !passed && (!errors.Is(err, cause) || s.Done()) || strings.Contains(log.kinds(t), "cancelled") {
					t.Errorf("%v: %s, %s", err, describe(s), log.kinds(t))
				}
			})
		})
	}
}

// TestCancelIsRecordedBeforeItsAttempt: also where agent or verifier end while Run
// records something else.
func TestCancelIsRecordedBeforeItsAttempt(t *testing.T) {
	t.Parallel()
	for n := range 40 { // Run sees one of two things first, by chance
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			verifying, recording := n%2 > 0, make(chan bool)
			l := &ralph.Local{
				Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
					if !verifying {
						<-recording
						cancel(ralph.ErrCancelled)
					}
					return ralph.Response{Output: done}, nil
				}),
				Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
					<-recording
					cancel(ralph.ErrCancelled)
					return ralph.Reject("no"), nil
				}),
				Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil },
				Control: func(_ context.Context, s ralph.State) (ralph.State, error) {
					if s.Running {
						s = s.Guide("hurry")
					}
					return s, nil
				},
			}
			log := &memory{}
			l.Log = ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
				if ev.Kind == ralph.EventGuided {
					close(recording)
					synctest.Wait() // it has ended
				}
				return log.Append(ctx, ev)
			})
			s, err := l.Run(ctx, ralph.Start(ralph.Task{Prompt: "Do it."}))
			want := "loop_started iteration_started guided cancelled answered iteration_ended loop_stopped"
			if verifying {
				want = "loop_started iteration_started answered guided cancelled iteration_ended loop_stopped"
			}
			if stopReason(t, err) != ralph.StopCancelled || log.kinds(t) != want {
				t.Errorf("%v: %s, recorded\n%s, want\n%s", err, describe(s), log.kinds(t), want)
			}
		})
	}
}

// TestAbandonedEvents: who breaks off has not cancelled the loop.
func TestAbandonedEvents(t *testing.T) {
	t.Parallel()
	log := &memory{}
	l := &ralph.Local{Runner: ralph.RunnerFunc(hang), Verifier: verify.String{}, Log: log}
	for ev := range l.Events(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."})) {
		if ev.Kind == ralph.EventIterationStarted {
			break
		}
	}
	events := log.events(t)
	if last := events[len(events)-1]; last.Iteration.Fault != ralph.FaultInterrupted || last.Iteration.Error != ralph.ErrAbandoned.Error() {
		t.Errorf("%s, the last is %+v", log.kinds(t), last)
	}
}

// TestLogTellsOfACancel: a log that other processes write to too answers an event
// with their cancel. It was recorded before the event, which was recorded too.
func TestLogTellsOfACancel(t *testing.T) {
	t.Parallel()
	for n, want := range []string{
		"cancelled loop_started loop_stopped",
		"loop_started cancelled iteration_started loop_stopped", // the agent does not run
		"loop_started iteration_started cancelled running answered iteration_ended loop_stopped",
		"loop_started iteration_started running cancelled answered iteration_ended loop_stopped",
		"loop_started iteration_started running answered cancelled iteration_ended loop_stopped",
		"loop_started iteration_started running answered iteration_ended iteration_started answered iteration_ended cancelled loop_stopped", // it had stopped
	} {
		for _, joined := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				whole, log, ran := &memory{}, 0, 0
				l := &ralph.Local{Verifier: verify.String{}, Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
					if ran++; ran > 1 {
						return ralph.Response{Output: done}, nil
					}
					req.Live(ralph.Usage{InputTokens: 5})
					select {
					case <-ctx.Done():
					case <-time.After(time.Minute):
					}
					return ralph.Response{Output: "So far."}, context.Cause(ctx)
				}), Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil },
					Log: ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
						at := log
						if n == 5 {
							at = map[ralph.EventKind]int{ralph.EventLoopStopped: 5}[ev.Kind]
						}
						log++
						if at != n || n == 5 && ev.Kind != ralph.EventLoopStopped {
							return whole.Append(ctx, ev)
						}
						whole.Append(ctx, ralph.Event{Kind: ralph.EventCancelled, Text: "cancelled elsewhere"})
						var err error = cancelled("cancelled elsewhere")
						if joined {
							err = errors.Join(err, errLog)
						}
						return errors.Join(whole.Append(ctx, ev), err)
					})}
				var fold ralph.State
				s, err := l.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."}))
				for _, ev := range whole.events(t) {
					fold = fold.Apply(ev)
				}
				if whole.kinds(t) != want {
					t.Errorf("%d: recorded %s, want %s", n, whole.kinds(t), want)
				}
				if n == 5 { // what is over cannot be cancelled
					if s.Stop != ralph.StopVerified || (err != nil) != joined {
						t.Errorf("%v: %s", err, describe(s))
					}
					return
				}
				if stopReason(t, err) != ralph.StopCancelled || s.Detail != "cancelled elsewhere" || errors.Is(err, errLog) != joined || n < 2 && ran > 0 {
					t.Errorf("%d: %v: %s", n, err, describe(s))
				}
				if n > 0 { // the state that a cancelled loop starts with is not the fold's to take
					if diff := cmp.Diff(asJSON(t, s), asJSON(t, fold)); diff != "" {
						t.Errorf("%d: the fold is not the state:\n%s", n, diff)
					}
				}
			})
		}
	}
}

// A cancelled is what a log says of a cancel by somebody else: its text is theirs.
type cancelled string

func (e cancelled) Error() string { return string(e) }
func (e cancelled) Unwrap() error { return ralph.ErrCancelled }
