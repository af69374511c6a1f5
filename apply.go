package ralph

import (
	"slices"
)

// Apply returns the state after an event: the fold of a loop's events is its
// state. Kinds it does not know change nothing, and neither does what makes no
// sense: Apply of an edited log gives a wrong state, which drivers refuse. The
// state shares nothing with the event.
//
// It does not check what it is given, for a fold that stops in the middle would hide
// all that came after. Drivers ask the result: [Local.Run] refuses a state that makes
// no sense.
func (s State) Apply(ev Event) State {
	switch ev.Kind {
	case EventIterationStarted:
		if !s.Done() && s.expects(ev.Iteration) {
			s.Running, s.Mark = true, recorded(ev.Meta)
		}
	case EventRunning, EventAnswered:
		if s.Running && s.expects(ev.Iteration) {
			return s.tell(ev.Iteration)
		}
	case EventIterationEnded:
		if ev.State == nil {
			return s.Next(ev.Iteration)
		}
	case EventPaused, EventContinued:
		return s.Pause(ev.Kind == EventPaused)
	case EventCancelled:
		return s.Cancel(ev.Text)
	case EventReopened:
		return s.Reopen()
	case EventGuided:
		if ev.State == nil {
			return s.Guide(ev.Text)
		}
	}
	if ev.State != nil {
		return s.take(ev.Kind, *ev.State)
	}
	return s
}

// expects reports whether it is of the attempt that is next, or runs.
func (s State) expects(it Iteration) bool {
	return it.Number == s.Iteration && it.Attempt == s.Attempt
}

// take takes over what an event's state says.
//
// Each kind takes over only the fields that it is about. A log that strangers can
// append to could otherwise change the task, or its verdict, by an event that is about
// something else.
func (s State) take(kind EventKind, from State) State {
	switch {
	case kind == EventWaiting: // also of a loop that was stopped while it waited
		s.Elapsed, s.Waited, s.Unwaited = from.Elapsed, from.Waited, from.Unwaited
	case kind == EventLimitsChanged: // also of a loop that has stopped
		return s.finish(from.Task.Limits, from.Asked)
	case kind == EventHook || kind == EventIterationEnded:
		return s.replaced(from)
	case s.Done():
	case kind == EventLoopStarted:
		return from.clone()
	case kind == EventLearned:
		s.Lessons = boundedLessons(from.Lessons)
		return s.Limit(from.Task.Limits)
	case kind == EventGuided:
		s.Guidance, s.Late = slices.Clone(from.Guidance), min(max(s.Late, from.Late), len(from.Guidance))
	case kind == EventLoopStopped && from.Done():
		return s.stop(from.Stop, from.Detail).before(from.NextIteration, from.NextAttempt) // only a log written by another version can say more than the fold
	}
	return s
}
