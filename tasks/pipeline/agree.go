package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// An Agreed is what a run will do: all that is decided before it begins. Nothing that is
// written to the source later changes it.
type Agreed struct {
	// State is where the run begins, also with what is on record of earlier ones.
	State State
	// Tasks are its parts, by their index.
	Tasks []AgreedTask
	// Filters are the commands that the workspace's own git configuration runs on files
	// that are committed and checked out, and those that it merges by: with Rules.Merge
	// they run. Those of the user's configuration are not among them.
	Filters []string

	p        *Pipeline
	dir      string
	verifier ralph.Verifier
	roles    Roles
	rejected map[string]Event // by the task's ID: why it was last sent back, or not merged
	merging  *Event           // a merge that was killed
	fresh    map[int]bool     // the tasks of which nothing that lies there counts: they are new, or others
}

// An AgreedTask is a task of a run.
type AgreedTask struct {
	Definition spec.Definition
	// Stages are what its loops run, in their order, those that are verified included.
	// nil = it is not run: it is done, or left.
	Stages []ralph.Task
	Once   []bool   // of each stage: it is a single pass, see [spec.Config.Enabled]
	Left   []string // the agents of its definition, and of the configuration, that are left out
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
	a := &Agreed{p: p, dir: dir, verifier: p.Verifier, rejected: map[string]Event{}, fresh: map[int]bool{}}
	if a.verifier == nil {
		a.verifier = spec.Verifier(spec.Env{Dir: dir, Redact: p.Redact})
	}
	last, err := a.last(ctx)
	if err != nil {
		return nil, err
	}
	if p.Anew {
		last, a.rejected = nil, map[string]Event{}
	}
	defs, err := p.Source.Read(ctx)
	if err != nil {
		return nil, err
	}
	defs = slices.Clone(defs)
	slices.SortStableFunc(defs, func(a, b spec.Definition) int { // as an unsigned number, one less than 0 is the greatest
		return cmp.Compare(uint(max(a.Priority, 0))-1, uint(max(b.Priority, 0))-1)
	})
	if _, err := p.Config.Stages(p.Stages, defs...); err != nil {
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
	if a.State, err = Plan(p.rules(agents), all, last); err != nil {
		return nil, err
	}
	if p.Prompt == nil {
		if a.roles, err = p.Prompts.Load(sorted(agents)); err != nil {
			return nil, err
		}
	}
	if p.Rules.Merge {
		a.Filters, err = a.filters(ctx)
	}
	return a, err
}

func sorted(set map[string]bool) (all []string) {
	for name := range set {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// rules are those of the run, with who rejects whose work.
func (p *Pipeline) rules(agents map[string]bool) Rules {
	r := p.Rules
	if r.Back == nil {
		r.Back = map[string]Back{}
		for _, c := range p.Config.Agents {
			if c.OnReject != "" && agents[c.Agent] && agents[c.OnReject] {
				r.Back[c.Agent] = Back{To: c.OnReject, Rounds: c.MaxRounds}
			}
		}
	}
	return r
}

// agree is what is agreed of one definition.
func (a *Agreed) agree(d spec.Definition, last *State) (Planned, AgreedTask, error) {
	t := AgreedTask{Definition: d}
	planned := Planned{ID: d.ID, After: d.Dependencies}
	every, err := a.p.Config.Stages(nil, d)
	if err != nil {
		return planned, t, err
	}
	for _, agent := range every {
		if len(a.p.Stages) > 0 && !slices.Contains(a.p.Stages, agent) {
			t.Left = append(t.Left, agent)
		} else {
			planned.Agents = append(planned.Agents, agent)
		}
	}
	for _, agent := range a.p.Stages { // one that the configuration skips
		if !slices.Contains(every, agent) {
			planned.Agents = append(planned.Agents, agent)
		}
	}
	if len(planned.Agents) == 0 {
		return planned, t, fmt.Errorf("pipeline: %s: none of its stages is to be run; it has %s", d.ID, strings.Join(every, ", "))
	}
	was := PhaseOpen
	if last != nil {
		if i := last.Find(d.ID); i >= 0 {
			was = last.Stands[i].Phase
		}
	}
	switch {
	case d.Status == spec.StatusDone:
		planned.Phase = PhaseDone
		return planned, t, nil
	case !open(d.Status):
		planned.Phase = PhaseLeft
		return planned, t, nil
	case a.wantsAnew(d, was):
		planned.Anew = true
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

// wantsAnew reports whether somebody has put a task back that was over, to have it done
// again. A list cannot say that a task is under way: there only what was done and is open
// now was put back.
func (a *Agreed) wantsAnew(d spec.Definition, was Phase) bool {
	if _, list := a.p.Source.(InCommit); list {
		return was == PhaseDone
	}
	return d.Status != spec.StatusRunning && slices.Contains([]Phase{PhaseDone, PhaseReady, PhaseUnmerged, PhaseUnverified}, was)
}

// has reports whether a state has a task as it is planned; nil has none.
func (s *State) has(t Planned) bool {
	if s == nil {
		return false
	}
	i := s.Find(t.ID)
	return i >= 0 && s.Parts[i].Sum == t.Sum
}

// once reports whether an agent's stage is a single pass.
func (p *Pipeline) once(agent string) bool { return p.Task == nil && !p.Config.Enabled(agent) }

// task is what the loop of a stage runs.
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
	if _, rejects := a.p.rules(map[string]bool{agent: true, a.p.onReject(agent): true}).Back[agent]; rejects && t.Blocked == "" {
		t.Blocked = strings.ToUpper(agent) + "_REJECTED"
	}
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

func (p *Pipeline) onReject(agent string) string {
	for _, c := range p.Config.Agents {
		if c.Agent == agent {
			return c.OnReject
		}
	}
	return ""
}

// limits are those of a loop.
func (p *Pipeline) limits(own ralph.Limits) ralph.Limits {
	l := p.Limits
	l.Iterations = cmp.Or(l.Iterations, own.Iterations)
	l.Retries, l.Failures = -1, -1
	l.IterationTimeout = max(cmp.Or(own.IterationTimeout, l.IterationTimeout, time.Hour), 0)
	l.CostUSD, l.Tokens, l.Duration = 0, 0, 0
	return l
}

// sum is a hash of what a definition asks for.
func sum(d spec.Definition) string {
	d.Status, d.Iteration, d.CreatedAt, d.UpdatedAt, d.Metadata = "", 0, time.Time{}, time.Time{}, nil
	text, err := json.Marshal(d)
	if err != nil {
		text = []byte(fmt.Sprintf("%+v", d))
	}
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:4])
}

// last is where the last run stands on record, nil = there is none.
func (a *Agreed) last(ctx context.Context) (*State, error) {
	p := a.p
	if p.Record == nil {
		return nil, nil
	}
	path := p.Record.File(p.name())
	s, events, err := recorded(ctx, path)
	if errors.Is(err, fs.ErrNotExist) { // a run that was killed before it has said where it begins
		s, events, err = recorded(ctx, strings.TrimSuffix(path, ".jsonl")+".last.jsonl")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("pipeline: what is on record of %q cannot be read: %w", p.name(), err)
	}
	for _, ev := range events {
		if ev.rejects() {
			a.rejected[ev.Task] = ev
		}
		switch ev.Kind {
		case EventMerging:
			a.merging = &ev
		case EventMerged, EventUnmerged:
			a.merging = nil
		}
	}
	end := events[len(events)-1]
	for _, r := range s.Running { // what a process that died had not told
		e, err := p.Record.Look(p.loopName(s.Loop(r.Part)))
		if err != nil {
			continue // it has not begun, or is told when it goes on
		}
		s = s.Apply(Event{Kind: EventUsed, Task: s.Parts[r.Part].ID, Loop: s.Loop(r.Part), Usage: e.State.Usage,
			Elapsed: end.Elapsed + max(e.Active.Sub(end.Time), 0)})
	}
	return &s, nil
}

// rejects reports whether it tells why a task's work is not taken.
func (ev Event) rejects() bool {
	return ev.Kind == EventUnmerged || ev.Kind == EventEnded && ev.Stop != "" && ev.Stop != ralph.StopVerified
}

// loopName is the name on record of a stage's loop.
func (p *Pipeline) loopName(loop string) string { return p.name() + "/" + loop }

// Recorded returns where a pipeline stands on record, and its events, the first of the
// last run first. The error wraps [fs.ErrNotExist] if there is none of this name.
func Recorded(ctx context.Context, dir *progress.Dir, name string) (State, []Event, error) {
	return recorded(ctx, dir.File(name))
}

func recorded(ctx context.Context, path string) (State, []Event, error) {
	file, err := ralph.OpenFile(path)
	if err != nil {
		return State{}, nil, err
	}
	defer file.Close()
	var s State
	var events []Event
	for rec, err := range progress.ReadJSONL(file) {
		if err != nil {
			return s, events, err
		}
		if ctx.Err() != nil {
			return s, events, context.Cause(ctx)
		}
		text := rec.Event.Meta[metaEvent]
		if rec.Kind != ralph.EventStep || text == "" {
			continue
		}
		var ev Event
		if err := json.Unmarshal([]byte(text), &ev); err != nil {
			return s, events, fmt.Errorf("line %d: %w", rec.Line, err)
		}
		ev.Time = rec.Event.Time
		s, events = s.Apply(ev), append(events, ev)
	}
	if len(events) == 0 {
		return s, nil, fmt.Errorf("%s tells of no pipeline: %w", path, fs.ErrNotExist)
	}
	return s, events, nil
}

// metaEvent is the key under which an event of a pipeline is on record.
const metaEvent = "event"

// Run does what was agreed, see [Pipeline.Run].
func (a *Agreed) Run(ctx context.Context) (State, error) { return a.run(ctx, nil) }

// Events does what was agreed, see [Pipeline.Events].
func (a *Agreed) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		events, ended := make(chan Event), make(chan error, 1)
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
		if err := <-ended; err != nil && !broken {
			yield(Event{}, err)
		}
	}
}
