package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// lies is how the user's work tree lay when it was last looked at. It changes as tasks
// are merged, which is why it is compared with the last look and not with the first.
type lies struct {
	// head is the commit of the main branch.
	head string
	// untracked are the files that are not committed and not ignored.
	untracked []string
}

func (r *run) lying(ctx context.Context) (l lies, err error) {
	if l.head, err = r.repo.Head(ctx); err == nil {
		l.untracked, err = r.repo.Untracked(ctx)
	}
	return l, err
}

// inspect tells what somebody else has done, to the tasks and to the repository, since
// it was looked at last. Agents may, and so may the user: nothing of it is undone, and
// nothing of it is merged but what was verified. To stop instead would lose a night's
// work to a file that the user has saved; to say nothing would hide what an agent has
// done.
func (r *run) inspect(ctx context.Context) error {
	if err := r.look(ctx); err != nil || r.repo == nil {
		return err
	}
	now, err := r.lying(ctx)
	if err != nil {
		return err
	}
	if now.head != r.lies.head {
		r.say(ctx, "", fmt.Sprintf("somebody else has moved %s while this ran: from %.10s to %.10s", r.repo.Branch, r.lies.head, now.head))
	}
	if came := slices.DeleteFunc(slices.Clone(now.untracked), func(p string) bool { return slices.Contains(r.lies.untracked, p) || r.own(p) }); len(came) > 0 {
		r.say(ctx, "", fmt.Sprintf("somebody else has made files in %s while this ran, which are not committed: %s", r.dir, some(came)))
	}
	r.lies = now
	dirty, err := r.repo.Dirty(ctx, r.own)
	if err != nil {
		return err
	}
	if len(dirty) > 0 {
		r.say(ctx, "", fmt.Sprintf("somebody else has changed files in %s while this ran, which are not committed: %s", r.dir, some(dirty)))
	}
	if err := r.inspectBranches(ctx); err != nil {
		return err
	}
	all, err := r.repo.Tampered(ctx)
	for _, what := range all {
		r.say(ctx, "", "somebody else has changed the repository while this ran: "+what)
	}
	return err
}

// inspectBranches tells which branches of tasks that nobody works on have moved. A task
// that begins or ends while git is asked is left out: its branch moves rightly.
func (r *run) inspectBranches(ctx context.Context) error {
	before := r.resting()
	branches, err := r.repo.Branches(ctx)
	if err != nil {
		return err
	}
	after := r.resting()
	for _, part := range slices.Sorted(maps.Keys(before)) {
		id := r.agreed(part).Definition.ID
		if branch, _ := Branch(id); before[part] == after[part] && branches[branch] != before[part] {
			r.say(ctx, id, fmt.Sprintf("somebody else has moved the branch %s while this ran: from %.10s to %.10s", branch, before[part], branches[branch]))
		}
	}
	return nil
}

// resting are the commits of the branches that nobody works on, by task.
func (r *run) resting() map[int]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := maps.Clone(r.tips)
	maps.DeleteFunc(all, func(part int, _ string) bool { return r.s.Stands[part].Phase == PhaseRunning })
	return all
}

// altered notes that somebody else has changed a task, once: what was altered stays so.
func (r *run) altered(ctx context.Context, id, what string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.s.Find(id) < 0 || r.noted["altered "+id] {
		return nil
	}
	r.noted["altered "+id] = true
	return r.noteLocked(ctx, Event{Kind: EventAltered, Task: id, Text: what})
}

// look finds what somebody else has done to the tasks. It is asked before a step
// begins, before a merge moves the main branch and before the end of a stage is told:
// these are the moments at which it makes a difference.
func (r *run) look(ctx context.Context) error {
	w, ok := r.p.Source.(Watcher)
	if !ok {
		return nil
	}
	var altered map[string]string
	var added []spec.Definition
	if err := plugin.Call("pipeline: Source.Changes", func() (err error) { altered, added, err = w.Changes(ctx); return }); err != nil {
		return err
	}
	for id, what := range altered {
		if err := r.altered(ctx, id, what); err != nil {
			return err
		}
	}
	for _, d := range added {
		r.say(ctx, d.ID, fmt.Sprintf("%s was added while this ran; it waits for the next run", d.ID))
	}
	return nil
}
