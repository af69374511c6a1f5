package pipeline_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/verify"
)

// A driver whose record is a Course and a Dispatch for each stage that runs: both are JSON,
// so each turn may be made by another process. What a worker does is in the function serve.
func ExampleCourse() {
	tasks := []pipeline.AgreedTask{{Stages: []ralph.Task{
		{ID: "page", Agent: "coder", Prompt: "make the page"}, {ID: "page", Agent: "reviewer", Prompt: "look at the page"},
	}}} // or Agreed.Course, of a source
	state, err := pipeline.Plan(pipeline.Rules{}, []pipeline.Planned{{ID: "page", Agents: []string{"coder", "reviewer"}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	site := pipeline.Site{Local: &ralph.Local{Runner: ralph.Replay("<promise>COMPLETE</promise>"), Verifier: verify.String{}}}
	ctx := context.Background()
	serve := func(d ralph.Dispatch, told pipeline.Stage) (ralph.Report, pipeline.StageEnd, error) {
		v, err := site.Enter(ctx, d.State, told)
		if err != nil {
			return ralph.Report{}, pipeline.StageEnd{}, err
		}
		d.State = v.State
		r, err := v.Local.Serve(ctx, d, ralph.Beat{Host: "here", Mark: ralph.NewMark()}, func(b ralph.Beat) error {
			if b.Answered != nil {
				return v.Answered(ctx, *b.Answered)
			}
			return nil
		})
		if err != nil {
			return r, pipeline.StageEnd{}, err
		}
		end, err := v.Leave(ctx)
		return r, end, err
	}
	c := pipeline.Course{Tasks: tasks}.Next(pipeline.Event{Kind: pipeline.EventStarted, State: &state})
	for len(c.State.Ready()) > 0 { // without budgets: see State.Granted
		step := c.State.Ready()[0]
		c = c.Next(pipeline.Event{Kind: pipeline.EventBegan, Task: step.Task, Agent: step.Agent, Loop: step.Loop})
		loop, told := c.Begin(step, ralph.State{})
		var end pipeline.StageEnd
		for d := (ralph.Dispatch{State: loop}); !d.State.Done(); end.State, end.Hosts = d.State, d.Hosts {
			report, left, err := serve(d, told) // by a worker
			if err != nil {
				fmt.Println(err)
				return
			}
			d, end = d.Begin(time.Now()).Told(report, time.Now()), left
		}
		c = c.End(step, end, nil)
		fmt.Println(step.Loop, end.State.Stop)
	}
	fmt.Println(c.State.Stop)
	// Output:
	// page.coder verified
	// page.reviewer verified
	// verified
}
