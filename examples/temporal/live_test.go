package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/temporal"
	"github.com/ralph-loop/ralph/verify"
)

// A script is an agent in this process: what it says in its turns, or its errors. Before
// the turns of the channels it waits.
type script []any

func (says script) Run(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	turn := func() any { return says[min(req.Iteration+req.Attempt-1, len(says))-1] }
	switch said := turn().(type) {
	case error:
		return ralph.Response{}, said
	case gate:
		req.Live(ralph.Usage{InputTokens: 100, CostUSD: new(0.5)})
		said.began <- req
		select {
		case <-said.goOn:
		case <-ctx.Done():
			return ralph.Response{Usage: ralph.Usage{InputTokens: 150, CostUSD: new(0.75)}}, context.Cause(ctx)
		}
		return ralph.Response{Output: "not yet", Usage: ralph.Usage{InputTokens: 200, CostUSD: new(1.0)}}, nil
	default:
		return ralph.Response{Output: fmt.Sprint(said), Usage: ralph.Usage{InputTokens: 10, CostUSD: new(0.25)}}, nil
	}
}

// A gate is where an agent waits for a test.
type gate struct {
	began chan ralph.Request
	goOn  chan struct{}
}

func newGate() gate { return gate{make(chan ralph.Request, 1), make(chan struct{})} }

func (g gate) wait(t *testing.T) {
	t.Helper()
	select {
	case <-g.began:
	case <-within(t).Done():
		t.Fatal("the agent does not run")
	}
}

// on is a worker with an agent.
func on(says script) temporal.Worker {
	return temporal.Worker{Host: "a", Local: &ralph.Local{Runner: says, Verifier: verify.String{}}}
}

// TestHistories: loops of all kinds end as they should on a real server, and their
// histories are what is replayed.
func TestHistories(t *testing.T) {
	t.Parallel()
	limited, broken := ralph.RetryAfter(errors.New("too many requests"), time.Second), errors.New("broken")
	for _, tt := range []struct {
		name   string
		says   script
		limits ralph.Limits
		stop   ralph.StopReason
	}{
		{"verified-after-3", script{"not yet", "not yet", claim}, ralph.Limits{}, ralph.StopVerified},
		{"rate-limited", script{limited, claim}, ralph.Limits{}, ralph.StopVerified},
		{"retries", script{broken, broken, claim}, ralph.Limits{}, ralph.StopVerified},
		{"rejected", script{"wrong " + claim, "wrong again\n" + claim, "right\n" + claim}, ralph.Limits{}, ralph.StopVerified},
		{"iterations", script{"not yet"}, ralph.Limits{Iterations: 2}, ralph.StopIterations},
		{"failures", script{broken}, ralph.Limits{Failures: 2, Retries: -1}, ralph.StopFailed},
		{"cost", script{"not yet"}, ralph.Limits{CostUSD: 0.6}, ralph.StopCost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPark(t, 0)
			w := on(tt.says)
			w.Local.Verifier = ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
				if strings.Contains(c.Output, "wrong") {
					return ralph.Reject("the parser fails on line 7"), nil
				}
				return ralph.Pass(), nil
			})
			p.work(w)
			r := p.run(p.start("loop", ralph.Task{Limits: tt.limits}))
			if s := r.end(); s.Stop != tt.stop {
				t.Errorf("it ended %q (%s): %v", s.Stop, s.Detail, r.err)
			}
			r.recorded("", tt.name)
		})
	}
}

