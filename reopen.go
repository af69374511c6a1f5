package ralph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Reopen lets a loop that has stopped go on, at NextIteration and NextAttempt: one
// that failed, was blocked or stalled, for which Failures, Stalled, Blocked and Retries
// count anew, and one that a limit has stopped which is no longer reached. If a limit
// forbids the next attempt, the loop stays stopped, by that limit, until
// [State.Limit] raises it. A loop that was verified, cancelled or not valid stays as
// it is, and so does one that goes on.
//
// What is spent stays spent: a loop that goes on does so within the same limits.
func (s State) Reopen() State {
	gaveUp := s.Stop == StopFailed || s.Stop == StopBlocked || s.Stop == StopStalled
	if !gaveUp && !s.Stop.isLimit() || !s.resumable() {
		return s
	}
	if gaveUp {
		s.Failures, s.Stalled, s.Retries, s.Blocked = 0, 0, 0, 0
	}
	n := s
	n.Blind = "" // its next answer may tell what it costs
	if n = n.goOn(); n.Done() {
		n.Blind = s.Blind
	}
	return n
}

// Limit replaces the limits. If the new ones are reached already, also by a wait
// that has begun, the loop stops, after the attempt that is running. A loop that a
// limit has stopped goes on, as by [State.Reopen], if no limit is reached any more.
// One that failed, was blocked or stalled takes the limits and stays stopped; one
// that was verified, cancelled or not valid stays as it is. Limits that are not
// valid change nothing; call [Limits.Validate] first.
func (s State) Limit(l Limits) State {
	if s.over() || l.Validate() != nil {
		return s
	}
	if s.Task.Limits != l {
		s.Task.Limits, s.Blind, s.Asked = l, "", 0 // its next answer may tell what it costs
	}
	switch {
	case s.Stop.isLimit() && s.resumable():
		return s.goOn()
	case s.Done() || s.Running:
		return s
	}
	reason, detail := s.barred()
	if reason == "" {
		return s
	}
	stopped := s.stop(reason, detail).before(s.Iteration, s.Attempt)
	stopped.Wait, stopped.Unwaited = s.Wait, s.Unwaited
	if s.Attempt == 1 && s.Iteration > 1 {
		stopped.Iteration-- // the last one that ran
	}
	return stopped
}

// Guide adds advice from a person to the next prompt. Advice that comes while
// an attempt runs waits for the one after it. Blank text changes nothing; at
// most 6 KiB are kept, the newest.
func (s State) Guide(text string) State {
	text = bound(strings.TrimSpace(text), maxGuidance)
	if text == "" || s.Done() {
		return s
	}
	s.Guidance = boundedGuidance(append(slices.Clone(s.Guidance), text))
	if s.Running {
		s.Late++
	}
	s.Late = min(s.Late, len(s.Guidance))
	return s
}

// Pause pauses the loop before its next attempt, or lets it go on. An attempt that runs
// comes to its end, for half an answer is of no use. A loop that has stopped stays as
// it is.
func (s State) Pause(paused bool) State {
	if !s.Done() {
		s.Paused = paused
	}
	return s
}

// Cancel stops the loop with [StopCancelled]. Cancelling twice is harmless. If an
// attempt is running, Next still counts what it spent. It is for good, unlike a limit:
// [State.Reopen] leaves a cancelled loop alone, so that no process that has not heard
// of it brings it back.
func (s State) Cancel(reason string) State {
	if s.Done() {
		return s
	}
	s.Uncounted = true
	return s.stop(StopCancelled, reason)
}

// Finish ends the loop after the iteration that has begun: it lowers
// [Limits.Iterations] to that one, so that a loop between two iterations stops at
// once, and one that has not begun after its first. [State.Limit] with more of them
// lets the loop go on. A loop that has stopped stays as it is.
func (s State) Finish() State {
	if s.Done() {
		return s
	}
	l := s.Task.Limits
	l.Iterations = s.Iteration
	if !s.Running && s.Attempt == 1 {
		l.Iterations = max(s.Iteration-1, 1)
	}
	return s.finish(l, cmp.Or(s.Asked, s.Task.Limits.iterations()))
}

