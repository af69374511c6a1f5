package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// definitions works a file of definitions off: one agent, one task at a time.
func (w *work) definitions(runner ralph.Runner) error {
	f, err := loadDefinitions(w.file)
	if err != nil {
		return err
	}
	w.warn(f)
	config, err := w.tasksConfig(w.project)
	if err != nil {
		return err
	}
	judged := spec.Env{Dir: w.project, Judge: w.judgeWith(config), Redact: redact().String}
	// A verifier that cannot be built is found out now, not after hours.
	for _, d := range f.Definitions() {
		if _, _, err := w.task(config, judged, d); err != nil {
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
	if err := w.open(true); err != nil {
		return err
	}
	for {
		ready := f.Ready()
		if len(ready) == 0 {
			break
		}
		err = w.definition(config, judged, runner, f, ready[0])
		now, loadErr := loadDefinitions(w.file) // as it is now
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
func (w *work) unverified(before, now *spec.File, ran string) {
	was := map[string]spec.Status{}
	for _, d := range before.Definitions() {
		was[d.ID] = d.Status
	}
	for _, d := range now.Definitions() {
		if d.Status == spec.StatusDone && was[d.ID] != d.Status && d.ID != ran {
			w.say("warning: %s was set to done while %s ran; it is not verified: 'ralph verify %s %s' does it", clean(d.ID), clean(ran), w.file, clean(d.ID))
		}
	}
}

func undone(f *spec.File) int {
	return len(slices.DeleteFunc(f.Definitions(), func(d spec.Definition) bool { return d.Status == spec.StatusDone }))
}

// definition runs the loop of one task and writes its status back.
func (w *work) definition(config spec.Config, judged spec.Env, runner ralph.Runner, f *spec.File, d spec.Definition) error {
	task, verifier, err := w.task(config, judged, d)
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
		if state.Task, err = spec.Verifier(judged).Prepare(w.ctx, task); err != nil {
			return fail(exitConfig, "%w", err)
		}
	}
	if err := setStatus(f, d.ID, spec.StatusRunning); err != nil {
		return fail(exitConfig, "%w", err)
	}
	loop := &ralph.Local{Runner: runner, Verifier: verifier, Log: w.shown(false), Output: w.output, Evidence: w.evidence(task)}
	before := dollars(state.Usage)
	state, err = loop.Run(w.ctx, state)
	w.spent += dollars(state.Usage) - before
	w.last = cmp.Or(state.LastCost, w.last)
	report(w.stdout, state, w.ctx.Err() != nil)
	if !state.Done() { // interrupted: its status stays running, and it goes on
		return err
	}
	if err := w.writeBack(d.ID, state); err != nil {
		return err
	}
	switch state.Stop {
	case ralph.StopVerified, ralph.StopFailed, ralph.StopRateLimited, ralph.StopCost:
		return err
	}
	w.say("%s: not verified (%s): %s", d.ID, state.Stop, clean(state.Detail))
	return nil // the next one may well be possible
}

// budget gives a task what is left of the money for all of them, if that is
// enough for an iteration like the last one.
func (w *work) budget(task *ralph.Task) error {
	if w.maxCost <= 0 {
		return nil
	}
	task.Limits.CostUSD = w.maxCost - w.spent
	if task.Limits.CostUSD <= 0 || w.last != nil && *w.last > task.Limits.CostUSD {
		return &ralph.StopError{Task: task.ID, Reason: ralph.StopCost, Detail: fmt.Sprintf("spent $%.4f of $%.4f", w.spent, w.maxCost)}
	}
	return nil
}

func dollars(u ralph.Usage) float64 {
	if u.CostUSD == nil {
		return 0
	}
	return *u.CostUSD
}

// writeBack writes down how a task ended. That the money was spent, or that the
// agent could not run, says nothing about the task: it is still to be done.
func (w *work) writeBack(id string, s ralph.State) error {
	now := spec.StatusFailed
	switch s.Stop {
	case ralph.StopVerified:
		now = spec.StatusDone
	case ralph.StopCost, ralph.StopFailed, ralph.StopRateLimited:
		now = spec.StatusTodo
	}
	f, err := spec.Load(w.file) // the agent may have written to it
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
func (f *flags) task(config spec.Config, judged spec.Env, d spec.Definition) (ralph.Task, spec.TaskVerifier, error) {
	if err := f.knownStage(config, d); err != nil {
		return ralph.Task{}, spec.TaskVerifier{}, err
	}
	task, err := config.Task(d, cmp.Or(f.stage, firstStage(d)))
	if err != nil {
		return task, spec.TaskVerifier{}, err
	}
	task.Dir = judged.Dir
	task.Limits.Iterations = cmp.Or(f.max, task.Limits.Iterations)
	task.Limits.IterationTimeout, task.Limits.CostUSD = f.timeout, f.maxCost
	v := spec.Verifier(judged)
	err = v.Validate(task)
	if errors.Is(err, spec.ErrNoJudge) {
		err = fmt.Errorf("%w: name one with --judge, or with judge: below ralph: in .ralph/config.yaml", err)
	}
	return task, v, err
}

// knownStage refuses an agent that nothing is known of: nothing but its word
// would be asked for.
func (f *flags) knownStage(config spec.Config, d spec.Definition) error {
	known := slices.Clone(stages)
	if d.Completion != nil {
		for _, a := range d.Completion.Agents {
			known = append(known, a.Agent)
		}
	}
	for _, a := range config.Agents {
		known = append(known, a.Agent)
	}
	if f.stage == "" || slices.Contains(known, f.stage) {
		return nil
	}
	return fmt.Errorf("%s: --stage: nothing is known of an agent %q%s", d.ID, f.stage, didYouMean(f.stage, known))
}

func firstStage(d spec.Definition) string {
	if d.Completion != nil && len(d.Completion.Agents) > 0 {
		return d.Completion.Agents[0].Agent
	}
	return "coder"
}

// resume returns the state of a loop that was interrupted, if the task is still
// the same, else that of a new one. It is done if the loop stopped, and the
// process died before that was written to the task file.
func (w *work) resume(task ralph.Task, status spec.Status) ralph.State {
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
		if info, err := os.Stat(w.file); err == nil && status == spec.StatusRunning && s.Updated.After(info.ModTime()) {
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
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == filepath.Separator || r < ' ' {
			return '_'
		}
		return r
	}, ralph.Start(task).Loop)
	if strings.Trim(name, ".") == "" {
		name = "task"
	}
	return filepath.Join(filepath.Dir(w.logPath), "evidence", name)
}

func setStatus(f *spec.File, id string, s spec.Status) error {
	if err := f.SetStatus(id, s); err != nil {
		return err
	}
	return f.Save()
}

// warn shows what a person should know of a task file: a task without a
// completion runs with the defaults (S1).
func (e env) warn(f *spec.File) {
	for _, text := range f.Warnings {
		e.say("warning: %s", text)
	}
}

// loadDefinitions loads a file that must be usable.
func loadDefinitions(path string) (*spec.File, error) {
	f, err := spec.Load(path)
	if err == nil {
		err = f.Validate()
	}
	if err != nil {
		return nil, fail(exitConfig, "%w", err)
	}
	if len(f.Definitions()) == 0 {
		return nil, fail(exitConfig, "%s: there is no task in it", path)
	}
	return f, nil
}

// tasksConfig reads the defaults of a project.
func (f *flags) tasksConfig(project string) (spec.Config, error) {
	path := cmp.Or(f.config, filepath.Join(project, ".ralph", "config.yaml"))
	config, err := spec.LoadConfig(path)
	if f.config == "" && errors.Is(err, fs.ErrNotExist) {
		return spec.Config{}, nil
	}
	if err != nil {
		return config, fail(exitConfig, "%w", err)
	}
	return config, nil
}

// judgeWith returns the judge that flags or configuration name.
func (f *flags) judgeWith(config spec.Config) func(model string) (ralph.Runner, error) {
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
func counts(f *spec.File) string {
	n := map[spec.Status]int{}
	var order []spec.Status
	for _, d := range f.Definitions() {
		s := d.Status.Effective()
		if !slices.Contains(order, s) {
			order = append(order, s)
		}
		n[s]++
	}
	var parts []string
	for _, s := range order {
		parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
	}
	return strings.Join(parts, ", ")
}

func printDefinitions(out io.Writer, f *spec.File) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TASK\tSTATUS\tITERATIONS\tTITLE")
	for _, d := range f.Definitions() {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", clean(d.ID), cmp.Or(d.Status, spec.StatusTodo), d.Iteration, clean(d.Title))
	}
	w.Flush()
}
