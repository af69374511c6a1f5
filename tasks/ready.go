package tasks

import "slices"

// Ready returns the definitions that can be worked on now: those that are to be
// done or were begun, and whose dependencies are done, by priority (lower first;
// 0, which is none, last) and else in the order of the file.
func (f *File) Ready() []Definition {
	done := map[string]bool{}
	for _, u := range f.units {
		if u.def.Status == StatusDone {
			done[u.def.ID] = true
		}
	}
	var ready []Definition
	for _, u := range f.units {
		open := u.def.Status.Effective() == StatusTodo || u.def.Status == StatusRunning
		waits := slices.ContainsFunc(u.def.Dependencies, func(id string) bool { return !done[id] })
		if open && !waits {
			ready = append(ready, u.def)
		}
	}
	slices.SortStableFunc(ready, func(a, b Definition) int { return urgency(a) - urgency(b) })
	return ready
}

func urgency(d Definition) int {
	if d.Priority <= 0 {
		return 1 << 30
	}
	return min(d.Priority, 1<<30-1)
}
