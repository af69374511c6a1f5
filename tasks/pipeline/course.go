package pipeline

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// A Course is a [State] and what its driver must know beside it to begin a step: the
// tasks as they were agreed, how their stages have ended, and why a task was sent back.
// It is a plain value as State is, and its methods are pure: for a driver that keeps no
// other record than such a value, as one on a workflow engine does. Workers do the
// steps at a [Site]. [Agreed.Course] makes it.
//
// For a stage that is ready the driver tells [Course.Next] that it begins
// ([State.Ready] says how that may fail), calls Begin, has a worker run the loop, one
// iteration after the other as the state grants them ([State.Granted]), and calls End.
// Where the loop was interrupted, the driver keeps where it is, to hand it to Begin. A
// merge is told by events alone. A course that was edited by hand decides wrongly, but
// no method panics.
type Course struct {
	State State        `json:"state"`
	Tasks []AgreedTask `json:"tasks"`
	// Ends has, by task and agent, how the loop of each stage that is over has ended.
	// Those of a task of which nothing more runs in this course are left out.
	Ends map[string]map[string]StageEnd `json:"ends,omitempty"`
	// Machines says by machine what holds there alone, as the first loop has found it: for
	// the Known of each [ralph.Dispatch]. See [Course.Found].
	Machines map[string]map[string]string `json:"machines,omitempty"`
	// Sent has by task the event that has last sent it back, as long as that counts.
	Sent map[string]Event `json:"sent,omitempty"`
}

// A StageEnd is how the loop of a stage has ended: enough to verify a merge with the
// same claim, without the agent and without the record.
type StageEnd struct {
	// State is where the loop stopped.
	State ralph.State `json:"state"`
	// Answer is the last one, what a verifier is asked about.
	Answer ralph.Response `json:"answer,omitzero"`
	// Commit is the one it was verified with; "" = there is no worktree.
	Commit string `json:"commit,omitempty"`
	// Tree is the files that it was verified with, as git names them; "" = not known.
	Tree string `json:"tree,omitempty"`
	// Hosts are those of its [ralph.Dispatch]: what is so on one machine, by machine.
	Hosts map[string]map[string]string `json:"hosts,omitempty"`
	// Unchecked says that nothing could check the work of a single pass, see
	// [AgreedTask.Once].
	Unchecked bool `json:"unchecked,omitempty"`
}

// Course takes the agreed tasks from the source, as far as they can be taken, and
// returns the [Course] with which a run of them begins. What holds on this machine
// alone ([ralph.OfMachine]) is not agreed for others.
//
// From the record of earlier runs it takes over how far the tasks are, but not their
// loops: a loop that was interrupted begins again, and what was verified then cannot be
// verified again after a merge.
func (a *Agreed) Course(ctx context.Context) (Course, error) {
	s := a.State
	c := Course{Tasks: slices.Clone(a.Tasks), Sent: maps.Clone(a.rejected)}.Next(Event{Kind: EventStarted, State: &s})
	for part, t := range c.Tasks {
		c.Tasks[part].Stages = slices.Clone(t.Stages)
		for i := range t.Stages {
			all := maps.Clone(t.Stages[i].Guarded)
			maps.DeleteFunc(all, func(key, _ string) bool { return ralph.OfMachine(key) })
			c.Tasks[part].Stages[i].Guarded = all
		}
		if t.Stages == nil {
			continue
		}
		var mine bool
		err := plugin.Call("pipeline: Source.Take", func() (err error) { mine, err = a.p.Source.Take(ctx, t.Definition.ID); return })
		if err != nil {
			return c, err
		}
		if !mine {
			c = c.Next(Event{Kind: EventAltered, Task: t.Definition.ID, Text: "taken by somebody else"})
		}
	}
	return c, nil
}

// Unsettled reports whether a task is running, as its source says: it was taken by a run
// that has not written down how it ended.
func (a *Agreed) Unsettled() bool {
	return slices.ContainsFunc(a.Tasks, func(t AgreedTask) bool { return t.Definition.Status == spec.StatusRunning })
}

// Settle writes down how the tasks stand that the run has taken, where their source
// shows it: for drivers of a [Course], as [Agreed.Run] does it itself. What somebody
// else has changed meanwhile stays as it is, which is no error. It may be called again.
func (a *Agreed) Settle(ctx context.Context, final State) (err error) {
	for part, sum := range final.Summaries(nil) {
		if part >= len(a.Tasks) || a.Tasks[part].Stages == nil {
			continue
		}
		wrote := plugin.Call("pipeline: Source.Write", func() error {
			return a.p.Source.Write(ctx, sum.ID, Update{Status: sum.Status, Time: time.Now().UTC().Round(time.Second)})
		})
		if _, altered := errors.AsType[*AlteredError](wrote); !altered {
			err = errors.Join(err, wrote)
		}
	}
	return err
}

