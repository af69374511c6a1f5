package tasks

// A Finding is what a source makes of one box of a list, or one story, task or file of
// its kind: a task, or why it is none. The Check method of [ListFile], [PRDFile],
// [TaskmasterFile] and [Backlog] returns one for each, in the order of the file, so
// that nothing is left out in silence: a box that no loop works on looks to its author
// like one that was forgotten.
type Finding struct {
	// Item is what was read of it. Key, Text and Line are given as far as there are any.
	Item Item
	// Why says why it is no task, or, with [WhyWaits], why it is not its turn; "" = it
	// is a task that can be worked on.
	Why Why
	// Detail says more in half a sentence, for people: "below T004", "the heading is
	// \"Definition of done\"". It may be empty, and its words may change: programs
	// switch on Why.
	Detail string
}

// Task reports whether the finding is a task, be it one that waits for others.
func (f Finding) Task() bool { return f.Why == "" || f.Why == WhyWaits }

// A Why says why a box or a story is no task. Its text is written as JSON and is
// stable. There may be more of them in later versions; what is neither "" nor
// [WhyWaits] is no task.
type Why string

const (
	// It has no ID, and other boxes have. Lists use such boxes for notes and for steps
	// of a task; see [ListFile.AllBoxes].
	WhyNoID Why = "no_id"
	// It has no ID and stands below a task, of which it is a step.
	WhyPart Why = "part"
	// It says how work is judged, as under "Definition of done". A loop that waits for
	// it to be ticked may never end; see [ListFile.Criteria].
	WhyCriterion Why = "criterion"
	// It is marked as optional; see [ListFile.Optional].
	WhyOptional Why = "optional"
	// It is nearly a box, such as "-[ ] text", but no program renders it as one, so its
	// author would never see it ticked.
	WhyNoBox Why = "no_box"
	// Its status or its strike-through says that nobody is to do it.
	WhySkipped Why = "skipped"
	// It is a task, but other items, which are not done, come before it; see [Waits].
	WhyWaits Why = "waits"
	// It is a file of a folder of tasks that has no front matter.
	WhyNoFront Why = "no_front"
)
