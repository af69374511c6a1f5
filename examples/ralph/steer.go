package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// found is the folder with the records of the workspace that --dir names, or of the
// one that this is started in.
func (s *shared) found(e env) (dir *progress.Dir, err error) {
	project, _, err := s.workspace(e.ctx)
	if err == nil {
		dir, err = progress.WorkspaceDir(project)
	}
	if s.state != "" {
		dir, err = &progress.Dir{Path: absolute(s.state)}, nil
	}
	if err == nil {
		dir.Redactor = redact()
	}
	return dir, wrong(err)
}

// meant are the loops that a person means, by a name or a task.
func (s *shared) meant(e env, what string) (*progress.Dir, []progress.Entry, error) {
	dir, err := s.found(e)
	if err != nil {
		return nil, nil, err
	}
	found, err := dir.Find(e.ctx, what)
	if !errors.Is(err, fs.ErrNotExist) {
		return dir, found, wrong(err)
	}
	var known []string
	all, _ := dir.Standings(e.ctx)
	for _, st := range all {
		known = append(known, st.Loop, st.Task)
	}
	return nil, nil, fail(exitConfig, "nothing is on record of a loop or a task %q%s; 'ralph status' shows what is", what, didYouMean(what, "", known))
}

// wrong is an error of the records as a command ends with it: with what to do about it.
func wrong(err error) error {
	_, corrupt := errors.AsType[*progress.CorruptError](err)
	held, is := errors.AsType[*progress.HeldError](err)
	_, done := errors.AsType[*exitError](err)
	switch {
	case err == nil || done:
		return err
	case is:
		return fail(exitConfig, "%s is run already: %s; --id gives this one a name of its own", held.What, who(held.Holder))
	case corrupt:
		return fail(exitConfig, "%w, with --new", err)
	}
	return fail(exitConfig, "%w", err)
}

// cancelFlags are the flags of cancel.
type cancelFlags struct {
	shared
	all bool
}

func (f *cancelFlags) own(set *flag.FlagSet) {
	set.BoolVar(&f.all, "all", false, "cancel all that are not over")
}

// run cancels loops for good.
func (f *cancelFlags) run(e env, args []string) error {
	if f.all == (len(args) == 1) {
		return fail(exitUsage, "cancel takes one ID or TASK, or --all")
	}
	dir, loops, err := f.chosen(e, args)
	for _, loop := range loops {
		st := pipeline.StandingOf(e.ctx, dir, loop)
		was, err := dir.Cancel(loop.Loop, "cancelled by ralph cancel")
		if errors.Is(err, progress.ErrOver) {
			fmt.Fprintf(e.stdout, "%s is over already: %s at %s\n", st.Name(), was.State.Stop, st.Where())
			continue
		} else if err == nil {
			fmt.Fprintf(e.stdout, "Cancelled Ralph loop for %s at %s\n", st.Name(), st.Where())
		}
		e.sayEnded("last run", was.Ended)
		if err != nil {
			return wrong(err)
		}
	}
	if err == nil && len(loops) == 0 {
		fmt.Fprintln(e.stdout, "No active Ralph loops.")
	}
	return err
}

// chosen are the loops that are to be cancelled; of all, a run comes before its loops.
func (f *cancelFlags) chosen(e env, args []string) (dir *progress.Dir, loops []progress.Entry, err error) {
	if !f.all {
		return f.meant(e, args[0])
	}
	if dir, err = f.found(e); err != nil {
		return nil, nil, err
	}
	all, err := dir.Standings(e.ctx)
	for _, st := range all {
		if !st.State.Done() {
			loops = append(loops, st.Entry)
		}
	}
	return dir, loops, wrong(err)
}

