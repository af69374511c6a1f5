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

// A Follower is a Source to which tasks can be added that an agent proposes. An agent
// finds work that was not asked for; if it cannot put it somewhere, it does it.
type Follower interface {
	// ReadFollowups reads what is proposed in a file; nil = there is none. The file is
	// an agent's: it may be anything, of any size, in the place of a file.
	ReadFollowups(ctx context.Context, path string) ([]spec.Definition, error)
	// AddFollowups adds what follows the task parent, all of it or nothing, and returns
	// it as it was added. [Watcher.Changes] does not tell of it.
	AddFollowups(ctx context.Context, parent string, defs []spec.Definition) ([]spec.Definition, error)
}

// propose adds the tasks to the source that the agent of a stage proposes. That they
// are wrong is told, and no error: the work on the task that was asked for is not worse
// for it. The file is removed once it was read, or the next stage would propose the
// same again.
func (r *run) propose(ctx context.Context, part int) error {
	f, ok := r.p.Source.(Follower)
	if !ok {
		return nil
	}
	id, dir := r.agreed(part).Definition.ID, r.dir
	if t := r.tree(part); t != nil {
		dir = t.Dir
	}
	path := filepath.Join(dir, filepath.FromSlash(FollowupFile))
	defs, err := f.ReadFollowups(ctx, path)
	if err == nil && len(defs) > 0 {
		if defs, err = f.AddFollowups(ctx, id, defs); err == nil {
			err = os.Remove(path)
		}
	}
	if ctx.Err() != nil {
		return nil // it is still there when its stage goes on, or the next has run
	}
	if err != nil {
		r.say(ctx, id, id+": what it proposes as further tasks is not added"+r.setAside(id, path)+": "+err.Error())
		return nil
	}
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
// and says so. The file is moved inside a root that links cannot leave, for it lies
// where an agent writes.
func (r *run) setAside(id, path string) string {
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	from, err := filepath.Rel(r.dir, path)
	kept := filepath.Join(".ralph", "worktrees", folder(id)+".followup.yaml")
	if err != nil || root.Rename(from, kept) != nil {
		return "" // it is left where it is
	}
	return " (it is kept in " + filepath.ToSlash(kept) + ")"
}

// follow has a task that was proposed run in this run, if that is wanted. One that
// follows a task which was added itself waits for the next run: else each task could
// propose another and the run would never end, without any person having looked.
func (r *run) follow(ctx context.Context, part int, d spec.Definition) error {
	parent := r.agreed(part).Definition.ID
	waits := "it waits for the next run"
	planned, task, err := r.agree(d, nil)
	switch {
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
	r.say(ctx, d.ID, d.ID+" follows "+parent+" and was added; "+waits)
	return nil
}

// add adds a task to this run, unless it depends on one that is not in it. The lock is
// held from the look at the dependencies to the record, since indices are what tasks
// wait for.
func (r *run) add(ctx context.Context, parent string, d spec.Definition, planned Planned, task AgreedTask) (missing string, added bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	part := Part{ID: d.ID, Sum: planned.Sum}
	for _, id := range d.Dependencies {
		at := r.s.Find(id)
		if at < 0 {
			return id, false, nil
		}
		part.After = append(part.After, at)
	}
	if r.s.Find(d.ID) >= 0 {
		return "", false, nil
	}
	r.Tasks = append(r.Tasks, task)
	return "", true, r.noteLocked(ctx, Event{Kind: EventAdded, Task: d.ID, Text: d.ID + " follows " + parent, Titles: r.titles(task),
		State: &State{Orders: [][]string{planned.Agents}, Parts: []Part{part}}})
}

// trusted reports whether the checks of a task that was proposed may run. An agent that
// is kept in a sandbox could otherwise have its commands run outside, by proposing a
// task whose check they are. A verifier that cannot say what it starts is not trusted.
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
