package pipeline

import (
	"context"
	"fmt"
)

// Anew makes room for a task that is begun anew: what an earlier run has left of it in
// its worktree and on its branch, and the main branch does not have, is kept in this
// clone beside it, as the branch ralph/NAME.1, or the first number that is free. It
// returns that branch, "" if there was nothing to keep. With Remote the task's branch
// is removed there, too. Nobody must be at work in the worktree.
//
// Nothing is thrown away, since what a machine takes for old may be all that a person
// has.
func (w *Worktrees) Anew(ctx context.Context, task string) (kept string, err error) {
	main, theirs, err := w.look(ctx, task)
	if err != nil {
		return "", ours(err)
	}
	path, branch := w.path(task)
	if theirs != "" { // so that it is here, to be kept
		if _, err := w.reach(ctx, task, main, theirs); err != nil {
			return "", ours(err)
		}
	}
	if kept, err = w.repo.SetAside(ctx, path, branch, task+": what was left of it", w.Include, main); err != nil {
		return "", ours(fmt.Errorf("%s begins anew, and what lies in %s cannot be set aside: %w", task, path, err))
	}
	w.forget(task)
	if theirs != "" {
		err = overtaken(task, w.remote.Push(ctx, branch, theirs, ""))
	}
	return kept, ours(err)
}
