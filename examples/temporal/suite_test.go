package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/temporal"
	//	"github.com/ralph-loop/ralph/examples/temporal/dev"
	"github.com/ralph-loop/ralph/examples/temporal/dev"
	"github.com/ralph-loop/ralph/verify"
)

// begin is when the loops of the suite begin: long ago.
var begin = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

// An input is what the workflow is given.
type input struct {
	State ralph.State                  `json:"state"`
	Hosts map[string]map[string]string `json:"hosts"`
}

// A suite is a loop in Temporal's test suite, where no time passes but the workflow's.
type suite struct {
	*testing.T
	*testsuite.TestWorkflowEnvironment
	mu      sync.Mutex
	prompts []string        // of the agent's runs
	began   []time.Duration // activities, counted from begin
	timers  []time.Duration
}

// answers is the agent of a suite: what it says in its turns, or its errors.
type answers []any

func newSuite(t *testing.T, says answers) *suite {
	t.Helper()
	e := emptySuite(t)
	e.worker(e.agent(says))
	return e
}

func emptySuite(t *testing.T) *suite {
	var ts testsuite.WorkflowTestSuite
	ts.SetLogger(dev.Quiet())
	e := &suite{T: t, TestWorkflowEnvironment: ts.NewTestWorkflowEnvironment()}
	e.SetStartTime(begin)
	e.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) {
		e.began = append(e.began, e.Now().Sub(begin))
	})
	e.SetOnTimerScheduledListener(func(_ string, d time.Duration) { e.timers = append(e.timers, d) })
	return e
}

// A standIn registers another activity for the worker's, which needs a server to tell what
// it does.
type standIn struct {
	worker.Registry
	activity any
}

func (r standIn) RegisterActivityWithOptions(_ any, options activity.RegisterOptions) {
	r.Registry.RegisterActivityWithOptions(r.activity, options)
}

// worker registers the workflow, and what runs as its activity.
func (e *suite) worker(activity func(context.Context, input) (any, error)) {
	e.Helper()
	if err := temporal.Register(standIn{e, activity}, &ralph.Local{}); err != nil {
		e.Fatal(err)
	}
}

// agent returns an activity that makes attempts.
func (e *suite) agent(says answers) func(context.Context, input) (any, error) {
	l := &ralph.Local{Verifier: verify.String{}}
	l.Runner = ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.prompts = append(e.prompts, req.Prompt)
		switch said := says[min(len(e.prompts), len(says))-1].(type) {
		case error:
			return ralph.Response{}, said
		default:
			return ralph.Response{Output: fmt.Sprint(said), Usage: ralph.Usage{InputTokens: 10, CostUSD: new(0.25)}}, nil
		}
	})
	return func(ctx context.Context, in input) (any, error) {
		if in.Hosts == nil {
			s, err := l.Prepare(ctx, in.State)
			return map[string]any{"host": "a", "prepared": s}, err
		}
		it, err := l.Iterate(ctx, in.State)
		return map[string]any{"host": "a", "iteration": it}, err
	}
}

// after has something done when so much of the workflow's time has passed.
func (e *suite) after(d time.Duration, do func()) { e.RegisterDelayedCallback(do, d) }

// runs executes the workflow.
func (e *suite) runs(s ralph.State) (ralph.State, error) {
	e.Helper()
	e.ExecuteWorkflow("ralph.Loop", input{State: s})
	if !e.IsWorkflowCompleted() {
		e.Fatal("the workflow has not come to its end")
	}
	if err := e.GetWorkflowError(); err != nil {
		return s, err
	}
	var final ralph.State
	if err := e.GetWorkflowResult(&final); err != nil {
		e.Fatal(err)
	}
	return final, nil
}

// state asks the workflow.
func (e *suite) state() (s ralph.State) {
	e.Helper()
	v, err := e.QueryWorkflow(temporal.QueryState)
	if err == nil {
		err = v.Get(&s)
	}
	if err != nil {
		e.Fatal(err)
	}
	return s
}

// claim is an answer with the promise.
const claim = "<promise>COMPLETE</promise>"

func task(e testing.TB, l ralph.Limits) ralph.State {
	return ralph.Start(ralph.Task{ID: "t", Prompt: "Do it.", Dir: e.TempDir(), Limits: l})
}

