package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// An agreed is what a file of definitions said when a run of it began, and what
// came of it. The agent can write to the file too, so nothing of what is in it
// later decides anything: it is only compared.
type agreed struct {
	*work
	c        criteria
	verifier ralph.Verifier
	begun    map[string]ralph.State // by the loop's name: on record, to go on with

	f     *spec.File              // as it was; its statuses are what this run knows, and are not saved
	parts map[string][]ralph.Task // by the task's ID: one for each stage that is to run

	before  map[string]bool        // done before this began
	shows   map[string]spec.Status // what the file shows if nobody else has changed it
	ran     map[string]int         // how many stages have run, of the tasks that were begun
	changed map[string]string      // what somebody else has done to a task; it is not counted
	added   []spec.Definition      // by somebody else
	during  string                 // the task whose loop ran last
}

// agree builds what is run for each task: what cannot be built is found out now,
// and not after hours.
func (w *work) agree(c criteria, f *spec.File) (*agreed, error) {
	a := &agreed{work: w, c: c, f: f, parts: map[string][]ralph.Task{}, before: map[string]bool{}, begun: map[string]ralph.State{},
		shows: map[string]spec.Status{}, ran: map[string]int{}, changed: map[string]string{}}
	var how string
	var err error
	if a.verifier, how, err = w.checks(c.verifier()); err != nil {
		return nil, err
	}
	for _, d := range f.Definitions() {
		a.before[d.ID], a.shows[d.ID] = d.Status == spec.StatusDone, d.Status
		if err := c.knows(d, w.stage); err != nil {
			return nil, fail(exitConfig, "%s: %w", w.file, err)
		}
		reopens := func(part progress.Entry) bool { return part.State.Task.ID == d.ID && !part.Reopened().Done() }
		if w.resumes && d.Status == spec.StatusFailed && slices.ContainsFunc(w.earlier, reopens) {
			if err := f.SetStatus(d.ID, spec.StatusTodo); err != nil {
				return nil, err
			}
		}
		if a.before[d.ID] { // nothing of it is run
			continue
		}
		if err := a.agreeTo(d, how); err != nil {
			return nil, err
		}
	}
	for _, part := range w.earlier {
		if s, going := a.begun[part.Loop]; !going || s.Done() {
			a.use(part.State)
		}
	}
	return a, nil
}

// agreeTo builds what is run for one task, and finds what of it has begun. How says
// what is verified beside its definition.
func (a *agreed) agreeTo(d spec.Definition, how string) error {
	stages := stagesOf(d)
	if a.work.stage != "" {
		stages = []string{a.work.stage}
	}
	for _, stage := range stages {
		task, err := a.c.task(d, stage)
		if err != nil {
			return fail(exitConfig, "%s: %w", a.file, err)
		}
		task.HowVerified = strings.Trim(task.HowVerified+"; "+how, "; ")
		s, err := a.resume(task, d.Status)
		if err != nil {
			return err
		}
		if s.Done() || s.Begun() {
			a.begun[s.Loop] = s
		} else if s, err := a.loop().Prepare(a.ctx, s); err == nil { // else it is told when its turn comes: other tasks may make what it needs
			task.Guarded = outside(s.Task.Guarded)
		}
		a.parts[d.ID] = append(a.parts[d.ID], task)
	}
	return nil
}

// start is the state of a task that has not run.
func (w *work) start(task ralph.Task) ralph.State {
	s := ralph.Start(task)
	s.Loop = w.name() + "/" + s.Loop
	return s
}

// of reports whether a loop belongs to the run that was interrupted.
func (w *work) of(loop progress.Entry) bool {
	return slices.ContainsFunc(w.earlier, func(part progress.Entry) bool { return part.Loop == loop.Loop })
}

// use counts what a loop has used.
func (w *work) use(s ralph.State) {
	w.used.Usage, w.used.Elapsed = w.used.Usage.Add(s.Usage), w.used.Elapsed+s.Elapsed
	w.used.LastCost = cmp.Or(s.LastCost, w.used.LastCost)
}

