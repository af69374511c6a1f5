package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// An unmergedError says why a task cannot be merged, which is how the task ends. Any
// other error is one of the run.
type unmergedError struct {
	reason    string
	conflicts []string
}

func (e *unmergedError) Error() string { return e.reason }

// errAltered says that a task does not count any more, since somebody else has changed
// it between the begin of its merge and the end.
var errAltered = errors.New("pipeline: the task was altered")

// merge brings the branch of a task to the main branch, if its verifiers agree to what
// comes of it. The error is none of the task's: it ends the run. What cannot be merged
// keeps its branch, for a person or for the next run.
func (r *run) merge(ctx context.Context, part int) error {
	if err := r.inspect(ctx); err != nil || r.phase(part) != PhaseMerging {
		return err
	}
	d := r.agreed(part).Definition
	used, err := r.bring(ctx, part)
	switch un, is := errors.AsType[*unmergedError](err); {
	case errors.Is(err, errAltered), err != nil && (ctx.Err() != nil || !is && r.failing()):
		return nil // or it is ready in the next run: what ends this one is not of the task
	case err != nil && !is:
		un = &unmergedError{reason: err.Error()}
		fallthrough
	case is:
		if err := r.note(ctx, Event{Kind: EventUnmerged, Task: d.ID, Text: un.reason, Conflicts: un.conflicts, Usage: used}); err != nil {
			return err
		}
		return r.write(ctx, part, Update{Status: spec.StatusRunning, Failure: &Failure{Stage: "merge", Reason: r.redact(un.reason)}})
	}
	return r.finished(ctx, part, used)
}

func (r *run) phase(part int) Phase { return r.state().Stands[part].Phase }

// finished notes that a task is on the main branch. The source is written before the
// record: if the run is killed in between, the next one finds the merge begun and on
// the main branch, and does this again. Last the worktree goes, which is only in the
// way.
func (r *run) finished(ctx context.Context, part int, used ralph.Usage) error {
	now := r.state()
	order := now.Orders[now.Parts[part].Order]
	last := r.knownOf(part, order[len(order)-1])
	if err := r.write(ctx, part, Update{Status: spec.StatusDone, Iteration: last.State.Completed()}); err != nil {
		return err
	}
	r.mu.Lock()
	delete(r.tips, part)
	r.mu.Unlock()
	err := r.note(ctx, Event{Kind: EventMerged, Task: r.agreed(part).Definition.ID, Usage: used})
	r.remove(ctx, part)
	return err
}

// bring makes the merge, has it verified, and moves the main branch. What lies in the
// worktree is committed before: what was verified may not have been.
func (r *run) bring(ctx context.Context, part int) (used ralph.Usage, err error) {
	t, err := r.worktree(ctx, part)
	if err != nil {
		return used, err
	}
	commit, _, err := r.keep(ctx, part, "merge")
	if err != nil {
		return used, err
	}
	d := r.agreed(part).Definition
	m, err := r.trees.merge(ctx, t, commit, fmt.Sprintf("Merge %s: %s", d.ID, oneLine(d.Title)), merging{
		// Those of the source: an agent that ticks its own box in its branch must not have
		// said so on the main branch.
		drop: r.files,
		put:  func(head string) map[string][]byte { return r.mark(ctx, head, d.ID) },
		verify: func(head string, m git.Merged) error {
			more, err := r.verifyMerge(ctx, part, t, head, commit, m)
			used = used.Add(more)
			return err
		},
		moving: func(from, to string) error { return r.moving(ctx, part, from, to) },
	})
	switch {
	case err != nil:
		return used, err
	case len(m.Conflicts) > 0:
		return used, &unmergedError{"it conflicts with the main branch in " + some(m.Conflicts), m.Conflicts}
	}
	r.lies.head = m.Commit
	return used, nil
}

// moving records that the main branch is about to move, if it still may. Verifying may
// have taken long, so it is asked again whether the task still counts.
func (r *run) moving(ctx context.Context, part int, from, to string) error {
	if err := r.look(ctx); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r.phase(part) != PhaseMerging:
		return errAltered
	}
	return r.note(ctx, Event{Kind: EventMerging, Task: r.agreed(part).Definition.ID, From: from, To: to})
}

// mark is the source's file as it is at a commit, with a task marked done; nil = its
// status does not belong into the commit, or the file is not in it. It is made of the
// text of that commit and not of the file, in which other work of the user may stand.
func (r *run) mark(ctx context.Context, commit, id string) map[string][]byte {
	in, ok := r.p.Source.(InCommit)
	path := r.p.listed(r.repo, id)
	if !ok || path == "" {
		return nil
	}
	text, err := r.repo.Text(ctx, commit, path)
	if err == nil {
		text, err = in.Mark(id, text)
	}
	if err != nil {
		return nil // it is not in that commit: the box is ticked where it stands
	}
	return map[string][]byte{path: text}
}

// verifyMerge has the verifiers of the stages look at what comes of the merge. Stages
// that nothing has verified are left out: there is nothing they could be asked.
func (r *run) verifyMerge(ctx context.Context, part int, t *git.Tree, head, from string, m git.Merged) (ralph.Usage, error) {
	ends := r.state().verified(part, func(agent string) StageEnd { return r.knownOf(part, agent) })
	return again{r.repo, r.local}.verify(ctx, ends, t, head, from, m)
}

// finishMerge brings a merge to its end that a run which was killed had begun: what
// comes of it was verified before, and the main branch and its files are not left half
// moved. If the main branch is elsewhere by now, somebody has decided otherwise, and
// nothing is moved.
func (r *run) finishMerge(ctx context.Context) error {
	ev := r.merging
	if ev == nil || ev.To == "" {
		return nil
	}
	head, err := r.repo.Head(ctx)
	if err != nil {
		return ours(err)
	}
	if head != ev.From && head != ev.To {
		return nil // the main branch is elsewhere by now: it is merged anew
	}
	if err := r.repo.Advance(ctx, ev.From, ev.To, r.files); err != nil {
		return fmt.Errorf("pipeline: a merge that was killed cannot be finished: %w", err)
	}
	switch part := r.s.Find(ev.Task); {
	case part >= 0 && r.s.Stands[part].Phase == PhaseReady:
		r.ahead = append(r.ahead, part)
	case part < 0 || r.s.Stands[part].Phase != PhaseDone:
		r.later = append(r.later, "what an earlier run had made of "+ev.Task+", and verified, is merged")
	}
	return nil
}
