package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// records returns the folder in which it is on record what was agreed for the loops
// of a file, and what came of them. Its Path is empty if there can be none.
func (s *shared) records(e env, project, file string) (progress.Dir, error) {
	dir, err := progress.WorkspaceDir(project)
	if s.state != "" {
		dir, err = progress.Dir{Path: absolute(s.state)}, nil
	}
	in := err == nil && within(dir.Path, project)
	if err == nil && in && s.state != "" {
		return dir, fail(exitConfig, "--state %s lies in the workspace, where the agent can write to it; name a folder elsewhere", s.state)
	}
	if in {
		e.say("warning: %s, where it is on record what was agreed, lies in the workspace, and the agent can write to it; --state names another folder", dir.Path)
	}
	dir = dir.Sub(absolute(file))
	if err == nil && !s.dryRun {
		err = dir.Make()
	}
	if err != nil && s.state != "" {
		return dir, fail(exitConfig, "--state: %w", err)
	}
	if err != nil {
		e.say("warning: what is agreed cannot be put on record, so a run that is interrupted starts over; --state names another folder: %v", ours{err})
		return progress.Dir{}, nil
	}
	return dir, nil
}

// within reports whether a path that need not exist lies in a folder.
func within(path, dir string) bool {
	rel, err := filepath.Rel(resolved(dir), resolved(path))
	return err == nil && filepath.IsLocal(rel)
}

// resolved is an absolute path without links, as far as it exists.
func resolved(path string) string {
	path = absolute(path)
	if to, err := filepath.EvalSymlinks(path); err == nil || filepath.Dir(path) == path {
		return cmp.Or(to, path)
	}
	return filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path))
}

// recorded adds the record to a run's logs, as the first of them: what is not on
// record does not begin.
func recorded(dir progress.Dir, others ...ralph.ProgressLog) ralph.ProgressLog {
	if dir.Path != "" {
		others = slices.Insert(others, 0, redact().Log(dir))
	}
	return progress.Multi(others...)
}

// evidence is where the full outputs of checks are kept. An exam's do not lie where
// the agent works.
func (s *shared) evidence(dir progress.Dir, logPath string) string {
	switch {
	case s.exam == "":
		return filepath.Join(filepath.Dir(logPath), "evidence")
	case dir.Path == "":
		return ""
	}
	return filepath.Join(dir.Path, "evidence")
}

// terms are what decides about a task beside its definition, by the flag or key
// that sets it. They are agreed when a loop starts.
func (c criteria) terms() map[string]string {
	terms := map[string]string{
		"verify": c.verify, "guard": c.guard.String(), "exam": c.exam,
		"judge": cmp.Or(c.judge, c.config.Judge), "judge-model": cmp.Or(c.judgeModel, c.config.JudgeModel),
	}
	if c.acceptConfig {
		terms["accept-config"] = "true"
	}
	maps.DeleteFunc(terms, func(_, value string) bool { return value == "" })
	return terms
}

// resume returns the state in which the loop of a task goes on that was
// interrupted, or that of a new one. It is done if the loop has stopped, and
// the process died before that was written to the task file. What is on record
// outside the workspace is believed, and nothing else.
func (a *agreed) resume(task ralph.Task, status spec.Status) (ralph.State, error) {
	start := ralph.Start(task)
	if a.anew || a.dir.Path == "" {
		return start, nil
	}
	runs := status == spec.StatusRunning
	s, terms, err := a.dir.Resume(start.Loop)
	switch {
	case errors.Is(err, fs.ErrNotExist) && runs && a.logged(start.Loop):
		return start, fail(exitConfig, "%s: %s was interrupted, and what was agreed for it is not on record in %s; a log in the workspace is not believed, for the agent can write to it. --state names the folder it was begun with, --new starts it over", a.file, line(task.ID), a.dir.Path)
	case errors.Is(err, fs.ErrNotExist):
		return start, nil
	case err != nil:
		return start, fail(exitConfig, "%w; --new starts it over", err)
	case s.Done() && !runs, !s.Done() && !s.Begun():
		return start, nil // its end was written back, or nothing of it has run
	}
	what := a.unlike(s.Task, task, terms)
	switch {
	case what == "":
		return s, nil
	case !runs:
		return start, nil
	}
	return start, fail(exitConfig, "%s: %s was interrupted, and since it began %s; it goes on only as it was agreed. Put that back, or start it over with --new", a.file, line(task.ID), what)
}

// unlike says what is no longer as it was agreed, "" = nothing. What is given on
// the command line is agreed anew.
func (a *agreed) unlike(agreed, now ralph.Task, terms map[string]string) string {
	switch {
	case agreed.Prompt != now.Prompt || string(agreed.Spec) != string(now.Spec):
		return "its definition, or a default of the configuration, has changed"
	case agreed.Dir != now.Dir:
		return "the folder it works in has changed from " + line(agreed.Dir)
	}
	is := a.c.terms()
	all := maps.Clone(is)
	maps.Copy(all, terms)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if terms[name] != is[name] && !a.given[name] {
			return fmt.Sprintf("%s has changed from %s to %s", name, cmp.Or(line(terms[name]), "nothing"), cmp.Or(line(is[name]), "nothing"))
		}
	}
	return ""
}

// logged reports whether the log in the workspace tells of a loop that was
// interrupted.
func (w *work) logged(loop string) bool {
	file, err := ralph.OpenFile(w.logPath)
	if err != nil {
		return false
	}
	defer file.Close()
	s, err := progress.Resume(file, loop)
	return err == nil && !s.Done()
}

// settled puts the record of a loop aside whose end is written to the task file.
func (a *agreed) settled(task ralph.Task) {
	if name := a.dir.File(ralph.Start(task).Loop); a.dir.Path != "" {
		os.Rename(name, strings.TrimSuffix(name, ".jsonl")+"-last.jsonl") // else the next run takes it for what was not written back
	}
}

// endLeft ends what is left of the agent that worked when this was killed, by the
// mark on record.
func (e env) endLeft(mark string) error {
	if mark == "" {
		return nil
	}
	ended, err := ralph.EndLeft(mark)
	for _, command := range ended {
		e.say("ended what the last run has left running: %s", command)
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fail(exitAgent, "%w; end it before the agent is run again", err)
	}
	return nil
}

// relimited are the limits that were agreed, but for those that are now given on
// the command line.
func (s *shared) relimited(agreed, now ralph.Limits) ralph.Limits {
	for flag, take := range map[string]func(){
		"max":            func() { agreed.Iterations = now.Iterations },
		"max-cost":       func() { agreed.CostUSD = now.CostUSD },
		"max-tokens":     func() { agreed.Tokens = now.Tokens },
		"max-duration":   func() { agreed.Duration = now.Duration },
		"timeout":        func() { agreed.IterationTimeout = now.IterationTimeout },
		"verify-timeout": func() { agreed.VerifyTimeout = now.VerifyTimeout },
	} {
		if s.given[flag] {
			take()
		}
	}
	return agreed
}
