package pipeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
)

// A Kind says what an [Event] tells.
type Kind string

const (
	// EventStarted has the State in which a run begins, or goes on.
	EventStarted Kind = "started"
	// EventBegan: a stage has begun, or goes on: Task, Agent and Loop.
	EventBegan Kind = "began"
	// EventReserve: the next iteration of a stage's loop is to begin, with what it has used
	// so far (Usage) and what its last iteration has used (Last), also of a loop that goes
	// on. Whether it may begin says [State.Granted].
	EventReserve Kind = "reserve"
	// EventUsed has what a stage's loop has used so far: Usage.
	EventUsed Kind = "used"
	// EventHeld: the next iteration of a loop waits for a rate limit or for people. What it
	// had reserved is for others meanwhile.
	EventHeld Kind = "held"
	// EventEnded: a stage's loop has ended: Stop ("" = it was interrupted), Usage and
	// Iterations; Unverified of a single pass that nothing has checked.
	EventEnded Kind = "ended"
	// EventMerging: a task's branch is being merged. It is told twice: when that begins, and,
	// with the main branch's commit in From and the merge in To, right before the main branch
	// moves, so that a run which was killed in between can be finished.
	EventMerging Kind = "merging"
	// EventMerged: the task is on the main branch, and done.
	EventMerged Kind = "merged"
	// EventUnmerged: the task could not be merged. Text says why, and Conflicts are the
	// files that conflict.
	EventUnmerged Kind = "unmerged"
	// EventAltered: somebody else has changed the task's definition. Text says how.
	EventAltered Kind = "altered"
	// EventBroken: the task cannot be run as it is defined. Text says why.
	EventBroken Kind = "broken"
	// EventAdded has further parts in State, with their orders, which run too.
	EventAdded Kind = "added"
	// EventNoted has something for people in Text, and changes nothing.
	EventNoted Kind = "noted"
	// EventRules has other limits for the run in State.Rules.
	EventRules     Kind = "rules"
	EventPaused    Kind = "paused"    // nothing more begins, no iteration either
	EventContinued Kind = "continued" // the pause has ended
	// EventStopped: nothing more begins, for the reason in Stop; Text is for people.
	EventStopped Kind = "stopped"
)

// An Event is something that happened in a pipeline. The events of one, folded by
// [State.Apply], give its state. Which fields it has depends on its Kind; the others
// are zero.
type Event struct {
	Kind    Kind          `json:"kind"`
	Time    time.Time     `json:"time"`              // UTC
	Elapsed time.Duration `json:"elapsed,omitempty"` // of the run's wall clock, summed over resumes
	Task    string        `json:"task,omitempty"`
	Agent   string        `json:"agent,omitempty"`
	Loop    string        `json:"loop,omitempty"` // the name of the stage's loop

	Stop       ralph.StopReason `json:"stop,omitempty"`
	Unverified bool             `json:"unverified,omitempty"`
	Iterations int              `json:"iterations,omitempty"`
	// Usage is what a loop has used so far, or the verifications of a merge. Last is what the
	// loop's last iteration has used; nil = none has ended.
	Usage ralph.Usage `json:"usage,omitzero"`
	Last  *Amount     `json:"last,omitempty"`
	// Blind is why the cost of the loop's last answer in this run is not known, of a loop
	// that has ended or asks for its next iteration, see [ralph.State]; "" = it is known.
	Blind string `json:"blind,omitempty"`

	// From and To are commits, as git names them; of a stage that ended, To is what it was
	// verified with. Tree names the files that lay in the workspace then. Conflicts are
	// paths.
	From      string   `json:"from,omitempty"`
	To        string   `json:"to,omitempty"`
	Tree      string   `json:"tree,omitempty"`
	Conflicts []string `json:"conflicts,omitempty"`

	// Text is for people. Output are the last words of the agent of a loop that ended, at
	// most 4 KiB.
	Text   string `json:"text,omitempty"`
	Output string `json:"output,omitempty"`
	// State is shared by all who get the event, and not to be changed. Nil = none.
	State *State `json:"state,omitempty"`
}

