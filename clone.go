package ralph

import (
	"maps"
	"reflect"
	"slices"
)

// clone returns a state that shares nothing with s. A caller that changes a map of a
// state which it has handed over would otherwise change the record of a loop that runs.
func (s State) clone() State {
	s.Task, s.Verdict = s.Task.clone(), s.Verdict.clone()
	s.Usage.CostUSD, s.Verifying.CostUSD, s.LastCost = clonePointer(s.Usage.CostUSD), clonePointer(s.Verifying.CostUSD), clonePointer(s.LastCost)
	s.Spent, s.Partial = clonePointer(s.Spent), clonePointer(s.Partial)
	if s.Settled != nil {
		s.Settled = new(Usage{}.Add(*s.Settled))
	}
	s.Guidance, s.Lessons, s.Files, s.Ended = slices.Clone(s.Guidance), slices.Clone(s.Lessons), slices.Clone(s.Files), slices.Clone(s.Ended)
	return s
}

// clone returns a task that shares nothing with t.
func (t Task) clone() Task {
	t.Acceptance, t.Spec, t.Guarded = slices.Clone(t.Acceptance), slices.Clone(t.Spec), maps.Clone(t.Guarded)
	return t
}

// clone returns an iteration that shares nothing with it.
func (it Iteration) clone() Iteration {
	it.Verdict, it.Usage.CostUSD = it.Verdict.clone(), clonePointer(it.Usage.CostUSD)
	it.Files, it.Learnings, it.Ended = slices.Clone(it.Files), slices.Clone(it.Learnings), slices.Clone(it.Ended)
	return it
}

// clone returns a verdict that shares nothing with v.
func (v Verdict) clone() Verdict {
	v.Checks, v.Usage.CostUSD = slices.Clone(v.Checks), clonePointer(v.Usage.CostUSD)
	for i := range v.Checks {
		v.Checks[i].ExitCode = clonePointer(v.Checks[i].ExitCode)
	}
	return v
}

// clonePointer copies what a pointer points to. Costs and exit codes are pointers only
// because they can be unknown.
func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// replaced returns the state that an event holds, which may leave out the task. What is
// over stays so. A task is large and does not change, so a session's events leave it
// out.
func (s State) replaced(from State) State {
	if s.over() {
		return s
	}
	task := s.Task
	if s = from.clone(); reflect.ValueOf(from.Task).IsZero() {
		s.Task = task
	}
	return s
}
