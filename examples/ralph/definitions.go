package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks"
)

// definitions works a file of definitions off: one agent, one task at a time.
func (w *work) definitions(runner ralph.Runner) error {
	f, err := w.load()
	if err != nil {
		return err
	}
	w.warn(f)
	config, err := w.tasksConfig(w.project)
	if err != nil {
		return err
	}
	judged := tasks.Env{Dir: w.project, Judge: w.judgeWith(config), Redact: redact().String}
	// A verifier that cannot be built is found out now, not after hours.
	for _, d := range f.Definitions() {
		if _, _, err := w.task(config, judged, d, w.stage); err != nil {
			return fail(exitConfig, "%s: %w", w.file, err)
		}
	}
	switch n := len(f.Definitions()); {
	case len(f.Ready()) > 0:
	case undone(f) == 0:
		return fail(exitConfig, "%s: there is nothing to do: %s, all done; set the status of those that are to run again to todo", w.file, plural(n, "task"))
	default:
		return fail(exitConfig, "%s: no task is ready: %s; set the status of those that are to run to todo", w.file, counts(f))
	}
	if w.dryRun {
		return w.preview(config, judged, runner, f)
	}
	if err := w.open(true); err != nil {
		return err
	}
	for {
		ready := f.Ready()
		if len(ready) == 0 {
			break
		}
		err = w.definition(config, judged, runner, f, ready[0])
		now, loadErr := w.load() // as it is now
		if loadErr == nil {
			w.unverified(f, now, ready[0].ID)
			f = now
		}
		if err = cmp.Or(err, loadErr); err != nil {
			break
		}
	}
	remaining := undone(f)
	printDefinitions(w.stdout, f)
	if err == nil && remaining > 0 {
		return fail(exitNotVerified, "%s: %s", remain(remaining), counts(f))
	}
	return w.exit(err, remaining)
}

// unverified warns of tasks that somebody else has declared done: the agent can
// write to the file too.
func (w *work) unverified(before, now *tasks.File, ran string) {
	was := map[string]tasks.Status{}
	for _, d := range before.Definitions() {
		was[d.ID] = d.Status
	}
	for _, d := range now.Definitions() {
		if d.Status == tasks.StatusDone && was[d.ID] != d.Status && d.ID != ran {
			w.say("warning: %s was set to done while %s ran; it is not verified: 'ralph verify %s %s' does it", line(d.ID), line(ran), w.file, line(d.ID))
		}
	}
}

func undone(f *tasks.File) int {
	return len(slices.DeleteFunc(f.Definitions(), func(d tasks.Definition) bool { return d.Status == tasks.StatusDone }))
}

// definition runs the loop of one task and writes its status back.
func (w *work) definition(config tasks.Config, judged tasks.Env, runner ralph.Runner, f *tasks.File, d tasks.Definition) error {
	task, verifier, err := w.task(config, judged, d, w.stage)
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	if err := w.budget(&task); err != nil {
		return err
	}
	state := w.resume(task, d.Status)
	if state.Done() { // the process died before it was written back
		w.say("%s was stopped (%s) when this ended before; its status is written back", d.ID, state.Stop)
		return w.writeBack(d.ID, state)
	}
	if state.Attempt == 1 && state.Iteration == 1 {
		if state.Task, err = tasks.Snapshot(task, judged); err != nil {
			return fail(exitConfig, "%w", err)
		}
	}
	if err := setStatus(f, d.ID, tasks.StatusRunning); err != nil {
		return fail(exitConfig, "%w", err)
	}
	loop := &ralph.Local{Runner: runner, Verifier: verifier, Log: w.shown(false), Output: w.output, Evidence: w.evidence(task)}
	w.spend(-1, state)
	state, err = loop.Run(w.ctx, state)
	w.spend(+1, state)
	w.last = cmp.Or(state.LastCost, w.last)
	report(w.stdout, state, w.ctx.Err() != nil)
	if !state.Done() { // interrupted: its status stays running, and it goes on
		return err
	}
	if err := w.writeBack(d.ID, state); err != nil {
		return err
	}
	switch state.Stop {
	case ralph.StopVerified, ralph.StopFailed, ralph.StopRateLimited, ralph.StopCost, ralph.StopTokens, ralph.StopDuration:
		return err
	}
	w.say("%s: not verified (%s): %s", d.ID, state.Stop, line(state.Detail))
	return nil // the next one may well be possible
}

