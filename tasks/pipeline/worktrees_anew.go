package pipeline

import (
	"context"
	"fmt"
)

// Anew makes room for a task that is begun anew: what an earlier run has left of it in its
// worktree and on its branch, and the main branch does not have, is kept in this clone
// beside it, as the branch ralph/NAME.1, or the first number that is free, which is
// returned; "" = there was nothing. With Remote the branch goes there too. Nobody must be
// at work in the worktree.
//
// It deletes nothing that the main branch does not have, so calling it by mistake costs
// a branch. Called again it finds nothing, and returns "".
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
