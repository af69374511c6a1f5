// Package spec holds what is agreed on before a loop starts: what done means and
// how it is checked, read from YAML or JSON.
//
// A [File] holds definitions. A [Definition] is a task with its [Completion]: the
// outcome, the acceptance criteria, and for each agent that works on it the
// [Criteria]: the promise, and the verification method with its configuration.
// [Definition.Task] makes of it what a loop runs, and one verifier serves every
// task of every file:
//
//	file, err := spec.Load("tasks.yaml")
//	verifier := spec.Verifier(spec.Env{Dir: "."})
//	for _, def := range file.Ready() {
//		task, err := def.Task("coder")
//		err = verifier.Validate(task)           // what cannot be built is found now
//		task, err = verifier.Prepare(ctx, task) // files that must not change
//		…                                       // run the loop
//		err = file.SetStatus(def.ID, spec.StatusDone)
//	}
//
// The [Methods] of verification are a table; programs add their own. A [Config]
// holds the defaults of a project.
//
// Mistakes are [*Problem] values, each with its place; unknown keys and methods
// are mistakes. Nothing here logs, and nothing is cached.
package spec
