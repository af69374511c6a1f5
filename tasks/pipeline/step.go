package pipeline

import (
	"slices"

	"github.com/ralph-loop/ralph"
)

// A StepKind says what a step is. There is none for verifying: that is part of a loop,
// and of a merge.
type StepKind string

const (
	// StepStage is a loop of an agent, new or one that was interrupted.
	StepStage StepKind = "stage"
	// StepMerge is the merge of a task's branch.
	StepMerge StepKind = "merge"
)

// A Step is something that may begin now. It is a plain value, made by [State.Ready],
// and names its task by ID too: by then the state may be another.
type Step struct {
	Kind StepKind `json:"kind"`
	// Part is the index of the task in [State.Parts].
	Part int    `json:"part"`
	Task string `json:"task"`
	// Agent and Loop are those of a stage, with the loop's name, see [State.Loop].
	Agent string `json:"agent,omitempty"`
	Loop  string `json:"loop,omitempty"` // its name
	// GoOn says that the loop was interrupted, and goes on.
	GoOn bool `json:"go_on,omitempty"`
}

// Ready returns all steps that may begin now, at the same time: loops that were
// interrupted first, since what they have used is spent, else in the order of the
// tasks. It returns no more than there are free slots.
//
// Tell [State.Next] of each step that begins, and then look at the task's [Stand]: if
// its phase is not [PhaseRunning], or [PhaseMerging] for a merge, the step has not
// begun, since something else has happened after Ready was called. If nothing is ready
// and nothing runs, the pipeline has stopped, unless it is paused.
//
// A stage begins only when all tasks that its task waits for are done: with
// [Rules.Merge], merged. One task is merged at a time, the first of those whose stages
// are over; also when the pipeline has stopped, unless it was cancelled: what is
// verified is not left lying.
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
	for _, part := range s.begins(s.Rules.slots() - s.working()) {
		agent, _ := s.Agent(part)
		steps = append(steps, Step{Kind: StepStage, Part: part, Task: s.Parts[part].ID, Agent: agent, Loop: s.Loop(part),
			GoOn: s.phase(part) == PhaseInterrupted})
	}
	return steps
}

// begins are the tasks of which a stage may begin or go on, n at most.
func (s State) begins(n int) (parts []int) {
	for i := 0; i < len(s.Running) && len(parts) < n; i++ {
		if part := s.Running[i].Part; s.phase(part) == PhaseInterrupted && s.free(part) {
			parts = append(parts, part)
		}
	}
	for i := 0; i < min(len(s.Parts), len(s.Stands)) && len(parts) < n; i++ {
		if s.Stands[i].Phase == PhaseOpen && s.free(i) {
			parts = append(parts, i)
		}
	}
	return parts
}

// merge is the task that can be merged now, -1 = none can. Merges come one after the
// other, as each of them is verified against a main branch that must then not move.
func (s State) merge() int {
	if s.merging() >= 0 {
		return -1
	}
	return s.at(PhaseReady)
}

// merging is the task that is being merged, -1 = none is.
func (s State) merging() int {
	return s.at(PhaseMerging)
}

// at is the first task of a phase, -1 = there is none.
func (s State) at(phase Phase) int {
	return slices.IndexFunc(s.Stands[:min(len(s.Stands), len(s.Parts))], func(st Stand) bool { return st.Phase == phase })
}

// free reports whether a task has a stage left and waits for no other; those that it waits
// for may have become others since it was begun.
func (s *State) free(part int) bool {
	if part >= len(s.Parts) {
		return false
	}
	if slices.ContainsFunc(s.Parts[part].After, func(i int) bool { return s.phase(i) != PhaseDone }) {
		return false
	}
	now := s.stand(part)
	_, more := left(s.order(part), now.over())
	return more
}
