package ralph_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// died is the log of a loop whose process died at the append that is the n-th, from
// 1, and the state that is folded from it, with the answer that is pending.
func died(t *testing.T, l ralph.Local, n int) (s ralph.State, pending *ralph.Event) {
	t.Helper()
	ctx, kill := context.WithCancelCause(t.Context())
	defer kill(nil)
	log := &memory{}
	l.Log = ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		if len(log.lines)+1 == n {
			kill(errors.New("killed"))
		}
		if ctx = context.WithoutCancel(ctx); len(log.lines)+1 < n {
			return log.Append(ctx, ev)
		}
		return nil
	})
	l.Run(ctx, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
	for _, ev := range log.events(t) {
		if s = s.Apply(ev); ev.Kind == ralph.EventAnswered {
			pending = &ev
		}
	}
	return s, pending
}

// TestPendingIsJudged: a crash while an answer was verified costs no run of the
// agent; what the attempt has used counts once.
func TestPendingIsJudged(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	runs := 0
	agent := ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
		runs++
		<-time.After(minute)
		return ralph.Response{Output: done, Usage: ralph.Usage{InputTokens: 7, CostUSD: new(9.0)}, Files: []string{"a.go"}}, nil
	})
	for _, tt := range []struct {
		name    string
		verdict ralph.Verdict
		kinds   string
	}{
		{"a pass", ralph.Pass(), "loop_started iteration_ended loop_stopped"},
		{"a rejection", ralph.Reject("no"), "loop_started iteration_ended iteration_started answered iteration_ended loop_stopped"},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			var claims []ralph.Claim
			local := ralph.Local{Runner: agent, Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil },
				Verifier: ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
					<-time.After(minute)
					if claims = append(claims, c); c.Iteration > 1 {
						return ralph.Pass(), nil
					}
					return tt.verdict, nil
				}), Prompt: func(_ context.Context, s ralph.State) (string, error) { return "Say " + done, nil }} // it cannot be made again
			s, pending := died(t, local, 4)
			if !s.Running || pending == nil || runs == 0 {
				t.Fatalf("%s: %v", describe(s), pending)
			}
			before := asJSON(t, pending)
			pending.Iteration.Verdict = ralph.Verdict{Passed: true, Usage: ralph.Usage{InputTokens: 2, CostUSD: new(1.0)}} // of a verification that died: no pass
			runs, claims = 0, nil
			local.Prompt = nil
			local.Pending = func(_ context.Context, got ralph.State) (*ralph.Event, error) {
				if asked++; !got.Running || got.Iteration != 1 {
					t.Errorf("asked for %s", describe(got))
				}
				return pending, nil
			}
			s, log, err := runLoop(t, t.Context(), local, s)
			if err != nil || asked != 1 || log.kinds(t) != tt.kinds || runs != s.Iteration-1 {
				t.Errorf("%s: %v, asked %d times, ran %d times, recorded %s: %s", tt.name, err, asked, runs, log.kinds(t), describe(s))
			}
			want := ralph.Usage{Requests: s.Usage.Requests, InputTokens: 7*int64(s.Iteration) + 2, CostUSD: new(9*float64(s.Iteration) + 1)}
			if diff := cmp.Diff(want, s.Usage); diff != "" || s.Elapsed != 2*minute*time.Duration(s.Iteration) || s.Verifying.InputTokens != 2 {
				t.Errorf("%s: elapsed %v, verifying %v, used:\n%s", tt.name, s.Elapsed, s.Verifying, diff)
			}
			if c := claims[0]; c.Output != done || !c.Promised || c.Iteration != 1 || c.Attempt != 1 || len(c.Files) != 1 || c.Start != pending.Iteration.Start {
				t.Errorf("claim: %+v", c)
			}
			pending.Iteration.Verdict = ralph.Verdict{}
			if asJSON(t, pending) != before {
				t.Error("the event was changed")
			}
		})
	}
}

