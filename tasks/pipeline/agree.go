package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// An Agreed is what a run will do: all that is decided before it begins. Nothing that is
// written to the source later changes it.
//
// It is the moment in which a person, or a program, can say no: nothing has run and
// nothing is written yet. Agents may write to the source while the run goes on, so all
// of it is read once.
type Agreed struct {
	// State is where the run begins, also with what is on record of earlier ones.
	State State
	// Tasks are its parts, by their index; when it has run, also those that were added.
	Tasks []AgreedTask
	// Filters are the commands that the workspace's own git configuration runs on files
	// that are committed and checked out, and those that it merges by: with Rules.Merge
	// they run. Those of the user's configuration are not among them.
	Filters []string

	all      []AgreedTask // Tasks, once it has run
	p        *Pipeline
	dir      string
	verifier ralph.Verifier
	roles    Roles
	rejected map[string]Event // by the task's ID: why it was last sent back, or not merged
	merging  *Event           // a merge that was killed
	fresh    map[int]bool     // the tasks of which nothing that lies there counts: they are new, or others
	ended    bool             // the last run has, and what came of it was written to the source
	seen     map[string]Event // the ends of loops, by their names: of earlier runs, as far as they are on the same record
}

// An AgreedTask is a task of a run, with all that was decided about it before the run
// began. It is a plain value.
type AgreedTask struct {
	Definition spec.Definition `json:"definition"`
	// Stages are what its loops run, in their order, those that are verified included.
	// nil = it is not run: it is done, or left.
	Stages []ralph.Task `json:"stages,omitempty"`
	// Once says of each stage whether it is a single pass, see [spec.Config.Enabled].
	Once []bool `json:"once,omitempty"`
	// Left are the agents of its definition, and of the configuration, that are left out.
	Left []string `json:"left,omitempty"`
}

// Agree reads the source and the record, and returns what Run does: for those who want to
// show it before. It runs and writes nothing. Definitions that cannot be run, and
// verifiers that cannot be built, are errors here, and not after hours.
func (p *Pipeline) Agree(ctx context.Context) (*Agreed, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	dir, err := p.workspace()
	if err != nil {
		return nil, err
	}
	a := &Agreed{p: p, dir: dir, verifier: p.verifier(dir), rejected: map[string]Event{}, fresh: map[int]bool{}, seen: map[string]Event{}}
	last, err := a.counts(ctx)
	if err != nil {
		return nil, err
	}
	defs, err := p.definitions(ctx)
	if err != nil {
		return nil, err
	}
	var all []Planned
	agents := map[string]bool{}
	for _, d := range defs {
		planned, task, err := a.agree(d, last)
		if err != nil {
			return nil, err
		}
		for _, agent := range planned.Agents {
			agents[agent] = true
		}
		a.fresh[len(all)] = task.Stages != nil && (planned.Anew || !last.has(planned))
		all, a.Tasks = append(all, planned), append(a.Tasks, task)
	}
	if a.State, err = p.plan(agents, all, last); err != nil {
		return nil, err
	}
	if p.Prompt == nil {
		if a.roles, err = p.Prompts.Load(sorted(agents)); err != nil {
			return nil, err
		}
	}
	// Now, and not when each task begins: agents of the tasks before have the same home
	// folder.
	a.pin(ctx)
	if p.Rules.Merge {
		a.Filters, err = a.filters(ctx)
	}
	return a, err
}

// verifier verifies the tasks in a workspace. It is built once, since building it reads
// files that an agent could change later.
func (p *Pipeline) verifier(dir string) ralph.Verifier {
	if p.Verifier == nil {
		return spec.Verifier(spec.Env{Dir: dir, Redact: p.Redact})
	}
	return p.Verifier
}

// definitions are those of the source, in the order of their priorities. Those with the
// same priority keep the order of the source.
func (p *Pipeline) definitions(ctx context.Context) (defs []spec.Definition, err error) {
	err = plugin.Call("pipeline: Source.Read", func() (err error) { defs, err = p.Source.Read(ctx); return })
	if err != nil {
		return nil, err
	}
	defs = slices.Clone(defs)
	slices.SortStableFunc(defs, spec.ByPriority)
	if !p.own() {
		_, err = p.Config.Stages(p.Stages, defs...)
	}
	return defs, err
}

