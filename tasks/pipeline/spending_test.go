package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// priced is a runner and a judge that both cost something.
type priced struct {
	*agents
	cost   float64
	tokens int64
}

func (p priced) Run(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	r, err := p.agents.Run(ctx, req)
	r.Usage = p.usage()
	return r, err
}

func (p priced) usage() ralph.Usage {
	return ralph.Usage{Requests: 1, CostUSD: &p.cost, InputTokens: p.tokens / 2, OutputTokens: p.tokens - p.tokens/2}
}

// TestSpending has four agents at a time, and a judge of each claim, spend the budget of a
// run: never more. With a higher one the next run goes on where this one was.
func TestSpending(t *testing.T) {
	t.Parallel()
	const n = 12
	var tasks []string
	for i := range n {
		tasks = append(tasks, task(fmt.Sprint("T", i), "", nil)+"        verification_config: {contains: [truly]}\n")
	}
	for name, test := range map[string]struct {
		low, high pipeline.Rules
		stop      ralph.StopReason
		used      func(ralph.Usage) float64 // of 16
	}{
		"cost":   {pipeline.Rules{CostUSD: 16}, pipeline.Rules{CostUSD: 100}, ralph.StopCost, func(u ralph.Usage) float64 { return *u.CostUSD }},
		"tokens": {pipeline.Rules{Tokens: 1600}, pipeline.Rules{}, ralph.StopTokens, func(u ralph.Usage) float64 { return float64(u.InputTokens+u.OutputTokens) / 100 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &agents{}
			a.do = func(_ context.Context, req ralph.Request) (string, error) {
				if a.times(req.Task, "coder") == 1 { // each task needs two
					return claim(req), nil
				}
				return "Truly. " + claim(req), nil
			}
			half := priced{a, 0.5, 50}
			p, path := plain(t, a, tasks...)
			p.Runner = func(pipeline.Place) (ralph.Runner, error) { return half, nil }
			p.Verifier = judging{spec.Verifier(spec.Env{}), half.usage()}
			p.Stages = []string{"coder"}
			p.Rules, p.Share = test.low, true
			p.Rules.Slots = 4
			var s pipeline.State
			var err error
			for ev, wrong := range p.Events(t.Context()) {
				if err = wrong; wrong == nil {
					s = s.Apply(ev)
				}
				if u := s.Used(); u.CostUSD != nil && test.used(u) > 16 {
					t.Errorf("used %v", u)
				}
			}
			if reason(t, err) != test.stop || test.used(s.Used()) != 16 {
				t.Errorf("%v, used %v, forecast %v", err, s.Used(), s.Last)
			}
			calls := len(a.ran)
			next := again(t, p, a)
			next.Rules = test.low
			next.Rules.Slots, next.Runner = 4, p.Runner
			if final, err := next.Run(t.Context()); reason(t, err) != test.stop || len(a.ran) > calls || test.used(final.Used()) != 16 {
				t.Errorf("the same budget: %v, %d calls more, used %v", err, len(a.ran)-calls, final.Used())
			}
			next = again(t, p, a)
			next.Rules, next.Runner = test.high, p.Runner
			next.Rules.Slots = 4
			final, err := next.Run(t.Context())
			if err != nil || len(a.ran) != 2*n || test.used(final.Used()) != 2*n {
				t.Errorf("a higher one: %v, %d calls, used %v: %s", err, len(a.ran), final.Used(), statuses(t, path))
			}
		})
	}
}

