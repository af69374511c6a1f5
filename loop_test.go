package ralph_test

import (
	"context"
	"encoding/json"
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

const done = "Done.\n<promise>COMPLETE</promise>"

// A memory is a log that keeps what it is told as JSON.
type memory struct {
	lines  []string
	failAt int // the append that fails, from 1; 0 = none
}

var errLog = errors.New("disk full")

func (m *memory) Append(_ context.Context, ev ralph.Event) error {
	if len(m.lines)+1 == m.failAt {
		m.failAt = 0
		return errLog
	}
	data, err := json.Marshal(ev)
	m.lines = append(m.lines, string(data))
	return err
}

func (m *memory) events(t *testing.T) []ralph.Event {
	t.Helper()
	var events []ralph.Event
	for _, line := range m.lines {
		var ev ralph.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	return events
}

func (m *memory) kinds(t *testing.T) string {
	t.Helper()
	var kinds []string
	for _, ev := range m.events(t) {
		kinds = append(kinds, string(ev.Kind))
	}
	return strings.Join(kinds, " ")
}

// runLoop runs a loop in the current folder without a workspace, and checks that
// the fold of its events is the state that Run returned.
func runLoop(t *testing.T, ctx context.Context, l ralph.Local, s ralph.State) (ralph.State, *memory, error) {
	t.Helper()
	log := &memory{}
	l.Log = log
	if l.Workspace == nil {
		l.Workspace = func(context.Context, string) (string, []string, error) { return "", nil, nil }
	}
	if l.Verifier == nil {
		l.Verifier = verify.String{}
	}
	final, err := l.Run(ctx, s)
	var fold ralph.State
	for _, ev := range log.events(t) {
		fold = fold.Apply(ev)
	}
	if diff := cmp.Diff(asJSON(t, final), asJSON(t, fold)); diff != "" {
		t.Errorf("the fold of the events is not the returned state (-run +fold):\n%s", diff)
	}
	return final, log, err
}

func stopReason(t *testing.T, err error) ralph.StopReason {
	t.Helper()
	stop, ok := errors.AsType[*ralph.StopError](err)
	if !ok {
		t.Fatalf("got %v, want a StopError", err)
	}
	return stop.Reason
}

// hang blocks until its context is done.
func hang(ctx context.Context, _ ralph.Request) (ralph.Response, error) {
	<-ctx.Done()
	return ralph.Response{Output: "half"}, context.Cause(ctx)
}

func TestRunVerified(t *testing.T) {
	t.Parallel()
	calls := 0
	s, log, err := runLoop(t, t.Context(), ralph.Local{
		Runner: ralph.Replay(done, "Still at it.", "Now.\n"+done),
		Verifier: ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
			if calls++; calls == 1 {
				return ralph.Reject("TestA fails"), nil
			}
			return ralph.Pass(), nil
		}),
	}, ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it."}))
	if err != nil || s.Stop != ralph.StopVerified || s.Iteration != 3 || calls != 2 {
		t.Errorf("%v, %s, %d calls", err, describe(s), calls)
	}
	want := strings.TrimSpace("loop_started " + strings.Repeat("iteration_started answered iteration_ended ", 3) + "loop_stopped")
	if diff := cmp.Diff(want, log.kinds(t)); diff != "" {
		t.Error(diff)
	}
}

func TestRunFeedbackReachesTheNextPrompt(t *testing.T) {
	t.Parallel()
	var prompts []string
	_, _, err := runLoop(t, t.Context(), ralph.Local{
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			prompts = append(prompts, req.Prompt)
			return ralph.Response{Output: []string{done, "```\n" + done + "\n```", "Not yet.", done}[len(prompts)-1]}, nil
		}),
		Verifier: ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
			return ralph.Verdict{Passed: c.Iteration == 4, Feedback: "TestParser fails"}, nil
		}),
	}, ralph.Start(ralph.Task{Prompt: "Do it."}))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"iteration 1 of 10", "TestParser fails", "in a code block", "ended without the line"} {
		if !strings.Contains(prompts[i], want) {
			t.Errorf("prompt %d does not say %q:\n%s", i+1, want, prompts[i])
		}
		if ralph.FindPromise(prompts[i], "COMPLETE", ralph.MatchLastLine).Found {
			t.Errorf("prompt %d ends with the promise", i+1)
		}
	}
}

