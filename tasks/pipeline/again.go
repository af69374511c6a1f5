package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
)

// A preparer is a verifier that notes, before the work begins, what it will compare
// with afterwards; see [ralph.Verifier].
type preparer interface {
	Prepare(context.Context, ralph.Task) (ralph.Task, error)
}

// again verifies what comes of a merge. Two tasks can each be right and break each
// other when they come together, so that a stage was verified says nothing of a merge
// whose files nobody has looked at. The pipeline in this process and a [Site] share it,
// so that there is one rule for what may be merged.
type again struct {
	repo  *git.Repo
	local ralph.Local
}

// verify has the verifiers of stages look at a merge, but not those that have seen just
// these files: where the main branch has nothing new the merge holds what was verified,
// and a second look would cost as much and tell nothing. An [*unmergedError] says that
// one of them rejects it. The usage is what the looks have cost, also with an error.
func (a again) verify(ctx context.Context, ends []StageEnd, t *git.Tree, head, from string, m git.Merged) (used ralph.Usage, err error) {
	ends = slices.DeleteFunc(slices.Clone(ends), func(end StageEnd) bool { return end.Tree == m.Tree })
	if len(ends) == 0 {
		return used, nil
	}
	defer func() { err = errors.Join(err, t.Back(context.WithoutCancel(ctx))) }()
	for _, end := range ends {
		agent := end.State.Task.Agent
		// Verifiers look at words too. Without the answer a stage could be rejected for
		// what its agent has said all the same, or pass for want of words.
		if end.Answer.Output == "" {
			return used, fmt.Errorf("pipeline: %s of %s must be verified again after the merge, and %w", agent, end.State.Task.ID, errNotOnRecord)
		}
		verdict, err := a.stage(ctx, end, t, head, from, m)
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

// stage asks the verifier of a stage about a merge: with the words that the agent
// claimed with, in the worktree of the task. What is guarded must be as it was when the
// stage began, or as the main branch has it by now.
//
// It is the rule of loops that decides ([ralph.Local.Judge]), and not a copy of it
// here. The loop has a name of its own for that, since what is kept of evidence is kept
// by name.
func (a again) stage(ctx context.Context, end StageEnd, t *git.Tree, head, from string, m git.Merged) (ralph.Verdict, error) {
	st := end.State
	st.Stop, st.Detail, st.NextIteration, st.NextAttempt, st.Base = "", "", 0, 0, head
	st.Loop += ".merge"
	st.Task.Dir = t.Dir
	base, err := a.repo.Fork(ctx, head, from)
	var guarded map[string]string
	if err == nil {
		guarded, err = a.guarded(ctx, st.Task, t, base, head)
	}
	if err == nil {
		err = t.Checkout(ctx, m.Commit)
	}
	if err != nil {
		return ralph.Verdict{}, err
	}
	st.Task.Guarded = guarded
	l := a.local
	// No agent runs: a merge is judged, not worked on.
	l.Runner = ralph.Replay()
	now := time.Now().UTC().Round(0)
	answer := end.Answer
	it, err := l.Judge(ctx, st, ralph.Event{Kind: ralph.EventAnswered, Time: now, Answer: &answer, Iteration: ralph.Iteration{
		Number: st.Iteration, Attempt: st.Attempt, Start: now, End: now, Claimed: !st.Task.Always, Line: st.Line, Files: st.Files, Omitted: answer.Omitted,
	}})
	return it.Verdict, err
}

// guarded are the hashes that hold for a merge: those of the stage, and where the main
// branch has changed something since, those of what it is there. Without the latter
// another task that was asked to change a guarded file would have every later merge
// rejected.
func (a again) guarded(ctx context.Context, task ralph.Task, t *git.Tree, base, head string) (map[string]string, error) {
	p, ok := a.local.Verifier.(preparer)
	all := task.Guarded
	if !ok || len(all) == 0 || base == head {
		return all, nil
	}
	// Only the verifier knows what its hashes are of. So it is asked twice, about the
	// main branch as it was when the task left it and as it is, and what differs is the
	// news.
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
