package pipeline

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// A Summary is how one task of a run stands, for people: a row of a closing table.
type Summary struct {
	ID     string         `json:"id"`
	Phase  Phase          `json:"phase"`
	Stages []StageSummary `json:"stages"` // in their order
	// Iterations and Usage are those of its loops that have ended or were interrupted.
	Iterations int         `json:"iterations"`
	Usage      ralph.Usage `json:"usage,omitzero"`
	// Why says why it is not done, if anything has kept it from that; "" = nothing has.
	Why string `json:"why,omitempty"`
}

// A StageSummary is how one agent's part of a task stands.
type StageSummary struct {
	Agent  string      `json:"agent"`
	Status StageStatus `json:"status"`
}

// A StageStatus says in one word how far a stage is.
type StageStatus string

const (
	StageOpen       StageStatus = "open"       // its turn has not come, or it goes on in another run
	StageRunning    StageStatus = "running"    // its agent works
	StageVerified   StageStatus = "verified"   // or it was before this run
	StageUnverified StageStatus = "unverified" // it is over, and nothing has checked it
	StageFailed     StageStatus = "failed"     // it has ended without a verified claim
)

// Summaries are those of all tasks, in their order. The events are those that led to s,
// see [Recorded]; without them it is not known what was used, and why something failed.
func (s State) Summaries(events []Event) []Summary {
	type total struct {
		why   string
		loops map[string]Event
	}
	all := map[string]*total{}
	agreed := map[string]string{}
	for _, ev := range events {
		for _, id := range ev.changed(agreed) { // what was another task counts no more
			delete(all, id)
		}
		t := all[ev.Task]
		if t == nil {
			t = &total{loops: map[string]Event{}}
			all[ev.Task] = t
		}
		switch ev.Kind {
		case EventBegan:
			t.why = ""
		case EventEnded:
			t.loops[ev.Loop] = ev
			if t.why = ""; ev.rejects() {
				t.why = ev.reason()
			}
		case EventUnmerged, EventAltered, EventBroken:
			t.why = ev.Text
		}
	}
	sums := make([]Summary, len(s.Parts))
	for i, p := range s.Parts {
		sum := Summary{ID: p.ID, Phase: s.Stands[i].Phase, Stages: s.stages(i)}
		if t := all[p.ID]; t != nil {
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

// changed are the tasks of a run that begins which were others before, by their sums.
func (ev Event) changed(before map[string]string) (ids []string) {
	if ev.Kind != EventStarted || ev.State == nil {
		return nil
	}
	for _, p := range ev.State.Parts {
		if was := before[p.ID]; was != "" && p.Sum != was {
			ids = append(ids, p.ID)
		}
		before[p.ID] = p.Sum
	}
	return ids
}

// reason says for people why a stage has ended so.
func (ev Event) reason() string {
	if ev.Text == "" {
		return string(ev.Stop)
	}
	return string(ev.Stop) + ": " + ev.Text
}

// stages are how far the stages of a task are.
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
// is verified at once: for those who want to show it before.
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
// had been done before it.
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
// in the workspace.
func Branch(task string) (branch, dir string) {
	return "ralph/" + folder(task), path.Join(".ralph", "worktrees", folder(task))
}

// A Standing is a [progress.Standing], and of a pipeline how its tasks stand.
type Standing struct {
	progress.Standing
	Tasks []Summary `json:"tasks,omitempty"`
}

// StandingOf returns where a loop, a session or a pipeline stands, as [progress.Dir.Stand]
// does. The tasks of a pipeline are counted by its own record, which is read: a task
// whose coder is verified is not done by that.
func StandingOf(ctx context.Context, dir *progress.Dir, e progress.Entry) Standing {
	return stood(ctx, dir, dir.Stand(ctx, e))
}

// Standings returns where all stand, as [progress.Dir.Standings] does.
func Standings(ctx context.Context, dir *progress.Dir) ([]Standing, error) {
	found, err := dir.Standings(ctx)
	all := make([]Standing, len(found))
	for i, st := range found {
		all[i] = stood(ctx, dir, st)
	}
	return all, err
}

func stood(ctx context.Context, dir *progress.Dir, st progress.Standing) Standing {
	if st.Kind != progress.KindPipeline || st.SessionStanding == nil {
		return Standing{Standing: st}
	}
	s, events, err := Recorded(ctx, dir, st.Loop)
	if err != nil { // it has only just begun, or cannot be read: what its loops tell is shown
		return Standing{Standing: st}
	}
	of := *st.SessionStanding
	of.TasksRemaining = s.Remaining()
	of.TasksCompleted = len(s.Parts) - of.TasksRemaining
	st.SessionStanding = &of
	return Standing{st, s.Summaries(events)}
}
