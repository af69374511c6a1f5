package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// records returns the folder in which it is on record what was agreed for the loops
// of a project, and what came of them; nil if there can be none.
func (s *shared) records(e env, project string) (*progress.Dir, error) {
	dir, err := progress.WorkspaceDir(project)
	if s.state != "" {
		dir, err = &progress.Dir{Path: absolute(s.state)}, nil
	}
	in := err == nil && within(dir.Path, project)
	if err == nil && in && s.state != "" {
		return nil, fail(exitConfig, "--state %s lies in the workspace, where the agent can write to it; name a folder elsewhere", s.state)
	}
	if in {
		e.say("warning: %s, where it is on record what was agreed, lies in the workspace, and the agent can write to it; --state names another folder", dir.Path)
	}
	if err == nil && !s.dryRun {
		err = dir.Make()
	}
	if err != nil && s.state != "" {
		return nil, fail(exitConfig, "--state: %w", err)
	}
	if err != nil {
		e.say("warning: what is agreed cannot be put on record, so a run that is interrupted starts over; --state names another folder: %v", ours{err})
		return nil, nil
	}
	dir.Redactor = redact()
	return dir, nil
}

// alone is records for a run that has an agent work in the project: nobody else
// may have one work there, until release is called or this process ends.
func (s *shared) alone(e env, project, command string) (dir *progress.Dir, release func(), err error) {
	release = func() {}
	if dir, err = s.records(e, project); err != nil || s.dryRun || s.share {
		return dir, release, err
	}
	hold, err := progress.HoldWorkspace(project, "ralph "+command)
	switch held, is := errors.AsType[*progress.HeldError](err); {
	case is:
		return nil, release, fail(exitConfig, "in %s an agent is at work already: %s; wait for it, end it, or work beside it with --share", project, who(held.Holder))
	case err != nil && dir != nil:
		s.warned = true
		e.say("warning: nobody is kept from having another agent work here: %v", ours{err})
	case err == nil:
		release = func() { hold.Close() }
	}
	return dir, release, nil
}

// who says who holds something, and since when.
func who(h progress.Holder) string {
	return h.String() + " (" + progress.Ago(h.Since, time.Now()) + ")"
}

// meta is what is on record of how a loop was begun: what it takes to go on with
// it, and the terms.
func (s *shared) meta(e env, file string, agent ralph.Runner, terms map[string]string) map[string]string {
	meta := map[string]string{"command": e.verb, "file": absolute(file), "agent": s.agentCmd}
	if cmd, ok := agent.(*ralph.Command); ok {
		meta["agent"] = strings.TrimSpace(strings.Join(cmd.Args, " ") + " " + cmd.Model)
	}
	maps.Copy(meta, terms)
	hide := redact()
	for name, value := range meta {
		meta[name] = hide.String(value)
	}
	meta["cwd"] = absolute(".")
	if args, err := json.Marshal(sparing(e.args, passing...)); err == nil && hide.String(string(args)) == string(args) {
		meta["args"] = string(args)
	}
	return meta
}

// passing are the flags that hold for one run, and not when it is gone on with: how it is
// shown, and that it starts over.
var passing = []string{"new", "quiet", "verbose", "json", "notify"}

// unlike says what of the terms is no longer as it was agreed, "" = nothing. What is
// given on the command line may be agreed anew.
func unlike(agreed, is map[string]string, anew map[string]bool) string {
	all := maps.Clone(is)
	maps.Copy(all, agreed)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if agreed[name] != is[name] && !anew[name] && !slices.Contains([]string{"args", "cwd", "log", "tasks"}, name) {
			switch was, now := line(agreed[name]), line(is[name]); {
			case was == "":
				return fmt.Sprintf("%s is given, which it was not: %s", name, now)
			case now == "":
				return fmt.Sprintf("%s is no longer given, which was %s", name, was)
			default:
				return fmt.Sprintf("%s has changed from %s to %s", name, was, now)
			}
		}
	}
	return ""
}