// TestRunTimes plays what depends on time, without any passing.
func TestRunTimes(t *testing.T) {
	t.Parallel()
	minute := time.Minute
	slow := ralph.RunnerFunc(func(ctx context.Context, _ ralph.Request) (ralph.Response, error) {
		<-time.After(minute)
		return ralph.Response{Output: "So far."}, nil
	})
	limited := func(d time.Duration) ralph.Runner {
		return ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			if req.Attempt <= 2 {
				return ralph.Response{}, ralph.RetryAfter(errors.New("429"), d)
			}
			return ralph.Response{Output: done}, nil
		})
	}
	for _, tt := range []struct {
		name   string
		runner ralph.Runner
		limits ralph.Limits
		want   ralph.StopReason
		took   time.Duration // 0 = not checked
		its    int
	}{
		{"iteration time-out", ralph.RunnerFunc(hang), ralph.Limits{IterationTimeout: minute, Iterations: 2}, ralph.StopIterations, 2 * minute, 2},
		{"duration ends a run", ralph.RunnerFunc(hang), ralph.Limits{Duration: minute}, ralph.StopDuration, minute, 1},
		{"duration over iterations", slow, ralph.Limits{Duration: 150 * time.Second}, ralph.StopDuration, 3 * minute, 3},
		{"rate limits are waited for", limited(time.Hour), ralph.Limits{Iterations: 1, Retries: -1}, "", 2 * time.Hour, 1},
		{"but not for ever", limited(20 * time.Hour), ralph.Limits{}, ralph.StopRateLimited, 20 * time.Hour, 1},
		{"nor beyond the duration", limited(time.Hour), ralph.Limits{Duration: minute}, ralph.StopDuration, 0, 1},
		{"retries back off", ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
			return ralph.Response{}, errors.New("exit status 1")
		}), ralph.Limits{Failures: 1}, ralph.StopFailed, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				s, _, err := runLoop(t, t.Context(), ralph.Local{Runner: tt.runner}, ralph.Start(ralph.Task{Prompt: "Do it.", ID: "T", Limits: tt.limits}))
				took := time.Since(begin)
				if tt.want == "" && err != nil || tt.want != "" && stopReason(t, err) != tt.want {
					t.Errorf("got %v, %s", err, describe(s))
				}
				if s.Iteration != tt.its || tt.took != 0 && took != tt.took {
					t.Errorf("took %v: %s", took, describe(s))
				}
			})
		})
	}
}

func TestRunVerifyTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay(done, done), Verifier: ralph.VerifierFunc(
			func(ctx context.Context, _ ralph.Claim) (ralph.Verdict, error) {
				<-ctx.Done()
				return ralph.Pass(), ctx.Err() // an error is never a pass
			})}, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{VerifyTimeout: time.Minute, Failures: 2}}))
		if stopReason(t, err) != ralph.StopFailed || s.Failures != 2 || s.Verdict.Checks[0].Status != ralph.CheckTimeout {
			t.Errorf("%v: %s, %+v", err, describe(s), s.Verdict)
		}
	})
}

func TestRunVerifierErrors(t *testing.T) {
	t.Parallel()
	s, _, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay(done), Verifier: ralph.VerifierFunc(
		func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), errors.New("no judge") })},
		ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}}))
	if stopReason(t, err) != ralph.StopIterations || s.Verdict.Passed || s.Verdict.Checks[0].Status != ralph.CheckUnable || !strings.Contains(s.Feedback, "no judge") {
		t.Errorf("%v: %s, %+v", err, describe(s), s.Verdict)
	}
}

func TestRunBudgetInMidRun(t *testing.T) {
	t.Parallel()
	s, _, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
		req.Live(ralph.Usage{InputTokens: 900})
		if ctx.Err() != nil {
			t.Error("ended too early")
		}
		req.Live(ralph.Usage{InputTokens: 1000, OutputTokens: 1})
		return hang(ctx, req)
	})}, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Tokens: 1000}}))
	if stopReason(t, err) != ralph.StopTokens || s.Usage.InputTokens != 1000 {
		t.Errorf("%v: %s", err, describe(s))
	}
}

