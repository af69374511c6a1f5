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

// A preparer is a verifier that prepares a task, see [ralph.Verifier]. One that does
// not has nothing guarded.
type preparer interface {
	Prepare(context.Context, ralph.Task) (ralph.Task, error)
}

// again verifies what comes of a merge. It is shared by the pipeline in this process
// and by a Site, so that both have the same rule for what may be merged.
type again struct {
	repo  *git.Repo
	local ralph.Local
}

// verify has the verifiers of stages look at a merge, but of those that have seen just
// that. An [*unmergedError] says that one of them rejects it.
//
// Where the merge holds exactly the files that a stage was verified with, nothing new
// could be found, and its verifier is not asked: most merges of a single worker cost
// nothing. What one of them used counts, also if the next rejects.
func (a again) verify(ctx context.Context, ends []StageEnd, t *git.Tree, head, from string, m git.Merged) (used ralph.Usage, err error) {
	ends = slices.DeleteFunc(slices.Clone(ends), func(end StageEnd) bool { return end.Tree == m.Tree })
	if len(ends) == 0 {
		return used, nil
	}
	defer func() { err = errors.Join(err, t.Back(context.WithoutCancel(ctx))) }()
	for _, end := range ends {
		agent := end.State.Task.Agent
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

// stage asks the verifier of a stage about a merge: with the words that the agent claimed
// with, in the worktree of the task. What is guarded must be as it was when the stage
// began, or as the main branch has it by now.
//
// The agent is not asked again: its answer stands, and the question is only whether it
// still holds in these files. The loop has another name for this, so that the evidence
// of the stage is not overwritten.
func (a again) stage(ctx context.Context, end StageEnd, t *git.Tree, head, from string, m git.Merged) (ralph.Verdict, error) {
	st := end.State
	// The stage has ended, and a loop that has stopped cannot be judged.
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
	// No agent is run here; a Local without a Runner would be refused.
	l.Runner = ralph.Replay()
	now := time.Now().UTC().Round(0)
	answer := end.Answer
	it, err := l.Judge(ctx, st, ralph.Event{Kind: ralph.EventAnswered, Time: now, Answer: &answer, Iteration: ralph.Iteration{
		Number: st.Iteration, Attempt: st.Attempt, Start: now, End: now, Claimed: !st.Task.Always, Line: st.Line, Files: st.Files, Omitted: answer.Omitted,
	}})
	return it.Verdict, err
}

// guarded are the hashes that hold for a merge: those of the stage, and where the main
// branch has changed something since, those of what it is there.
//
// A test that another task has changed, and that was merged, is the test which now
// holds; one that this task's agent has changed is not. So both commits are checked
// out, and their hashes compared.
func (a again) guarded(ctx context.Context, task ralph.Task, t *git.Tree, base, head string) (map[string]string, error) {
	p, ok := a.local.Verifier.(preparer)
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
	// What the main branch has removed since need not be there any more.
	for key := range at[0] {
		if _, still := at[1][key]; !still {
			delete(all, key)
		}
	}
	return all, nil
}
