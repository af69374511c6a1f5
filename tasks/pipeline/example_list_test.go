package pipeline_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/verify"
)

// A list of check boxes is worked off by one agent, which needs no name. The box is
// ticked when the work was verified.
func ExampleList() {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tasks.md")
	if err := os.WriteFile(path, []byte("# Tasks\n\n- [x] T001 A cart\n- [ ] T002 A login\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	list := pipeline.List{Source: tasks.ListFile{Path: path}}
	p := pipeline.Pipeline{
		Source:   list,
		Dir:      dir,
		Runner:   worker,
		Verifier: verify.String{Contains: []string{"committed"}}, // a program of yours runs the tests
		Task:     list.Task,
		Stages:   []string{""},
	}
	final, err := p.Run(context.Background())
	fmt.Println(final.Stop, err)
	text, err := os.ReadFile(path)
	fmt.Println(string(text), err)
	// Output:
	// verified <nil>
	// # Tasks
	//
	// - [x] T001 A cart
	// - [x] T002 A login
	//  <nil>
}

// What a run would do is known before it does anything: to show it, or to ask.
func ExamplePipeline_Agree() {
	dir := shop()
	defer os.RemoveAll(dir)
	p := pipeline.Pipeline{
		Source: &pipeline.File{Path: filepath.Join(dir, "tasks.yaml")},
		Dir:    dir,
		Runner: worker,
		Stages: []string{"coder"},
	}
	agreed, err := p.Agree(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range agreed.State.Order() {
		task := agreed.Tasks[step.Part].Stages[0]
		fmt.Println(step.Task, step.Agent, "at most", task.Limits.Iterations, "iterations")
	}
	// Output:
	// CART coder at most 15 iterations
	// LOGIN coder at most 15 iterations
	// PAY coder at most 15 iterations
}
