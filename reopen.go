package ralph

import "slices"

// Changes returns the events that make to of s, in the order in which they are to
// be recorded, where to came of s by [State.Guide], [State.Limit], [State.Pause],
// [State.Cancel] and [State.Reopen], in any combination. It is for drivers that let
// somebody else change the state: what they record is what Apply makes of it.
//
// What else was changed is told by no event, and neither is what the last of
// several changes has hidden. So a driver that does not know how to came about
// applies the events and compares.
func (s State) Changes(to State) []Event {
	var events []Event
	add := func(ev Event) { events, s = append(events, ev), s.Apply(ev) }
	limit := func() {
		if s.Task.Limits != to.Task.Limits {
			add(Event{Kind: EventLimitsChanged, State: &State{Task: Task{Limits: to.Task.Limits}}})
		}
	}
	if s.Done() {
		limit() // first, for it may reopen the loop
		if s.Done() && s.Stop != to.Stop {
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
	if to.Stop == StopCancelled && s.Stop != StopCancelled {
		add(Event{Kind: EventCancelled, Text: to.Detail})
	}
	limit() // last, for it may stop the loop
	return events
}

// Reopen lets a loop that has stopped go on.
func (s State) Reopen() State { return s }
