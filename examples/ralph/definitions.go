package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// definitions works a file of definitions off: one agent, one task at a time.
func (w *work) definitions() error {
	w.file = named(w.file)
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
	w.logPath, w.meta = w.logFile(), w.shared.meta(w.env, w.file, w.agent, c.terms())
	w.meta["unlimited"] = "true"
	a, err := w.agree(c, f)
	if err != nil {
		return err
	}
	switch n := len(f.Definitions()); {
	case len(f.Ready()) > 0:
	case undone(f) == 0:
		return fail(exitConfig, "%s: there is nothing to do: %s, all done; set the status of those that are to run again to todo", w.file, plural(n, "task"))
	default:
		return fail(exitConfig, "%s: no task is ready: %s; set the status of those that are to run to todo", w.file, counts(f))
	}
	if w.dryRun {
		return a.preview()
	}
	if err := w.trusted(w.env, w.file, a.strangers()...); err != nil {
		return err
	}
	each := func(*progress.Journal) string { return "" } // what has changed is said of each task
	if err := w.begin("", undone(f), unbounded, each); err != nil {
		return err
	}
	if err := w.open(); err != nil {
		return err
	}
	for ready := a.ready(); len(ready) > 0 && err == nil; ready = a.ready() {
		err = a.definition(ready[0])
	}
	if _, lost := errors.AsType[lostError](err); !lost {
		_, now := a.look()
		err = cmp.Or(err, now)
	}
	a.print(w.stdout)
	end := err
	if n := a.remaining(); err == nil && n > 0 {
		end = &ralph.StopError{Reason: ralph.StopStalled, Detail: plural(n, "task remains", "tasks remain")}
	}
	return w.end(end, a.exit(err))
}

// control takes over what others have asked for, of the task or of the whole run.
func (a *agreed) control(ctx context.Context, s ralph.State) (ralph.State, error) {
	s, err := a.place.Control(ctx, s)
	if err != nil || a.run == nil {
		return s, err
	}
	run, err := a.run.Ask(ctx)
	now, task := run.Task.Limits, ralph.Task{Limits: s.Task.Limits}
	switch l := &task.Limits; {
	case err != nil:
	case a.halted() != nil:
		s = s.Finish()
	case now.CostUSD != a.maxCost || now.Tokens != a.maxTokens || now.Duration != a.maxDuration:
		a.maxCost, a.maxTokens, a.maxDuration = now.CostUSD, now.Tokens, now.Duration
		l.CostUSD, l.Tokens, l.Duration = now.CostUSD, now.Tokens, now.Duration
		a.budget(&task)
		s = s.Limit(task.Limits)
	}
	return s, err
}

// halted says why no further stage may run: somebody has stopped or cancelled the run.
func (a *agreed) halted() error {
	switch {
	case a.run == nil:
	case a.run.State.Done():
		return a.run.State.Err()
	case a.run.State.Task.Limits.Iterations != unbounded:
		return &ralph.StopError{Reason: ralph.StopIterations, Detail: "somebody has stopped it"}
	}
	return nil
}

func undone(f *spec.File) int {
	return len(slices.DeleteFunc(f.Definitions(), func(d spec.Definition) bool { return d.Status == spec.StatusDone }))
}

// definition runs the loops of one task, one for each stage, and writes its
// status back. While a loop runs the file is not written to: an agent may be
// forbidden to change it.
func (a *agreed) definition(d spec.Definition) error {
	end, iterations, ran := spec.StatusDone, 0, 0
	a.ran[d.ID] = 0
	var err error
	for _, task := range a.parts[d.ID] {
		var s ralph.State
		s, err = a.stage(d, task)
		switch {
		case s.Done():
		case err == nil: // what it would be verified by is not what the file says
			return a.settle(d.ID, spec.StatusTodo, iterations)
		case a.ctx.Err() == nil && s.Iteration <= 1 && !s.Running && a.shows[d.ID] != d.Status: // it could not begin
			return cmp.Or(a.write(d.ID, cmp.Or(d.Status, spec.StatusTodo), 0), err)
		default: // interrupted: its status stays running, and it goes on
			return err
		}
		if iterations += s.Iteration; s.Iteration > 0 {
			ran++
		}
		if s.Stop == ralph.StopVerified && err == nil {
			continue
		}
		switch {
		case a.ends(s.Stop):
			end = spec.StatusTodo
		case s.Stop != ralph.StopVerified:
			end, err = spec.StatusFailed, nil // the next one may well be possible
			a.say("%s: not verified (%s): %s", a.name(task), s.Stop, line(s.Detail))
		}
		break
	}
	a.ran[d.ID] = ran
	if left := a.left(d); end == spec.StatusDone && len(left) > 0 {
		end = spec.StatusTodo
	}
	return cmp.Or(a.settle(d.ID, end, iterations), err)
}