// Next returns the state after an event. An event that was told already, that is not of
// a step which has begun, or that makes no sense, changes nothing. Neither does the
// beginning of a step when the pipeline has stopped or the task was altered meanwhile,
// see [State.Ready]. A stage that begins although it must not stops the pipeline with
// [ralph.StopInvalid]: two drivers are at work, or the record has a hole.
//
// A pipeline stops once, and the reason stays, with two exceptions: if all turns out to
// be done, that counts more; and a pipeline in which nothing more could begin goes on
// when tasks are added.
func (s State) Next(ev Event) State {
	if ev.Kind != EventStarted {
		s.Elapsed = max(s.Elapsed, ev.Elapsed)
	}
	switch ev.Kind {
	case EventStarted, EventAdded, EventRules:
		s = s.agree(ev)
	case EventPaused, EventContinued:
		s.Paused = ev.Kind == EventPaused
	case EventStopped:
		s = s.stop(ev.Stop, ev.Text)
	default:
		if part := s.Find(ev.Task); part >= 0 {
			s = s.next(part, ev)
		}
	}
	return s.settle().over()
}

// Apply is Next, for the fold of a record. There is no difference between what happens
// and what is read back, so a run that goes on decides as it would have.
func (s State) Apply(ev Event) State { return s.Next(ev) }

// agree takes over what an event's state says. New limits replace only the budget: who
// may work and in which order was agreed at the start.
func (s State) agree(ev Event) State {
	switch from := ev.State; {
	case from == nil:
	case ev.Kind == EventStarted:
		s = from.clone()
		s.Elapsed = max(s.Elapsed, ev.Elapsed)
	case ev.Kind == EventRules:
		s.Rules = s.Rules.with(from.Rules.limits())
	default:
		s = s.add(*from)
	}
	return s
}

// clone shares nothing with s that anybody writes to.
func (s State) clone() State {
	s.Parts, s.Stands, s.Running = slices.Clone(s.Parts), slices.Clone(s.Stands), slices.Clone(s.Running)
	return s
}

// add appends parts, which wait for others by the indices that they will have. Those of one
// event are added together or, if one of them cannot be, not at all: then their indices
// would be others.
func (s State) add(from State) State {
	n := len(s.Parts)
	to := s.clone()
	for i, p := range from.Parts {
		order := from.order(i)
		if to.Find(p.ID) >= 0 || sound(order) != nil || slices.ContainsFunc(p.After, func(i int) bool { return i < 0 || i >= n+len(from.Parts) }) {
			return s
		}
		p.Order = to.ordered(order)
		to.Parts, to.Stands = append(to.Parts, p), append(to.Stands, Stand{Again: s.Gone[p.ID]})
	}
	if circle(to.Parts, n) >= 0 {
		return s
	}
	if (s.Stop == ralph.StopVerified || s.Stop == ralph.StopStalled) && len(from.Parts) > 0 {
		to.Stop, to.Detail = "", ""
	}
	return to
}

// next is what an event about a task leads to.
//
// An event that does not fit the task's phase changes nothing: a worker that was given
// up may still report.
func (s State) next(part int, ev Event) State {
	now, run := s.stand(part), s.running(part)
	switch ev.Kind {
	case EventBegan:
		return s.begin(part, ev)
	case EventReserve, EventUsed, EventHeld, EventEnded:
		if run >= 0 && ev.Loop == s.Loop(part) {
			return s.told(part, run, ev)
		}
	case EventMerging:
		if now.Phase == PhaseReady && s.merge() == part {
			now.Phase = PhaseMerging
			return s.set(part, now)
		}
	case EventMerged, EventUnmerged:
		if now.Phase == PhaseMerging || now.Phase == PhaseReady {
			return s.merged(part, ev)
		}
	case EventAltered, EventBroken:
		if now.Phase == PhaseDone {
			return s
		}
		if now.Phase == PhaseInterrupted { // nobody works on it; else its agent still does
			s, now.Again = s.leave(run), now.Again+1
		}
		now.Phase = map[Kind]Phase{EventAltered: PhaseAltered, EventBroken: PhaseBroken}[ev.Kind]
		return s.set(part, now)
	}
	return s
}

