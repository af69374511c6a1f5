package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// A Summary is how one task of a run stands, for people: a row of a closing table. As
// JSON it is for programs that show the same; fields are added, never renamed.
type Summary struct {
	// ID is the task's, and Title one line of it for people, of at most 120 characters; "" =
	// it has none, or none is on record.
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	// After are the IDs of the tasks that must be done before it. nil = none.
	After []string `json:"after,omitempty"`
	// Phase is how far it is in this run.
	Phase Phase `json:"phase"`
	// Status is what its source shows, or would show if it could.
	Status spec.Status `json:"status"`
	// Stages are in their order. nil = nothing of it is run.
	Stages []StageSummary `json:"stages"`
	// Iterations and Usage are those of its loops that have ended or were interrupted.
	Iterations int         `json:"iterations"`
	Usage      ralph.Usage `json:"usage,omitzero"`
	// Why says why it is not done, if anything has kept it from that; "" = nothing has.
	Why string `json:"why,omitempty"`
	// Altered says what somebody else has done to it, see [AlteredError]: even if it is
	// done, its source says something else. "" = nothing.
	Altered string `json:"altered,omitempty"`
}

// A StageSummary is how one agent's part of a task stands, in this run or since an
// earlier one.
type StageSummary struct {
	Agent  string      `json:"agent"`
	Status StageStatus `json:"status"`
}

// A StageStatus says in one word how far a stage is.
type StageStatus string

const (
	// StageOpen: its turn has not come, or it goes on in another run.
	StageOpen StageStatus = "open"
	// StageRunning: its agent works.
	StageRunning StageStatus = "running"
	// StageVerified: its verifier agreed, in this run or in an earlier one.
	StageVerified StageStatus = "verified"
	// StageUnverified: it is over, and nothing has checked it.
	StageUnverified StageStatus = "unverified"
	// StageFailed: it has ended without a verified claim.
	StageFailed StageStatus = "failed"
	// StageLeft: it is not to be run.
	StageLeft StageStatus = "left"
)

// Summaries are those of all tasks, in their order. The events are those that led to s,
// see [Recorded]; without them it is not known what was used, and why something failed.
// A state does not hold that itself, for it is copied with every event.
func (s State) Summaries(events []Event) []Summary {
	all := map[string]*total{}
	agreed, titles := map[string]string{}, map[string]string{}
	for _, ev := range events {
		maps.Copy(titles, ev.Titles)
		if ev.Kind == EventStarted && ev.State != nil {
			for _, p := range ev.State.Parts { // what was another task counts no more
				if was := agreed[p.ID]; was != "" && p.Sum != was {
					delete(all, p.ID)
				} else if t := all[p.ID]; t != nil {
					t.altered = "" // it is agreed as it is
				}
				agreed[p.ID] = p.Sum
			}
		}
		t := all[ev.Task]
		if t == nil {
			t = &total{loops: map[string]Event{}}
			all[ev.Task] = t
		}
		t.tell(ev)
	}
	sums := make([]Summary, len(s.Parts))
	for i, p := range s.Parts {
		sum := Summary{ID: p.ID, Title: titles[p.ID], After: s.after(p), Phase: s.Stands[i].Phase, Stages: s.stages(i)}
		sum.Status = sum.Phase.status()
		if t := all[p.ID]; t != nil {
			sum.Altered = t.altered
			for _, ev := range t.loops {
				sum.Iterations += ev.Iterations
				sum.Usage = sum.Usage.Add(ev.Usage)
			}
			if sum.Phase != PhaseDone {
				sum.Why = t.why
			}
		}
		sums[i] = sum
	}
	return sums
}

// after are the IDs of the tasks that a part waits for. Of a state that was edited by hand
// an index may be that of no part.
func (s State) after(p Part) (ids []string) {
	for _, i := range p.After {
		if i >= 0 && i < len(s.Parts) {
			ids = append(ids, s.Parts[i].ID)
		}
	}
	return ids
}

// A total is what events tell of a task, and the state does not.
type total struct {
	why, altered string
	loops        map[string]Event // the ends of its loops, by their names
}

// tell keeps the last reason: when a stage begins again, why the one before has failed
// is no reason any more.
func (t *total) tell(ev Event) {
	switch ev.Kind {
	case EventBegan:
		t.why = ""
	case EventEnded:
		t.loops[ev.Loop] = ev
		if t.why = ""; ev.rejects() {
			if t.why = ev.reason(); ev.Stop == ralph.StopIterations && ev.Text != "" {
				t.why = ev.Text // which begins with the limit
			}
		}
	case EventAltered:
		t.why, t.altered = ev.Text, ev.Text
	case EventUnmerged, EventBroken:
		t.why = ev.Text
	}
}

