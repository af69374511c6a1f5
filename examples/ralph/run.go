package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks"
)

// runFlags are the flags of run.
type runFlags struct {
	shared
	template, progress string
	anew               bool
}

func (f *runFlags) own(set *flag.FlagSet) {
	set.StringVar(&f.template, "template", "", "the prompt `FILE` for the items of a list (default: templates/ralph-prompt.md, else built in)")
	set.StringVar(&f.progress, "progress", "", "the progress `FILE` (default: progress.txt beside the task file)")
	set.BoolVar(&f.anew, "new", false, "start definitions over that were interrupted, and forget what checks have said of the boxes of a list")
}

// A work is a run of a task file.
type work struct {
	env
	*runFlags
	project, file string
	branch        string
	agent         ralph.Runner
	logPath       string
	record        ralph.ProgressLog
	used          ralph.State // what the tasks of definitions have used so far
}

func (f *runFlags) run(e env, args []string) error {
	w := &work{env: e, runFlags: f}
	if err := w.locate(args); err != nil {
		return err
	}
	kind, err := tasks.KindOf(w.file)
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	if w.agent, err = f.command(e, nil, w.project); err != nil {
		return err
	}
	if kind == tasks.KindDefinitions {
		return w.definitions()
	}
	return w.list(kind)
}

// locate finds the project, the task file and the progress file.
func (w *work) locate(args []string) error {
	var err error
	w.project, w.branch, err = topLevel(w.ctx, w.dir)
	if x, ok := errors.AsType[*exitError](err); ok && x.code == exitGit {
		// A list can be worked off without git; then nobody sees what changed.
		w.project, err = absolute(cmp.Or(w.dir, ".")), nil
	}
	if err != nil {
		return err
	}
	if len(args) == 1 {
		w.file = args[0]
	} else if w.file, err = tasks.Find(w.ctx, w.project); err != nil {
		return err
	}
	w.progress = cmp.Or(named(w.progress), filepath.Join(filepath.Dir(w.file), "progress.txt"))
	return nil
}

// feature names what is worked on.
func (w *work) feature() string {
	return cmp.Or(w.branch, filepath.Base(filepath.Dir(absolute(w.file))))
}

func (w *work) logFile() string {
	return cmp.Or(named(w.log), filepath.Join(w.project, ".ralph", "log.jsonl"))
}

// open opens the logs. All but the record are for people.
func (w *work) open(dir progress.Dir) error {
	w.logPath = w.logFile()
	execution, err := w.executionLog(w.logPath)
	if err != nil {
		return err
	}
	text := redact()
	text.Task = true
	view := progress.Multi(text.Log(&progress.Markdown{Path: w.progress, Feature: w.feature()}), execution)
	w.record = recorded(dir, without(unexamined(view), w.project, w.progress, w.logPath))
	return nil
}

// output is where the agent's words go.
func (w *work) output(ralph.Request) (io.Writer, io.Writer) { return w.stderr, nil }

// shown is a log that also shows what happens.
func (w *work) shown(always bool) ralph.ProgressLog {
	return ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		if ev.Kind == ralph.EventLoopStarted && ev.State != nil {
			fmt.Fprintf(w.stderr, "\n=== %s %s\n", line(ev.Task), line(ev.State.Task.Title))
		}
		show(w.stderr, ralph.Task{Always: always}, ev)
		return w.record.Append(ctx, ev)
	})
}

