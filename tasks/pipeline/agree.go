package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// An Agreed is what a run will do: all that is decided before it begins. Nothing that
// is written to the source later changes it: an agent that can write to the task file
// could otherwise change what it is measured by. [Pipeline.Agree] makes it; the zero
// value cannot be run.
//
// It can be run once at a time. Its fields may be read while it runs, and do not change
// until it has ended.
type Agreed struct {
	// State is where the run begins, also with what is on record of earlier ones.
	State State
	// Tasks are its parts, by their index; when it has run, also those that were added.
	Tasks []AgreedTask
	// Filters are the commands that the workspace's own git configuration runs on files
	// that are committed and checked out, and those that it merges by: with Rules.Merge
	// they run. Those of the user's configuration are not among them.
	Filters []string

	// Tasks, once it has run
	all      []AgreedTask
	p        *Pipeline
	dir      string
	verifier ralph.Verifier
	roles    Roles
	// by the task's ID: why it was last sent back, or not merged
	rejected map[string]Event
	// a merge that was killed
	merging *Event
	// the tasks of which nothing that lies there counts: they are new, or others
	fresh map[int]bool
	// ended says that the last run has ended, and that what came of it was written to
	// the source.
	ended bool
	// the ends of loops, by their names: of earlier runs, as far as they are on the
	// same record
	seen map[string]Event
}

// An AgreedTask is a task of a run.
type AgreedTask struct {
	// Definition is as the source has it, but for a status of other words, which is here
	// what it is taken for.
	Definition spec.Definition `json:"definition"`
	// Stages are what its loops run, in their order, those that are verified included.
	// nil = it is not run: it is done, or left.
	Stages []ralph.Task `json:"stages,omitempty"`
	// Once says of each stage whether it is a single pass, see [spec.Config.Enabled].
	Once []bool `json:"once,omitempty"`
	// Left are the agents of its definition, and of the configuration, that are left
	// out.
	Left []string `json:"left,omitempty"`
}

// Agree reads the source and the record, and returns what Run does: for those who want
// to show it, or ask somebody, before. It runs and writes nothing. Definitions that
// cannot be run, and verifiers that cannot be built, are errors here, and not after
// hours of work.
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
		if a.roles, err = p.Prompts.Load(slices.Sorted(maps.Keys(agents))); err != nil {
			return nil, err
		}
	}
	// Last, for it looks at the machine once for each kind of check: mistakes that can
	// be found by reading are told before that.
	a.pin(ctx)
	if err := a.branched(ctx); err != nil {
		return nil, err
	}
	if p.Rules.Merge {
		a.Filters, err = a.filters(ctx)
	}
	return a, err
}

// verifier verifies the tasks in a workspace. The default has no judge: a model that
// nobody has chosen would cost money that nobody has agreed to.
func (p *Pipeline) verifier(dir string) ralph.Verifier {
	if p.Verifier == nil {
		return spec.Verifier(spec.Env{Dir: dir, Redact: p.Redact})
	}
	return p.Verifier
}

// definitions are those of the source, in the order of their priorities. That the
// wanted stages are known is asked of all definitions together: a stage may be one that
// only some of them have.
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

// rules are those of the run, with who rejects whose work. Rules of the caller's own
// stay as they are; else they come from the configuration, but only where the agent
// that the work would go back to takes part.
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
// are refused: else the first rejection would show the mistake, when the work is paid
// for.
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

// agree is what is agreed of one definition: that it is run, by whom and how often, or
// that it is not. All of its stages are built now, also those that were verified
// before, for a later rejection may bring them back.
func (a *Agreed) agree(d spec.Definition, last *State) (Planned, AgreedTask, error) {
	d.Status = taken(d.Status)
	t := AgreedTask{Definition: d}
	planned := Planned{ID: d.ID, After: d.Dependencies}
	var err error
	if planned.Agents, t.Left, err = a.p.stages(d); err != nil {
		return planned, t, err
	}
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
	// The source calls a task open that is over on record. Somebody wants it again if
	// its status is another than the one a run writes, or if the last run had written
	// down that it is done. What a killed run has left running is only not written down
	// yet.
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
// both in their order. The latter are kept to be shown: a person who looks at a task
// should see that its review was left out, and not that it has none.
func (p *Pipeline) stages(d spec.Definition) (run, left []string, err error) {
	if p.own() {
		return p.Stages, nil, nil
	}
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
// wants them done again. A list calls open what is not on the main branch: its box
// belongs to the commit, so what is verified and not merged has none.
func (p *Pipeline) over() []Phase {
	if _, list := p.Source.(InCommit); list {
		return []Phase{PhaseDone}
	}
	return []Phase{PhaseDone, PhaseReady, PhaseUnmerged, PhaseUnverified}
}

// once reports whether an agent's stage is a single pass: its agent works once, without
// a promise to make, see [spec.Config.Enabled].
func (p *Pipeline) once(agent string) bool { return p.Task == nil && !p.Config.Enabled(agent) }

// task is what the loop of a stage runs. What the pipeline must be able to rely on is
// set here, whoever has built the task: whose it is, where it is worked on, and its
// limits.
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
	// An agent that may reject needs words for it: "I cannot go on" is what a loop
	// understands, so that is what a rejection is.
	to, _ := a.p.Config.OnReject(agent)
	if _, rejects := a.p.rules(map[string]bool{agent: true, to: true}).Back[agent]; rejects && t.Blocked == "" {
		// The name says whose it is, for two agents of a task may both reject.
		t.Blocked = strings.ToUpper(agent) + "_REJECTED"
	}
	t.HowVerified = strings.Trim(t.HowVerified+"; "+a.p.HowVerified, "; ")
	t.Limits = a.p.limits(t.Limits)
	// A single pass is verified whatever the agent says, as there is no second
	// iteration in which a missing promise could be made up for.
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

// limits are those of a loop. Retries and failures are off: a pipeline has other tasks
// to turn to, and an agent that fails should use up its iterations and not the run. An
// iteration ends after an hour where nothing is said, for one that hangs holds a slot.
func (p *Pipeline) limits(own ralph.Limits) ralph.Limits {
	l := p.Limits
	return ralph.Limits{
		Iterations: cmp.Or(l.Iterations, own.Iterations), Retries: -1, Failures: -1, Stalls: cmp.Or(own.Stalls, l.Stalls),
		IterationTimeout: max(cmp.Or(own.IterationTimeout, l.IterationTimeout, time.Hour), 0),
		VerifyTimeout:    cmp.Or(own.VerifyTimeout, l.VerifyTimeout), Wait: cmp.Or(own.Wait, l.Wait),
	}
}

// sum is a hash of what a definition asks for. A task with another sum is another task,
// of which nothing that was verified counts. When it is to be done, and what programs
// have written into it, is not part of it: else each run would undo the one before.
func sum(d spec.Definition) string {
	d.Status, d.Iteration, d.CreatedAt, d.UpdatedAt, d.Metadata = "", 0, time.Time{}, time.Time{}, nil
	d.Priority, d.Dependencies = 0, nil // they say when
	text, err := json.Marshal(d)
	if err != nil {
		text = fmt.Appendf(nil, "%+v", d)
	}
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:4])
}
