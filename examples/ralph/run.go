package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks"
)

func runFlags(f *flags) {
	f.IntVar(&f.max, "max", 0, "at most `N` iterations: of a list in all (10), of a definition for each task (its own number)")
	f.StringVar(&f.template, "template", "", "the prompt `FILE` for the items of a list (default: templates/ralph-prompt.md, else built in)")
	f.StringVar(&f.progress, "progress", "", "the progress `FILE` (default: progress.txt beside the task file)")
	f.StringVar(&f.log, "log", "", "the execution log `FILE` (default: .ralph/log.jsonl)")
	f.BoolVar(&f.allBoxes, "all-boxes", false, "of a list, take every box for a task, also those without an ID")
	f.StringVar(&f.dir, "dir", "", "the `FOLDER` to work in (default: the top of the git work tree, else the current folder)")
	stageFlags(f)
	agentFlags(f)
}

// stageFlags say whose criteria of a definition are meant, and who judges.
func stageFlags(f *flags) {
	f.StringVar(&f.stage, "stage", "", "of a definition, the `AGENT` whose part it is (default: the first it names, else coder)")
	f.StringVar(&f.judge, "judge", "", "the `NAME` of the agent that judges what is verified by meaning (semantic)")
	f.StringVar(&f.judgeModel, "judge-model", "", "the `MODEL` it uses when a definition names none")
	f.StringVar(&f.config, "config", "", "the `FILE` with a ralph: section of defaults (default: .ralph/config.yaml)")
}

// A work is a run of a task file.
type work struct {
	env
	*flags
	file    string
	project string
	logPath string
	log     ralph.ProgressLog
	close   []func() error
	spent   float64  // USD, by the tasks so far
	last    *float64 // USD, by the last iteration
}

func runRun(e env, f *flags, args []string) (err error) {
	w := &work{env: e, flags: f}
	if len(args) > 1 {
		return fail(exitUsage, "%q is one argument too many", args[1])
	}
	if f.max < 0 || f.max == 0 && f.given("max") {
		return fail(exitUsage, "--max is the number of iterations, 1 or more, not %d", f.max)
	}
	if err := f.validate(); err != nil {
		return err
	}
	if err := w.locate(args); err != nil {
		return err
	}
	kind, err := tasks.KindOf(w.file)
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	runner, err := f.command(e, nil, w.project)
	if err != nil {
		return err
	}
	defer func() {
		for _, end := range w.close {
			err = errors.Join(err, end())
		}
	}()
	if kind == tasks.KindDefinitions {
		return w.definitions(runner)
	}
	return w.list(kind, runner)
}

// locate finds the project and the task file.
func (w *work) locate(args []string) error {
	project, err := topLevel(w.ctx, w.dir)
	if x, ok := errors.AsType[*exitError](err); ok && x.code == exitGit {
		// A list can be worked off without git; then nobody sees what changed.
		project, err = filepath.Abs(cmp.Or(w.dir, "."))
	}
	if err != nil {
		return err
	}
	w.project = project
	if len(args) == 1 {
		w.file = args[0]
		return nil
	}
	if w.file, err = tasks.Find(w.ctx, project); err != nil {
		return fail(exitConfig, "%w", err)
	}
	return nil
}

// feature names what is worked on, in progress.txt.
func (w *work) feature() string {
	branch, _ := git.Command(w.ctx, w.project, "symbolic-ref", "--quiet", "--short", "HEAD").Output() // or none
	return cmp.Or(strings.TrimSpace(string(branch)), filepath.Base(filepath.Dir(absolute(w.file))))
}

