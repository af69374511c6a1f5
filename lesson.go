package ralph

import "cmp"

// A Lesson is what can be learned from earlier loops for one that begins: other limits,
// and reasons for which claims were rejected. Package progress makes it of the loops on
// record. It changes nothing by itself: [Local] records it as [EventLearned], and a
// driver of your own does so with [Lesson.Event].
type Lesson struct {
	// Limits replace the task's, all of them: to change some, begin with State.Task.Limits,
	// for a CostUSD of 0 is no limit. The zero value leaves them as they are.
	Limits Limits
	// Rejections are the most frequent reasons for which claims were rejected. They
	// are quoted in the prompts until an iteration is complete; at most 2 KiB of them,
	// the first ones. They may hold what agents' programs have printed.
	Rejections []string
	// Why says for people what was learned, from what, and what it changes. "" = nothing
	// was learned, and nothing is recorded.
	Why string
}

// Event returns the event by which a state takes the lesson over.
func (l Lesson) Event(s State) Event {
	limits := cmp.Or(l.Limits, s.Task.Limits)
	return Event{Kind: EventLearned, Text: clip(l.Why, maxDetail), State: &State{Task: Task{Limits: limits}, Lessons: boundedLessons(l.Rejections)}}
}
