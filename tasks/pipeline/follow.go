package pipeline

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// A Follower is a [Source] that takes tasks which an agent proposes while it works, see
// [FollowupFile]. The methods may be called concurrently. What is proposed comes from
// an agent and is not trusted: whether it runs, and whether the commands of its checks
// do, is decided elsewhere ([Pipeline.Follow], [Pipeline.Trusted]).
type Follower interface {
	// ReadFollowups reads the tasks that are proposed in a file, and refuses the whole
	// file if one of them is wrong. nil = there is no such file.
	ReadFollowups(ctx context.Context, path string) ([]spec.Definition, error)
	// AddFollowups adds them behind the task that they follow, all or none, and returns
	// them as they were added: their IDs may be others.
	AddFollowups(ctx context.Context, parent string, defs []spec.Definition) ([]spec.Definition, error)
}

// propose adds the tasks to the source that the agent of a stage proposes. That they are
// wrong is told, and no error.
//
// A proposal must not cost the task that it comes with: that one is done, whatever its
// agent has written into that file.
func (r *run) propose(ctx context.Context, part int) error {
	f, ok := r.p.Source.(Follower)
	if !ok {
		return nil
	}
	id, dir := r.agreed(part).Definition.ID, r.dir
	if t := r.tree(part); t != nil {
		dir = t.Dir
	}
	// The file is removed once its tasks are in the source, or the next stage would
	// propose them again.
	path := filepath.Join(dir, filepath.FromSlash(FollowupFile))
	defs, err := f.ReadFollowups(ctx, path)
	if err == nil && len(defs) > 0 {
		if defs, err = f.AddFollowups(ctx, id, defs); err == nil {
			err = os.Remove(path)
		}
	}
	// An interrupt in the middle of it must not be taken for a wrong proposal.
	if ctx.Err() != nil {
		return nil // it is still there when its stage goes on, or the next has run
	}
	if err != nil {
		r.say(ctx, id, id+": what it proposes as further tasks is not added"+r.setAside(id, path)+": "+err.Error())
		return nil
	}
	// A task that waits for one which is not in the run cannot be added to it.
	for len(defs) > 0 { // those that others wait for come first
		i := max(0, slices.IndexFunc(defs, func(d spec.Definition) bool {
			return !slices.ContainsFunc(defs, func(before spec.Definition) bool { return slices.Contains(d.Dependencies, before.ID) })
		}))
		if err := r.follow(ctx, part, defs[i]); err != nil {
			return err
		}
		defs = slices.Delete(defs, i, i+1)
	}
	return nil
}

// setAside keeps a proposal that is wrong where the worktree's end does not reach it,
// and says so. Somebody may want to see what was proposed, and the next stage must not
// meet it again.
func (r *run) setAside(id, path string) string {
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	from, err := filepath.Rel(r.dir, path)
	kept := filepath.Join(".ralph", "worktrees", folder(id)+".followup.yaml")
	if err == nil {
		err = root.Rename(from, kept)
	}
	if err != nil {
		return "" // it is left where it is
	}
	return " (it is kept in " + filepath.ToSlash(kept) + ")"
}

// follow has a task that was proposed run in this run, if that is wanted. One that follows
// a task which was added itself waits, or a run might never end.
//
// Each reason why it does not run now is told: a person who wonders finds the task in
// the source, and the reason in the record.
func (r *run) follow(ctx context.Context, part int, d spec.Definition) error {
	parent := r.agreed(part).Definition.ID
	waits := "it waits for the next run"
	planned, task, err := r.agree(d, nil)
	switch {
	// Those behind agreedTo were proposed themselves.
	case !r.p.Follow || part >= r.agreedTo:
	case err != nil:
		waits = "it cannot be run: " + err.Error()
	case !r.trusted(task):
		waits = "its checks run commands that nobody has seen, so " + waits
	default:
		if on, added, err := r.add(ctx, parent, d, planned, task); added {
			return err
		} else if on != "" {
			waits = on + ", which it depends on, is not in this run, so " + waits
		}
	}
	// Whatever became of it, it is in the source by now.
	r.say(ctx, d.ID, d.ID+" follows "+parent+" and was added; "+waits)
	return nil
}

// add adds a task to this run, unless it depends on one that is not in it. It is added
// under the lock, so that the task it waits for cannot be finished and forgotten in
// between.
func (r *run) add(ctx context.Context, parent string, d spec.Definition, planned Planned, task AgreedTask) (missing string, added bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	part := Part{ID: d.ID, Sum: planned.Sum}
	for _, id := range d.Dependencies {
		at := r.s.Find(id)
		// It may be done, and so no part of this run, or wait for the next like this
		// one.
		if at < 0 {
			return id, false, nil
		}
		part.After = append(part.After, at)
	}
	if r.s.Find(d.ID) >= 0 {
		return "", false, nil
	}
	r.Tasks = append(r.Tasks, task)
	return "", true, r.noteLocked(ctx, Event{Kind: EventAdded, Task: d.ID, Text: d.ID + " follows " + parent,
		State: &State{Orders: [][]string{planned.Agents}, Parts: []Part{part}}})
}

// trusted reports whether the checks of a task that was proposed may run. A verifier
// that cannot say what it starts is taken to start something: the safe answer is that
// somebody looks first.
func (r *run) trusted(t AgreedTask) bool {
	if r.p.Trusted != nil {
		return r.p.Trusted(t)
	}
	v, ok := r.verifier.(interface{ Starts(ralph.Task) []string })
	for _, task := range t.Stages {
		if !ok || strings.Join(v.Starts(task), "") != "" {
			return false
		}
	}
	return true
}