// finish takes limits that end the loop because somebody has asked for that, where so
// many iterations were allowed before; 0 = nobody has asked.
func (s State) finish(l Limits, allowed int) State {
	n := s.Limit(l)
	if n.Task.Limits == l {
		n.Asked = allowed
	}
	return n
}

// over reports whether the loop has stopped for good.
func (s State) over() bool {
	return s.Stop == StopVerified || s.Stop == StopCancelled || s.Stop == StopInvalid
}

// isLimit reports whether r is a limit that, raised, lets a loop go on.
func (r StopReason) isLimit() bool {
	return slices.Contains([]StopReason{StopIterations, StopDuration, StopCost, StopTokens, StopRateLimited}, r)
}

// before says which attempt a loop has stopped before.
func (s State) before(iteration, attempt int) State {
	s.NextIteration, s.NextAttempt = iteration, attempt
	return s
}

// resumable reports whether it is known where the loop would go on: not before
// where it stopped, whatever a log says.
func (s State) resumable() bool {
	order := cmp.Or(cmp.Compare(s.NextIteration, s.Iteration), cmp.Compare(s.NextAttempt, s.Attempt))
	return s.Done() && !s.Running && order >= 0 && s.NextIteration > 0 && s.NextAttempt > 0
}

// goOn returns the loop as it goes on, or stopped by the limit that forbids that.
func (s State) goOn() State {
	n := s.before(0, 0)
	n.Iteration, n.Attempt = s.NextIteration, s.NextAttempt
	n.Stop, n.Detail = "", ""
	n.Late = 0                          // its prompt will quote all there is
	n.Wait = cmp.Or(s.Wait, s.Unwaited) // of a wait that was too long nothing was counted
	if reason, detail := n.barred(); reason != "" {
		s.Stop, s.Detail = reason, bound(detail, maxDetail)
		return s
	}
	return n
}

// barred reports the limit that forbids the next attempt, or the wait for it.
func (s State) barred() (StopReason, string) {
	reason, detail := s.reached()
	waited, most := addSat(s.Waited, s.Unwaited), s.Task.Limits.wait()
	if reason == "" && s.Wait > 0 && s.RateLimits > 0 && most >= 0 && waited > most {
		return StopRateLimited, fmt.Sprintf("waiting for %v of %v", waited, most)
	}
	return reason, detail
}

// Changes returns the events that turn s into to, in the order in which they are to be
// recorded, where to was made of s by [State.Guide], [State.Limit], [State.Pause],
// [State.Cancel] and [State.Reopen], in any combination. It is for drivers that let
// somebody else change the state: what they record is what Apply makes of it.
//
// Any other change is told by no event, and neither is a change that a later one has
// undone. So a driver that does not know how the new state was made applies the
// events to s, and compares the result with that state.
func (s State) Changes(to State) []Event {
	var events []Event
	add := func(ev Event) { events, s = append(events, ev), s.Apply(ev) }
	limit := func() {
		if s.Task.Limits != to.Task.Limits || s.Asked != to.Asked {
			add(Event{Kind: EventLimitsChanged, State: &State{Task: Task{Limits: to.Task.Limits}, Asked: to.Asked}})
		}
	}
	if s.Done() {
		limit() // before the others, for it may reopen the loop
		if s.Done() && (s.Stop != to.Stop || s.Detail != to.Detail) {
			add(Event{Kind: EventReopened})
		}
	}
	if !slices.Equal(s.Guidance, to.Guidance) || s.Late != to.Late {
		add(Event{Kind: EventGuided, State: &State{Guidance: slices.Clone(to.Guidance), Late: to.Late}})
	}
	if s.Paused != to.Paused {
		kind := EventContinued
		if to.Paused {
			kind = EventPaused
		}
		add(Event{Kind: kind})
	}
	limit() // after the others, for it may stop the loop
	if to.Stop == StopCancelled && s.Stop != StopCancelled {
		add(Event{Kind: EventCancelled, Text: to.Detail})
	}
	return events
}