// loop is what runs the tasks.
func (a *agreed) loop() *ralph.Local {
	l := &ralph.Local{Runner: a.agent, Verifier: a.verifier, Log: a.shown(false), Output: a.output, Evidence: a.evidence(a.place, a.logPath), Meta: a.meta}
	if a.place != nil {
		l.Control, l.Pending = a.control, a.place.Pending
	}
	return l
}

// outside are those of the guarded things that lie outside the workspace: other
// tasks may work on the rest before it is agreed.
func outside(guarded map[string]string) map[string]string {
	guarded = maps.Clone(guarded)
	maps.DeleteFunc(guarded, func(key, _ string) bool {
		if kind, ok := strings.CutPrefix(key, "//"); ok {
			kind, _, _ = strings.Cut(kind, "/")
			return kind != "config" && kind != "program" && kind != "exam"
		}
		return !filepath.IsAbs(key) && !strings.HasPrefix(key, "~/")
	})
	return guarded
}

// name names a stage of a task, where there are several.
func (a *agreed) name(task ralph.Task) string {
	if len(a.parts[task.ID]) > 1 {
		return line(task.ID + "." + task.Agent)
	}
	return line(task.ID)
}

// ready are the tasks that can be worked on now.
func (a *agreed) ready() []spec.Definition {
	changed := func(id string) bool { return a.changed[id] != "" }
	return slices.DeleteFunc(a.f.Ready(), func(d spec.Definition) bool {
		_, ran := a.ran[d.ID]
		return ran || changed(d.ID) || slices.ContainsFunc(d.Dependencies, changed)
	})
}

// A lostError says that the task file cannot be read any more.
type lostError struct{ error }

func (e lostError) Unwrap() error { return e.error }

// look reads the file as it is now, and names what somebody else has done to it.
func (a *agreed) look() (*spec.File, error) {
	now, err := spec.Load(a.file)
	if err != nil {
		return nil, lostError{fail(exitNotVerified, "the task file can no longer be read, and nothing is written over it: %w", err)}
	}
	while := "while " + cmp.Or(line(a.during), "this") + " ran"
	found := map[string][]spec.Definition{}
	for _, d := range now.Definitions() {
		found[d.ID] = append(found[d.ID], d)
	}
	for _, d := range a.f.Definitions() {
		if what := a.differs(d, found[d.ID]); what != "" && a.changed[d.ID] == "" {
			a.changed[d.ID] = what
			a.say("warning: %s was %s %s; it is not verified, and its entry is left as it is", line(d.ID), line(what), while)
		}
		delete(found, d.ID)
	}
	for _, d := range now.Definitions() {
		known := slices.ContainsFunc(a.added, func(o spec.Definition) bool { return o.ID == d.ID })
		if found[d.ID] != nil && !known {
			a.added = append(a.added, d)
			a.say("%s was added %s; it waits for the next run", line(d.ID), while)
		}
	}
	return now, nil
}

// differs says what somebody else has done to a task, "" = nothing.
func (a *agreed) differs(d spec.Definition, now []spec.Definition) string {
	switch {
	case len(now) == 0:
		return "removed"
	case len(now) > 1:
		return "given twice"
	}
	if keys := d.Changed(now[0]); len(keys) > 0 {
		return "changed (" + strings.Join(keys, ", ") + ")"
	}
	if is := now[0].Status; cmp.Or(is, spec.StatusTodo) != cmp.Or(a.shows[d.ID], spec.StatusTodo) {
		return "set to " + string(cmp.Or(is, spec.StatusTodo))
	}
	return ""
}

// write writes a status, and an iteration if there was one, into the file as
// it is now. A task that somebody else has changed is left alone.
func (a *agreed) write(id string, s spec.Status, iteration int) error {
	set := func(f *spec.File) error {
		err := f.SetStatus(id, s)
		if err == nil && iteration > 0 {
			err = f.SetIteration(id, iteration)
		}
		return err
	}
	err := set(a.f)
	var clash error
	for range 10 { // somebody else may write at the same time
		var now *spec.File
		if err == nil {
			now, err = a.look()
		}
		if err != nil || a.changed[id] != "" {
			return err
		}
		if err = set(now); err == nil {
			err = now.Save()
		}
		if err == nil {
			a.shows[id] = s
			return nil
		}
		if !errors.Is(err, spec.ErrChanged) {
			break
		}
		clash, err = err, nil
	}
	return fail(exitConfig, "%w", cmp.Or(err, clash))
}