// TestSteered: signals reach a loop while its agent runs, and its state tells what that
// uses.
func TestSteered(t *testing.T) {
	t.Parallel()
	p, g, next, cut := newPark(t, 3*time.Second), newGate(), newGate(), newGate()
	p.work(on(script{g, next, cut}))
	r := p.run(p.start("loop", ralph.Task{}))
	g.wait(t)
	r.signal(temporal.SignalGuide, "look at the parser")
	r.signal(temporal.SignalPause, true)
	r.signal(temporal.SignalLimits, ralph.Limits{Iterations: 5})
	r.at("the signals, and the usage", func(s ralph.State) bool {
		return s.Running && s.Paused && s.Late == 1 && s.Task.Limits.Iterations == 5 && s.Usage.InputTokens == 100 && s.Ran > 0
	})
	close(g.goOn)
	r.at("the pause after the attempt", func(s ralph.State) bool { return s.Paused && !s.Running && s.Iteration == 2 })
	r.signal(temporal.SignalPause, false)
	select {
	case req := <-next.began:
		if !strings.Contains(req.Prompt, "look at the parser") {
			t.Errorf("the prompt was %q", req.Prompt)
		}
	case <-within(t).Done():
		t.Fatal("it does not go on")
	}
	close(next.goOn)
	select {
	case req := <-cut.began:
		if strings.Contains(req.Prompt, "look at the parser") {
			t.Errorf("the prompt after it was %q", req.Prompt)
		}
	case <-within(t).Done():
		t.Fatal("it does not go on")
	}
	r.signal(temporal.SignalCancel, "no more")
	s := r.end()
	if s.Stop != ralph.StopCancelled || s.Detail != "no more" || s.Usage.InputTokens != 550 {
		t.Errorf("it ended %q (%s), %v: %v", s.Stop, s.Detail, s.Usage, r.err)
	}
	r.recorded("", "steered")
}

// TestRunEnds: who waits for a loop may go away, or cancel it.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		cause error
		stop  ralph.StopReason
	}{
		{"detached", errors.New("enough"), ""},
		{"cancelled", fmt.Errorf("%w: enough", ralph.ErrCancelled), ralph.StopCancelled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, g := newPark(t, 3*time.Second), newGate()
			p.work(on(script{g, claim}))
			s := p.start("loop", ralph.Task{})
			r := p.run(s)
			g.wait(t)
			r.at("the usage", func(s ralph.State) bool { return s.Usage.InputTokens == 100 })
			r.cancel(tt.cause)
			if got := r.end(); got.Stop != tt.stop || got.Usage.InputTokens < 100 {
				t.Errorf("the state is %+v", got)
			}
			if tt.stop != "" {
				if want := (*ralph.StopError)(nil); !errors.As(r.err, &want) {
					t.Errorf("the error is %v", r.err)
				}
				return
			}
			if !errors.Is(r.err, tt.cause) || r.state.Iteration != 1 {
				t.Errorf("the error is %v", r.err)
			}
			again := p.run(s) // attaches
			close(g.goOn)
			again.verified(2, 1)
		})
	}
}

// TestAttach: a name is a loop: Run waits for the one that runs, tells how one has ended,
// and refuses another task.
func TestAttach(t *testing.T) {
	t.Parallel()
	p := newPark(t, 0)
	var mu sync.Mutex
	runs := 0
	w := on(nil)
	w.Local.Runner = ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		runs++
		return ralph.Response{Output: "not yet"}, nil
	})
	p.work(w)
	start := p.start("loop", ralph.Task{Limits: ralph.Limits{Iterations: 2}})
	var all []*running
	for range 3 {
		all = append(all, p.run(start))
	}
	all = append(all, p.run(all[0].end())) // one that is done
	var s ralph.State
	for _, r := range all {
		if s = r.end(); s.Stop != ralph.StopIterations || runs != 2 {
			t.Errorf("it ended %q after %d runs: %v", s.Stop, runs, r.err)
		}
	}
	if r := p.run(start); r.end().Stop != ralph.StopIterations || runs != 2 {
		t.Errorf("waited for again, it ended %q after %d runs: %v", r.state.Stop, runs, r.err)
	}
	other := start
	other.Task.Prompt = "Do something else."
	if r := p.run(other); r.end().Done() || r.err == nil || !strings.Contains(r.err.Error(), "another task") {
		t.Errorf("another task: %q, %v", r.state.Stop, r.err)
	}
	more := s.Limit(ralph.Limits{Iterations: 4})
	if r := p.run(more); r.end().Stop != ralph.StopIterations || r.state.Completed() != 4 || runs != 4 {
		t.Errorf("with more iterations it ended %q after %d runs: %v", r.state.Stop, runs, r.err)
	}
	if r := p.run(more); r.end().Completed() != 4 || runs != 4 {
		t.Errorf("waited for once more, it ended after %d runs: %v", runs, r.err)
	}
}

