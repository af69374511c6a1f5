package spec

import (
	"slices"

	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/internal/status"
)

// Status says how far a task is. Other values than the constants are kept as they are:
// people and other programs write "Completed" or "in-progress", and expect to find
// their word again. [Status.Effective] says what they are taken for, and is what a
// status is to be compared by. The zero value, "", is taken for StatusTodo.
type Status string

const (
	// StatusTodo and StatusRunning are the two that are worked on. A task that is
	// running while nobody works on it is left from a run that was killed.
	StatusTodo    Status = "todo"
	StatusRunning Status = "running"
	StatusDone    Status = "done"
	// StatusFailed waits for a person: no run takes the task again by itself.
	StatusFailed Status = "failed"
	// StatusSkipped is not run, and neither is what depends on it.
	StatusSkipped Status = "skipped"
)

// Known says whether s is one of the constants, in just this spelling.
func (s Status) Known() bool { return slices.Contains(known(), s) }

// known is in the order in which messages list them, which is that of package status.
// There is no "blocked": what a task waits for, its dependencies say.
func known() []Status {
	return []Status{StatusTodo, StatusRunning, StatusDone, StatusFailed, StatusSkipped}
}

// Effective is s if it is known, else what its word means to those who write it:
// "Completed" is StatusDone, "in review" is StatusRunning, "cancelled" and "deferred"
// are StatusSkipped. Upper and lower case, blanks and punctuation do not matter.
//
// A word that nobody knows is StatusTodo, and [File.Warnings] says so: a task that is
// done once too often is noticed, one that is left out may not be. "blocked" is
// StatusTodo for the same reason. If another task is in the way, the dependencies say
// so.
func (s Status) Effective() Status {
	if s.Known() {
		return s
	}
	means, _ := status.Of(string(s))
	return known()[means]
}

// foreignStatus warns of a status that is none of the constants, and says what it is taken
// for: by it a task is run again, or left.
func (r *reader) foreignStatus(n *doc.Node, s Status) {
	if s == "" || s.Known() {
		return
	}
	how, end := "is", ""
	for i, one := range known() {
		end += []string{"; known are ", ", "}[min(i, 1)] + string(one)
	}
	if _, told := status.Of(string(s)); !told {
		how = "is not known and"
		if near := status.Nearest(string(s)); near != "" {
			end = "; did you mean " + doc.Quote(string(Status(near).Effective())) + "?"
		}
	}
	r.warn(n.Get("status"), "the status %s %s taken as %s%s", doc.Quote(string(s)), how, s.Effective(), end)
}
