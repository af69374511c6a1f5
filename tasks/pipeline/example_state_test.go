package pipeline_test

import (
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// A scheduler of one's own: it asks the state what may begin, has it done wherever it
// likes, and tells what came of it. Here all stages are verified at once; a real one
// begins a loop for each stage, perhaps on another machine.
func ExampleState_Ready() {
	agents := []string{"coder", "reviewer"}
	s, err := pipeline.Plan(pipeline.Rules{Slots: 2, Merge: true}, []pipeline.Planned{
		{ID: "schema", Agents: agents},
		{ID: "api", Agents: agents, After: []string{"schema"}},
		{ID: "page", Agents: agents[:1], After: []string{"schema"}},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s = pipeline.State{}.Next(pipeline.Event{Kind: pipeline.EventStarted, State: &s}) // record it, and each event below
	for !s.Done() {
		steps := s.Ready() // all at the same time, if you like
		for _, step := range steps {
			if step.Kind == pipeline.StepMerge {
				s = s.Next(pipeline.Event{Kind: pipeline.EventMerging, Task: step.Task})
				continue
			}
			s = s.Next(pipeline.Event{Kind: pipeline.EventBegan, Task: step.Task, Agent: step.Agent, Loop: step.Loop})
		}
		for _, step := range steps {
			if step.Kind == pipeline.StepMerge {
				fmt.Println("merge", step.Task)
				s = s.Next(pipeline.Event{Kind: pipeline.EventMerged, Task: step.Task})
				continue
			}
			s = s.Next(pipeline.Event{Kind: pipeline.EventReserve, Task: step.Task, Loop: step.Loop})
			if _, granted := s.Granted(step.Task, ralph.State{}); granted { // before each iteration of its loop
				fmt.Println("loop", step.Loop)
			}
			s = s.Next(pipeline.Event{Kind: pipeline.EventEnded, Task: step.Task, Agent: step.Agent, Loop: step.Loop,
				Stop: ralph.StopVerified, Usage: ralph.Usage{InputTokens: 100}})
		}
	}
	fmt.Println(s.Stop, s.Used().InputTokens)
	// Output:
	// loop schema.coder
	// loop schema.reviewer
	// merge schema
	// loop api.coder
	// loop page.coder
	// merge page
	// loop api.reviewer
	// merge api
	// verified 500
}
