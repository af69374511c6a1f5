package pipeline

import (
	"context"
	"maps"
	"strings"

	"github.com/ralph-loop/ralph"
)

// pin has the tasks agree now to what lies outside the workspace and decides whether
// they are done: programs, what tools read from the home folder, exams. An agent of
// another task could change it before their turn comes. What lies in the workspace they
// agree to when they begin, for tasks before them work on it, and are meant to.
//
// What cannot be found out now is no error here: the loop prepares its task once more
// when it begins, and tells it then.
func (a *Agreed) pin(ctx context.Context) {
	v, ok := a.verifier.(preparer)
	if !ok {
		return
	}
	known := map[string]map[string]string{} // by what is verified: many tasks have the same checks
	for _, t := range a.Tasks {
		for i, task := range t.Stages {
			found, done := known[string(task.Spec)]
			if !done {
				if prepared, err := v.Prepare(ctx, task); err == nil {
					found = outside(prepared.Guarded)
				}
				known[string(task.Spec)] = found
			}
			t.Stages[i].Guarded = maps.Clone(found)
		}
	}
}

// outside are those of guarded things that lie outside the workspace: programs and
// settings of the machine, and exams, which have their own kind of key.
func outside(guarded map[string]string) map[string]string {
	out := map[string]string{}
	for key, sum := range guarded {
		if ralph.OfMachine(key) || strings.HasPrefix(key, "//exam/") {
			out[key] = sum
		}
	}
	return out
}