// stage runs the loop of one stage of a task, and returns how it ended. It is not
// done if it was interrupted or could not begin.
func (a *agreed) stage(d spec.Definition, task ralph.Task) (ralph.State, error) {
	if used := a.used.Limit(a.limits()); used.Done() {
		s := ralph.State{Stop: used.Stop} // no iteration of this stage
		if a.shows[d.ID] != spec.StatusRunning {
			s.Stop = ""
		}
		return s, used.Err()
	}
	if err := a.halted(); err != nil {
		return ralph.State{}, err
	}
	a.budget(&task)
	s, resumed := a.begun[a.start(task).Loop]
	switch {
	case !resumed:
		s = a.start(task)
	case s.Done(): // the process died before it was written back
		a.say("%s was stopped (%s) when this ended before; its status is written back", a.name(task), s.Stop)
		return s, nil
	default:
		a.say("%s goes on at iteration %d", task.ID, s.Iteration)
		s = s.Limit(a.relimited(s.Task.Limits, task.Limits))
	}
	// Before the files are looked at that are guarded: this may be one of them.
	err := a.write(d.ID, spec.StatusRunning, 0)
	if err != nil || a.changed[d.ID] != "" {
		return ralph.State{}, err
	}
	a.during = d.ID
	loop := a.loop()
	s, err = loop.Run(a.ctx, s)
	a.use(s)
	report(a.stdout, s, a.ctx.Err() != nil)
	return s, err
}

// ends reports whether a loop that ended so says nothing of its task, but of all
// of them: that what may be spent was spent, that the agent could not run, or that
// somebody has stopped them.
func (a *agreed) ends(reason ralph.StopReason) bool {
	switch reason {
	case ralph.StopFailed, ralph.StopRateLimited, ralph.StopCost, ralph.StopTokens, ralph.StopDuration:
		return true
	}
	return a.halted() != nil
}

// preview is --dry-run: what would be run, how it would be verified, and what the
// agent would first be told.
func (a *agreed) preview() error {
	rows := [][]string{{"TASK", "VERIFIED"}}
	for _, d := range a.f.Definitions() {
		for _, task := range a.parts[d.ID] {
			rows = append(rows, []string{a.name(task), task.HowVerified})
		}
	}
	first := a.parts[a.f.Ready()[0].ID][0]
	columns(a.stdout, rows)
	fmt.Fprintln(a.stdout, "\nWhat the checks start:")
	showStarts(a.stdout, a.strangers())
	fmt.Fprintf(a.stdout, "\n== %s\n", line(first.ID))
	dry := &printer{agent: a.agent, out: a.stdout}
	_, err := (&ralph.Local{Runner: dry, Verifier: a.verifier}).Run(a.ctx, ralph.Start(first))
	return dry.end(err)
}

// strangers are what the tasks that are not done start.
func (a *agreed) strangers() (all []stranger) {
	for _, d := range a.f.Definitions() {
		for _, task := range a.parts[d.ID] {
			all = append(all, a.c.stranger(a.file, a.name(task), task))
		}
	}
	return all
}

// budget gives a task what is left for all of them.
func (w *work) budget(task *ralph.Task) {
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
	c := criteria{shared: s, env: spec.Env{Dir: project, AcceptConfig: s.acceptConfig, InheritEnv: s.checkEnv(), Sandbox: s.checkBox()}}
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
		return c.judgeNamed(name, cmp.Or(model, c.judgeModel, c.config.JudgeModel))
	}
}

func (s *shared) judgeNamed(name, model string) (ralph.Runner, error) {
	judge, err := ralph.JudgePreset(name)
	if err != nil {
		return nil, ours{err}
	}
	judge.Model, judge.Inherit = model, append(judge.Inherit, s.moreEnv()...)
	judge.Sandbox = s.confined(ralph.ClientFolders(judge.Format)...)
	return judge, nil
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
		err = fmt.Errorf("%w: %s", err, nameJudge)
	}
	return task, err
}

const nameJudge = "name one with --judge, or with judge: below ralph: in .ralph/config.yaml"

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
func firstStage(d spec.Definition) string { return stagesOf(d)[0] }

// stagesOf are the stages whose criteria a definition states, else the coder's.
func stagesOf(d spec.Definition) []string {
	var all []string
	for _, a := range agentsOf(d) {
		all = append(all, a.Agent)
	}
	if len(all) == 0 {
		return []string{"coder"}
	}
	return all
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
