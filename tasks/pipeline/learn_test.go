package pipeline_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// TestLearn: each stage's loop asks what it can learn, with what its agent usually has and
// what is configured for it; what it learned holds for it.
func TestLearn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		max         int
		config      spec.Config
		own         bool
		usual, most int
	}{
		{name: "nobody says", usual: 15},
		{name: "configured", config: spec.Config{MaxIterations: 7}, usual: 15, most: 7},
		{name: "--max", max: 4, config: spec.Config{MaxIterations: 7}, usual: 15, most: 4},
		{name: "a single pass", max: 4, config: spec.Config{Disabled: true}, usual: 1, most: 1},
		{name: "a task of one's own", own: true, usual: 6, most: 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := &agents{do: func(context.Context, ralph.Request) (string, error) { return "Not yet.", nil }}
			p, _ := plain(t, a, task("A", "", nil))
			p.Config, p.Limits.Iterations, p.Stages = test.config, test.max, []string{"coder"}
			if test.own {
				p.Task = func(d spec.Definition, agent string) (ralph.Task, error) {
					task, err := p.Config.Task(d, agent)
					task.Limits.Iterations = 6
					return task, err
				}
			}
			var asked []string
			p.Learn = func(_ context.Context, s ralph.State, usual, most int) (ralph.Lesson, error) {
				asked = append(asked, fmt.Sprint(s.Task.ID, s.Task.Agent, s.Task.Method, usual, most))
				l := s.Task.Limits
				l.Iterations = 1
				return ralph.Lesson{Limits: l, Why: "for the test"}, nil
			}
			if _, err := p.Run(t.Context()); err == nil {
				t.Error("nothing was done")
			}
			if want := []string{fmt.Sprint("A", "coder", "string_match", test.usual, test.most)}; !slices.Equal(asked, want) {
				t.Errorf("asked %q, want %q", asked, want)
			}
			if n := a.times("A", "coder"); n != 1 {
				t.Errorf("the agent ran %d times, want once", n)
			}
		})
	}
}

// TestLive: what the attempts of its loops have used so far is told while they run.
func TestLive(t *testing.T) {
	t.Parallel()
	a := &agents{do: func(context.Context, ralph.Request) (string, error) { return "Not yet.", nil }}
	p, _ := plain(t, a, task("A", "", nil))
	agent := p.Runner
	p.Stages, p.Limits.Iterations = []string{"coder"}, 1
	p.Runner = func(place pipeline.Place) (ralph.Runner, error) {
		run, err := agent(place)
		return ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			req.Live(ralph.Usage{InputTokens: 7})
			return run.Run(ctx, req)
		}), err
	}
	var told []string
	p.Live = func(req ralph.Request, u ralph.Usage) {
		told = append(told, fmt.Sprint(req.Task, req.Agent, u.InputTokens))
	}
	if _, err := p.Run(t.Context()); err == nil {
		t.Error("nothing was done")
	}
	if want := []string{"Acoder7"}; !slices.Equal(told, want) {
		t.Errorf("told were %q, want %q", told, want)
	}
}