// settle writes down how a task ended.
func (a *agreed) settle(id string, s spec.Status, iterations int) error {
	err := a.write(id, s, iterations)
	if lost, ok := errors.AsType[lostError](err); ok {
		return lostError{fail(exitNotVerified, "%s is %s, which could not be written back: %w", line(id), s, lost.error)}
	}
	if err != nil {
		return fail(exitConfig, "%s is %s, which could not be written back: %w", line(id), s, err)
	}
	return nil
}

// left are the stages that a definition states and that have not run, or were
// not reached.
func (a *agreed) left(d spec.Definition) []string {
	return slices.DeleteFunc(stagesOf(d), func(stage string) bool {
		at := slices.IndexFunc(a.parts[d.ID], func(t ralph.Task) bool { return t.Agent == stage })
		return at >= 0 && at < a.ran[d.ID]
	})
}

// remaining are the tasks that are not done, or not counted.
func (a *agreed) remaining() int {
	n := undone(a.f)
	for _, d := range a.f.Definitions() {
		if d.Status == spec.StatusDone && a.changed[d.ID] != "" {
			n++
		}
	}
	return n
}

// print prints what came of each task, and which stages have not run.
func (a *agreed) print(out io.Writer) {
	rows := [][]string{{"TASK", "STATUS", "ITERATIONS", "TITLE"}}
	for _, d := range a.f.Definitions() {
		status := string(cmp.Or(d.Status, spec.StatusTodo))
		if a.before[d.ID] {
			status = "done before"
		}
		rows = append(rows, []string{d.ID, cmp.Or(a.changed[d.ID], status), fmt.Sprint(d.Iteration), d.Title})
	}
	for _, d := range a.added {
		rows = append(rows, []string{d.ID, "added", fmt.Sprint(d.Iteration), d.Title})
	}
	columns(out, rows)
	unstated := map[string]int{} // how many tasks are done without these stages
	for _, d := range a.f.Definitions() {
		if _, ran := a.ran[d.ID]; !ran || d.Status == spec.StatusRunning { // interrupted
			continue
		}
		if left := a.left(d); len(left) > 0 {
			a.say("%s: stages that were not run: %s", line(d.ID), line(strings.Join(left, ", ")))
		}
		without := slices.DeleteFunc(slices.Clone(stages), func(stage string) bool {
			return stage == a.work.stage || slices.Contains(stagesOf(d), stage)
		})
		if d.Status == spec.StatusDone && a.changed[d.ID] == "" && len(without) > 0 {
			unstated[strings.Join(without, ", ")]++
		}
	}
	for _, without := range slices.Sorted(maps.Keys(unstated)) {
		a.say("not run, for the file states no criteria for them: %s (%s)", without, plural(unstated[without], "task"))
	}
}

// exit is the end of a run.
func (a *agreed) exit(err error) error {
	var parts []string
	for _, d := range a.f.Definitions() {
		if what := a.changed[d.ID]; what != "" {
			parts = append(parts, line(d.ID)+" was "+line(what))
		}
	}
	remaining := a.remaining()
	_, lost := errors.AsType[lostError](err)
	switch {
	case lost:
		return err
	case err != nil:
		return a.work.exit(err, remaining)
	case len(parts) > 0:
		return fail(exitNotVerified, "%s not counted as verified, for somebody else changed the task file while this ran: %s",
			plural(len(parts), "task is", "tasks are"), strings.Join(parts, ", "))
	case remaining > 0:
		return fail(exitNotVerified, "%s: %s", plural(remaining, "task remains", "tasks remain"), counts(a.f))
	}
	return nil
}
