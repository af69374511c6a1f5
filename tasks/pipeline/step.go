package pipeline

import (
	"slices"

	"github.com/ralph-loop/ralph"
)

// A StepKind says what a step is.
type StepKind string

const (
	StepStage StepKind = "stage" // a loop of an agent, new or one that was interrupted
	StepMerge StepKind = "merge" // a task's branch is merged
)

// A Step is something that may begin now.
type Step struct {
	Kind  StepKind `json:"kind"`
	Part  int      `json:"part"`
	Task  string   `json:"task"`
	Agent string   `json:"agent,omitempty"` // of a stage
	Loop  string   `json:"loop,omitempty"`  // its name
	GoOn  bool     `json:"go_on,omitempty"` // a loop that was interrupted
}

// Ready returns all steps that may begin now, at the same time: loops that were
// interrupted first, else in the order of the tasks. Each that begins is told by
// [State.Next]. Where nothing is ready and nothing runs the pipeline has stopped, unless
// it is paused.
//
// A stage begins only when all tasks that its task waits for are done: with
// [Rules.Merge], merged. One task is merged at a time, the first of those whose stages
// are over; also when the pipeline has stopped, unless it was cancelled: what is verified
// is not left lying.
func (s State) Ready() []Step {
	if s.Paused || s.Stop == ralph.StopCancelled || s.Stop == ralph.StopInvalid {
		return nil
	}
	var steps []Step
	if i := s.merge(); i >= 0 {
		steps = append(steps, Step{Kind: StepMerge, Part: i, Task: s.Parts[i].ID})
	}
	if s.Done() {
		return steps
	}
	free := s.Rules.slots() - s.working()
	for i := 0; i < len(s.Running) && free > 0; i++ {
		if part := s.Running[i].Part; s.Stands[part].Phase == PhaseInterrupted {
			steps, free = append(steps, s.stage(part, true)), free-1
		}
	}
	for i := 0; i < len(s.Parts) && free > 0; i++ {
		if s.startable(i) {
			steps, free = append(steps, s.stage(i, false)), free-1
		}
	}
	return steps
}

func (s State) stage(part int, goOn bool) Step {
	agent, _ := s.Agent(part)
	return Step{Kind: StepStage, Part: part, Task: s.Parts[part].ID, Agent: agent, Loop: s.Loop(part), GoOn: goOn}
}

// merge is the task that can be merged now, -1 = none can.
func (s State) merge() int {
	if s.merging() >= 0 {
		return -1
	}
	return slices.IndexFunc(s.Stands, func(st Stand) bool { return st.Phase == PhaseReady })
}

// merging is the task that is being merged, -1 = none is.
func (s State) merging() int {
	return slices.IndexFunc(s.Stands, func(st Stand) bool { return st.Phase == PhaseMerging })
}

// startable reports whether the next stage of a task may begin, if there is a slot.
func (s State) startable(part int) bool {
	return s.Stands[part].Phase == PhaseOpen &&
		!slices.ContainsFunc(s.Parts[part].After, func(i int) bool { return s.Stands[i].Phase != PhaseDone })
}
