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

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// definitions works a file of definitions off: one agent, one task at a time.
func (w *work) definitions() error {
	f, err := w.load()
	if err != nil {
		return err
	}
	w.warn(f)
	c, err := w.criteria(w.project)
	if err != nil {
		return err
	}
	c.env.Redact = redact().String
	// A verifier that cannot be built is found out now, not after hours.
	built := map[string]ralph.Task{}
	for _, d := range f.Definitions() {
		if built[d.ID], err = c.task(d, w.stage); err != nil {
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
		return w.preview(c, f, built)
	}
	if err := w.open(true); err != nil {
		return err
	}
	for ready := f.Ready(); len(ready) > 0 && err == nil; ready = f.Ready() {
		err = w.definition(c, f, ready[0])
		now, loadErr := w.load() // as it is now
		if loadErr == nil {
			w.unverified(f, now, ready[0].ID)
			f = now
		}
		err = cmp.Or(err, loadErr)
	}
	remaining := undone(f)
	printDefinitions(w.stdout, f)
	if err == nil && remaining > 0 {
		return fail(exitNotVerified, "%s: %s", plural(remaining, "task remains", "tasks remain"), counts(f))
	}
	return w.exit(err, remaining)
}

// unverified warns of tasks that somebody else has declared done: the agent can
// write to the file too.
func (w *work) unverified(before, now *spec.File, ran string) {
	for _, d := range now.Definitions() {
		was := slices.ContainsFunc(before.Definitions(), func(b spec.Definition) bool { return b.ID == d.ID && b.Status == d.Status })
		if d.Status == spec.StatusDone && !was && d.ID != ran {
			w.say("warning: %s was set to done while %s ran; it is not verified: 'ralph verify %s %s' does it", line(d.ID), line(ran), w.file, line(d.ID))
		}
	}
}

func undone(f *spec.File) int {
	return len(slices.DeleteFunc(f.Definitions(), func(d spec.Definition) bool { return d.Status == spec.StatusDone }))
}

// definition runs the loop of one task and writes its status back.
func (w *work) definition(c criteria, f *spec.File, d spec.Definition) error {
	task, err := c.task(d, w.stage)
	if err == nil {
		err = w.budget(&task)
	}
	if err != nil {
		return err
	}
	state := w.resume(task, d.Status)
	if state.Done() { // the process died before it was written back
		w.say("%s was stopped (%s) when this ended before; its status is written back", d.ID, state.Stop)
		return w.writeBack(d.ID, state)
	}
	if state.Attempt == 1 && state.Iteration == 1 {
		state.Task, err = c.verifier().Prepare(w.ctx, task)
	}
	if err == nil {
		err = f.SetStatus(d.ID, spec.StatusRunning)
	}
	if err == nil {
		err = f.Save()
	}
	if err != nil {
		return err
	}
	evidence := filepath.Join(filepath.Dir(w.logPath), "evidence")
	loop := &ralph.Local{Runner: w.agent, Verifier: c.verifier(), Log: w.shown(false), Output: w.output, Evidence: evidence}
	state, err = loop.Run(w.ctx, state)
	w.used.Usage, w.used.Elapsed = w.used.Usage.Add(state.Usage), w.used.Elapsed+state.Elapsed
	w.used.LastCost = cmp.Or(state.LastCost, w.used.LastCost)
	report(w.stdout, state, w.ctx.Err() != nil)
	if !state.Done() { // interrupted: its status stays running, and it goes on
		return err
	}
	if err := w.writeBack(d.ID, state); err != nil {
		return err
	}
	if state.Stop == ralph.StopVerified || ends(state.Stop) {
		return err
	}
	w.say("%s: not verified (%s): %s", d.ID, state.Stop, line(state.Detail))
	return nil // the next one may well be possible
}

// ends reports whether a loop that ended so says nothing of its task, but of all
// of them: that what may be spent was spent, or that the agent could not run.
func ends(reason ralph.StopReason) bool {
	switch reason {
	case ralph.StopFailed, ralph.StopRateLimited, ralph.StopCost, ralph.StopTokens, ralph.StopDuration:
		return true
	}
	return false
}

// preview is --dry-run: what would be run, how it would be verified, and what the
// agent would first be told.
func (w *work) preview(c criteria, f *spec.File, built map[string]ralph.Task) error {
	rows := [][]string{{"TASK", "VERIFIED"}}
	for _, d := range f.Definitions() {
		if d.Status != spec.StatusDone {
			rows = append(rows, []string{d.ID, built[d.ID].HowVerified})
		}
	}
	first := built[f.Ready()[0].ID]
	columns(w.stdout, rows)
	fmt.Fprintf(w.stdout, "\n== %s\n", line(first.ID))
	dry := &printer{agent: w.agent, out: w.stdout}
	_, err := (&ralph.Local{Runner: dry, Verifier: c.verifier()}).Run(w.ctx, ralph.Start(first))
	return dry.end(err)
}

// budget gives a task what is left for all of them, if it is enough for another
// iteration.
func (w *work) budget(task *ralph.Task) error {
	if used := w.used.Limit(w.limits()); used.Done() {
		return used.Err()
	}
	l, u := &task.Limits, w.used.Usage
	if l.CostUSD > 0 && u.CostUSD != nil {
		l.CostUSD -= *u.CostUSD
	}
	if l.Tokens > 0 {
		l.Tokens -= u.InputTokens + u.OutputTokens
	}
	if l.Duration > 0 {
		l.Duration -= w.used.Elapsed
	}
	return nil
}

// writeBack writes down how a task ended.
func (w *work) writeBack(id string, s ralph.State) error {
	now := spec.StatusFailed
	switch {
	case s.Stop == ralph.StopVerified:
		now = spec.StatusDone
	case ends(s.Stop):
		now = spec.StatusTodo
	}
	f, err := spec.Load(w.file) // the agent may have written to it
	if err == nil {
		err = f.SetIteration(id, s.Iteration)
	}
	if err == nil {
		err = f.SetStatus(id, now)
	}
	if err == nil {
		err = f.Save()
	}
	if err != nil {
		return fail(exitConfig, "%s is %s, which could not be written back: %w", id, now, err)
	}
	return nil
}

// criteria is how definitions become tasks: with the defaults of a project, and
// with what verifies them.
type criteria struct {
	*shared
	config spec.Config
	env    spec.Env
}

// criteria reads the defaults of a project.
func (s *shared) criteria(project string) (criteria, error) {
	c := criteria{shared: s, env: spec.Env{Dir: project}}
	var err error
	c.config, err = spec.LoadConfig(cmp.Or(s.config, filepath.Join(project, ".ralph", "config.yaml")))
	if err != nil && (s.config != "" || !errors.Is(err, fs.ErrNotExist)) {
		return c, fail(exitConfig, "%w", err)
	}
	c.judged(cmp.Or(s.judge, c.config.Judge))
	return c, nil
}

// judged names the judge.
func (c *criteria) judged(name string) {
	if name == "" {
		return
	}
	c.env.Judge = func(model string) (ralph.Runner, error) {
		judge, err := ralph.Preset(name)
		if err != nil {
			return nil, ours{err}
		}
		judge.Model = cmp.Or(model, c.judgeModel, c.config.JudgeModel)
		return judge, nil
	}
}

func (c criteria) verifier() spec.TaskVerifier { return spec.Verifier(c.env) }

// task returns what is run for one agent's part of a definition, if that can be
// verified.
func (c criteria) task(d spec.Definition, stage string) (ralph.Task, error) {
	if err := c.knows(d, stage); err != nil {
		return ralph.Task{}, err
	}
	task, err := c.config.Task(d, cmp.Or(stage, firstStage(d)))
	if err != nil {
		return task, err
	}
	limits := c.limits()
	limits.Iterations = cmp.Or(c.max, task.Limits.Iterations)
	task.Dir, task.Limits = c.env.Dir, limits
	err = c.verifier().Validate(task)
	if errors.Is(err, spec.ErrNoJudge) {
		err = fmt.Errorf("%w: name one with --judge, or with judge: below ralph: in .ralph/config.yaml", err)
	}
	return task, err
}

// knows refuses an agent that nothing is known of: nothing but its word
// would be asked for.
func (c criteria) knows(d spec.Definition, stage string) error {
	known := slices.Clone(stages)
	for _, a := range agentsOf(d) {
		known = append(known, a.Agent)
	}
	for _, a := range c.config.Agents {
		known = append(known, a.Agent)
	}
	if stage == "" || slices.Contains(known, stage) {
		return nil
	}
	return fmt.Errorf("%s: --stage: nothing is known of an agent %q%s", d.ID, stage, didYouMean(stage, "", known))
}

// firstStage is the agent whose part a definition is, if nobody says.
func firstStage(d spec.Definition) string {
	for _, a := range agentsOf(d) {
		return a.Agent
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
	// Written after the status, which says that it runs: not an earlier loop's end.
	if info, err := os.Stat(w.file); s.Done() && err == nil && status == spec.StatusRunning && s.Updated.After(info.ModTime()) {
		return s
	}
	if !s.Done() && (s.Iteration > 1 || s.Attempt > 1 || s.Running) {
		w.say("%s goes on at iteration %d", task.ID, s.Iteration)
		return s.Limit(task.Limits)
	}
	return start
}

// load loads definitions that must be usable.
func load(path string) (*spec.File, error) {
	f, err := spec.Load(path)
	if err == nil {
		err = f.Validate()
	}
	return f, err
}

func (w *work) load() (*spec.File, error) {
	f, err := load(w.file)
	if err == nil && len(f.Definitions()) == 0 {
		return nil, fail(exitConfig, "%s: there is no task in it", w.file)
	}
	return f, err
}

// warn shows what a person should know of a task file: a task without a
// completion runs with the defaults.
func (e env) warn(f *spec.File) {
	for _, text := range f.Warnings {
		e.say("warning: %s", line(text))
	}
}

// counts says how many tasks have which status.
func counts(f *spec.File) string {
	n := map[spec.Status]int{}
	var order []spec.Status
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

func printDefinitions(out io.Writer, f *spec.File) {
	rows := [][]string{{"TASK", "STATUS", "ITERATIONS", "TITLE"}}
	for _, d := range f.Definitions() {
		rows = append(rows, []string{d.ID, string(cmp.Or(d.Status, spec.StatusTodo)), fmt.Sprint(d.Iteration), d.Title})
	}
	columns(out, rows)
}