// list works a list or a prd.json off.
func (w *work) list(kind tasks.Kind) error {
	source := w.source(w.file, kind)
	text, err := w.prompt()
	if err != nil {
		return err
	}
	items, err := source.Items(w.ctx)
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	w.sayOthers(w.env, w.file, kind, items)
	verifier, how, err := w.checks(nil)
	if err != nil {
		return err
	}
	dir, err := w.records(w.env, w.project, w.file)
	if err != nil {
		return err
	}
	s := &tasks.Session{
		Source: source, Runner: w.agent, Dir: w.project, Template: text, Path: absolute(w.file), Feature: w.feature(),
		Progress: absolute(w.progress), Output: w.output, Limits: w.limits(), Verifier: verifier, HowVerified: how,
	}
	kept := tasks.PendingFile{Path: filepath.Join(dir.Path, "pending.json"), Redact: redact().String}
	if dir.Path != "" && !w.anew {
		if s.Pending, err = kept.Load(); err != nil {
			return fail(exitConfig, "%w", err)
		}
	}
	reasons := slices.DeleteFunc(slices.Collect(maps.Values(s.Pending)), func(why string) bool { return why == "" })
	if openItems(items) == 0 && (len(s.Pending) == 0 || verifier == nil && len(reasons) == 0) { // found out before any log is begun
		left := ""
		if len(s.Pending) > 0 {
			left = "; ticked by the agent, not verified: " + line(strings.Join(slices.Sorted(maps.Keys(s.Pending)), ", "))
		}
		return fail(exitConfig, "%s: there is nothing to do: %s, all done%s", w.file, plural(len(items), "task"), left)
	}
	if w.dryRun {
		dry := &printer{agent: w.agent, out: w.stdout}
		s.Runner = dry
		_, err := s.Run(w.ctx)
		return dry.end(err)
	}
	for _, it := range items { // of a run that was killed
		if old, _, err := dir.Resume(ralph.Start(ralph.Task{ID: it.Key}).Loop); err == nil {
			if err := w.endLeft(old.Mark); err != nil {
				return err
			}
		}
	}
	if err := w.open(dir); err != nil {
		return err
	}
	s.Log, s.Evidence = w.shown(true), w.evidence(dir, w.logPath)
	if dir.Path != "" {
		s.Keep = kept.Keep
	}
	report, err := s.Run(w.ctx)
	if !report.StartTime.IsZero() {
		printSession(w.stdout, report)
	}
	return w.exit(err, report.TasksRemaining)
}

// prompt is the template of the user, "" = the built-in one.
func (w *work) prompt() (string, error) {
	file := cmp.Or(w.template, filepath.Join(w.project, "templates", "ralph-prompt.md"))
	if w.template == "" && !isFile(file) {
		return "", nil
	}
	w.say("prompt template: %s", file)
	return readPrompt(file)
}

func printSession(out io.Writer, r tasks.Report) {
	fmt.Fprintf(out, "%s: %s after %s of %d in %s: %s completed, %d remaining%s\n", line(r.FeatureBranch), r.Status,
		plural(r.IterationsRun, "iteration"), r.MaxIterations, r.EndTime.Sub(r.StartTime).Round(time.Millisecond),
		plural(r.TasksCompleted, "task"), r.TasksRemaining, spent(r.Usage))
	for _, kind := range []struct {
		what  string
		items []string
	}{{"skipped", r.Skipped}, {"rejected", r.Rejected}, {"ticked by the agent, not verified:", r.Unverified}} {
		if len(kind.items) > 0 {
			fmt.Fprintf(out, "  %-8s %s\n", kind.what, line(strings.Join(kind.items, ", ")))
		}
	}
}

// exit is the end of a run: tasks remain, whatever stopped it.
func (w *work) exit(err error, remaining int) error {
	stop, ok := errors.AsType[*ralph.StopError](err)
	switch {
	case err == nil:
		return nil
	case context.Cause(w.ctx) != nil || !ok:
		return fail(exitConfig, "%w", err)
	case stopCode(stop.Reason) != exitAgent:
		return fail(exitNotVerified, "%s (%s): %s", plural(remaining, "task remains", "tasks remain"), stop.Reason, line(stop.Detail))
	case stop.Reason == ralph.StopRateLimited:
		return fail(exitAgent, "the agent is rate limited: %s", line(stop.Detail))
	}
	return fail(exitAgent, "the agent failed: %s", line(stop.Detail))
}