// Next returns the course after an event, see [State.Next]. That a stage has ended is told
// by [Course.End].
func (c Course) Next(ev Event) Course {
	was := c.State
	if c.State = was.Next(ev); c.State.sends(was, ev) {
		c.Sent = with(c.Sent, ev.Task, ev)
	}
	return c.tidy(ev.Task)
}

// tidy leaves out what no step of a task needs any more. A workflow engine carries the
// course in its history and bounds its size, so that must not grow with what is done.
func (c Course) tidy(task string) Course {
	part := c.State.Find(task)
	now := c.State.stand(part)
	if part >= 0 && now.Phase > PhaseMerging {
		c.Ends, c.Sent = without(c.Ends, task), without(c.Sent, task)
	}
	for i, agent := range c.State.order(part) {
		if _, known := c.Ends[task][agent]; known && now.over()&(1<<i) == 0 {
			c.Ends = with(c.Ends, task, without(c.Ends[task], agent))
		}
	}
	if len(c.Ends[task]) == 0 {
		c.Ends = without(c.Ends, task)
	}
	return c
}

// Found returns the course with what a loop has found on machines, by its
// [ralph.Dispatch], to be told after each iteration. What was found before stays: an
// agent that changes a tool on the machine would otherwise be measured by the changed
// one.
func (c Course) Found(hosts map[string]map[string]string) Course {
	for host, found := range hosts {
		all := maps.Clone(found)
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, c.Machines[host])
		c.Machines = with(c.Machines, host, all)
	}
	return c
}

// Begin returns the state in which the loop of a stage begins, and what its prompt is made
// of. If the step goes on with an interrupted loop ([Step.GoOn]), was is the state of that
// loop; otherwise was is ignored. The loop's name is the driver's to set: [State.Loop]
// says what it ends in.
//
// The loop of a step that is none of this course is done, with [ralph.StopInvalid].
func (c Course) Begin(step Step, was ralph.State) (ralph.State, Stage) {
	t, i := c.agreed(step)
	if i < 0 || i >= len(t.Stages) {
		return ralph.State{V: ralph.Version, Loop: step.Loop, Stop: ralph.StopInvalid, Detail: "nothing is agreed of such a stage"}, Stage{Agent: step.Agent}
	}
	told := c.State.brief(step, t.Definition, func(agent string) StageEnd { return c.Ends[step.Task][agent] }, c.Sent[step.Task])
	told.Once = c.once(step)
	if step.GoOn && was.V > 0 {
		return goesOn(was), told
	}
	s := c.State.start(step.Part, t.Stages[i])
	s.Loop = step.Loop
	return s, told
}

// Reserve is the event by which the next iteration of a loop is to begin
// ([EventReserve], see [State.Granted]), or by which the loop is held ([EventHeld]),
// with what it has used. Last is what its last iteration has used, see [Used]; nil if
// none has ended since the loop began or went on: then it is what the loop itself
// expects of the next.
func (step Step) Reserve(kind Kind, s ralph.State, last *Amount) Event {
	if cost := cmp.Or(s.LastCost, s.Partial); last == nil && cost != nil { // by which it stops if it is granted less
		last = &Amount{CostUSD: cost}
	}
	return Event{Kind: kind, Task: step.Task, Agent: step.Agent, Loop: step.Loop, Usage: s.Usage, Last: last, Blind: s.Blind}
}

// Used returns what one iteration has used, from the states of its loop before and
// after it. The cost is that of the last iteration, as the loop tells it, and the
// tokens are the difference of the two states.
func Used(from, to ralph.State) *Amount {
	return &Amount{CostUSD: to.LastCost, Tokens: tokens(to.Usage) - tokens(from.Usage)}
}

// start is the state in which the loop of a task's stage begins. What it has used
// counts, though nobody knows where it was: a loop without a record has cost money all
// the same.
func (s State) start(part int, task ralph.Task) ralph.State {
	loop := ralph.Start(task)
	if live := s.running(part); live >= 0 {
		loop.Usage = ralph.Usage{}.Add(s.Running[live].Used)
	}
	return loop
}

// agreed is the task of a step, and the index of its stage; -1 = there is none.
func (c Course) agreed(step Step) (t AgreedTask, stage int) {
	if step.Part < 0 || step.Part >= min(len(c.Tasks), len(c.State.Parts)) || c.State.Parts[step.Part].ID != step.Task {
		return t, -1
	}
	return c.Tasks[step.Part], c.State.stage(step)
}

// once reports whether the stage of a step is a single pass, see [AgreedTask].
func (c Course) once(step Step) bool {
	t, i := c.agreed(step)
	return i >= 0 && i < len(t.Once) && t.Once[i]
}

