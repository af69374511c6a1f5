package pipeline

import (
	"context"
	"fmt"

	"github.com/ralph-loop/ralph"
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
}

// A Visit is one iteration of a stage at a Site. It has what its attempts are made with.
type Visit struct {
	Local ralph.Local
	State ralph.State // in the workspace of this site

	site *Site
	told Stage
	end  StageEnd
}

// Enter makes a stage ready for its next iteration, which begins with s: its worktree, its
// agent, and what that is told. Once says that the stage is a single pass. An error that
// is [ralph.Permanent] is a mistake in what was agreed; others may be gone the next time.
func (p *Site) Enter(ctx context.Context, s ralph.State, told Stage, once bool) (*Visit, error) {
	v := &Visit{Local: *p.Local, State: s, site: p, told: told}
	place := Place{Task: s.Task.ID, Dir: s.Task.Dir}
	dir := place.Dir
	if p.Trees != nil {
		var err error
		if place, err = p.Trees.Place(ctx, s.Task.ID); err != nil {
			return nil, err
		}
		if told.From == "merge" && !s.Begun() {
			if err := p.Trees.Repair(ctx, s.Task.ID); err != nil {
				return nil, err
			}
		}
		dir = p.Trees.Dir // not the worktree: one agent could write what another is told
	}
	place.Agent, v.State.Task.Dir = s.Task.Agent, place.Dir
	if p.Runner != nil {
		if err := plugin.Call("Site.Runner", func() (err error) { v.Local.Runner, err = p.Runner(place); return }); err != nil {
			return nil, ralph.Permanent(err)
		}
	}
	var err error
	if v.Local.Prompt, err = p.Roles.Prompt(dir, told); err != nil {
		return nil, ralph.Permanent(err)
	}
	if able, ok := p.Local.Verifier.(interface{ Evidence(ralph.Task) bool }); once && ok && !able.Evidence(s.Task) {
		v.end.Unchecked = true
		v.Local.Verifier = ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
			return ralph.Reject("a single pass, which nothing has checked"), nil
		})
	}
	return v, nil
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
