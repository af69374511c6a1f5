package spec_test

import (
	"fmt"

	"github.com/ralph-loop/ralph/tasks/spec"
)

// A project's defaults hold where a definition says nothing. Nothing below ralph: is
// ignored, everything beside it is.
func ExampleParseConfig() {
	config, err := spec.ParseConfig("project.yaml", []byte(`
linter: strict # another program's
ralph:
  default_max_iterations: 8
  coder: claude
  reviewer:
    on_reject: coder
    max_rounds: 2
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	task, err := config.Task(spec.Definition{ID: "T1", Title: "Log in"}, "coder")
	fmt.Println(config.Client("coder"), task.Limits.Iterations, task.Promise, err)
	fmt.Println(config.OnReject("reviewer"))
	fmt.Println(config.Stages([]string{"tester", "coder"}))
	// Output:
	// claude 8 IMPLEMENTATION_COMPLETE <nil>
	// coder 2
	// [coder tester] <nil>
}

// What can be begun now: the dependencies are done, the urgent comes first, and
// "Completed" is somebody's word for done.
func ExampleFile_Ready() {
	file, err := spec.Parse("tasks.yaml", []byte(`
- {id: schema, title: Make the tables, status: Completed}
- {id: report, title: Show the totals, dependencies: [schema]}
- {id: import, title: Read the old data, dependencies: [schema], priority: 1}
- {id: launch, title: Open it to all, dependencies: [import, report]}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, def := range file.Ready() {
		fmt.Println(def.ID)
	}
	// Output:
	// import
	// report
}

// A hook in another program's settings: the rest of the text stays as it is, and taking
// the hook out again leaves the text as it was.
func ExampleEditJSON() {
	hook := spec.Insertion{
		Path:  []string{"hooks", "Stop"},
		Value: `{"command":"ralph hook --version 2"}`,
		Mark:  `"command":"ralph hook`,
	}
	const settings = `{"theme": "dark", "hooks": {}}`
	with, err := spec.EditJSON([]byte(settings), true, hook)
	fmt.Printf("%s %v\n", with, err)
	without, err := spec.EditJSON(with, false, hook)
	fmt.Printf("%s %v\n", without, err)
	// Output:
	// {"theme": "dark", "hooks": { "Stop":[{"command":"ralph hook --version 2"}]}} <nil>
	// {"theme": "dark", "hooks": {}} <nil>
}