// told is what an event about a task's loop leads to. A loop that has not begun again
// in this run can only tell what it has used: everything else would be of the run
// before.
func (s State) told(part, run int, ev Event) State {
	phase := s.phase(part)
	switch {
	case ev.Kind == EventUsed:
		return s.use(run, ev)
	case phase == PhaseInterrupted: // it has not begun again
	case ev.Kind == EventEnded:
		return s.end(part, run, ev).blind(ev)
	case ev.Kind == EventHeld:
		return s.use(run, ev)
	case phase == PhaseRunning:
		return s.use(run, ev).blind(ev).reserve(run)
	}
	return s
}

// begin has a stage begin, or go on.
//
// That a stage begins although it must not is the one thing that stops a pipeline as
// invalid: two drivers on one state would pay for everything twice, and merge over each
// other.
func (s State) begin(part int, ev Event) State {
	now, run := s.stand(part), s.running(part)
	agent, _ := s.Agent(part)
	switch {
	case now.Phase == PhaseRunning && ev.Loop == s.Loop(part):
		return s // told twice
	case s.Done() || now.Phase == PhaseAltered || now.Phase == PhaseBroken:
		return s // since it was ready
	case ev.Agent != agent || ev.Loop != s.Loop(part) || s.working() >= s.Rules.slots():
	case now.Phase == PhaseInterrupted && s.free(part):
		now.Phase = PhaseRunning
		return s.set(part, now)
	case run < 0 && now.Phase == PhaseOpen && s.free(part):
		now.Phase = PhaseRunning
		s = s.set(part, now)
		s.Running = append(slices.Clip(s.Running), Live{Part: part})
		return s
	}
	return s.stop(ralph.StopInvalid, fmt.Sprintf("%s of %s has begun, but must not: two drivers are at work, or the record has a hole", ev.Agent, ev.Task))
}

// end is how a stage's loop has ended.
//
// Only a failure of this task is held against it. A rate limit and an error that no
// retry can help are not about the task, and stop the run: the next task would meet the
// same.
func (s State) end(part, run int, ev Event) State {
	s = s.use(run, ev)
	now := s.stand(part)
	agent, _ := s.Agent(part)
	bit := uint64(1) << max(slices.Index(s.order(part), agent), 0)
	switch reason := ev.Stop; {
	case now.Phase != PhaseRunning: // altered meanwhile
		now.Again++
		return s.leave(run).set(part, now)
	case reason == ralph.StopVerified:
		now.Verified |= bit
		now.Phase = s.passed(part, now)
		return s.leave(run).set(part, now)
	case ev.Unverified:
		now.Passed |= bit
		now.Phase = s.passed(part, now)
		return s.leave(run).set(part, now)
	case reason == "" || s.Rules.bound(reason):
		now.Phase = PhaseInterrupted // by somebody, or by what it was granted of the budget
		return s.set(part, now)
	case reason == ralph.StopRateLimited:
		now.Phase = PhaseInterrupted
		return s.set(part, now).stop(reason, ev.Task+": "+ev.Text)
	case reason == ralph.StopFailed: // retrying cannot help, whatever the task
		now.Phase, now.Again = PhaseFailed, now.Again+1
		return s.leave(run).set(part, now).stop(reason, ev.Task+": "+ev.Text)
	case reason == ralph.StopInvalid:
		now.Phase, now.Again = PhaseBroken, now.Again+1
		return s.leave(run).set(part, now)
	case reason == ralph.StopCancelled || !s.back(part, agent, &now):
		now.Phase, now.Again = PhaseFailed, now.Again+1
	}
	return s.leave(run).set(part, now)
}