// TestWaits: what the loop waits for is a timer of the workflow, and its times are the
// workflow's.
func TestWaits(t *testing.T) {
	limited := ralph.RetryAfter(errors.New("too many requests"), 3*time.Hour)
	broken := errors.New("broken")
	for _, tt := range []struct {
		name     string
		says     answers
		waits    int
		attempts string
	}{
		{"a rate limit", answers{limited, claim}, 1, "1.2"},
		{"rate limits without a time", answers{ralph.RetryAfter(broken, 0), ralph.RetryAfter(broken, 0), claim}, 2, "1.3"},
		{"retries", answers{broken, broken, broken, claim}, 3, "1.4"},
		{"none", answers{"not yet", "not yet", claim}, 0, "3.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newSuite(t, tt.says)
			var asked []time.Duration
			e.SetOnTimerScheduledListener(func(_ string, d time.Duration) {
				e.timers = append(e.timers, d)
				e.after(0, func() { asked = append(asked, e.state().Wait) })
			})
			s, err := e.runs(task(t, ralph.Limits{}))
			if at := fmt.Sprintf("%d.%d", s.Iteration, s.Attempt); err != nil || s.Stop != ralph.StopVerified || at != tt.attempts {
				t.Fatalf("it ended %s at %s: %v", s.Stop, at, err)
			}
			if len(e.timers) != tt.waits || !slices.Equal(e.timers, asked) {
				t.Errorf("timers %v, and the state's waits were %v", e.timers, asked)
			}
			sum := time.Duration(0)
			for i, d := range e.timers {
				sum += d
				if got := e.began[i+2]; got != sum {
					t.Errorf("attempt %d began after %v, want %v", i+2, got, sum)
				}
			}
			if s.Updated.Sub(begin) != sum {
				t.Errorf("it ended at %v, want %v after %v", s.Updated, sum, begin)
			}
		})
	}
}

// TestSignals: a loop is steered before its first attempt, and while it waits.
func TestSignals(t *testing.T) {
	limited := ralph.RetryAfter(errors.New("too many requests"), 3*time.Hour)
	for _, tt := range []struct {
		name  string
		steer func(e *suite)
		stop  ralph.StopReason
		began []time.Duration // of the activities after the first, which prepares the loop
		says  string          // in the last prompt
	}{
		{"paused before the first attempt", func(e *suite) {
			e.after(0, func() { e.SignalWorkflow(temporal.SignalPause, true) })
			e.after(time.Hour, func() {
				if s := e.state(); !s.Paused || len(e.prompts) > 0 {
					e.Errorf("after an hour: paused %v, %d runs", s.Paused, len(e.prompts))
				}
				e.SignalWorkflow(temporal.SignalPause, false)
			})
		}, ralph.StopVerified, []time.Duration{time.Hour, 4 * time.Hour}, ""},
		{"cancelled before the first attempt", func(e *suite) {
			e.after(0, func() { e.SignalWorkflow(temporal.SignalCancel, "no more") })
		}, ralph.StopCancelled, nil, ""},
		{"paused in a wait that ends meanwhile", func(e *suite) {
			e.after(time.Hour, func() { e.SignalWorkflow(temporal.SignalPause, true) })
			e.after(5*time.Hour, func() { e.SignalWorkflow(temporal.SignalPause, false) })
		}, ralph.StopVerified, []time.Duration{0, 5 * time.Hour}, ""},
		{"paused and continued in a wait", func(e *suite) {
			e.after(time.Hour, func() { e.SignalWorkflow(temporal.SignalPause, true) })
			e.after(2*time.Hour, func() { e.SignalWorkflow(temporal.SignalPause, false) })
		}, ralph.StopVerified, []time.Duration{0, 3 * time.Hour}, ""},
		{"guided in a wait", func(e *suite) {
			e.after(time.Hour, func() { e.SignalWorkflow(temporal.SignalGuide, "look at the parser") })
		}, ralph.StopVerified, []time.Duration{0, 3 * time.Hour}, "look at the parser"},
		{"limits that forbid the wait", func(e *suite) {
			e.after(time.Hour, func() { e.SignalWorkflow(temporal.SignalLimits, ralph.Limits{Wait: 2 * time.Hour}) })
		}, ralph.StopRateLimited, []time.Duration{0}, ""},
		{"limits that are none", func(e *suite) {
			e.after(time.Hour, func() { e.SignalWorkflow(temporal.SignalLimits, ralph.Limits{Tokens: -1}) })
		}, ralph.StopVerified, []time.Duration{0, 3 * time.Hour}, ""},
		{"cancelled in a wait, twice", func(e *suite) {
			e.after(time.Hour, func() {
				e.SignalWorkflow(temporal.SignalCancel, "")
				e.SignalWorkflow(temporal.SignalCancel, "again")
			})
		}, ralph.StopCancelled, []time.Duration{0}, ""},
		{"the workflow is cancelled in a wait", func(e *suite) {
			e.after(time.Hour, e.CancelWorkflow)
		}, ralph.StopCancelled, []time.Duration{0}, ""},
		{"the workflow is cancelled in a pause", func(e *suite) {
			e.after(time.Hour, func() { e.SignalWorkflow(temporal.SignalPause, true) })
			e.after(2*time.Hour, e.CancelWorkflow)
		}, ralph.StopCancelled, []time.Duration{0}, ""},
		{"what no one can read", func(e *suite) {
			e.after(time.Hour, func() {
				e.SignalWorkflow(temporal.SignalLimits, "many")
				e.SignalWorkflow(temporal.SignalPause, "yes")
				e.SignalWorkflow(temporal.SignalCancel, 7)
				e.SignalWorkflow(temporal.SignalGuide, []string{"a"})
				e.SignalWorkflow("unknown", "a")
			})
		}, ralph.StopVerified, []time.Duration{0, 3 * time.Hour}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newSuite(t, answers{limited, claim})
			tt.steer(e)
			s, err := e.runs(task(t, ralph.Limits{}))
			if err != nil || s.Stop != tt.stop {
				t.Fatalf("it ended %q (%s): %v", s.Stop, s.Detail, err)
			}
			if got := e.began[min(len(e.began), 1):]; !slices.Equal(got, tt.began) {
				t.Errorf("attempts began after %v, want %v", got, tt.began)
			}
			if tt.says != "" && !strings.Contains(e.prompts[len(e.prompts)-1], tt.says) {
				t.Errorf("the last prompt was %q", e.prompts[len(e.prompts)-1])
			}
		})
	}
}

