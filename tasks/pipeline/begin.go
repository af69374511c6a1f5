package pipeline

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/plugin"
)

// beginStep records that a step begins, before anything is done: after a kill it is
// better to know of a step that has not begun than not to know of one that has. It is
// false if the task cannot be had, or if the state has other plans by now.
func (r *run) beginStep(ctx context.Context, step Step) (bool, error) {
	if mine, err := r.take(ctx, step.Part); err != nil || !mine {
		return false, err
	}
	if step.Kind == StepMerge {
		err := r.note(ctx, Event{Kind: EventMerging, Task: step.Task})
		return r.state().Stands[step.Part].Phase == PhaseMerging, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// The lock is held from here to the record: what others steer comes before or
	// after.
	if !slices.Contains(r.s.Ready(), step) { // others have steered it meanwhile
		return false, nil
	}
	return true, r.noteLocked(ctx, Event{Kind: EventBegan, Task: step.Task, Agent: step.Agent, Loop: step.Loop})
}

// take takes a task for this run before its first step, whatever that is: what an
// earlier run had of it may be somebody else's by now. It is asked once, for a task
// that went back to an earlier agent is still ours.
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

// titles are those of tasks, as an event tells them.
func (r *run) titles(of ...AgreedTask) map[string]string {
	all := map[string]string{}
	for _, t := range of {
		if title := []rune(strings.Join(strings.Fields(r.redact(t.Definition.Title)), " ")); len(title) > 0 {
			all[t.Definition.ID] = string(title[:min(len(title), maxTitle)])
		}
	}
	return all
}

const maxTitle = 120
