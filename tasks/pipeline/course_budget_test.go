package pipeline_test

import (
	"cmp"
	"context"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// spending is agents that tell what each answer has cost: the first one more.
type spending struct {
	*agents
	first float64
}

func (s spending) Run(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	resp, err := s.agents.Run(ctx, req)
	usd := 1.0
	if len(s.ran) == 1 {
		usd = s.first
	}
	resp.Usage.CostUSD = &usd
	req.Live(resp.Usage)
	return resp, cmp.Or(err, ctx.Err())
}

// TestCourseBudget: a loop that its share of the budget has stopped goes on with more, where
// it was, in another round too; where there is no more the run stops.
func TestCourseBudget(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		usd, first  float64
		slots       int
		interrupted int
		stop        ralph.StopReason
	}{{"enough", 12, 1, 1, 0, ralph.StopVerified}, {"too little", 6.5, 1, 1, 0, ralph.StopCost}, {"more than its share", 30, 11, 3, 1, ralph.StopVerified}} {
		a := &agents{}
		rejected := 0
		a.do = func(_ context.Context, req ralph.Request) (string, error) {
			switch {
			case req.Task == "T1" && req.Agent == "reviewer" && rejected == 0:
				rejected++
				return "It is too long.\n\n<promise>" + req.Blocked + "</promise>", nil
			case len(a.ran) == 1:
				return "I have begun.", nil
			}
			return claim(req), nil
		}
		p, _ := plain(t, a, task("T1", "", nil), task("T2", "", nil), task("T3", "", nil))
		p.Record, p.Stages, p.Config = nil, []string{"coder", "reviewer"}, config(t, "  reviewer: {on_reject: coder}\n")
		p.Rules, p.Share = pipeline.Rules{CostUSD: test.usd, Slots: test.slots}, true
		l := checked(spending{a, test.first})
		e := engineOf(t, p, 1, &pipeline.Site{Local: l, Host: "a"}, &pipeline.Site{Local: l, Host: "b"})
		interrupted := 0
		e.ended = func(e *engine, j *job) {
			if e.phase(j.Step.Part) == pipeline.PhaseInterrupted && !e.Course.State.Done() {
				interrupted++
			}
		}
		final := e.run()
		used := final.Used()
		if spent := float64(len(a.ran)) - 1 + test.first; final.Stop != test.stop || used.CostUSD == nil || *used.CostUSD != spent || spent > test.usd || interrupted != test.interrupted {
			t.Errorf("%s: stopped %q (%s), used %v, interrupted %d times, ran %q", test.name, final.Stop, final.Detail, used, interrupted, a.ran)
		}
		for i, prompt := range a.prompts("T1", "coder") {
			if told := strings.Contains(prompt, "It is too long."); told != (i > 1-boolInt(!strings.HasPrefix(a.ran[0], "T1"))) {
				t.Errorf("%s: prompt %d of T1: is told why: %v; ran %q", test.name, i+1, told, a.ran)
			}
		}
	}
}

// TestExpected: a loop that itself expects more of its next iteration than others of its
// agent had is not granted less, which would end it again and again; and what a loop has
// used that nobody has on record counts.
func TestExpected(t *testing.T) {
	t.Parallel()
	for _, recorded := range []bool{true, false} {
		other, over := make(chan struct{}), make(chan struct{})
		a := &agents{}
		a.do = func(_ context.Context, req ralph.Request) (string, error) {
			switch {
			case req.Task == "T2":
				close(other)
				<-over
			case a.times("T1", "coder") == 1:
				<-other
				return "I have begun.", nil
			}
			return claim(req), nil
		}
		p, _ := plain(t, a, task("T1", "", nil), task("T2", "", nil))
		p.Stages, p.Share, p.Rules = []string{"coder"}, true, pipeline.Rules{CostUSD: 14, Slots: 2}
		if !recorded {
			p.Record = nil
		}
		p.Runner = func(pipeline.Place) (ralph.Runner, error) {
			return ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
				resp, err := a.Run(ctx, req)
				usd := map[bool]float64{true: 8, false: 1}[req.Task == "T1"]
				resp.Usage.CostUSD = &usd
				return resp, err
			}), nil
		}
		n, ends := 0, 0
		var s pipeline.State
		for ev, err := range p.Events(t.Context()) {
			if s = s.Apply(ev); err != nil && reason(t, err) != ralph.StopCost {
				t.Error(err)
			}
			if ev.Kind == pipeline.EventEnded && ev.Task == "T1" {
				if ends++; ends == 1 {
					close(over)
				}
			}
			if n++; n > 60 {
				t.Errorf("recorded %v: it goes round in circles", recorded)
				break
			}
		}
		if used := s.Used(); recorded && len(a.ran) != 2 || used.CostUSD == nil || *used.CostUSD != 1+8*float64(a.times("T1", "coder")) {
			t.Errorf("recorded %v: used %v, ran %q, %s", recorded, used, a.ran, s.Detail)
		}
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
