package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/ralph-loop/ralph/internal/git"
)

// look is where the main branch is, and with Remote the task's branch there; "" = it
// has none. It is asked anew by each method, since others may have moved both.
func (w *Worktrees) look(ctx context.Context, task string) (main, theirs string, err error) {
	switch {
	case w.repo == nil:
		return "", "", errNotOpen
	case task == "":
		return "", "", errors.New("a task needs an ID")
	case w.remote != nil:
		branch, _ := Branch(task)
		return w.remote.Fetch(ctx, branch)
	}
	main, err = w.main(ctx)
	return main, "", err
}

// main is the commit of the main branch now.
func (w *Worktrees) main(ctx context.Context) (string, error) {
	if w.remote == nil {
		return w.repo.Head(ctx)
	}
	main, _, err := w.remote.Fetch(ctx, "")
	return main, err
}

// begin is the worktree of a task; it is made where the main branch is now, if it is not
// there.
func (w *Worktrees) begin(ctx context.Context, task string) (t *git.Tree, main string, err error) {
	main, theirs, err := w.look(ctx, task)
	if err == nil {
		t, err = w.reach(ctx, task, main, theirs)
	}
	return t, main, err
}

// reach is the worktree of a task, with all that the remote has of its branch.
func (w *Worktrees) reach(ctx context.Context, task, main, theirs string) (*git.Tree, error) {
	at := main
	if theirs != "" {
		var err error
		if at, err = w.follow(ctx, task, main, theirs); err != nil {
			return nil, err
		}
	}
	return w.open(ctx, task, at)
}

// tip is the commit of a task's branch: of the one here, if all that the remote has is
// in it, else the remote's.
func (w *Worktrees) tip(ctx context.Context, task, theirs string) (string, error) {
	t, err := w.repo.Tree(w.path(task))
	if err != nil {
		return "", err
	}
	tip, err := t.Tip(ctx)
	switch {
	case err != nil:
		return "", err
	case tip == "" && theirs == "":
		return "", fmt.Errorf("%s has no branch: nothing of it was committed, or it was removed since", task)
	case tip == "" || theirs == "":
		return cmp.Or(tip, theirs), nil
	}
	if has, err := w.repo.Within(ctx, theirs, tip); err != nil || has {
		return tip, err
	}
	return theirs, nil
}

// merged is the merge by which the main branch has a commit, if it has it. A merge that
// is told again after a kill then gives the same answer, and makes no second one.
func (w *Worktrees) merged(ctx context.Context, commit, main string) (m git.Merged, is bool, err error) {
	if is, err = w.repo.Within(ctx, commit, main); err == nil && is {
		m, err = w.repo.MergedBy(ctx, main, commit)
	}
	return m, is, err
}

// open is the worktree of a task; it is made at a commit, if it is not there.
func (w *Worktrees) open(ctx context.Context, task, at string) (*git.Tree, error) {
	if t := w.tree(task); t != nil && !t.Gone() {
		return t, nil
	}
	path, branch := w.path(task)
	t, err := w.repo.Add(ctx, path, branch, at)
	if err == nil {
		err = t.Include(ctx, w.Include)
	}
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trees[task] = t
	return t, nil
}

// follow makes room for what the remote has of a task's branch, unless all of that is
// in the worktree here, and returns where one is to begin that is made now. What was
// not pushed is kept as a branch: it may be the only copy of an agent's work.
func (w *Worktrees) follow(ctx context.Context, task, main, theirs string) (at string, err error) {
	path, branch := w.path(task)
	t, err := w.repo.Tree(path, branch)
	if err != nil {
		return "", err
	}
	if tip, err := t.Tip(ctx); err != nil {
		return "", err
	} else if tip != "" && t.Known() {
		if has, err := w.repo.Within(ctx, theirs, tip); err != nil || has {
			return main, err
		}
	}
	if _, err := w.repo.SetAside(ctx, path, branch, task+": what was not pushed when another worker went on", w.Include, theirs); err != nil {
		return "", fmt.Errorf("another worker has gone on with %s, and what lies in %s cannot be set aside: %w", task, path, err)
	}
	w.forget(task)
	return theirs, nil
}

// known is the worktree of a task, which must be there: to commit in one that is made
// now would commit nothing and look like success.
func (w *Worktrees) known(ctx context.Context, task string) (*git.Tree, error) {
	path, branch := w.path(task)
	t, err := w.repo.Tree(path, branch)
	if err == nil && (!t.Known() || t.Gone()) {
		err = fmt.Errorf("there is no worktree of %s: Place makes it", task)
	}
	if err != nil {
		return nil, err
	}
	return w.open(ctx, task, "HEAD")
}

// workspace looks at the worktree of a task before and after an attempt, as
// [ralph.Local] has it, but for what is committed in between: that is no change, or a
// loop of which each iteration is committed would never seem to stall.
func (w *Worktrees) workspace(task string) func(ctx context.Context, dir string) (digest string, files []string, err error) {
	var before git.View
	return func(ctx context.Context, dir string) (digest string, files []string, err error) {
		now, err := git.Look(ctx, dir, git.OwnFile)
		if err != nil || before.Top == "" {
			before = now
			return "", nil, err
		}
		digest = now.Digest()
		if t := w.tree(task); t != nil {
			if tree, err := t.Snapshot(ctx); err == nil {
				digest = tree
			}
		}
		return digest, slices.DeleteFunc(now.ChangedSince(ctx, before), git.OwnFile), nil
	}
}

