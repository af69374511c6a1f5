package ralph_test

import (
	"fmt"

	"github.com/ralph-loop/ralph"
)

// lost is the state of a loop whose process died in an attempt, as it is folded from a
// log: the mark of the attempt was recorded before the agent was started.
func lost() ralph.State {
	return ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it."}).Apply(ralph.Event{
		Kind:      ralph.EventIterationStarted,
		Iteration: ralph.Iteration{Number: 1, Attempt: 1},
		Meta:      map[string]string{"mark": ralph.NewMark()},
	})
}

// A driver of one's own, after a crash: the agent of the lost attempt may still be at
// work, and would disturb the next one.
func ExampleEndLeft() {
	s := lost()
	if s.Running {
		ended, err := ralph.EndLeft(s.Mark)
		fmt.Println("ended:", ended, err)
	}
	// Output: ended: [] <nil>
}

// A list of loops shows what a dead process has left running, and ends nothing.
func ExampleLeft() {
	left, err := ralph.Left(lost().Mark)
	fmt.Println("still running:", left, err)
	// Output: still running: [] <nil>
}