// open opens the logs. Where loops are resumed from the execution log, it keeps
// the tasks as they are, secrets and all.
func (w *work) open(resumed bool) error {
	path := w.flags.log
	if path == "" {
		folder, err := dotRalph(w.project)
		if err != nil {
			return fail(exitConfig, "execution log: %w", err)
		}
		path = filepath.Join(folder, "log.jsonl")
	}
	w.logPath = path
	file, err := openLog(path)
	if err != nil {
		return fail(exitConfig, "execution log: %w", err)
	}
	w.close = append(w.close, file.Close)
	w.say("execution log: %s", path)
	text, execution := redact(), redact()
	text.Task, execution.Task = true, !resumed
	w.log = progress.Multi(
		text.Log(&progress.Markdown{Path: w.progressPath(), Feature: w.feature()}),
		execution.Log(&progress.JSONL{W: file}),
	)
	return nil
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// dotRalph is the project's folder for what loops write. It is no part of the
// project, and says so to git.
func dotRalph(project string) (string, error) {
	folder := filepath.Join(project, ".ralph")
	_, err := os.Stat(folder)
	if err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	return folder, os.WriteFile(filepath.Join(folder, ".gitignore"), []byte("*\n"), 0o644)
}

func (w *work) progressPath() string {
	return cmp.Or(w.progress, filepath.Join(filepath.Dir(w.file), "progress.txt"))
}

// output is where the agent's words go.
func (w *work) output(ralph.Request) (io.Writer, io.Writer) { return w.stderr, nil }

// shown is a log that also shows what happens.
func (w *work) shown(always bool) ralph.ProgressLog {
	return ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		if ev.Kind == ralph.EventLoopStarted && ev.State != nil {
			fmt.Fprintf(w.stderr, "\n=== %s %s\n", clean(ev.Task), clean(ev.State.Task.Title))
		}
		show(w.stderr, ralph.Task{Always: always}, ev)
		ev.Iteration.Files = slices.DeleteFunc(slices.Clone(ev.Iteration.Files), w.ours)
		return w.log.Append(ctx, ev)
	})
}

// ours reports whether a changed file is one that this program writes.
func (w *work) ours(file string) bool {
	path := filepath.Join(w.project, filepath.FromSlash(file))
	return path == absolute(w.progressPath()) || path == absolute(w.logPath)
}

// list works a list or a prd.json off.
func (w *work) list(kind tasks.Kind, runner ralph.Runner) error {
	source := w.source(w.file, kind)
	text, err := w.prompt()
	if err != nil {
		return err
	}
	if err := w.ready(kind, source); err != nil {
		return fail(exitConfig, "%w", err)
	}
	if err := w.open(false); err != nil {
		return err
	}
	s := &tasks.Session{
		Source: source, Runner: runner, Log: w.shown(true), Dir: w.project, Template: text, Feature: w.feature(),
		Path: absolute(w.file), Progress: absolute(w.progressPath()), Output: w.output,
		Limits: ralph.Limits{Iterations: w.max, IterationTimeout: w.timeout, CostUSD: w.maxCost},
	}
	report, err := s.Run(w.ctx)
	if !report.StartTime.IsZero() {
		printSession(w.stdout, report)
	}
	return w.exit(err, report.TasksRemaining)
}

// ready finds out whether there is something to do, before any log is begun.
func (w *work) ready(kind tasks.Kind, source tasks.Source) error {
	items, err := source.Items(w.ctx)
	if err != nil {
		return err
	}
	w.sayOthers(w.env, w.file, kind, items)
	if openItems(items) == 0 {
		return fmt.Errorf("%s: there is nothing to do: %s, all done", w.file, plural(len(items), "task"))
	}
	return nil
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
	fmt.Fprintf(out, "%s: %s after %s of %d in %s: %s completed, %d remaining%s\n", clean(r.FeatureBranch), r.Status,
		plural(r.IterationsRun, "iteration"), r.MaxIterations, r.EndTime.Sub(r.StartTime).Round(time.Millisecond),
		plural(r.TasksCompleted, "task"), r.TasksRemaining, price(r.Usage))
	if len(r.Skipped) > 0 {
		fmt.Fprintf(out, "  skipped  %s\n", clean(strings.Join(r.Skipped, ", ")))
	}
}

// exit is the exit code of a run: 3 while tasks remain (S0), whatever stopped it,
// but 4 if that was the agent.
func (w *work) exit(err error, remaining int) error {
	if err == nil {
		return nil
	}
	stop, ok := errors.AsType[*ralph.StopError](err)
	switch {
	case context.Cause(w.ctx) != nil || !ok:
		return fail(exitConfig, "%w", err)
	case stop.Reason == ralph.StopFailed:
		return fail(exitAgent, "the agent failed: %s", clean(stop.Detail))
	case stop.Reason == ralph.StopRateLimited:
		return fail(exitAgent, "the agent is rate limited: %s", clean(stop.Detail))
	}
	return fail(exitNotVerified, "%s (%s): %s", remain(remaining), stop.Reason, clean(stop.Detail))
}

func remain(n int) string {
	if n == 1 {
		return "1 task remains"
	}
	return fmt.Sprintf("%d tasks remain", n)
}