// sorted are the names of a set in order, so that errors come in the same order each
// time.
func sorted(set map[string]bool) (all []string) {
	for name := range set {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// rules are those of the run, with who rejects whose work. Rules that the caller has
// set stay as they are; Config is only the default.
func (p *Pipeline) rules(agents map[string]bool) Rules {
	r := p.Rules
	if r.Back == nil {
		r.Back = map[string]Back{}
		for agent := range agents {
			if to, rounds := p.Config.OnReject(agent); to != "" && agents[to] {
				r.Back[agent] = Back{To: to, Rounds: rounds}
			}
		}
	}
	return r
}

// plan is the state in which the run begins. Rules by which no task would ever go back
// are refused. Found out after the first rejection it would have cost hours.
func (p *Pipeline) plan(agents map[string]bool, all []Planned, last *State) (State, error) {
	s, err := Plan(p.rules(agents), all, last)
	if err != nil {
		return s, err
	}
	for agent, b := range s.Rules.Back {
		for _, order := range s.Orders {
			if at, to := slices.Index(order, agent), slices.Index(order, b.To); at >= 0 && to >= at {
				return s, fmt.Errorf("pipeline: what %s rejects cannot go back to %s, which does not work before it; the order is %s", agent, b.To, strings.Join(order, ", "))
			}
		}
	}
	return s, nil
}

// agree is what is agreed of one definition.
//
// A task that is on record as done and open in its source was opened again by somebody:
// it is done anew. One that is "running" there was taken by an earlier run, which was
// killed, and goes on.
func (a *Agreed) agree(d spec.Definition, last *State) (Planned, AgreedTask, error) {
	t := AgreedTask{Definition: d}
	planned := Planned{ID: d.ID, After: d.Dependencies}
	var err error
	if planned.Agents, t.Left, err = a.p.stages(d); err != nil {
		return planned, t, err
	}
	// How the last run has left the task. Whether that still counts, Plan decides.
	was := PhaseOpen
	if last != nil {
		if i := last.Find(d.ID); i >= 0 {
			was = last.Stands[i].Phase
		}
	}
	switch {
	case !isOpen(d.Status):
		planned.Phase = PhaseLeft
		if d.Status == spec.StatusDone {
			planned.Phase = PhaseDone
		}
		if len(planned.Agents) == 0 {
			planned.Agents = t.Left
		}
		return planned, t, nil
	// A run that was killed before it could write the status does not count: then the
	// source is behind, and nobody has opened anything.
	case was == PhaseDone && a.ended, d.Status != spec.StatusRunning && slices.Contains(a.p.over(), was):
		planned.Anew = true // somebody wants it done again
	}
	if len(planned.Agents) == 0 {
		return planned, t, fmt.Errorf("pipeline: %s: none of its stages is to be run; it has %s", d.ID, strings.Join(t.Left, ", "))
	}
	for _, agent := range planned.Agents {
		task, err := a.task(d, agent)
		if err != nil {
			return planned, t, err
		}
		t.Stages, t.Once = append(t.Stages, task), append(t.Once, a.p.once(agent))
	}
	planned.Sum = sum(d)
	return planned, t, nil
}

// own reports whether the agents are the caller's own, of which Config knows nothing.
func (p *Pipeline) own() bool { return p.Task != nil && len(p.Stages) > 0 }

// stages are the agents of a definition that are to work on it, and those that are not,
// both in their order. Agents that are switched off in the configuration are among
// those that are left, so that people see what does not run.
func (p *Pipeline) stages(d spec.Definition) (run, left []string, err error) {
	if p.own() {
		return p.Stages, nil, nil
	}
	// A copy in which nothing is skipped: it tells of all agents that there are.
	all := p.Config
	all.Agents = slices.Clone(all.Agents)
	for i := range all.Agents {
		all.Agents[i].Skip = false
	}
	every, err := all.Stages(nil, d)
	if err != nil {
		return nil, nil, err
	}
	wanted := p.Stages
	if len(wanted) == 0 {
		if wanted, err = p.Config.Stages(nil, d); err != nil {
			return nil, nil, err
		}
	}
	for _, agent := range every {
		if slices.Contains(wanted, agent) {
			run = append(run, agent)
		} else {
			left = append(left, agent)
		}
	}
	return run, left, nil
}

// over are the phases of tasks whose source would not call them open, unless somebody
// wants them done again. A list calls open what is not on the main branch. In a list
// the box belongs to the commit, so a task that is verified and not merged is still
// open there.
func (p *Pipeline) over() []Phase {
	if _, list := p.Source.(InCommit); list {
		return []Phase{PhaseDone}
	}
	return []Phase{PhaseDone, PhaseReady, PhaseUnmerged, PhaseUnverified}
}

// once reports whether an agent's stage is a single pass. Its agent works once, without
// a promise to make: see [spec.Config.Enabled].
func (p *Pipeline) once(agent string) bool { return p.Task == nil && !p.Config.Enabled(agent) }

// task is what the loop of a stage runs.
//
// A later agent that may reject work gets a promise to say so with, if its definition
// has none: without a word for "no" it could only leave out the "yes", which looks like
// work that is not finished.
func (a *Agreed) task(d spec.Definition, agent string) (ralph.Task, error) {
	build := a.p.Task
	if build == nil {
		build = a.p.Config.Task
	}
	t, err := build(d, agent)
	if err != nil {
		return t, err
	}
	t.ID, t.Agent, t.Dir = d.ID, agent, a.dir
	to, _ := a.p.Config.OnReject(agent)
	// The name says whose it is, for two agents of a task may both reject.
	if _, rejects := a.p.rules(map[string]bool{agent: true, to: true}).Back[agent]; rejects && t.Blocked == "" {
		t.Blocked = strings.ToUpper(agent) + "_REJECTED"
	}
	t.HowVerified = strings.Trim(t.HowVerified+"; "+a.p.HowVerified, "; ")
	t.Limits = a.p.limits(t.Limits)
	if a.p.once(agent) {
		t.Always, t.Limits.Iterations = true, 1
	}
	if v, ok := a.verifier.(interface{ Validate(ralph.Task) error }); ok {
		err = v.Validate(t)
	}
	if err == nil {
		err = t.Validate()
	}
	return t, err
}

// limits are those of a loop.
//
// Retries and Failures are off, because a pipeline has its own rule for what fails;
// money and tokens are granted by the state, and a loop's own would count against that.
func (p *Pipeline) limits(own ralph.Limits) ralph.Limits {
	l := p.Limits
	return ralph.Limits{
		Iterations: cmp.Or(l.Iterations, own.Iterations), Retries: -1, Failures: -1, Stalls: cmp.Or(own.Stalls, l.Stalls),
		IterationTimeout: max(cmp.Or(own.IterationTimeout, l.IterationTimeout, time.Hour), 0),
		VerifyTimeout:    cmp.Or(own.VerifyTimeout, l.VerifyTimeout), Wait: cmp.Or(own.Wait, l.Wait),
	}
}

// sum is a hash of what a definition asks for. Status, times and order are no part of
// it: they change while nothing of what is asked for does.
func sum(d spec.Definition) string {
	d.Status, d.Iteration, d.CreatedAt, d.UpdatedAt, d.Metadata = "", 0, time.Time{}, time.Time{}, nil
	d.Priority, d.Dependencies = 0, nil // they say when
	// JSON, for it is the same for definitions that were laid out differently.
	text, err := json.Marshal(d)
	if err != nil {
		text = fmt.Appendf(nil, "%+v", d)
	}
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:4])
}

// Run does what was agreed, see [Pipeline.Run]. To run again, agree again: what is on
// record by then counts.
func (a *Agreed) Run(ctx context.Context) (State, error) {
	s, err := a.run(ctx, nil)
	a.publish()
	return s, err
}

// publish has Tasks hold those that were added. Not while it runs: callers read it. It
// comes after the run has ended.
func (a *Agreed) publish() {
	if a.all != nil {
		a.Tasks = a.all
	}
}

// Events does what was agreed, see [Pipeline.Events].
//
// Steps tell of events on goroutines of their own; yield is called on the caller's
// alone, one event after the other.
func (a *Agreed) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		events, ended := make(chan Event), make(chan error, 1)
		defer func() {
			cancel(ralph.ErrAbandoned)
			for range events { // also if yield has panicked
			}
		}()
		go func() {
			defer close(events)
			_, err := a.run(ctx, func(ev Event) { events <- ev })
			ended <- err
		}()
		broken := false
		for ev := range events {
			if !broken && !yield(ev, nil) {
				broken = true
				cancel(ralph.ErrAbandoned)
			}
		}
		err := <-ended
		a.publish()
		if err != nil && !broken {
			yield(Event{}, err)
		}
	}
}
