package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// Worktrees are the git worktrees of tasks, and the way of their branches to the main
// branch, for drivers of a [State] other than [Pipeline]: what they have done by workers,
// maybe on other machines. The fields must not be changed after [Worktrees.Open], which
// comes first. The methods may be called concurrently for different tasks. Each may be
// called again after a kill at any moment, and comes to the same end then.
//
// Git's configuration, attributes and filters hold as they are when Open is called, and no
// hook of the repository runs: what an agent has made of them since means nothing. The
// programs that they name at that moment do run, filters for example; those of a
// repository that you do not know are yours to look at first.
type Worktrees struct {
	// Dir is the top of a git work tree; the branch that is checked out there is the main
	// branch, which tasks are merged into. "" = the current folder.
	Dir string
	// Include are globs, as in a .gitignore, of untracked files of Dir that come into each
	// worktree, beside those that the file .worktreeinclude there names.
	Include []string
	// Remote is the repository, a URL or a path, by which workers share what they make: each
	// has a clone of it in Dir. The main branch is then that of the remote, by the same
	// name, and the files that are checked out in Dir are left alone. Only that branch and
	// those below ralph/ are fetched and pushed, and nothing is forced. How it is reached
	// (SSH, credentials, proxies) is what was configured at Open, but what is configured for
	// a remote by its name does not count. Git's usual protocols are allowed, or those of
	// GIT_ALLOW_PROTOCOL. The remote's own hooks run, where it is: let no agent write to it.
	// A clone that leaves objects out (--filter) cannot be used.
	//
	// "" = all who work on the tasks have the folder Dir itself. Merges then change the
	// files in it, as [Pipeline] does.
	Remote string

	repo   *git.Repo // nil = it was not opened
	remote *git.Remote
	mu     sync.Mutex
	trees  map[string]*git.Tree // by task
	moves  sync.Mutex           // held while the main branch is moved
}

// A Merge is what came of a merge into the main branch: a commit, or conflicts.
type Merge struct {
	// Commit is the commit by which the main branch has the task's work, and Tree its files,
	// as git names them. Of a task that was merged before, and has its branch still, it is
	// the merge of then; of one without work it is a commit of the main branch.
	Commit string `json:"commit,omitempty"`
	Tree   string `json:"tree,omitempty"`
	// Conflicts are the paths, sorted, on which both sides do not agree: then there is no
	// commit, and nothing has moved. See [Worktrees.Repair].
	Conflicts []string `json:"conflicts,omitempty"`
}

// A SiteMerge is what came of the merge of a task at a [Site].
type SiteMerge struct {
	Merge
	// Rejected is why nothing was merged, for people; "" = it was merged.
	Rejected string `json:"rejected,omitempty"`
	// Stays is why its worktree was not removed; "" = it was.
	Stays string `json:"stays,omitempty"`
	// Usage is that of its verifications.
	Usage ralph.Usage `json:"usage,omitzero"`
}

// ErrOvertaken is wrapped by the error of [Worktrees.Commit] if another worker has
// pushed the task's branch meanwhile, and by that of [Worktrees.Finish] if the main
// branch has gone another way. Nothing is lost. Call [Worktrees.Place], or
// [Worktrees.Merge], to go on from what holds now.
var ErrOvertaken = errors.New("overtaken by somebody else")

// Open opens the repository, once, before anything else and before any agent runs: what
// git is configured to do is taken as it is now. With Remote it is asked for the main
// branch.
func (w *Worktrees) Open(ctx context.Context) error {
	if w.repo != nil {
		return errors.New("pipeline: these Worktrees are open already")
	}
	repo, err := git.OpenRepo(ctx, cmp.Or(w.Dir, "."))
	if err == nil && w.Remote != "" {
		if w.remote, err = repo.Remote(w.Remote); err == nil {
			_, _, err = w.remote.Fetch(ctx, "")
		}
	}
	if err != nil {
		return ours(err)
	}
	w.repo, w.trees = repo, map[string]*git.Tree{}
	return nil
}