// steer is a command that asks something of loops, and says what follows.
func steer(ask func(s *shared, dir *progress.Dir, loop progress.Entry, args []string) (progress.Entry, error), follows string) func() action {
	return only(func(e env, s *shared, args []string) error {
		dir, loops, err := s.meant(e, args[0])
		for _, loop := range loops {
			was, err := ask(s, dir, loop, args[1:])
			if err != nil {
				return wrong(err)
			}
			st := pipeline.StandingOf(e.ctx, dir, was)
			fmt.Fprintf(e.stdout, follows+"\n", st.Name(), st.Where())
		}
		return err
	})
}

// limiting are the flags of limits that can be changed later.
var limiting = []string{"max", "max-cost", "max-tokens", "max-duration", "stalls", "max-blocked"}

func (s *shared) limited(dir *progress.Dir, loop progress.Entry) (progress.Entry, error) {
	switch {
	case loop.Kind == progress.KindPipeline && (s.given["max"] || s.given["stalls"] || s.given["max-blocked"]):
		return loop, fail(exitUsage, "of definitions each task has its own number of iterations; 'ralph status' names their loops")
	case loop.State.Task.Blocked == "" && s.given["max-blocked"]:
		return loop, fail(exitUsage, "%s was begun without --blocked, so its agent cannot say that it is blocked", loop.Loop)
	case !slices.ContainsFunc(limiting, func(name string) bool { return s.given[name] }):
		return loop, fail(exitUsage, "limit takes --%s", strings.Join(limiting, ", --"))
	}
	return dir.Limit(loop.Loop, s.relimited(loop.State.Task.Limits, s.limits()))
}

// resume lets a loop go on: one that is paused where it runs, one that nobody runs
// here, by the command line that began it.
func resume(e env, s *shared, args []string) error {
	dir, loops, err := s.meant(e, args[0])
	if err != nil {
		return err
	}
	loop := loops[0]
	if run, err := dir.Look(loop.Parent); loop.Parent != "" && loop.Holder == nil && err == nil {
		loop = run
	}
	st := pipeline.StandingOf(e.ctx, dir, loop)
	name, where := st.Name(), st.Where()
	var began []string
	paused, err := dir.Continue(e.ctx, loop)
	switch {
	case err != nil:
		return wrong(err)
	case loop.State.Stop == ralph.StopVerified:
		_, err = fmt.Fprintf(e.stdout, "%s is over: verified at %s\n", name, where)
		return err
	case loop.Holder != nil:
		does := map[bool]string{true: "goes on", false: "runs already,"}[paused]
		_, err = fmt.Fprintf(e.stdout, "%s %s at %s: %s\n", name, does, where, who(*loop.Holder))
		return err
	case loop.Kind == progress.KindHook:
		return fail(exitConfig, "%s is the loop of a client's session, at %s: 'ralph start --session %s -- CLIENT', with the flags that it was begun with, goes on with it", name, where, word(loop.Loop))
	case loop.Reopened().Done():
		return fail(exitNotVerified, "%s; it stays as it is: %s%s", st.Line(time.Now()), loop.State.Detail, strings.TrimSuffix("; go on: "+s.further(loop.Loop, loop.State), "; go on: "))
	case json.Unmarshal([]byte(loop.Meta["args"]), &began) != nil || len(began) == 0:
		return fail(exitConfig, "the command line that began %s is not on record, or was not kept for there was a secret in it; give it again: it goes on with what was interrupted", name)
	}
	if err := os.Chdir(loop.Meta["cwd"]); err != nil {
		return fail(exitConfig, "the folder that %s was begun in: %w", name, err)
	}
	e.say("in %s: %s", loop.Meta["cwd"], commandLine(sparing(began, slices.Concat(passing, limiting, []string{""})...))) // limits may have changed since
	e.resumes, e.args = true, sparing(began, passing...)
	for name, value := range map[string]any{"quiet": s.quiet, "verbose": s.verbose, "json": s.json, "notify": s.notify} {
		if s.given[name] {
			e.args = append([]string{fmt.Sprintf("--%s=%v", name, value)}, e.args...)
		}
	}
	s.notify = "" // that run tells it
	return dispatch(e, e.args)
}
