package pipeline

import (
	"fmt"
	"slices"

	"github.com/ralph-loop/ralph"
)

// Next returns the state after an event. It never fails: an event that was just told,
// that is not of a step that has begun, or that makes no sense, changes nothing.
// Neither does a step that begins when the pipeline has stopped or its task was
// altered: that happens to drivers which do several things at a time, see
// [State.Ready].
//
// A stage that begins although it must not stops the pipeline with [ralph.StopInvalid]:
// two drivers are at work, or the record has a hole, and going on would do work twice.
//
// A pipeline stops once, and the reason stays, with two exceptions: if all tasks are
// done in the end, that becomes the reason, and a pipeline in which nothing more
// could begin goes on when tasks are added.
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

// Apply is Next, for the fold of a record. There is one function for what happens and
// for what has happened, so a resume cannot decide otherwise than the run did.
func (s State) Apply(ev Event) State { return s.Next(ev) }

// agree takes over what an event's state says. Of rules only the budget: the order of
// work was agreed, and cannot become another one while it is under way.
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

// clone shares nothing with s that anybody writes to. Orders and maps are never written
// to in place, so they are shared.
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

// next is what an event about a task leads to. An event of a loop counts only if it has
// the name of the loop that runs: after a rejection the end of the one before may still
// come.
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

// told is what an event about a task's loop leads to. Of a loop that was interrupted
// and has not begun again only the figures count: the rest is of before the
// interruption.
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

// begin has a stage begin, or go on. It is one of the few places that can tell a driver
// that it is not alone, since nothing else would begin the same stage twice.
func (s State) begin(part int, ev Event) State {
	now, run := s.stand(part), s.running(part)
	agent, _ := s.Agent(part)
	switch {
	// A driver that was killed between telling and doing tells again.
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

// end is how a stage's loop has ended. What it has used counts in any case. An
// interrupted loop stays in Running, to go on; every other end leaves it, and the stage
// is over, goes back, or has failed.
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
	// Other tasks would meet the same limit, so the run stops and this loop keeps its
	// place.
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
// back too often. That agent's stage and those after it are to be done again: what they
// have verified was other work.
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

// passed is the phase that follows when a stage is over. A task of which nothing was
// verified is not done, whatever its agents say, unless the rules allow it.
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

// merged is what follows when a task was merged, or could not be. A conflict may be the
// first agent's to mend, as one more round; then what it had verified has to be
// verified with the other side's changes.
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

// set writes to a copy: states are values, and others may hold this one.
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

// stop stops the pipeline, if nothing has before. That all is done nobody can say but
// settle, which counts the tasks; an event that claims it changes nothing.
func (s State) stop(reason ralph.StopReason, detail string) State {
	if s.Stop == "" && reason != "" && reason != ralph.StopVerified {
		s.Stop, s.Detail = reason, cut(detail, 1<<10)
	}
	return s
}

// settle stops the pipeline when nothing runs and nothing can begin. That all is done
// counts more than what has stopped it: a budget that was spent by the last verified
// task is no reason to call the run a failure.
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