// ours has an error begin with the package's name.
func ours(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("pipeline: %w", err)
}

// Place is the worktree of a task: its Task, Dir and Write. It is made where the main
// branch is, if it is not there; called again it gives the same.
//
// With Remote it has what the remote has of the task's branch, if that has gone on. What a
// worker has made here since, and has not pushed, is then kept in this clone beside it, as
// the branch ralph/NAME.1, or the first number that is free. The folder is made anew for
// that: nobody must be at work in it.
func (w *Worktrees) Place(ctx context.Context, task string) (Place, error) {
	t, _, err := w.begin(ctx, task)
	if err != nil {
		return Place{}, ours(err)
	}
	return Place{Task: task, Dir: t.Dir, Write: t.Writable()}, nil
}

// Repair begins to merge the main branch into a task's worktree, for a conflict that an
// agent is to mend: the files have conflict markers then, as git merge leaves them, and
// [Worktrees.Commit] concludes it once they are gone. What lies in the worktree must be
// committed. One that is begun stays as it is.
func (w *Worktrees) Repair(ctx context.Context, task string) error {
	t, main, err := w.begin(ctx, task)
	if err == nil {
		_, err = t.StartMerge(ctx, main)
	}
	return ours(err)
}

// Commit commits what lies in the worktree of a task, which [Worktrees.Place] has made,
// and returns the commit, and its files as git names them. If nothing has changed there
// is no new commit, and the last one is returned. No agent may be at work in the
// worktree.
//
// With Remote the branch is pushed, so that another worker can go on. The error wraps
// [ErrOvertaken] if another one has pushed something else meanwhile: then the commit is
// in this clone only.
func (w *Worktrees) Commit(ctx context.Context, task, message string) (commit, tree string, err error) {
	_, theirs, err := w.look(ctx, task)
	if err != nil {
		return "", "", ours(err)
	}
	t, err := w.known(ctx, task)
	if err != nil {
		return "", "", ours(err)
	}
	if commit, tree, err = t.Commit(ctx, message); err == nil {
		err = w.share(ctx, task, t.Branch, theirs, commit)
	}
	return commit, tree, ours(err)
}

// share pushes a task's branch, unless the remote has that commit. Nothing is forced: a
// push that would take something away is an error.
func (w *Worktrees) share(ctx context.Context, task, branch, theirs, commit string) error {
	if w.remote == nil {
		return nil
	}
	if theirs != "" {
		if has, err := w.repo.Within(ctx, commit, theirs); err != nil || has {
			return err
		}
	}
	return overtaken(task, w.remote.Push(ctx, branch, theirs, commit))
}

// Merge merges a task's branch, as it was committed last, with the main branch as it is
// now, and moves the main branch there. With Remote that is pushed. If somebody else moves
// the main branch meanwhile, it is done again, several times.
//
// Before the branch moves verify is called, with the worktree of the task holding the files
// of the merge: dir is its folder, and tree the files as git names them, which are what
// [Worktrees.Commit] has told if the main branch has nothing new. An error ends the merge.
// nil = nothing is asked. Then moving is told from which commit to which the main branch is
// about to move, to be recorded: if this process is killed then, [Worktrees.Finish] brings
// it to its end. nil = nobody is told. Both are called again if it is done again.
//
// A conflict is no error, see [Merge]. A task that is merged already stays as it is, and
// nobody is asked; one without a branch is an error.
func (w *Worktrees) Merge(ctx context.Context, task, message string, verify func(ctx context.Context, dir, tree string) error, moving func(from, to string) error) (Merge, error) {
	return w.bring(ctx, task, message, func(t *git.Tree, _, _ string, m git.Merged) error { return verified(ctx, t, m, verify) }, moving)
}