// back sends a task back to an earlier agent, if that is agreed and it was not sent
// back too often. The stages between the two have to pass anew, for what they have
// verified is going to change.
func (s State) back(part int, agent string, now *Stand) bool {
	b, agreed := s.Rules.Back[agent]
	order := s.order(part)
	to := slices.Index(order, b.To)
	if !agreed || to < 0 || to >= slices.Index(order, agent) || now.Rounds >= b.rounds() {
		return false
	}
	before := uint64(1)<<to - 1
	now.Phase, now.Verified, now.Passed = PhaseOpen, now.Verified&before, now.Passed&before
	now.Rounds, now.Again = now.Rounds+1, now.Again+1
	return true
}

// passed is the phase that follows when a stage is over. A task that nothing has
// verified is not done, unless the rules say that this is meant.
func (s State) passed(part int, now Stand) Phase {
	_, more := left(s.order(part), now.over())
	switch {
	case more:
		return PhaseOpen
	case now.Verified == 0 && !s.Rules.Unverified:
		return PhaseUnverified
	case s.Rules.Merge:
		return PhaseReady
	}
	return PhaseDone
}

// merged is what follows when a task was merged, or could not be.
//
// A conflict is the task's own only if it may be repaired: its first agent then gets it
// as a further round, and its stages pass anew from there.
func (s State) merged(part int, ev Event) State {
	s.Settled = s.Settled.Add(ev.Usage)
	if used := (ralph.Usage{}).Add(ev.Usage); used.CostUSD == nil && used != (ralph.Usage{}) {
		ev.Blind = "what the verification of the merge cost is not known"
	}
	s = s.blind(ev)
	now := s.stand(part)
	switch {
	case ev.Kind == EventMerged:
		now.Phase = PhaseDone
	case len(ev.Conflicts) > 0 && s.Rules.Repair && now.Rounds < Back{}.rounds():
		now.Phase, now.Rounds, now.Again = PhaseOpen, now.Rounds+1, now.Again+1
		now.Verified, now.Passed = now.Verified&^1, now.Passed&^1
	default:
		now.Phase = PhaseUnmerged
	}
	return s.set(part, now)
}

// set replaces the stand of a task in a copy: states that others hold do not change.
func (s State) set(part int, now Stand) State {
	if part < len(s.Stands) {
		s.Stands = slices.Clone(s.Stands)
		s.Stands[part] = now
	}
	return s
}

// leave takes a loop that is over out of those that run, -1 = none. What it has used
// stays counted.
func (s State) leave(run int) State {
	if run >= 0 {
		s.Settled = s.Settled.Add(s.Running[run].Used)
		s.Running = slices.Delete(slices.Clone(s.Running), run, run+1)
	}
	return s
}

// stop stops the pipeline. That all is done nobody can say but settle. The first reason
// stays: what follows from it would hide it.
func (s State) stop(reason ralph.StopReason, detail string) State {
	if s.Stop == "" && reason != "" && reason != ralph.StopVerified {
		s.Stop, s.Detail = reason, cut(detail, 1<<10)
	}
	return s
}

// settle stops the pipeline when nothing runs and nothing can begin. That all is done
// counts more than what has stopped it. It is asked after every event, so that no
// driver can forget to ask.
func (s State) settle() State {
	switch {
	case s.V == 0 && len(s.Parts) == 0: // not started
	case s.working() > 0 || s.Stop == ralph.StopCancelled || s.Stop == ralph.StopInvalid:
	case !s.remains():
		s.Stop, s.Detail = ralph.StopVerified, ""
	case !s.Done() && !s.Paused && s.merging() < 0 && s.merge() < 0 && len(s.begins(1)) == 0:
		return s.stop(ralph.StopStalled, fmt.Sprintf("%d of %d tasks remain", s.Remaining(), len(s.Parts)))
	}
	return s
}

// loops reports whether what an event tells is on the record of the stage's loop
// itself. Recorded here too, the same figures would stand in two places, and could
// differ after a crash.
func (ev Event) loops() bool {
	return ev.Kind == EventReserve || ev.Kind == EventUsed || ev.Kind == EventHeld
}