// TestUnknownCost has a run whose costs must be known stop after the first answer of which
// they are not, though nothing of its budget is known to be spent; the next run goes on
// to the next one, and so does one that need not know.
func TestUnknownCost(t *testing.T) {
	t.Parallel()
	a := &agents{do: func(_ context.Context, req ralph.Request) (string, error) { return "Not yet.", nil }}
	p, path := plain(t, a, task("T1", "", nil), task("T2", "", nil))
	p.Stages, p.Rules = []string{"coder"}, pipeline.Rules{CostUSD: 5, Priced: true}
	_, err := p.Run(t.Context())
	const why = "T1: cost_usd is a limit, but what the last answer cost is not known"
	if stop, ok := errors.AsType[*ralph.StopError](err); !ok || stop.Reason != ralph.StopCost || !strings.HasPrefix(stop.Detail, why) || len(a.ran) != 1 {
		t.Errorf("%v, %d calls, %s", err, len(a.ran), statuses(t, path))
	}
	next := again(t, p, a)
	next.Rules = p.Rules
	if _, err := next.Run(t.Context()); reason(t, err) != ralph.StopCost || len(a.ran) != 2 {
		t.Errorf("again: %v, %d calls", err, len(a.ran))
	}
	a.do = makes(t)
	next = again(t, p, a)
	next.Rules = pipeline.Rules{CostUSD: 5}
	if _, err := next.Run(t.Context()); err != nil || len(a.ran) != 4 {
		t.Errorf("it need not be known: %v, %d calls, %s", err, len(a.ran), statuses(t, path))
	}
}

// judging adds to each verdict what it has cost.
type judging struct {
	spec.TaskVerifier
	usage ralph.Usage
}

func (j judging) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	v, err := j.TaskVerifier.Verify(ctx, c)
	v.Usage = v.Usage.Add(j.usage)
	return v, err
}

// TestDuration ends the run, and what runs, when its time is over.
func TestDuration(t *testing.T) {
	t.Parallel()
	a := &agents{do: func(ctx context.Context, _ ralph.Request) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}}
	p, path := plain(t, a, task("T1", "", nil), task("T2", "", nil))
	p.Stages, p.Rules.Duration = []string{"coder"}, 2*time.Second
	_, err := p.Run(t.Context())
	if reason(t, err) != ralph.StopDuration || len(a.ran) > 1 || len(a.ran) == 1 && !strings.HasPrefix(statuses(t, path), "T1 running, T2 ") { // none began on a very slow machine
		t.Errorf("%v, ran %q, %s", err, a.ran, statuses(t, path))
	}
	a.do = makes(t)
	next := again(t, p, a)
	next.Rules.Duration = 0
	if _, err := next.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestSteered has another process pause, continue, limit and cancel a run, and one of