// bring is Merge, with a verification that knows what is merged: from into head.
func (w *Worktrees) bring(ctx context.Context, task, message string, verify func(t *git.Tree, head, from string, m git.Merged) error, moving func(from, to string) error) (Merge, error) {
	main, theirs, err := w.look(ctx, task)
	if err != nil {
		return Merge{}, ours(err)
	}
	tip, err := w.tip(ctx, task, theirs)
	if err != nil {
		return Merge{}, ours(err)
	}
	if m, is, err := w.merged(ctx, tip, main); err != nil || is {
		return Merge(m), ours(err)
	}
	t, err := w.reach(ctx, task, main, theirs)
	if err == nil {
		tip, err = t.Tip(ctx)
	}
	if err != nil {
		return Merge{}, ours(err)
	}
	m, err := w.merge(ctx, t, tip, message, merging{
		verify: func(head string, m git.Merged) error { return verify(t, head, tip, m) },
		moving: func(from, to string) error {
			if moving == nil {
				return nil
			}
			return plugin.Call("Worktrees.Merge: moving", func() error { return moving(from, to) })
		},
	})
	if err != nil {
		return Merge{}, ours(err)
	}
	return Merge(m), nil
}

// verified asks whether the main branch may move to a merge. The worktree goes back to
// the task's branch whatever the answer.
func verified(ctx context.Context, t *git.Tree, m git.Merged, verify func(ctx context.Context, dir, tree string) error) error {
	if verify == nil {
		return nil
	}
	if err := t.Checkout(ctx, m.Commit); err != nil {
		return err
	}
	err := plugin.Call("Worktrees.Merge: verify", func() error { return verify(ctx, t.Dir, m.Tree) })
	return errors.Join(err, t.Back(context.WithoutCancel(ctx)))
}

// Finish brings to its end a merge that was killed after moving was told: the main branch
// moves from one commit to another, with its files if they are in Dir. It does nothing if
// the main branch has that already. The error wraps [ErrOvertaken] if the main branch has
// gone another way, or this clone does not have the commit: then merge anew.
func (w *Worktrees) Finish(ctx context.Context, from, to string) error {
	switch {
	case w.repo == nil:
		return ours(errNotOpen)
	case from == "" || to == "":
		return errors.New("pipeline: a merge is finished from a commit to another")
	}
	w.moves.Lock()
	defer w.moves.Unlock()
	main, err := w.main(ctx)
	if err != nil {
		return ours(err)
	}
	for _, commit := range []string{from, to} {
		if here, err := w.repo.Knows(ctx, commit); err != nil {
			return ours(err)
		} else if !here {
			return fmt.Errorf("pipeline: the merge is %w: the commit %.10s is not in %s", ErrOvertaken, commit, w.repo.Top)
		}
	}
	if has, err := w.repo.Within(ctx, to, main); err != nil || has {
		return ours(err)
	}
	return ours(overtaken("the merge", w.advance(ctx, from, to, nil)))
}

// overtaken has an error say so that a branch has moved.
func overtaken(what string, err error) error {
	if _, moved := errors.AsType[*git.MovedError](err); moved {
		return fmt.Errorf("%s is %w: %w", what, ErrOvertaken, err)
	}
	return err
}

// Remove removes the worktree of a task, and its branch, also in the remote, if the main
// branch has all that they have; otherwise it is an error, and everything stays.
func (w *Worktrees) Remove(ctx context.Context, task string) error {
	main, theirs, err := w.look(ctx, task)
	if err != nil {
		return ours(err)
	}
	branch, _ := Branch(task)
	if theirs != "" {
		if merged, err := w.repo.Within(ctx, theirs, main); err != nil || !merged {
			return ours(cmp.Or(err, fmt.Errorf("the remote's branch %s has commits that are not in %s", branch, w.repo.Branch)))
		}
	}
	if err := w.remove(ctx, task); err != nil {
		return ours(err)
	}
	if theirs != "" {
		err = w.remote.Push(ctx, branch, theirs, "")
	}
	return ours(err)
}

// errNotOpen is a mistake of the program, which no later try mends.
var errNotOpen = errors.New("these Worktrees are not open: call Open first")