// preview is --dry-run: what would be run, and what the agent would first be told.
func (w *work) preview(config tasks.Config, judged tasks.Env, runner ralph.Runner, f *tasks.File) error {
	fmt.Fprintf(w.stdout, "%s: %s\n", w.file, counts(f))
	var first ralph.Task
	var verifier ralph.Verifier
	for _, d := range f.Definitions() {
		task, v, err := w.task(config, judged, d, w.stage)
		if err != nil {
			return fail(exitConfig, "%s: %w", w.file, err)
		}
		if d.Status == tasks.StatusDone {
			continue
		}
		fmt.Fprintf(w.stdout, "  %s: %s\n", line(d.ID), line(cmp.Or(task.HowVerified, "the promise is taken for it")))
		if d.ID == f.Ready()[0].ID {
			first, verifier = task, v
		}
	}
	fmt.Fprintf(w.stdout, "\n== %s\n\n", line(first.ID))
	dry := &printer{agent: runner, out: w.stdout}
	_, err := (&ralph.Local{Runner: dry, Verifier: verifier}).Run(w.ctx, ralph.Start(first))
	return dry.end(err)
}

// budget gives a task what is left for all of them, if there is any, and money
// enough for an iteration like the last one.
func (w *work) budget(task *ralph.Task) error {
	l := &task.Limits
	over := func(reason ralph.StopReason, used, most any) error {
		return &ralph.StopError{Task: task.ID, Reason: reason, Detail: fmt.Sprintf("used %v of %v", used, most)}
	}
	if w.maxCost > 0 {
		if l.CostUSD = w.maxCost - w.spent; l.CostUSD <= 0 || w.last != nil && *w.last > l.CostUSD {
			return over(ralph.StopCost, fmt.Sprintf("$%.4f", w.spent), fmt.Sprintf("$%.4f", w.maxCost))
		}
	}
	if w.maxTokens > 0 {
		if l.Tokens = w.maxTokens - w.tokens; l.Tokens <= 0 {
			return over(ralph.StopTokens, w.tokens, w.maxTokens)
		}
	}
	if w.maxDuration > 0 {
		if l.Duration = w.maxDuration - w.elapsed; l.Duration <= 0 {
			return over(ralph.StopDuration, w.elapsed.Round(time.Millisecond), w.maxDuration)
		}
	}
	return nil
}

// spend counts what the loop of a task has used, a negative sign what it had used
// before.
func (w *work) spend(sign int, s ralph.State) {
	if s.Usage.CostUSD != nil {
		w.spent += float64(sign) * *s.Usage.CostUSD
	}
	w.tokens += int64(sign) * (s.Usage.InputTokens + s.Usage.OutputTokens)
	w.elapsed += time.Duration(sign) * s.Elapsed
}

// writeBack writes down how a task ended. That the money was spent, or that the
// agent could not run, says nothing about the task: it is still to be done.
func (w *work) writeBack(id string, s ralph.State) error {
	now := tasks.StatusFailed
	switch s.Stop {
	case ralph.StopVerified:
		now = tasks.StatusDone
	case ralph.StopCost, ralph.StopTokens, ralph.StopDuration, ralph.StopFailed, ralph.StopRateLimited:
		now = tasks.StatusTodo
	}
	f, err := tasks.Load(w.file) // the agent may have written to it
	if err == nil {
		err = f.SetIteration(id, s.Iteration)
	}
	if err == nil {
		err = setStatus(f, id, now)
	}
	if err != nil {
		return fail(exitConfig, "%s is %s, which could not be written back: %w", id, now, err)
	}
	return nil
}

// task returns what is run for a definition, and its verifier.
func (f *shared) task(config tasks.Config, judged tasks.Env, d tasks.Definition, stage string) (ralph.Task, ralph.Verifier, error) {
	if err := knownStage(config, d, stage); err != nil {
		return ralph.Task{}, nil, err
	}
	task, err := config.Task(d, cmp.Or(stage, firstStage(d)))
	if err != nil {
		return task, nil, err
	}
	task.Dir = judged.Dir
	limits := f.limits()
	limits.Iterations = cmp.Or(f.max, task.Limits.Iterations)
	task.Limits = limits
	v, err := tasks.Build(task, judged)
	if errors.Is(err, tasks.ErrNoJudge) {
		err = fmt.Errorf("%w: name one with --judge, or with judge: below ralph: in .ralph/config.yaml", err)
	}
	return task, v, err
}

