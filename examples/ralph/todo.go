package main

import (
	"slices"

	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// toBranch checks out the branch of the tasks before they are read, which are those that
// it has; where nothing is to be done nothing is checked out.
func (r *piped) toBranch() error {
	if r.p.Branch == "" {
		return nil
	}
	defs, err := r.p.OnBranch(r.ctx)
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	if len(defs) > 0 && !slices.ContainsFunc(defs, isToDo) && !r.unfinished() {
		return r.nothing(defs)
	}
	return wrong(r.p.Switch(r.ctx))
}

// reopen says, for each kind of file, how a task is opened again.
var reopen = map[tasks.Kind]string{
	tasks.KindDefinitions: "set the status of those that are to run again to todo",
	tasks.KindList:        `untick the boxes of those that are to run again: "[x]" becomes "[ ]"`,
	tasks.KindPRD:         `set "passes" of those that are to run again to false, or what says instead that they are done`,
	tasks.KindTaskmaster:  "set the status of those that are to run again to pending",
	tasks.KindBacklog:     "set the status of those that are to run again to To Do",
}

// nothing is the error of a file in which there is nothing to do.
func (r *piped) nothing(defs []spec.Definition) error {
	all := "all done"
	if slices.ContainsFunc(defs, func(d spec.Definition) bool { return d.Status.Effective() != spec.StatusDone }) {
		all = counts(defs)
	}
	return fail(exitConfig, "%s: there is nothing to do: %s, %s; %s", r.file, plural(len(defs), "task"), all, reopen[r.kind])
}

// isToDo reports whether the file has somebody do a task.
func isToDo(d spec.Definition) bool {
	s := d.Status.Effective()
	return s != spec.StatusDone && s != spec.StatusSkipped
}

// saySlots tells that more slots do nothing for a file whose tasks come one after the other.
func (r *piped) saySlots() {
	if r.slots < 2 || sideBySide(r.kind, r.items) {
		return
	}
	which := "the stories of a prd.json come one after the other"
	if r.kind == tasks.KindList {
		which = "the tasks of this list come one after the other: those may run side by side that are marked [P] and stand together"
	}
	r.say("%s: --slots %d has no effect: %s", r.file, r.slots, which)
}

// sideBySide reports whether tasks may be worked on at the same time, as far as the kind of
// the file says.
func sideBySide(kind tasks.Kind, items []tasks.Item) bool {
	if kind != tasks.KindList && kind != tasks.KindPRD {
		return true
	}
	items = tasks.InOrder(items)
	for i, it := range items {
		if i > 0 && it.Parallel && items[i-1].Parallel && it.Phase == items[i-1].Phase && !it.Done && !items[i-1].Done {
			return true
		}
	}
	return false
}