// TestBeginsAnew: a loop whose workflow was terminated, or has failed, begins from the
// state that is given.
func TestBeginsAnew(t *testing.T) {
	t.Parallel()
	p, g := newPark(t, 3*time.Second), newGate()
	p.work(on(script{g, claim}))
	start := p.start("loop", ralph.Task{})
	r := p.run(start)
	g.wait(t)
	if err := p.loop.Client.TerminateWorkflow(within(t), r.name, "", "for the test"); err != nil {
		t.Fatal(err)
	}
	if r.end(); r.err == nil {
		t.Error("a workflow that was terminated is no error")
	}
	again := p.run(start)
	g.wait(t)
	close(g.goOn)
	again.verified(2, 1)
}

// TestSearch: loops can be looked for by their task, agent, end and cost.
func TestSearch(t *testing.T) {
	t.Parallel()
	p := newPark(t, 0)
	p.work(on(script{"not yet", claim}))
	p.run(p.start("wanted", ralph.Task{Agent: "robot"})).verified(2, 1)
	query := "RalphTask = 'wanted' AND RalphAgent = 'robot' AND RalphStop = 'verified' AND RalphCost = 0.5"
	until(t, "the loop that is looked for", func() bool {
		resp, err := p.loop.Client.ListWorkflow(within(t), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		if err != nil {
			t.Fatal(err)
		}
		return len(resp.Executions) == 1
	})
}

// A fussy verifier or runner cannot work on a task.
type fussy struct {
	verify.String
	prepare, validate error
}

func (f fussy) Prepare(_ context.Context, t ralph.Task) (ralph.Task, error) { return t, f.prepare }
func (f fussy) Validate(ralph.Task) error                                   { return f.validate }

// TestRefused: what nobody can work on fails once, no agent runs, and no secret is told.
func TestRefused(t *testing.T) {
	t.Parallel()
	const key = "sk-ant-api03-0123456789abcdefghijABCDEFGHIJ0123456789abcdefghijABCDEFGHIJ0123456789abcdefghij-ABCDEFGAA"
	for _, tt := range []struct {
		name   string
		v      ralph.Verifier
		prompt string
		says   string
	}{
		{"prepare", fussy{prepare: errors.New("no make here, with " + key)}, "Do it.", "no make here"},
		{"validate", fussy{validate: errors.New("no such check")}, "Do it.", "no such check"},
		{"nothing", verify.String{}, " ", "nothing to tell"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPark(t, 0)
			w := on(script{claim})
			w.Local.Verifier = tt.v
			p.work(w)
			r := p.run(p.start("loop", ralph.Task{Prompt: tt.prompt}))
			r.end()
			var app *sdk.ApplicationError
			if !errors.As(r.err, &app) || !app.NonRetryable() || !strings.Contains(r.err.Error(), tt.says) {
				t.Errorf("it ended: %v", r.err)
			}
			h := r.recorded("", "")
			if n := strings.Count(h.String(), "activity_task_scheduled_event_attributes"); n != 1 {
				t.Errorf("%d activities", n)
			}
			if strings.Contains(h.String(), key) {
				t.Error("the key is in the history")
			}
		})
	}
}

// TestSecrets: what looks like a key, or is told to be one, is in no history.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const named, looks = "correct horse battery staple", "sk-ant-api03-0123456789abcdefghijABCDEFGHIJ0123456789abcdefghijABCDEFGHIJ0123456789abcdefghij-ABCDEFGAA"
	p := newPark(t, 0)
	w := on(script{fmt.Errorf("cannot log in with %s or %s", named, looks), "I used " + looks + " and " + named + "\n" + claim, claim})
	w.Redactor.Secrets = []string{named}
	w.Local.Verifier = ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
		if c.Attempt > 1 {
			return ralph.Reject("the log shows " + looks + " and " + named), nil
		}
		return ralph.Pass(), nil
	})
	p.work(w)
	r := p.run(p.start("loop", ralph.Task{}))
	r.verified(2, 1)
	for _, secret := range []string{named, looks} {
		if strings.Contains(r.recorded("", "").String(), secret) {
			t.Errorf("%q is in the history", secret)
		}
	}
}