// TestAnew: a history that grows too long is followed by another one, and what came
// last in the old one is not lost.
func TestAnew(t *testing.T) {
	e := newSuite(t, answers{ralph.RetryAfter(errors.New("too many requests"), 3*time.Hour), claim})
	e.after(2*time.Hour, func() {
		e.SetContinueAsNewSuggested(true)
		for _, text := range []string{"first", "second"} { // they wait for what wakes the workflow
			e.SignalWorkflowSkippingWorkflowTask(temporal.SignalGuide, text)
		}
	})
	_, err := e.runs(task(t, ralph.Limits{}))
	var anew *workflow.ContinueAsNewError
	if !errors.As(err, &anew) {
		t.Fatalf("it ended: %v", err)
	}
	var in input
	if err := converter.GetDefaultDataConverter().FromPayloads(anew.Input, &in); err != nil {
		t.Fatal(err)
	}
	if s := in.State; anew.WorkflowType.Name != "ralph.Loop" || s.Iteration != 1 || s.Attempt != 2 || !slices.Equal(s.Guidance, []string{"first", "second"}) {
		t.Errorf("%s goes on with %+v", anew.WorkflowType.Name, in.State)
	}
	if _, ok := in.Hosts["a"]; !ok {
		t.Error("what was prepared is forgotten")
	}
}

// TestLost: a worker that was lost before anything began has cost no attempt, and one
// that is lost again and again ends the loop.
func TestLost(t *testing.T) {
	gone := sdk.NewHeartbeatTimeoutError(map[string]string{"host": "a"})
	prepared := map[string]any{"host": "a", "prepared": map[string]any{"prepared": true, "task": map[string]any{"guarded": map[string]string{"x_test.go": "1"}}}}
	attempt := func(n int) map[string]any {
		return map[string]any{"host": "a", "iteration": ralph.Iteration{Number: 1, Attempt: n, Outcome: ralph.OutcomeSuccess, Claimed: true, Verdict: ralph.Pass()}}
	}
	for _, tt := range []struct {
		name    string
		results []any // of the activities
		stop    ralph.StopReason
		attempt int
	}{
		{"none", []any{prepared, attempt(1)}, ralph.StopVerified, 1},
		{"while it prepares", []any{gone, gone, prepared, attempt(1)}, ralph.StopVerified, 1},
		{"whenever it prepares", []any{gone, gone, gone}, ralph.StopFailed, 0},
		{"in an attempt", []any{prepared, gone, attempt(2)}, ralph.StopVerified, 2},
		{"in every attempt", []any{prepared, gone, gone, gone}, ralph.StopFailed, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, calls := emptySuite(t), 0
			e.worker(func(context.Context, input) (any, error) {
				if calls++; calls > len(tt.results) {
					return nil, sdk.NewNonRetryableApplicationError("one more activity", "refused", nil)
				}
				r := tt.results[calls-1]
				if err, ok := r.(error); ok {
					return nil, err
				}
				return r, nil
			})
			s, err := e.runs(task(t, ralph.Limits{Retries: -1, Failures: 1}))
			if err != nil || s.Stop != tt.stop || tt.attempt > 0 && (s.Attempt != tt.attempt || s.Task.Guarded["x_test.go"] != "1") {
				t.Errorf("it ended %q (%s) at %d.%d, guarded %v: %v", s.Stop, s.Detail, s.Iteration, s.Attempt, s.Task.Guarded, err)
			}
			if calls != len(tt.results) {
				t.Errorf("%d activities, want %d", calls, len(tt.results))
			}
		})
	}
}