// status is what a source shows of a task in such a phase. What has failed is open
// again, for the next run tries it; what cannot be run as it is written waits for a
// person. A task that waits to be merged is running: its work exists, and nobody else
// should begin it.
func (p Phase) status() spec.Status {
	switch p {
	case PhaseDone:
		return spec.StatusDone
	case PhaseOpen, PhaseFailed:
		return spec.StatusTodo
	case PhaseBroken:
		return spec.StatusFailed
	case PhaseLeft:
		return spec.StatusSkipped
	}
	return spec.StatusRunning
}

// Summaries are those of [State.Summaries], with what was agreed: also the stages that
// are left out, and the status of tasks that are not to be run.
func (a *Agreed) Summaries(s State, events []Event) []Summary {
	sums := s.Summaries(events)
	for i := range min(len(sums), len(a.Tasks)) { // while it runs, without those that were added
		d := a.Tasks[i].Definition
		if sums[i].Phase == PhaseLeft {
			sums[i].Status = d.Status
		}
		if a.Tasks[i].Stages == nil { // nothing of it runs, though it may have before an interruption
			sums[i].Stages, sums[i].Iterations = nil, cmp.Or(sums[i].Iterations, d.Iteration)
			continue
		}
		for _, agent := range a.Tasks[i].Left {
			sums[i].Stages = append(sums[i].Stages, StageSummary{agent, StageLeft})
		}
	}
	return sums
}

// An Interrupted is a loop of an earlier run that had not ended, and what it would be
// by now.
type Interrupted struct {
	// Entry is the loop as it is on record, with the task as it was agreed then.
	Entry progress.Entry
	// Now is the task as it would be agreed by now.
	Now ralph.Task
	// Changed says that the definition, or the configuration, is another one by now. The
	// loop goes on as it was agreed, or, if the definition has changed, another one begins.
	Changed bool
}

