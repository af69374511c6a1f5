package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// An unmergedError says why a task cannot be merged.
type unmergedError struct {
	reason    string
	conflicts []string
}

func (e *unmergedError) Error() string { return e.reason }

// errAltered says that a task does not count any more.
var errAltered = errors.New("pipeline: the task was altered")

// merge brings the branch of a task to the main branch, if its verifiers agree to what
// comes of it. The error is none of the task's.
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

// finished notes that a task is on the main branch.
func (r *run) finished(ctx context.Context, part int, used ralph.Usage) error {
	now := r.state()
	order := now.Orders[now.Parts[part].Order]
	last := r.knownOf(part, order[len(order)-1])
	if err := r.write(ctx, part, Update{Status: spec.StatusDone, Iteration: last.state.Completed()}); err != nil {
		return err
	}
	r.mu.Lock()
	delete(r.tips, part)
	r.mu.Unlock()
	err := r.note(ctx, Event{Kind: EventMerged, Task: r.agreed(part).Definition.ID, Usage: used})
	r.remove(ctx, part)
	return err
}

// bring makes the merge, has it verified, and moves the main branch.
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
		drop: r.drop(),
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

// moving records that the main branch is about to move, if it still may.
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

// drop are the files whose changes are not merged: the source writes its own.
func (r *run) drop() []string {
	if path := r.listed(); path != "" {
		return []string{path}
	}
	return nil
}

// mark is the source's file as it is at a commit, with a task marked done; nil = its
// status does not belong into the commit.
func (r *run) mark(ctx context.Context, commit, id string) map[string][]byte {
	in, ok := r.p.Source.(InCommit)
	path := r.listed()
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

// verifyMerge has the verifiers of the stages look at what comes of the merge, unless that
// is just what they have seen.
func (r *run) verifyMerge(ctx context.Context, part int, t *git.Tree, head, from string, m git.Merged) (used ralph.Usage, err error) {
	s := r.state()
	var again []string
	for i, agent := range s.Orders[s.Parts[part].Order] {
		if s.Stands[part].Verified&(1<<i) != 0 && r.knownOf(part, agent).tree != m.Tree {
			again = append(again, agent)
		}
	}
	if len(again) == 0 {
		return used, nil
	}
	defer func() { err = errors.Join(err, t.Back(context.WithoutCancel(ctx))) }()
	for _, agent := range again {
		k := r.knownOf(part, agent)
		if k.answer.Output == "" {
			return used, fmt.Errorf("pipeline: %s of %s must be verified again after the merge, and %w", agent, s.Parts[part].ID, errNotOnRecord)
		}
		verdict, err := r.verifyAgain(ctx, k, t, head, from, m)
		used = used.Add(verdict.Usage)
		if err == nil && !verdict.Passed {
			err = &unmergedError{reason: "after the merge with the main branch, " + agent + " is rejected: " + verdict.Feedback}
		}
		if err != nil {
			return used, err
		}
	}
	return used, nil
}

// verifyAgain asks the verifier of a stage about a merge: with the words that the agent
// claimed with, in the worktree of the task. What is guarded must be as it was when the
// stage began, or as the main branch has it by now.
func (r *run) verifyAgain(ctx context.Context, k known, t *git.Tree, head, from string, m git.Merged) (ralph.Verdict, error) {
	st := k.state
	st.Stop, st.Detail, st.NextIteration, st.NextAttempt, st.Base = "", "", 0, 0, head
	st.Loop += ".merge"
	st.Task.Dir = t.Dir
	base, err := r.repo.Fork(ctx, head, from)
	var guarded map[string]string
	if err == nil {
		guarded, err = r.guarded(ctx, st.Task, t, base, head)
	}
	if err == nil {
		err = t.Checkout(ctx, m.Commit)
	}
	if err != nil {
		return ralph.Verdict{}, err
	}
	st.Task.Guarded = guarded
	l := r.local
	l.Runner = ralph.Replay()
	now := time.Now().UTC().Round(0)
	answer := k.answer
	it, err := l.Judge(ctx, st, ralph.Event{Kind: ralph.EventAnswered, Time: now, Answer: &answer, Iteration: ralph.Iteration{
		Number: st.Iteration, Attempt: st.Attempt, Start: now, End: now, Claimed: !st.Task.Always, Line: st.Line, Files: st.Files, Omitted: answer.Omitted,
	}})
	return it.Verdict, err
}

// guarded are the hashes that hold for a merge: those of the stage, and where the main
// branch has changed something since, those of what it is there.
func (r *run) guarded(ctx context.Context, task ralph.Task, t *git.Tree, base, head string) (map[string]string, error) {
	p, ok := r.verifier.(interface {
		Prepare(context.Context, ralph.Task) (ralph.Task, error)
	})
	all := task.Guarded
	if !ok || len(all) == 0 || base == head {
		return all, nil
	}
	var at [2]map[string]string
	for i, commit := range []string{base, head} {
		task.Guarded = nil
		err := t.Checkout(ctx, commit)
		if err == nil {
			task, err = p.Prepare(ctx, task)
		}
		if err != nil {
			return nil, err
		}
		at[i] = task.Guarded
	}
	all = maps.Clone(all)
	for key, sum := range at[1] {
		if at[0][key] != sum {
			all[key] = sum
		}
	}
	for key := range at[0] {
		if _, still := at[1][key]; !still {
			delete(all, key)
		}
	}
	return all, nil
}

// finishMerge brings a merge to its end that a run which was killed had begun: what comes
// of it was verified before, and the main branch and its files are not left half moved.
func (r *run) finishMerge(ctx context.Context) error {
	ev := r.merging
	if ev == nil || ev.To == "" {
		return nil
	}
	head, err := r.repo.Head(ctx)
	if err != nil {
		return fmt.Errorf("pipeline: %w", err)
	}
	if head != ev.From && head != ev.To {
		return nil // the main branch is elsewhere by now: it is merged anew
	}
	if err := r.repo.Advance(ctx, ev.From, ev.To, r.drop()); err != nil {
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