// knownStage refuses an agent that nothing is known of: nothing but its word
// would be asked for.
func knownStage(config tasks.Config, d tasks.Definition, stage string) error {
	known := slices.Clone(stages)
	for _, a := range agentsOf(d) {
		known = append(known, a.Agent)
	}
	for _, a := range config.Agents {
		known = append(known, a.Agent)
	}
	if stage == "" || slices.Contains(known, stage) {
		return nil
	}
	return fmt.Errorf("%s: --stage: nothing is known of an agent %q%s", d.ID, stage, didYouMean(stage, "", known))
}

// firstStage is the agent whose part a definition is, if nobody says.
func firstStage(d tasks.Definition) string {
	for _, a := range agentsOf(d) {
		return a.Agent
	}
	return "coder"
}

// resume returns the state of a loop that was interrupted, if the task is still
// the same, else that of a new one. It is done if the loop stopped, and the
// process died before that was written to the task file.
func (w *work) resume(task ralph.Task, status tasks.Status) ralph.State {
	start := ralph.Start(task)
	file, err := os.Open(w.logPath)
	if err != nil {
		return start
	}
	defer file.Close()
	s, err := progress.Resume(file, start.Loop)
	if err != nil || s.Task.Prompt != task.Prompt || string(s.Task.Spec) != string(task.Spec) || s.Task.Dir != task.Dir {
		return start
	}
	if s.Done() {
		// Written after the status, which says that it runs: not an earlier loop's end.
		if info, err := os.Stat(w.file); err == nil && status == tasks.StatusRunning && s.Updated.After(info.ModTime()) {
			return s
		}
		return start
	}
	if s.Iteration > 1 || s.Attempt > 1 || s.Running {
		w.say("%s goes on at iteration %d", task.ID, s.Iteration)
		return s.Limit(task.Limits)
	}
	return start
}

// evidence is the folder for what the verifiers of a task print.
func (w *work) evidence(task ralph.Task) string {
	return filepath.Join(filepath.Dir(w.logPath), "evidence", url.PathEscape(ralph.Start(task).Loop))
}

func setStatus(f *tasks.File, id string, s tasks.Status) error {
	if err := f.SetStatus(id, s); err != nil {
		return err
	}
	return f.Save()
}

// load loads definitions that must be usable.
func load(path string) (*tasks.File, error) {
	f, err := tasks.Load(path)
	if err == nil {
		err = f.Validate()
	}
	if err != nil {
		return nil, fail(exitConfig, "%w", err)
	}
	return f, nil
}

func (w *work) load() (*tasks.File, error) {
	f, err := load(w.file)
	if err == nil && len(f.Definitions()) == 0 {
		return nil, fail(exitConfig, "%s: there is no task in it", w.file)
	}
	return f, err
}

// warn shows what a person should know of a task file: a task without a
// completion runs with the defaults.
func (e env) warn(f *tasks.File) {
	for _, text := range f.Warnings {
		e.say("warning: %s", line(text))
	}
}

// tasksConfig reads the defaults of a project.
func (f *shared) tasksConfig(project string) (tasks.Config, error) {
	path := cmp.Or(f.config, filepath.Join(project, ".ralph", "config.yaml"))
	config, err := tasks.LoadConfig(path)
	if f.config == "" && errors.Is(err, fs.ErrNotExist) {
		return tasks.Config{}, nil
	}
	if err != nil {
		return config, fail(exitConfig, "%w", err)
	}
	return config, nil
}

// judgeWith returns the judge that flags or configuration name.
func (f *shared) judgeWith(config tasks.Config) func(model string) (ralph.Runner, error) {
	name := cmp.Or(f.judge, config.Judge)
	if name == "" {
		return nil
	}
	return func(model string) (ralph.Runner, error) {
		judge, err := ralph.Preset(name)
		if err != nil {
			return nil, err
		}
		judge.Model = cmp.Or(model, f.judgeModel, config.JudgeModel)
		return judge, nil
	}
}

// counts says how many tasks have which status.
func counts(f *tasks.File) string {
	n := map[tasks.Status]int{}
	var order []tasks.Status
	for _, d := range f.Definitions() {
		s := d.Status.Effective()
		if n[s]++; n[s] == 1 {
			order = append(order, s)
		}
	}
	var parts []string
	for _, s := range order {
		parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
	}
	return strings.Join(parts, ", ")
}

func printDefinitions(out io.Writer, f *tasks.File) {
	rows := [][]string{{"TASK", "STATUS", "ITERATIONS", "TITLE"}}
	for _, d := range f.Definitions() {
		rows = append(rows, []string{d.ID, string(cmp.Or(d.Status, tasks.StatusTodo)), fmt.Sprint(d.Iteration), d.Title})
	}
	columns(out, rows)
}