// Interrupted returns the loops of the last run that had not ended: for those who do
// not want them to go on under other terms. It reads the record, and returns nil if
// there is none or if nothing of it counts ([Pipeline.Anew]).
func (a *Agreed) Interrupted(ctx context.Context) (all []Interrupted, err error) {
	if a.p.Record == nil || a.p.Anew {
		return nil, nil
	}
	last, _, err := Recorded(ctx, a.p.Record, a.p.name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, run := range last.Running {
		now := a.State.Find(last.Parts[run.Part].ID)
		e, err := a.p.Record.Look(a.p.loopName(last.Loop(run.Part)))
		if err != nil || e.State.Done() || now < 0 {
			continue
		}
		for _, t := range a.Tasks[now].Stages {
			if was := e.State.Task; t.Agent == was.Agent {
				all = append(all, Interrupted{e, t, was.Prompt != t.Prompt || string(was.Spec) != string(t.Spec)})
			}
		}
	}
	return all, nil
}

// reason says for people why a stage has ended so: the reason in one word, by which it
// can be looked up, and what there is to say.
func (ev Event) reason() string {
	if ev.Text == "" {
		return string(ev.Stop)
	}
	return string(ev.Stop) + ": " + ev.Text
}

// stages are how far the stages of a task are. Only one of them can run or have failed,
// the first that is not over; those behind it are open.
func (s State) stages(part int) []StageSummary {
	now := s.Stands[part]
	next, left := s.Agent(part)
	order := s.Orders[s.Parts[part].Order]
	all := make([]StageSummary, len(order))
	for i, agent := range order {
		status := StageOpen
		switch bit := uint64(1) << i; {
		case now.Verified&bit != 0:
			status = StageVerified
		case now.Passed&bit != 0:
			status = StageUnverified
		case !left || agent != next:
		case now.Phase == PhaseRunning:
			status = StageRunning
		case now.Phase == PhaseFailed || now.Phase == PhaseBroken:
			status = StageFailed
		}
		all[i] = StageSummary{agent, status}
	}
	return all
}

// Order returns all steps that are left, in the order in which they begin if each stage
// is verified at once: for those who want to show it before. It plays the run on a
// copy, by the same rules, so it cannot show another order than the run would have.
func (s State) Order() (all []Step) {
	for steps := s.Ready(); len(steps) > 0; steps = s.Ready() {
		for _, step := range steps {
			ev := Event{Kind: EventBegan, Task: step.Task, Agent: step.Agent, Loop: step.Loop, Stop: ralph.StopVerified}
			over := EventEnded
			if step.Kind == StepMerge {
				ev.Kind, over = EventMerging, EventMerged
			}
			s = s.Next(ev)
			ev.Kind = over
			s = s.Next(ev)
		}
		all = append(all, steps...)
	}
	return all
}

// Prompt returns what the agent of a stage would be told if it began now, and nothing
// had been done before it: for people who write roles. Step is one of [State.Order]; a
// stage that is not to be run is an error. Nothing is run, but the files of the prompt
// are read.
func (a *Agreed) Prompt(ctx context.Context, step Step) (string, error) {
	t := a.Tasks[step.Part]
	i := slices.IndexFunc(t.Stages, func(t ralph.Task) bool { return t.Agent == step.Agent })
	if step.Kind != StepStage || i < 0 {
		return "", fmt.Errorf("pipeline: %s has no stage of %q to run", step.Task, step.Agent)
	}
	told := Stage{Definition: t.Definition, Agent: step.Agent}
	if a.p.Rules.Merge {
		told.Branch, _ = Branch(step.Task)
	}
	if a.p.Prompt != nil {
		return a.p.Prompt(told)(ctx, ralph.Start(t.Stages[i]))
	}
	prompt, err := a.roles.Prompt(a.dir, told)
	if err != nil {
		return "", err
	}
	return prompt(ctx, ralph.Start(t.Stages[i]))
}

// Branch names the branch of a task with [Rules.Merge], and the folder of its worktree
// in the workspace, with slashes. Both depend on the ID alone, so that every worker,
// and every later run, finds them without a record.
func Branch(task string) (branch, dir string) {
	return "ralph/" + folder(task), path.Join(".ralph", "worktrees", folder(task))
}

// A Standing is a [progress.Standing], and of a pipeline how its tasks stand. Tasks is
// nil for a loop and for a session.
type Standing struct {
	progress.Standing
	Tasks []Summary `json:"tasks,omitempty"`
}

// StandingOf returns where a loop, a session or a pipeline stands, as [progress.Dir.Stand]
// does. For a pipeline it reads the record of the pipeline itself, since a task is not
// done when its coder was verified.
func StandingOf(ctx context.Context, dir *progress.Dir, e progress.Entry) Standing {
	return stood(ctx, dir, dir.Stand(ctx, e))
}

// Standings returns a Standing for each loop, session and pipeline in the folder,
// as [progress.Dir.Standings] does, with the same errors.
func Standings(ctx context.Context, dir *progress.Dir) ([]Standing, error) {
	found, err := dir.Standings(ctx)
	all := make([]Standing, len(found))
	for i, st := range found {
		all[i] = stood(ctx, dir, st)
	}
	return all, err
}

// stood adds how the tasks stand. If the pipeline's record cannot be read, it has only
// just begun or is damaged; what the loops tell is shown all the same.
func stood(ctx context.Context, dir *progress.Dir, st progress.Standing) Standing {
	if !ofPipeline(st) {
		return Standing{Standing: st}
	}
	return tell(ctx, dir, st.Loop).stood(st)
}

// ofPipeline reports whether a standing is that of a pipeline.
func ofPipeline(st progress.Standing) bool {
	return st.Kind == progress.KindPipeline && st.SessionStanding != nil
}

// A told is what the record of a pipeline tells, the zero value if it tells nothing.
type told struct {
	tasks     []Summary
	remaining int
	used      ralph.Usage
	elapsed   time.Duration
}

func tell(ctx context.Context, dir *progress.Dir, name string) told {
	s, events, err := Recorded(ctx, dir, name)
	if err != nil { // it has only just begun, or cannot be read: what its loops tell is shown
		return told{}
	}
	return told{s.Summaries(events), s.Remaining(), s.Used(), s.Elapsed}
}

func (t told) stood(st progress.Standing) Standing {
	if t.tasks == nil {
		return Standing{Standing: st}
	}
	of := *st.SessionStanding
	of.TasksRemaining, of.TasksCompleted = t.remaining, len(t.tasks)-t.remaining
	st.SessionStanding, st.Used, st.Elapsed = &of, t.used, t.elapsed
	return Standing{st, t.tasks}
}