// begin holds the record of a loop, or of the run of a task file: that of one that was
// interrupted and goes on, unless something is not as it was, or a new one. It
// is nil if there can be none.
func (s *shared) begin(e env, dir *progress.Dir, kind progress.Kind, start ralph.State, meta map[string]string, changed func(progress.Entry) string) (j *progress.Journal, goesOn bool, err error) {
	if dir == nil {
		return nil, false, nil
	}
	if s.anew {
		err = s.aside(e, dir, start.Loop)
	}
	last, _ := dir.Look(start.Loop) // Open says what is wrong
	if err == nil {
		j, err = dir.Open(start.Loop)
	}
	if err == nil {
		now := progress.Entry{Loop: start.Loop, Kind: j.Kind, State: j.State, Meta: j.Meta}
		if e.resumes {
			now.State = now.Reopened().Pause(false)
		}
		if j.State = now.State; !j.State.Done() && (j.Kind != progress.KindLoop || j.State.Begun()) {
			goesOn, err = s.goesOn(e, dir, now, last, changed)
		}
		if err != nil {
			return nil, false, errors.Join(err, j.Close())
		}
	}
	switch {
	case goesOn:
		j.State = j.State.Limit(s.relimited(j.State.Task.Limits, start.Task.Limits))
		meta["tasks"] = j.Meta["tasks"] // as it was at the start
	case err == nil:
		if next := s.further(last.Loop, last.State); last.State.Done() && last.Kind == progress.KindLoop && next != "" {
			e.say("'%s' has ended (%s) and starts anew; '%s' in place of this goes on", last.Loop, last.State.Stop, next)
		}
		if err = j.Close(); err == nil && last.Status == progress.StatusInterrupted {
			err = s.aside(e, dir, start.Loop)
		}
	}
	if !goesOn && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		j, err = dir.Create(start, kind)
	}
	if err != nil {
		return nil, false, wrong(err)
	}
	if j.Unlocked != nil && !s.warned {
		e.say("warning: nobody is kept from running it as well: %v", ours{j.Unlocked})
	}
	*e.again = s.resuming(start.Loop)
	j.Meta = meta
	return j, goesOn, nil
}

// resuming says what command goes on with a loop.
func (s *shared) resuming(loop string) string { return "'" + s.steering("resume", loop) + "' goes on" }

// steering is a command line for a loop.
func (s *shared) steering(command, loop string) string {
	command = "ralph " + command + " " + word(loop)
	if s.dir != "" {
		command += " --dir " + word(s.dir)
	}
	if s.state != "" {
		command += " --state " + word(s.state)
	}
	return command
}

// commandLine is one of ours as a shell takes it.
func commandLine(args []string) string {
	var text strings.Builder
	text.WriteString("ralph")
	for _, arg := range args {
		text.WriteString(" " + word(arg))
	}
	return text.String()
}

