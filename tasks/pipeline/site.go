package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// A Site is where the stages of a pipeline are worked on, one iteration after the other,
// if that is not where it is decided on: what a worker has for them. Its methods may be
// called concurrently for different tasks.
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

// A Visit is one iteration of a stage at a Site. It has what its attempts are made with.
type Visit struct {
	Local ralph.Local
	State ralph.State // in the workspace of this site

	site *Site
	told Stage
	end  StageEnd
}

// ErrBroken says that a stage cannot be run as it was agreed: a person must mend that.
var ErrBroken = errors.New("pipeline: the stage cannot be run as it was agreed")

// Enter makes a stage ready for its next iteration, which begins with s: its worktree, its
// agent, and what that is told. An error that
// wraps [ErrBroken] is a mistake in what was agreed; others may be gone the next time.
func (p *Site) Enter(ctx context.Context, s ralph.State, told Stage) (*Visit, error) {
	v := &Visit{Local: *p.Local, State: s, site: p, told: told}
	place := Place{Task: s.Task.ID, Dir: s.Task.Dir}
	dir := place.Dir
	if p.Trees != nil {
		var err error
		if place, err = p.place(ctx, s, told); err != nil {
			return nil, err
		}
		dir = p.Trees.Dir // not the worktree: one agent could write what another is told
	}
	place.Agent, v.State.Task.Dir = s.Task.Agent, place.Dir
	if p.Runner != nil {
		if err := plugin.Call("Site.Runner", func() (err error) { v.Local.Runner, err = p.Runner(place); return }); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBroken, err)
		}
	}
	var err error
	if v.Local.Prompt, err = p.Roles.Prompt(dir, told); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if able, ok := p.Local.Verifier.(interface{ Evidence(ralph.Task) bool }); told.Once && ok && !able.Evidence(s.Task) {
		v.end.Unchecked = true
		v.Local.Verifier = ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
			return ralph.Reject("a single pass, which nothing has checked"), nil
		})
	}
	return v, nil
}

// place is the worktree of a stage that goes on, or begins with s: a task's first one with
// nothing that an earlier run has left.
func (p *Site) place(ctx context.Context, s ralph.State, told Stage) (place Place, err error) {
	if !s.Begun() && told.From == "" && len(told.Before) == 0 {
		if _, err := p.Trees.Anew(ctx, s.Task.ID); err != nil {
			return place, err
		}
	}
	if place, err = p.Trees.Place(ctx, s.Task.ID); err == nil && !s.Begun() && told.From == "merge" {
		err = p.Trees.Repair(ctx, s.Task.ID)
	}
	return place, err
}

// Answered is told the answer before it is verified: it commits what the agent has left, and
// shares it where Trees have a Remote, so that what is merged is what was verified. With an
// error it cannot be, and the claim does not count.
func (v *Visit) Answered(ctx context.Context, ev ralph.Event) error {
	v.end.Answer = *ev.Answer
	return v.keep(ctx)
}

// Leave does so with what was left since, and returns how the stage would end if this was
// its last iteration; the State in it is the caller's to set.
func (v *Visit) Leave(ctx context.Context) (StageEnd, error) {
	err := v.keep(ctx)
	return v.end, err
}

// keep commits what lies in the worktree.
func (v *Visit) keep(ctx context.Context) (err error) {
	if v.site.Trees != nil {
		d := v.told.Definition
		v.end.Commit, v.end.Tree, err = v.site.Trees.Commit(context.WithoutCancel(ctx), d.ID, fmt.Sprintf("%s: %s\n\nStage: %s", d.ID, oneLine(d.Title), v.told.Agent))
	}
	return err
}

// Merge merges a task, see [Worktrees.Merge], if what comes of it is what its stages were
// verified with, or their verifiers, who are asked again then, agree to that. The worktree
// is removed then. That they do not, and a conflict, is no error. Moved is what moving was
// told last by a process that was killed in it: that merge is brought to its end first.
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
	for i, end := range ends {
		all := maps.Clone(end.Hosts[p.Host])
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, end.State.Task.Guarded)
		ends[i].State.Task.Guarded = all
	}
	var out SiteMerge
	var err error
	out.Merge, err = p.Trees.bring(ctx, task, message, func(t *git.Tree, head, from string, m git.Merged) error {
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

// leave removes the worktree of a task that was merged, or says why it stays.
func (p *Site) leave(ctx context.Context, task string) string {
	if err := p.Trees.Remove(context.WithoutCancel(ctx), task); err != nil {
		return err.Error()
	}
	return ""
}