// End returns the course after the loop of a stage has ended, or was interrupted: end.State
// is the state of that loop. last is what its last iteration has used, nil = none has
// ended. A stage that does not run, or whose end was told, changes nothing.
func (c Course) End(step Step, end StageEnd, last *Amount) Course {
	_, i := c.agreed(step)
	if i < 0 {
		return c
	}
	ev := end.event(step, c.once(step), "")
	ev.Last, ev.To, ev.Tree = last, end.Commit, end.Tree
	was := c.State.stand(step.Part).over()
	if c = c.Next(ev); c.State.stand(step.Part).over()&^was&(1<<i) != 0 {
		c.Ends = with(c.Ends, step.Task, with(c.Ends[step.Task], step.Agent, end))
	}
	return c.tidy(step.Task)
}

// Verified are the stages of a task that were verified, in their order: what a merge is
// verified with, see [Site.Merge].
func (c Course) Verified(part int) (ends []StageEnd) {
	for i, agent := range c.State.order(part) {
		if c.State.stand(part).Verified&(1<<i) != 0 {
			ends = append(ends, c.Ends[c.State.Parts[part].ID][agent])
		}
	}
	return ends
}

// with is a copy of a map with one more value. A course is shared between goroutines
// and kept by engines, so no map in it is ever written to.
func with[V any](m map[string]V, key string, v V) map[string]V {
	if m = maps.Clone(m); m == nil {
		m = map[string]V{}
	}
	m[key] = v
	return m
}

// without is a map without a key; where that was in it, a copy.
func without[V any](m map[string]V, key string) map[string]V {
	if _, has := m[key]; !has {
		return m
	}
	if m = maps.Clone(m); len(m) == 1 {
		return nil
	}
	delete(m, key)
	return m
}

// stage is the index of a step's agent in the order of its task.
func (s State) stage(step Step) int {
	return slices.Index(s.order(step.Part), step.Agent)
}

// event tells that the loop has ended so; wrong is what was wrong with its last
// iteration. A single pass that ran to its end is over without a verdict, unless
// something failed in it.
func (end StageEnd) event(step Step, once bool, wrong string) Event {
	final := end.State
	return Event{Kind: EventEnded, Task: step.Task, Agent: step.Agent, Loop: step.Loop, Stop: final.Stop, Text: why(final, wrong),
		Unverified: once && end.Unchecked && final.Stop == ralph.StopIterations && final.Failures == 0,
		Usage:      final.Usage, Blind: final.Blind, Iterations: final.Completed(), Output: lastOf(end.Answer.Output, maxOutput)}
}

// why says for people, and for the agent that a task goes back to, why a loop has ended:
// what stopped it, and what was wrong at last. That a limit is reached tells nobody what
// to mend.
func why(final ralph.State, wrong string) string {
	switch wrong = cmp.Or(wrong, final.Feedback); final.Stop {
	case ralph.StopIterations, ralph.StopStalled:
		if wrong != "" {
			return final.Detail + "; at last: " + cut(wrong, maxOutput)
		}
	}
	return final.Detail
}

// goesOn is where a loop goes on that was interrupted, or stopped by what it was
// granted of the budget by then. It is the same loop with other limits, and not a new
// one, so that its iterations and what it has learned count.
func goesOn(s ralph.State) ralph.State {
	if s.Done() {
		if s = s.Limit(ungranted(s.Task.Limits)); s.Done() {
			s = s.Reopen()
		}
	}
	return s
}

// brief is what the prompt of a stage is made of. Of are the ends of the stages before
// it, and sent is why its task was last sent back. What the agents before have said is
// not in it, but for a rejection.
func (s State) brief(step Step, d spec.Definition, of func(agent string) StageEnd, sent Event) Stage {
	t := Stage{Definition: d, Agent: step.Agent}
	if s.Rules.Merge {
		t.Branch, _ = Branch(d.ID)
	}
	now := s.stand(step.Part)
	for i, agent := range s.order(step.Part) {
		if over := uint64(1) << i; now.over()&over != 0 {
			end := of(agent)
			t.Before = append(t.Before, Record{
				Agent: agent, Verified: now.Verified&over != 0, Unverified: now.Passed&over != 0,
				Iterations: end.State.Completed(), Files: end.State.Files, Checks: end.State.Verdict.Checks, Commit: end.Commit,
			})
		}
	}
	t.From, t.Feedback = s.rejection(step, sent)
	return t
}

// fromMerge is what a stage was sent back by that a conflict is given to.
const fromMerge = "merge"

// rejection is why a stage was sent back to this one. A reason counts only for the
// agent that it goes to: what was wrong with the work of another is not this one's to
// mend.
func (s State) rejection(step Step, sent Event) (from, feedback string) {
	switch {
	case s.stand(step.Part).Rounds == 0:
	case sent.Kind == EventUnmerged && s.stage(step) == 0:
		return fromMerge, "these files conflict with the main branch, which is being merged into this one: " + strings.Join(sent.Conflicts, ", ") +
			"; mend them, so that both sides' changes are there, and conclude the merge with git commit"
	case sent.Kind == EventEnded && s.Rules.Back[sent.Agent].To == step.Agent:
		return sent.Agent, strings.TrimSpace(sent.Text + "\n\n" + sent.Output)
	}
	return "", ""
}