// TestPendingIsOfNoAttempt: what is not the answer of the attempt is an error, and
// nothing is recorded.
func TestPendingIsOfNoAttempt(t *testing.T) {
	t.Parallel()
	begun := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}).Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 1, Attempt: 1}})
	answer := &ralph.Response{Output: done}
	for want, pending := range map[string]struct {
		ev  ralph.Event
		err error
	}{
		"iteration 2, attempt 1":           {ralph.Event{Kind: ralph.EventAnswered, Answer: answer, Iteration: ralph.Iteration{Number: 2, Attempt: 1}}, nil},
		"iteration 1, attempt 2":           {ralph.Event{Kind: ralph.EventAnswered, Answer: answer, Iteration: ralph.Iteration{Number: 1, Attempt: 2}}, nil},
		`the event is "iteration_ended"`:   {ralph.Event{Kind: ralph.EventIterationEnded, Answer: answer, Iteration: ralph.Iteration{Number: 1, Attempt: 1}}, nil},
		"has no Answer":                    {ralph.Event{Kind: ralph.EventAnswered, Iteration: ralph.Iteration{Number: 1, Attempt: 1}}, nil},
		"pending: the journal is closed":   {ralph.Event{}, errors.New("the journal is closed")},
		"pending: Local.Pending panicked:": {ralph.Event{Text: "panic"}, nil},
	} {
		l := &ralph.Local{Runner: ralph.Replay(done), Verifier: verify.String{}, Log: &memory{failAt: 1},
			Pending: func(context.Context, ralph.State) (*ralph.Event, error) {
				if pending.ev.Text != "" {
					panic("boom")
				}
				return &pending.ev, pending.err
			}}
		s, err := l.Run(t.Context(), begun)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "ralph: ") != 1 || asJSON(t, s) != asJSON(t, begun) {
			t.Errorf("%s: %v", want, err)
		}
		if pending.err != nil || pending.ev.Text != "" {
			continue
		}
		if _, err := l.Judge(t.Context(), begun, pending.ev); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Judge says %v", want, err)
		}
	}
	// It is asked for no attempt that has not begun.
	l := ralph.Local{Runner: ralph.Replay(done), Pending: func(context.Context, ralph.State) (*ralph.Event, error) { return nil, errLog }}
	if _, _, err := runLoop(t, t.Context(), l, ralph.Start(ralph.Task{Prompt: "Do it."})); err != nil {
		t.Error(err)
	}
}

// TestNothingPending: an attempt without an answer was interrupted, and what it told
// while it ran is spent.
func TestNothingPending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		local := ralph.Local{Verifier: verify.String{}, Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			<-time.After(time.Minute)
			req.Live(ralph.Usage{InputTokens: 5, CostUSD: new(9.0)})
			<-time.After(time.Minute)
			return ralph.Response{Output: "So far.", Usage: ralph.Usage{InputTokens: 50, CostUSD: new(9.5)}}, nil
		}), Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil }}
		s, pending := died(t, local, 4)
		if !s.Running || pending != nil || s.Usage.InputTokens != 5 {
			t.Fatalf("%s: %v", describe(s), pending)
		}
		s.Task.Limits.CostUSD = 10
		local.Pending = func(context.Context, ralph.State) (*ralph.Event, error) { return nil, nil }
		s, log, err := runLoop(t, t.Context(), local, s)
		if stopReason(t, err) != ralph.StopCost || *s.Usage.CostUSD != 9 || s.Elapsed != time.Minute || log.kinds(t) != "loop_started iteration_ended loop_stopped" {
			t.Errorf("%v: %s, %s", err, describe(s), log.kinds(t))
		}
		if it := log.events(t)[1].Iteration; it.Fault != ralph.FaultInterrupted || it.Usage.InputTokens != 5 || it.Elapsed != time.Minute {
			t.Errorf("%+v", it)
		}
	})
}

// TestAttemptAndJudge are Iterate in two halves: a driver can record the answer in
// between, and judge one that another process recorded.
func TestAttemptAndJudge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		local := func() *ralph.Local {
			return &ralph.Local{Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
				<-time.After(time.Minute)
				return ralph.Response{Output: done, Usage: ralph.Usage{InputTokens: 3}}, nil
			}), Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
				<-time.After(time.Minute)
				return ralph.Reject("no"), nil
			})}
		}
		s := ralph.Start(ralph.Task{ID: "T", Agent: "coder", Prompt: "Do it.", Dir: t.TempDir()})
		ev, err := local().Attempt(t.Context(), s)
		if err != nil || ev.Kind != ralph.EventAnswered || ev.V != ralph.Version || ev.Loop != s.Loop || ev.Task != "T" || ev.Agent != "coder" || ev.Time.IsZero() || ev.Answer.Output != done {
			t.Fatalf("%v: %+v", err, ev)
		}
		<-time.After(time.Hour) // somebody else goes on
		got, err := local().Judge(t.Context(), s, ev)
		if err != nil || got.Elapsed != 2*time.Minute || got.End.Sub(got.Start) != 62*time.Minute {
			t.Errorf("%v: %+v", err, got)
		}
		want, err := local().Iterate(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		got.Start, got.End, want.Start, want.End = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" || !got.Claimed || got.Verdict.Feedback != "no" {
			t.Errorf("Iterate says (-Iterate +halves):\n%s", diff)
		}
	})
}

// TestPendingCancelled: a cancel while the answer is asked for is recorded as any
// other is, after the start of the loop.
func TestPendingCancelled(t *testing.T) {
	t.Parallel()
	begun := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}).Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 1, Attempt: 1}})
	ctx, cancel := context.WithCancelCause(t.Context())
	s, log, err := runLoop(t, ctx, ralph.Local{Runner: ralph.Replay(done), Pending: func(ctx context.Context, _ ralph.State) (*ralph.Event, error) {
		cancel(ralph.ErrCancelled)
		return nil, context.Cause(ctx)
	}}, begun)
	if want := "loop_started cancelled iteration_ended loop_stopped"; stopReason(t, err) != ralph.StopCancelled || log.kinds(t) != want || s.Running {
		t.Errorf("%v: recorded %s, want %s: %s", err, log.kinds(t), want, describe(s))
	}
}