func TestRunInterruptedAndResumed(t *testing.T) {
	t.Parallel()
	cause := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	var attempts []string
	l := ralph.Local{Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
		attempts = append(attempts, fmt.Sprintf("%d.%d", req.Iteration, req.Attempt))
		if len(attempts) == 2 {
			cancel(cause)
			return hang(ctx, req)
		}
		if len(attempts) == 3 {
			return ralph.Response{Output: done, Usage: ralph.Usage{InputTokens: 7}}, nil
		}
		return ralph.Response{Output: "So far.", Usage: ralph.Usage{InputTokens: 5}}, nil
	})}
	s, _, err := runLoop(t, ctx, l, ralph.Start(ralph.Task{Prompt: "Do it."}))
	if !errors.Is(err, cause) || s.Done() {
		t.Fatalf("%v: %s", err, describe(s))
	}
	s, _, err = runLoop(t, t.Context(), l, s)
	if err != nil || s.Usage.InputTokens != 12 {
		t.Errorf("%v: %s", err, describe(s))
	}
	if diff := cmp.Diff([]string{"1.1", "2.1", "2.2"}, attempts); diff != "" {
		t.Error(diff)
	}
}

func TestRunAfterTheProcessDied(t *testing.T) {
	t.Parallel()
	s := ralph.Start(ralph.Task{Prompt: "Do it."}).Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 1, Attempt: 1}})
	s, log, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay(done)}, s)
	if err != nil || s.Attempt != 2 || !strings.HasPrefix(log.kinds(t), "loop_started iteration_ended iteration_started") {
		t.Errorf("%v: %s, %s", err, describe(s), log.kinds(t))
	}
}

func TestRunInterruptedWhileItWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		s, _, err := runLoop(t, ctx, ralph.Local{Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
			return ralph.Response{}, ralph.RetryAfter(errors.New("429"), 5*time.Hour)
		})}, ralph.Start(ralph.Task{Prompt: "Do it."}))
		if !errors.Is(err, context.DeadlineExceeded) || s.Attempt != 2 || !s.NotBefore().Equal(s.Updated.Add(5*time.Hour)) {
			t.Errorf("%v: %s", err, describe(s))
		}
	})
}

func TestRunControl(t *testing.T) {
	t.Parallel()
	var prompts []string
	n := 0
	s, log, err := runLoop(t, t.Context(), ralph.Local{
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			prompts = append(prompts, req.Prompt)
			return ralph.Response{Output: "So far."}, nil
		}),
		Control: func(_ context.Context, s ralph.State) (ralph.State, error) {
			switch n++; n {
			case 1:
				return s.Guide("prefer the standard library").Limit(ralph.Limits{Iterations: 50}), nil
			case 2:
				return s.Pause(true).Pause(false), nil
			case 3:
				return s.Cancel("lunch"), nil
			}
			return s, nil
		},
	}, ralph.Start(ralph.Task{Prompt: "Do it."}))
	if stopReason(t, err) != ralph.StopCancelled || s.Detail != "lunch" || s.Task.Limits.Iterations != 50 {
		t.Errorf("%v: %s", err, describe(s))
	}
	if len(prompts) != 2 || !strings.Contains(prompts[0], "prefer the standard library") || strings.Contains(prompts[1], "prefer the standard library") {
		t.Errorf("prompts: %q", prompts)
	}
	if !strings.Contains(log.kinds(t), "guided limits_changed iteration_started") || !strings.HasSuffix(log.kinds(t), "cancelled loop_stopped") {
		t.Error(log.kinds(t))
	}
}

func TestRunControlMayNotDoMore(t *testing.T) {
	t.Parallel()
	_, err := (&ralph.Local{Runner: ralph.Replay(done), Verifier: verify.String{}, Control: func(_ context.Context, s ralph.State) (ralph.State, error) {
		s.Iteration = 5
		return s, nil
	}}).Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."}))
	if err == nil || !strings.Contains(err.Error(), "something else") {
		t.Errorf("got %v", err)
	}
}

func TestRunPaused(t *testing.T) {
	t.Parallel()
	s, _, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay(done)}, ralph.Start(ralph.Task{Prompt: "Do it."}).Pause(true))
	if err == nil || s.Done() || !strings.Contains(err.Error(), "paused") {
		t.Errorf("%v: %s", err, describe(s))
	}
	if _, _, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay(done)}, s.Pause(false)); err != nil {
		t.Error(err)
	}
}
