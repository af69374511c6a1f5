package ralph_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
)

// TestLateVerdictIsNotTaken: whatever a verifier says after its time, it was a
// time-out.
func TestLateVerdictIsNotTaken(t *testing.T) {
	t.Parallel()
	const second = time.Second
	failed := ralph.Verdict{Feedback: "2 tests fail", Checks: []ralph.Check{{Name: "go test", Status: ralph.CheckFailed}}}
	stopped := ralph.Verdict{Feedback: "go test took too long", Checks: []ralph.Check{{Name: "go test", Status: ralph.CheckTimeout}}}
	for _, tt := range []struct {
		name   string
		limits ralph.Limits
		takes  time.Duration
		v      ralph.Verdict
		passed bool
		says   string
		checks int
	}{
		{"in time", ralph.Limits{VerifyTimeout: time.Minute}, time.Minute - second, ralph.Pass(), true, "", 0},
		{"a pass", ralph.Limits{VerifyTimeout: time.Minute}, time.Minute + second, ralph.Pass(), false, "the verification time-out has passed", 1},
		{"a rejection", ralph.Limits{VerifyTimeout: time.Minute}, time.Minute + second, failed, false, "the verification time-out has passed", 1},
		{"one that says so itself", ralph.Limits{VerifyTimeout: time.Minute}, time.Minute + second, stopped, false, "go test took too long", 2},
		{"after the loop's time", ralph.Limits{Duration: time.Minute}, time.Minute + second, ralph.Pass(), false, "the check was ended: limit of 1m0s reached", 1},
		{"in the loop's time", ralph.Limits{Duration: time.Minute}, time.Minute - second, ralph.Pass(), true, "", 0},
		{"the shorter of both", ralph.Limits{Duration: time.Minute, VerifyTimeout: time.Hour}, time.Minute + second, ralph.Pass(), false, "the check was ended: limit of 1m0s reached", 1},
		{"five minutes if nothing is said", ralph.Limits{}, 5*time.Minute + second, ralph.Pass(), false, "the verification time-out has passed", 1},
		{"in five minutes", ralph.Limits{}, 5*time.Minute - second, ralph.Pass(), true, "", 0},
		{"as long as it likes", ralph.Limits{VerifyTimeout: -1}, 100 * time.Hour, ralph.Pass(), true, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &ralph.Local{Runner: ralph.Replay(done), Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
					<-time.After(tt.takes)
					return tt.v, nil
				})}
				it, err := l.Iterate(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Limits: tt.limits}))
				v := it.Verdict
				if err != nil || v.Passed != tt.passed || !strings.Contains(v.Feedback, tt.says) || v.Undecided() == tt.passed || len(v.Checks) != tt.checks {
					t.Fatalf("%v: %+v", err, v)
				}
				if !tt.passed && v.Checks[len(v.Checks)-1].Status != ralph.CheckTimeout {
					t.Errorf("%+v", v.Checks)
				}
			})
		})
	}
}

// TestVerifierThatNeverReturns: the loop goes on without it, ten seconds after
// its context is done.
func TestVerifierThatNeverReturns(t *testing.T) {
	t.Parallel()
	cause := errors.New("Ctrl-C")
	for name, tt := range map[string]struct {
		interrupt time.Duration // 0 = none
		took      time.Duration
	}{
		"time-out":  {0, time.Minute + 10*time.Second},
		"interrupt": {20 * time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan bool)
				defer close(release)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tt.interrupt > 0 {
					time.AfterFunc(tt.interrupt, func() { cancel(cause) })
				}
				begin := time.Now()
				s, _, err := runLoop(t, ctx, ralph.Local{Runner: ralph.Replay(done), Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
					<-release
					return ralph.Pass(), nil
				})}, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1, VerifyTimeout: time.Minute}}))
				if took := time.Since(begin); took != tt.took || s.Elapsed != tt.took || s.Usage.Requests != 1 {
					t.Errorf("took %v: %s", took, describe(s))
				}
				if tt.interrupt > 0 {
					if !errors.Is(err, cause) || s.Done() || s.Attempt != 2 {
						t.Errorf("%v: %s", err, describe(s))
					}
				} else if stopReason(t, err) != ralph.StopIterations || !s.Verdict.Undecided() || s.Verdict.Checks[0].Status != ralph.CheckTimeout {
					t.Errorf("%v: %s, %+v", err, describe(s), s.Verdict)
				}
			})
		})
	}
}

// TestInterruptAfterTheVerifyTimeout: the attempt was interrupted before anything
// was found out, whatever the verifier says in the end.
func TestInterruptAfterTheVerifyTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("Ctrl-C")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		time.AfterFunc(65*time.Second, func() { cancel(cause) })
		it, err := (&ralph.Local{Runner: ralph.Replay(done), Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
			<-time.After(69 * time.Second)
			return ralph.Pass(), nil
		})}).Iterate(ctx, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{VerifyTimeout: time.Minute}}))
		if err != nil || it.Fault != ralph.FaultInterrupted || it.Outcome != ralph.OutcomeInterrupted || it.Claimed || len(it.Verdict.Checks) > 0 {
			t.Errorf("%v: %+v", err, it)
		}
	})
}

