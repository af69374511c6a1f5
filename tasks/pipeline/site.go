package pipeline

import (
	"context"
	"errors"
	"maps"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// A Site is what a worker needs to work on the stages of a pipeline, one iteration
// after the other, while a driver elsewhere decides which. What the Site keeps may be
// lost with its worker: the next worker, here or on another machine, goes on with what
// was shared.
//
// Its methods may be called concurrently for different tasks, not for one. The fields
// must not be changed once it is used.
type Site struct {
	// Local has the runner and the verifier. It is required. Its Prompt is not used.
	Local *ralph.Local
	// Trees are the worktrees of the tasks. Nil = all are worked on in the folder that the
	// task names.
	Trees *Worktrees
	// Runner is the client of an agent, as [Pipeline.Runner]. Nil = Local's for all.
	Runner func(Place) (ralph.Runner, error)
	// Roles are what agents are told of their part.
	Roles Roles
	// Host is the machine, as [ralph.Beat] names it.
	Host string
}

// A Visit is one iteration of a stage at a Site. It has what its attempts are made
// with. Use it for that iteration only, from one goroutine.
type Visit struct {
	// Local makes the attempts: the Site's, with the agent, the prompt and the
	// workspace of this stage.
	Local ralph.Local
	// State is the loop's, in the workspace of this site.
	State ralph.State

	site *Site
	told Stage
	end  StageEnd
}

// Enter makes a stage ready for its next iteration, which begins with s: its worktree,
// its agent, and what the agent is told.
//
// An error is one that may be gone the next time, or on another worker, so it is worth
// trying again. A mistake in what was agreed, such as a runner that cannot be had,
// would be the same everywhere: it is no error here, but the answer of the Visit's
// runner, and [ralph.Local.Serve] tells it.
func (p *Site) Enter(ctx context.Context, s ralph.State, told Stage) (*Visit, error) {
	v := &Visit{Local: *p.Local, State: s, site: p, told: told}
	place := Place{Task: s.Task.ID, Dir: s.Task.Dir}
	dir := place.Dir
	if p.Trees != nil {
		var err error
		if place, err = p.place(ctx, s, told); errors.Is(err, errNotOpen) {
			v.Local.Runner = refused{err}
			return v, nil
		} else if err != nil {
			return nil, err
		}
		dir = p.Trees.Dir // not the worktree: one agent could write what another is told
		if v.Local.Workspace == nil {
			v.Local.Workspace = p.Trees.workspace(s.Task.ID)
		}
	}
	place.Agent, v.State.Task.Dir = s.Task.Agent, place.Dir
	if p.Runner != nil {
		if err := plugin.Call("Site.Runner", func() (err error) { v.Local.Runner, err = p.Runner(place); return }); err != nil {
			v.Local.Runner = refused{err}
		}
	}
	var err error
	if v.Local.Prompt, err = p.Roles.Prompt(dir, told); err != nil {
		v.Local.Runner = refused{err}
	}
	if p.Trees == nil && told.Branch != "" {
		v.Local.Runner = refused{errors.New("pipeline: the task is to be worked on in a worktree, and this Site has no Trees")}
	}
	if told.Once && !evidence(p.Local.Verifier, s.Task) {
		v.end.Unchecked, v.Local.Verifier = true, unchecked()
	}
	return v, nil
}

// A refused runner cannot work on any task, and says why. An error of Enter would have
// the driver try the same on other workers, one after the other, where none can help.
type refused struct{ error }

func (r refused) Validate(ralph.Task) error { return r.error }
func (r refused) Run(context.Context, ralph.Request) (ralph.Response, error) {
	return ralph.Response{}, r.error
}

// place is the worktree of a stage that goes on, or begins with s: a task's first one
// with nothing that an earlier run has left, for that would pass as this agent's work.
func (p *Site) place(ctx context.Context, s ralph.State, told Stage) (place Place, err error) {
	id := s.Task.ID
	if s.Base == "" && s.Usage == (ralph.Usage{}) && told.From == "" && len(told.Before) == 0 { // nothing was prepared by now, and no agent has run
		if _, err := p.Trees.Anew(ctx, id); err != nil {
			return place, err
		}
	}
	if place, err = p.Trees.Place(ctx, id); err != nil {
		return place, err
	}
	for _, before := range told.Before {
		if err := p.Trees.has(ctx, id, before.Commit); err != nil {
			return place, err
		}
	}
	if told.From != fromMerge || s.Running {
		return place, nil
	}
	if !s.Begun() {
		return place, p.Trees.Repair(ctx, id)
	}
	// The merge that was begun may be lost with its worker, who has shared nothing of it.
	if tip, err := p.Trees.tip(ctx, id, ""); err == nil && tip == s.Base {
		_ = p.Trees.Repair(ctx, id) // which is an error where the agent has left the merge: that is its own
	}
	return place, nil
}

// Answered is told the answer before it is verified: it commits what the agent has
// left, and shares it where Trees have a Remote, so that what is merged is what was
// verified. With an error that cannot be done, and the claim must not count.
func (v *Visit) Answered(ctx context.Context, ev ralph.Event) (err error) {
	if ev.Answer != nil {
		v.end.Answer = *ev.Answer
		if out := &v.end.Answer; len(out.Output) > maxAnswer {
			kept := lastOf(out.Output, maxAnswer)
			out.Output, out.Omitted = kept, out.Omitted+int64(len(out.Output)-len(kept))
		}
	}
	v.end.Tree, err = v.keep(ctx)
	return err
}

// maxAnswer is how much is kept of an answer, in bytes: its end, with the claim.
// Engines that carry it in their history bound how much that may be.
const maxAnswer = 32 << 10

// Leave commits and shares what was left since the answer, and returns how the stage
// would end if this was its last iteration; the State in it, and the Hosts, are the
// caller's to set. What was left since then nobody has verified, so a merge verifies
// it. With an error it is not shared, and the rest holds.
func (v *Visit) Leave(ctx context.Context) (StageEnd, error) {
	_, err := v.keep(ctx)
	return v.end, err
}

// keep commits what lies in the worktree, and returns its files, as git names them. It
// does so also when ctx is done: the work is there, and the next worker needs it.
func (v *Visit) keep(ctx context.Context) (tree string, err error) {
	if v.site.Trees == nil {
		return "", nil
	}
	d := v.told.Definition
	commit, tree, err := v.site.Trees.Commit(context.WithoutCancel(ctx), d.ID, stageMessage(d, v.told.Agent))
	if err != nil {
		return "", err
	}
	v.end.Commit = commit
	return tree, nil
}

// Merge merges a task, see [Worktrees.Merge], and then removes its worktree. If the
// merged files are not just those that the stages were verified with, their
// verifiers are asked again, and must all agree. A verifier that does not agree is
// no error, and neither is a conflict: see [SiteMerge]. An error may be gone the
// next time.
//
// Ends are those that [Course.Verified] has. What is so on one machine only (its
// programs, its settings) must be as it was when the stage began on this machine; if
// the stage never was here, it is taken as it is now.
//
// Moving is told which commit the main branch is about to move from, and to which, to
// be recorded. Moved is what it was told last by a process that was killed then, and
// zero if there was none: that merge is brought to its end first.
func (p *Site) Merge(ctx context.Context, task, message string, ends []StageEnd, moved [2]string, moving func(move [2]string) error) (SiteMerge, error) {
	if p.Trees == nil {
		return SiteMerge{}, errors.New("pipeline: there are no worktrees to merge from: Site has no Trees")
	}
	if moved != [2]string{} {
		if err := p.Trees.Finish(ctx, moved[0], moved[1]); err == nil {
			return SiteMerge{Merge: Merge{Commit: moved[1]}, Stays: p.leave(ctx, task)}, nil
		} else if !errors.Is(err, ErrOvertaken) {
			return SiteMerge{}, err
		}
	}
	for _, end := range ends {
		if err := p.Trees.has(ctx, task, end.Commit); err != nil {
			return SiteMerge{}, err
		}
	}
	var out SiteMerge
	var err error
	out.Merge, err = p.Trees.bring(ctx, task, message, func(t *git.Tree, head, from string, m git.Merged) error {
		ends, err := p.here(ctx, ends, t.Dir, m.Tree)
		if err != nil {
			return err
		}
		used, err := again{p.Trees.repo, *p.Local}.verify(ctx, ends, t, head, from, m)
		out.Usage = out.Usage.Add(used)
		return err
	}, func(from, to string) error { return moving([2]string{from, to}) })
	if un, is := errors.AsType[*unmergedError](err); is {
		out.Rejected, err = un.reason, nil
	}
	switch {
	case err != nil:
		return SiteMerge{Usage: out.Usage}, err
	case len(out.Conflicts) > 0:
		out.Rejected = "it conflicts with the main branch in " + some(out.Conflicts)
	case out.Commit != "":
		out.Stays = p.leave(ctx, task)
	}
	return out, nil
}

// here are the stages that have not seen a tree, with what their verifiers have
// prepared on this machine. Of a stage that was never here, that is prepared now: the
// hashes of another machine's programs would reject everything.
func (p *Site) here(ctx context.Context, ends []StageEnd, dir, tree string) (all []StageEnd, err error) {
	for _, end := range ends {
		if end.Tree == tree {
			continue
		}
		own, known := end.Hosts[p.Host]
		guarded := maps.Clone(own)
		if v, ok := p.Local.Verifier.(preparer); ok && !known {
			task := end.State.Task
			task.Dir, task.Guarded = dir, nil
			if err := plugin.Call("Verifier", func() (err error) { task, err = v.Prepare(ctx, task); return }); err != nil {
				return nil, err
			}
			guarded = maps.Clone(task.Guarded)
			maps.DeleteFunc(guarded, func(key, _ string) bool { return !ralph.OfMachine(key) })
		}
		if guarded == nil {
			guarded = map[string]string{}
		}
		maps.Copy(guarded, end.State.Task.Guarded)
		end.State.Task.Guarded = guarded
		all = append(all, end)
	}
	return all, nil
}

// leave removes the worktree of a task that was merged, or says why it stays, which is
// no failure of the merge.
func (p *Site) leave(ctx context.Context, task string) string {
	if err := p.Trees.Remove(context.WithoutCancel(ctx), task); err != nil {
		return err.Error()
	}
	return ""
}