// word is an argument as a shell takes it.
func word(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@+,%") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// goesOn reports whether what is on record goes on.
func (s *shared) goesOn(e env, dir *progress.Dir, now, last progress.Entry, changed func(progress.Entry) string) (bool, error) {
	name := last.Loop
	was := map[bool]string{true: "stopped at ", false: "interrupted at "}[last.State.Done()]
	if !last.State.Done() && last.Kind == progress.KindLoop && !last.State.Running && last.State.Attempt <= 1 { // by a limit that is higher now
		was = "stopped before "
	}
	was += pipeline.StandingOf(e.ctx, dir, last).Where() + " " + progress.Ago(last.Active, time.Now())
	switch what := changed(now); {
	case what != "" && e.resumes:
		return false, fail(exitConfig, "'%s' was %s, and since then %s; start it anew with: %s", name, was, what, commandLine(sparing(e.args, passing...)))
	case what != "":
		e.say("'%s' was %s, but since then %s; it starts anew", name, was, what)
		return false, nil
	}
	e.say("going on with '%s', %s; --new starts over", name, was)
	if now.State.Paused {
		e.say("'%s' is paused; 'ralph resume %s' lets it go on", name, word(name))
	}
	return true, nil
}

// changed says what is no longer as it was when a loop began, "" = nothing.
func changed(prompt, project string, meta map[string]string) func(progress.Entry) string {
	return func(e progress.Entry) string {
		switch was := e.State.Task; {
		case was.Prompt != prompt:
			return "its prompt has changed"
		case was.Dir != project:
			return "the folder it works in has changed from " + line(was.Dir)
		}
		return unlike(e.Meta, meta, nil)
	}
}

// aside moves away what is on record of a loop, and ends what is left of it.
func (s *shared) aside(e env, dir *progress.Dir, loop string) error {
	to, ended, err := dir.SetAside(loop)
	e.sayEnded("last run", ended)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err == nil {
		e.say("what was on record of '%s' is set aside, as %s", loop, filepath.Base(to))
	}
	return err
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

// evidence is where the full outputs of checks are kept. An exam's do not lie where
// the agent works.
func (s *shared) evidence(dir *progress.Dir, logPath string) string {
	switch {
	case s.exam == "":
		return filepath.Join(filepath.Dir(logPath), "evidence")
	case dir == nil:
		return ""
	}
	return filepath.Join(dir.Path, "evidence")
}

// terms are what decides about a task beside its definition, by the flag or key
// that sets it. They are agreed when a loop starts.
func (c criteria) terms() map[string]string {
	terms := map[string]string{
		"verify": c.verify, "guard": strings.Join(c.guard, listed), "exam": c.exam,
		"judge": cmp.Or(c.judge, c.config.Judge), "judge-model": cmp.Or(c.judgeModel, c.config.JudgeModel),
	}
	if c.acceptConfig {
		terms["accept-config"] = "true"
	}
	maps.DeleteFunc(terms, func(_, value string) bool { return value == "" })
	return terms
}

// logged reports whether the log in the workspace tells of a loop of a task that was
// interrupted.
func (w *work) logged(task string) (open bool) {
	file, err := ralph.OpenFile(w.logPath)
	if err != nil {
		return false
	}
	defer file.Close()
	for rec, err := range progress.ReadJSONL(file) {
		if err == nil && rec.Event.Task == task {
			open = rec.Kind != ralph.EventLoopStopped
		}
	}
	return open
}

// sayEnded names what was ended that a session, or a run which was killed, had left
// running.
func (e env) sayEnded(what string, ended []string) {
	for _, command := range ended {
		e.say("ended what the %s has left running: %s", what, command)
	}
}

// relimited are the limits that were agreed, but for those that are now given on the
// command line. 'ralph resume' gives the command line of the start again, which is older
// than what was agreed since.
func (s *shared) relimited(agreed, now ralph.Limits) ralph.Limits {
	for flag, take := range map[string]func(){
		"max":            func() { agreed.Iterations = now.Iterations },
		"max-cost":       func() { agreed.CostUSD, agreed.Priced = now.CostUSD, now.Priced },
		"max-tokens":     func() { agreed.Tokens = now.Tokens },
		"max-duration":   func() { agreed.Duration = now.Duration },
		"timeout":        func() { agreed.IterationTimeout = now.IterationTimeout },
		"verify-timeout": func() { agreed.VerifyTimeout = now.VerifyTimeout },
		"stalls":         func() { agreed.Stalls = now.Stalls },
		"max-blocked":    func() { agreed.Blocked = now.Blocked },
	} {
		if s.given[flag] && !s.resumed {
			take()
		}
	}
	return agreed
}

// begun gives a run that goes on the flags that it began with, but for those that are
// given now: these are agreed anew. Of definitions nothing is taken over, for their
// loops go on only as they were agreed.
func (w *work) begun(last progress.Entry) {
	if last.Meta["file"] != absolute(w.file) || w.stated {
		return
	}
	// The list was none that is refused, and boxes that the agent has added do not make it
	// one.
	w.onlyIDs = last.Meta["all-boxes"] == "" && !w.given["all-boxes"]
	clean, taken := last.Meta["args"] != "", []string(nil) // else there was a secret in them, which is not on record
	for _, flag := range []struct {
		name string
		to   any
	}{
		{"all-boxes", &w.allBoxes}, {"criteria", &w.criteriaToo}, {"optional", &w.optionalToo}, {"tag", &w.tag}, {"spec", &w.spec},
		{"verify", &w.verify}, {"exam", &w.exam}, {"guard", &w.guard}, {"judge", &w.judge}, {"judge-model", &w.judgeModel}, {"accept-config", &w.acceptConfig},
	} {
		value, there := last.Meta[flag.name]
		if !there || w.given[flag.name] {
			continue
		}
		shown := "--" + flag.name
		switch to := flag.to.(type) {
		case *bool:
			if *to = value == "true"; !*to {
				shown += "=false"
			}
		case *string:
			if !clean && flag.name != "tag" {
				continue
			}
			if *to = value; flag.name == "exam" && !filepath.IsAbs(value) && last.Meta["cwd"] != absolute(".") {
				*to = filepath.Join(last.Meta["cwd"], value)
			}
			shown += " " + word(value)
		case *list:
			if !clean {
				continue
			}
			*to = strings.Split(value, listed)
			shown += " " + word(strings.Join(*to, ", "))
		}
		w.given[flag.name] = true
		if flag.name != "tag" { // which is told anyway, and need not have been given
			taken = append(taken, shown)
		}
	}
	if taken != nil {
		w.say("as when '%s' began: %s", w.name(), line(strings.Join(taken, " ")))
	}
}

// listed stands between the values of a flag on record that was given several times.
const listed = "\n"