// its tasks.
func TestSteered(t *testing.T) {
	t.Parallel()
	// at is what another process does while the first iteration of T1 runs; then, when
	// the event has come that is named.
	for _, test := range []struct {
		name   string
		at     func(dir steering) error
		until  pipeline.Kind
		then   func(dir steering) error
		reason ralph.StopReason
		ends   string
		ran    string
	}{
		{name: "pause", at: func(d steering) error { return d.pause("pipeline", true) }, until: pipeline.EventPaused,
			then: func(d steering) error { return d.pause("pipeline", false) }, ends: "T1 done, T2 done", ran: "T1 1 T2 1"},
		{name: "cancel", at: func(d steering) error { return d.cancel("pipeline") }, reason: ralph.StopCancelled, ends: "T1 todo, T2 ", ran: "T1 1"},
		{name: "cancel a task", at: func(d steering) error { return d.cancel("pipeline/T1.coder") }, reason: ralph.StopStalled, ends: "T1 todo, T2 done", ran: "T1 1 T2 1"},
		{name: "limit", at: func(d steering) error {
			return d.limit("pipeline", ralph.Limits{Iterations: 1<<31 - 1, CostUSD: 0.001})
		}, until: pipeline.EventRules,
			then: func(steering) error { return nil }, ends: "T1 running, T2 ", ran: "T1 1", reason: ralph.StopCost},
		{name: "stop", at: func(d steering) error { return d.limit("pipeline", ralph.Limits{Iterations: 1}) }, until: pipeline.EventStopped,
			then: func(steering) error { return nil }, ends: "T1 running, T2 ", ran: "T1 1", reason: ralph.StopIterations},
		{name: "limit a task", at: func(d steering) error { return d.limit("pipeline/T1.coder", ralph.Limits{Iterations: 1}) }, reason: ralph.StopStalled, ends: "T1 todo, T2 done", ran: "T1 1 T2 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan struct{})
			a := &agents{}
			half := priced{a, 0.5, 50}
			p, path := plain(t, a, task("T1", "", nil), task("T2", "", nil))
			other := steering{t, p.Record.Path}
			a.do = func(ctx context.Context, req ralph.Request) (string, error) {
				if req.Task != "T1" {
					return claim(req), nil
				}
				if err := test.at(other); err != nil {
					t.Error(err)
				}
				switch {
				case strings.HasPrefix(test.name, "cancel"):
					<-ctx.Done()
					return "", ctx.Err()
				case test.until != "":
					<-seen
				}
				if test.name == "pause" {
					return claim(req), nil
				}
				return "Not yet.", nil
			}
			p.Runner = func(pipeline.Place) (ralph.Runner, error) { return half, nil }
			p.Stages = []string{"coder"}
			var kinds []pipeline.Kind
			var err error
			for ev, wrong := range p.Events(t.Context()) {
				err = wrong
				if kinds = append(kinds, ev.Kind); ev.Kind == test.until && test.then != nil {
					close(seen)
					if wrong := test.then(other); wrong != nil {
						t.Error(wrong)
					}
				}
			}
			if reason(t, err) != test.reason || statuses(t, path) != test.ends {
				t.Errorf("%v, %s, %q", err, statuses(t, path), kinds)
			}
			if got := strings.ReplaceAll(strings.Join(a.ran, " "), ".coder", ""); got != test.ran {
				t.Errorf("ran %q", got)
			}
			if test.name == "pause" && !slices.Contains(kinds, pipeline.EventContinued) {
				t.Errorf("%q", kinds)
			}
			if test.reason == ralph.StopIterations || test.name == "cancel" || test.name == "limit" {
				a.do = func(_ context.Context, req ralph.Request) (string, error) { return claim(req), nil }
				if _, err := again(t, p, a).Run(t.Context()); err != nil || statuses(t, path) != "T1 done, T2 done" {
					t.Errorf("again: %v, %s", err, statuses(t, path))
				}
			}
		})
	}
}

// steering is another process.
type steering struct {
	t    *testing.T
	path string
}

func (s steering) pause(loop string, paused bool) error {
	_, err := reopened(s.t, s.path).Pause(loop, paused)
	return err
}

func (s steering) cancel(loop string) error {
	_, err := reopened(s.t, s.path).Cancel(loop, "enough")
	return err
}

func (s steering) limit(loop string, l ralph.Limits) error {
	_, err := reopened(s.t, s.path).Limit(loop, l)
	return err
}

// TestPausedBefore keeps a pause for which nobody was there.
func TestPausedBefore(t *testing.T) {
	t.Parallel()
	a := &agents{}
	ctx, interrupt := context.WithCancel(t.Context())
	a.do = func(ctx context.Context, req ralph.Request) (string, error) {
		if a.times("T1", "coder") == 1 {
			interrupt()
			<-ctx.Done()
			return "", ctx.Err()
		}
		return claim(req), nil
	}
	p, path := plain(t, a, task("T1", "", nil), task("T2", "", nil))
	p.Stages = []string{"coder"}
	if _, err := p.Run(ctx); err != context.Canceled {
		t.Fatal(err)
	}
	other := steering{t, p.Record.Path}
	p.Record.Close()
	if err := other.pause("pipeline", true); err != nil {
		t.Fatal(err)
	}
	var err error
	for ev, wrong := range again(t, p, a).Events(t.Context()) {
		if err = wrong; ev.Kind == pipeline.EventPaused {
			if a.times("T1", "coder") > 1 {
				t.Error("an agent has run")
			}
			if err := other.pause("pipeline", false); err != nil {
				t.Error(err)
			}
		}
	}
	if err != nil || statuses(t, path) != "T1 done, T2 done" {
		t.Errorf("%v, %s", err, statuses(t, path))
	}
}
