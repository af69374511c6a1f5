package pipeline

import (
	"cmp"
	"context"
	"slices"

	"github.com/ralph-loop/ralph/internal/plugin"
)

// beginStep records that a step begins. It is false if the task cannot be had.
//
// Between the moment in which the state said that a step is ready and this one, others
// may have paused the run or altered the task: it is asked again under the lock.
func (r *run) beginStep(ctx context.Context, step Step) (bool, error) {
	if mine, err := r.take(ctx, step.Part); err != nil || !mine {
		return false, err
	}
	// The state itself says whether the merge may begin: only one does at a time.
	if step.Kind == StepMerge {
		err := r.note(ctx, Event{Kind: EventMerging, Task: step.Task})
		return r.state().Stands[step.Part].Phase == PhaseMerging, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.s.Ready(), step) { // others have steered it meanwhile
		return false, nil
	}
	return true, r.noteLocked(ctx, Event{Kind: EventBegan, Task: step.Task, Agent: step.Agent, Loop: step.Loop})
}

// take takes a task for this run before its first step, whatever that is: what an
// earlier run had of it may be somebody else's by now. It is asked once for a task, for
// what this run has it need not take again; a task that is refused is looked at, to say
// what became of it.
func (r *run) take(ctx context.Context, part int) (mine bool, err error) {
	if r.taken[part] {
		return true, nil
	}
	id := r.agreed(part).Definition.ID
	err = plugin.Call("pipeline: Source.Take", func() (err error) { mine, err = r.p.Source.Take(ctx, id); return })
	switch {
	case err != nil:
		return false, err
	case !mine:
		return false, cmp.Or(r.look(ctx), r.altered(ctx, id, "taken by somebody else"))
	}
	r.taken[part] = true
	return true, nil
}