// TestVerifierThatEndsItsGoroutine is unable, and does not hang the loop.
func TestVerifierThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		it, err := (&ralph.Local{Runner: ralph.Replay(done), Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
			runtime.Goexit()
			return ralph.Pass(), nil
		})}).Iterate(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."}))
		if err != nil || !it.Verdict.Undecided() || it.Verdict.Checks[0].Status != ralph.CheckUnable || time.Since(begin) != 0 {
			t.Errorf("%v: %+v", err, it.Verdict)
		}
	})
}

// TestClaimAtTheEndOfTheTime: a claim that was made when the loop's time was over
// is still verified, for five minutes, whether or not the agent noticed.
func TestClaimAtTheEndOfTheTime(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for _, tt := range []struct {
		runs, verifies time.Duration
		fails          error
		verified       bool
	}{
		{time.Minute + second, 5*time.Minute - second, errors.New("killed"), true},
		{time.Minute + second, 5*time.Minute + second, errors.New("killed"), false},
		{time.Minute + second, 5*time.Minute - second, nil, true},
		{time.Minute, 5*time.Minute - second, nil, true},
		{time.Minute, 5*time.Minute + second, nil, false},
		{time.Minute - second, 0, nil, true},
		{time.Minute - second, 2 * second, nil, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, _, err := runLoop(t, t.Context(), ralph.Local{
				Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
					<-time.After(tt.runs)
					return ralph.Response{Output: done}, tt.fails
				}),
				Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
					<-time.After(tt.verifies)
					return ralph.Pass(), nil
				}),
			}, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Duration: time.Minute, VerifyTimeout: -1}}))
			if (err == nil) != tt.verified || s.Verdict.Passed != tt.verified || !tt.verified && !s.Verdict.Undecided() {
				t.Errorf("ran %v, verified for %v: %v, %s", tt.runs, tt.verifies, err, describe(s))
			}
		})
	}
}

// TestFuncsAnswerADoneContext: those that only look need not ask for it.
func TestFuncsAnswerADoneContext(t *testing.T) {
	t.Parallel()
	cause := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	runner := ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) { return ralph.Response{Output: done}, nil })
	verifier := ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), nil })
	if resp, err := runner.Run(ctx, ralph.Request{}); err != nil || resp.Output != done {
		t.Errorf("%+v, %v", resp, err)
	}
	if v, err := verifier.Verify(ctx, ralph.Claim{}); err != nil || !v.Passed {
		t.Errorf("%+v, %v", v, err)
	}
	cancel(cause)
	if resp, err := runner.Run(ctx, ralph.Request{}); err != cause || resp.Output != "" {
		t.Errorf("%+v, %v", resp, err)
	}
	if v, err := verifier.Verify(ctx, ralph.Claim{}); err != cause || v.Passed {
		t.Errorf("%+v, %v", v, err)
	}
}

// A timed verifier says how long it takes, which may not be true.
type timed struct{ takes, says time.Duration }

func (v timed) Verify(ctx context.Context, _ ralph.Claim) (ralph.Verdict, error) {
	select {
	case <-time.After(v.takes):
	case <-ctx.Done():
	}
	return ralph.Pass(), nil
}

func (v timed) Takes(ralph.Task) time.Duration {
	if v.says == 1 {
		panic("no idea")
	}
	return v.says
}

// TestVerifierThatStatesItsTime: a loop without a time-out of its own gives a
// verifier the time that it states, and a time-out of the loop's wins.
func TestVerifierThatStatesItsTime(t *testing.T) {
	t.Parallel()
	const m = time.Minute
	for _, tt := range []struct {
		name        string
		takes, says time.Duration
		limit       time.Duration
		passed      bool
	}{
		{"longer than the default", 19 * m, 20 * m, 0, true},
		{"longer than it said", 21 * m, 20 * m, 0, false},
		{"less than the default is the default", 4 * m, m, 0, true},
		{"without bound", 100 * time.Hour, -1, 0, true},
		{"the loop's own wins", 4 * m, 20 * m, 3 * m, false},
		{"it cannot say", 4 * m, 1, 0, true},
		{"it cannot say, and takes long", 6 * m, 1, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &ralph.Local{Runner: ralph.Replay(done), Verifier: timed{tt.takes, tt.says}}
				it, err := l.Iterate(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{VerifyTimeout: tt.limit}}))
				if err != nil || it.Verdict.Passed != tt.passed {
					t.Errorf("%v: %+v", err, it.Verdict)
				}
			})
		})
	}
}
