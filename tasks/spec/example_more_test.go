package spec_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/ralph-loop/ralph/tasks/spec"
)

// A status is set in a file that people write, and nothing else in it changes. A program
// that has read the file before somebody else wrote it does not undo that.
func ExampleFile_Save() {
	dir, err := os.MkdirTemp("", "ralph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tasks.yaml")
	if err := spec.Create(path, []byte("# Ours\n- {id: T1, title: Log in}\n")); err != nil {
		fmt.Println(err)
		return
	}
	first, err := spec.Load(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := spec.Load(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(first.SetStatus("T1", spec.StatusDone), first.Save())
	fmt.Println(second.SetStatus("T1", spec.StatusFailed), errors.Is(second.Save(), spec.ErrChanged))
	text, err := os.ReadFile(path)
	fmt.Print(string(text), err)
	// Output:
	// <nil> <nil>
	// <nil> true
	// # Ours
	// - {id: T1, status: done, title: Log in}
	// <nil>
}

// A form that shows a file's mistakes beside its lines.
func ExampleProblem() {
	_, err := spec.Parse("auth.yaml", []byte("id: T1\ntitle: Log in\npriority: high\n"))
	if p, ok := errors.AsType[*spec.Problem](err); ok {
		fmt.Printf("line %d, column %d, task %s\n", p.Line, p.Column, p.Task)
	}
	// Output: line 3, column 11, task T1
}

// People write their own words for how far a task is. Compare what they mean.
func ExampleStatus_Effective() {
	for _, s := range []spec.Status{"Completed", "in review", "cancelled", "", "soon"} {
		fmt.Printf("%q is %s\n", s, s.Effective())
	}
	// Output:
	// "Completed" is done
	// "in review" is running
	// "cancelled" is skipped
	// "" is todo
	// "soon" is todo
}

// A board in the order in which the tasks are urgent.
func ExampleByPriority() {
	defs := []spec.Definition{{ID: "tidy"}, {ID: "login", Priority: 2}, {ID: "outage", Priority: 1}}
	slices.SortStableFunc(defs, spec.ByPriority)
	for _, d := range defs {
		fmt.Println(d.ID)
	}
	// Output:
	// outage
	// login
	// tidy
}

// A program that runs what was agreed finds out that somebody has edited the file since.
func ExampleDefinition_Changed() {
	agreed := spec.Definition{ID: "T1", Title: "Log in", Status: spec.StatusTodo}
	now := agreed
	now.Title, now.Status = "Log in and out", spec.StatusRunning // the status is what programs write
	fmt.Println(agreed.Changed(now))
	// Output: [title]
}

// A message that guesses what was meant.
func ExampleNearest() {
	fmt.Printf("%q\n", spec.Nearest("reviwer", "coder", "reviewer", "tester", "qa"))
	fmt.Printf("%q\n", spec.Nearest("deploy", "coder", "reviewer", "tester", "qa"))
	// Output:
	// "reviewer"
	// ""
}

// A hook is added to another program's settings, and the user's own layout stays.
func ExampleAddJSON() {
	text, err := spec.AddJSON([]byte(`{ "hooks": ["mine"] }`), `"ours":1`, "settings")
	fmt.Printf("%s %v\n", text, err)
	// Output: { "hooks": ["mine"],"settings":{"ours":1} } <nil>
}
