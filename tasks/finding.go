package tasks

// A Finding is what a source makes of one box of a list, or one story, task or file of
// its kind: a task, or why it is none. The Check method of [ListFile], [PRDFile],
// [TaskmasterFile] and [Backlog] returns one for each, in the order of the file, so that
// nothing is left out in silence.
type Finding struct {
	// Item is what was read of it. Key, Text and Line are given as far as there are any.
	Item Item
	// Why says why it is no task, or when; "" = it is one.
	Why Why
	// Detail says more in half a sentence, for people: "below T004", "the heading is
	// \"Definition of done\"". It may be empty.
	Detail string
}

// Task reports whether it is a task: one that waits is.
func (f Finding) Task() bool { return f.Why == "" || f.Why == WhyWaits }

// A Why says why a box or a story is no task.
type Why string

const (
	WhyNoID      Why = "no_id"     // it has no ID, and others have
	WhyPart      Why = "part"      // it has no ID and stands below a task, whose part it is
	WhyCriterion Why = "criterion" // it says how work is judged, as under "Definition of done"
	WhyOptional  Why = "optional"  // it is marked as optional
	WhyNoBox     Why = "no_box"    // it is nearly a box, but no program renders it as one
	WhySkipped   Why = "skipped"   // its status or its strike-through says that nobody is to do it
	WhyWaits     Why = "waits"     // it is a task, but not before others, which are not done
	WhyNoFront   Why = "no_front"  // a file of a folder of tasks that has no front matter
)