// remove takes away the worktree of a task, and its branch, if they are merged.
func (w *Worktrees) remove(ctx context.Context, task string) error {
	t := w.tree(task)
	if t == nil {
		var err error
		if t, err = w.repo.Tree(w.path(task)); err != nil {
			return err
		}
	}
	if err := t.Remove(ctx); err != nil {
		return err
	}
	w.forget(task)
	return nil
}

// tree is a task's worktree, if it was asked for by now.
func (w *Worktrees) tree(task string) *git.Tree {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trees[task]
}

func (w *Worktrees) forget(task string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.trees, task)
}

// path is the folder of a task's worktree, and its branch.
func (w *Worktrees) path(task string) (path, branch string) {
	branch, dir := Branch(task)
	return filepath.Join(w.repo.Top, filepath.FromSlash(dir)), branch
}

// merging is how a branch is merged. Pipeline and the workers of a Site differ in it.
type merging struct {
	// drop are files whose changes are not merged.
	drop []string
	// put says what files hold in the commit, whatever was verified; nil = nothing.
	put func(head string) map[string][]byte
	// verify says whether the main branch may move to a merge into head.
	verify func(head string, m git.Merged) error
	// moving is told that it is about to move. An error keeps it from that.
	moving func(from, to string) error
}

// merge makes a merge, has it verified, and moves the main branch. If somebody else
// moves it meanwhile, it is made and verified anew, ten times at most: a lock that kept
// people from committing while tests run would be worse.
func (w *Worktrees) merge(ctx context.Context, t *git.Tree, from, message string, how merging) (git.Merged, error) {
	for range tries { // as long as others move the main branch meanwhile
		head, err := w.main(ctx)
		if err != nil {
			return git.Merged{}, err
		}
		m, err := w.made(ctx, t, head, from, message, how)
		if err != nil || len(m.Conflicts) > 0 {
			return m, err
		}
		if moved, err := w.move(ctx, head, m.Commit, how); err != nil || moved {
			return m, err
		}
	}
	return git.Merged{}, errors.New("the main branch moves faster than it is merged into")
}

// made is a merge that was verified, or has conflicts. It is a commit that no branch
// has yet, so a process that is killed here has moved nothing.
func (w *Worktrees) made(ctx context.Context, t *git.Tree, head, from, message string, how merging) (git.Merged, error) {
	apart, err := w.repo.Apart(ctx, from, t.Branch, head)
	if err != nil {
		return git.Merged{}, err
	}
	if !apart {
		return git.Merged{}, &unmergedError{reason: "its branch has commits of another task's: somebody else has moved one of them"}
	}
	m, err := w.repo.Merge(ctx, head, from, message, nil, how.drop)
	if err != nil || len(m.Conflicts) > 0 {
		return m, err
	}
	if err := how.verify(head, m); err != nil {
		return m, err
	}
	if how.put == nil {
		return m, nil
	}
	if put := how.put(head); put != nil {
		m, err = w.repo.Merge(ctx, head, from, message, put, how.drop)
	}
	return m, err
}

// move moves the main branch, and reports whether it has: not if somebody else was
// faster.
func (w *Worktrees) move(ctx context.Context, from, to string, how merging) (bool, error) {
	w.moves.Lock()
	defer w.moves.Unlock()
	if now, err := w.main(ctx); err != nil || now != from {
		return false, err
	}
	if err := how.moving(from, to); err != nil {
		return false, err
	}
	err := w.advance(ctx, from, to, how.drop)
	if _, moved := errors.AsType[*git.MovedError](err); moved {
		return false, nil
	}
	return err == nil, err
}

// advance moves the main branch from one commit to another, and the files that are its,
// except those in keep. Once begun in this work tree it is not cut off by ctx: half of
// the files would be new.
func (w *Worktrees) advance(ctx context.Context, from, to string, keep []string) error {
	if w.remote != nil {
		return w.remote.Push(ctx, w.repo.Branch, from, to)
	}
	return w.repo.Advance(context.WithoutCancel(ctx), from, to, keep)
}

// has refuses a task of which a commit is on none of the branches here: another worker
// has made it where this one cannot see it, and a later stage would begin without the
// work.
func (w *Worktrees) has(ctx context.Context, task, commit string) error {
	if commit == "" {
		return nil
	}
	main, theirs, err := w.look(ctx, task)
	if err != nil {
		return ours(err)
	}
	known, err := w.repo.Knows(ctx, commit)
	if err != nil {
		return ours(err)
	}
	if tip, err := w.tip(ctx, task, theirs); known && err == nil {
		for _, in := range []string{tip, main} {
			if has, err := w.repo.Within(ctx, commit, in); err != nil || has {
				return ours(err)
			}
		}
	}
	return fmt.Errorf("pipeline: the commit %.10s of %s, which was verified, is not on its branch in %s: workers have the folder in common, or a Remote", commit, task, w.repo.Top)
}
