package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// Before a run begins, a program asks whether an earlier one was interrupted: its loops go
// on as they were agreed then.
func ExampleAgreed_Interrupted() {
	dir := shop()
	defer os.RemoveAll(dir)
	record := progress.Dir{Path: filepath.Join(dir, "record")}
	defer record.Close()
	ctx, interrupt := context.WithCancel(context.Background())
	file := &pipeline.File{Path: filepath.Join(dir, "tasks.yaml")}
	p := pipeline.Pipeline{
		Source: file, Dir: dir, Record: &record, Stages: []string{"coder"},
		Runner: func(pipeline.Place) (ralph.Runner, error) {
			return ralph.RunnerFunc(func(ctx context.Context, _ ralph.Request) (ralph.Response, error) {
				interrupt() // as Ctrl-C does
				<-ctx.Done()
				return ralph.Response{}, context.Cause(ctx)
			}), nil
		},
	}
	_, err := p.Run(ctx)
	fmt.Println(errors.Is(err, context.Canceled))
	agreed, err := p.Agree(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	loops, err := agreed.Interrupted(context.Background())
	for _, l := range loops {
		fmt.Println(l.Entry.State.Loop, l.Changed)
	}
	fmt.Println(err, agreed.State.Remaining(), len(file.Warnings())) // no task says what done means
	// Output:
	// true
	// pipeline/CART.coder false
	// <nil> 3 3
}

// A task's branch and the main branch have changed the same file. An agent mends it in the
// task's worktree, and what it has made is merged then.
func ExampleWorktrees_Repair() {
	dir := shop()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	trees := &pipeline.Worktrees{Dir: dir}
	if err := trees.Open(ctx); err != nil {
		fmt.Println(err)
		return
	}
	place, err := trees.Place(ctx, "CART")
	if err != nil {
		fmt.Println(err)
		return
	}
	cart := filepath.Join(place.Dir, "cart") // what an agent writes
	if err := os.WriteFile(cart, []byte("with a sum\n"), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	person := exec.Command("sh", "-ec", "echo empty >cart; git add cart; git commit -q -m 'An empty cart'")
	person.Dir = dir
	_, _, err = trees.Commit(ctx, "CART", "A cart")
	if err := errors.Join(err, person.Run()); err != nil {
		fmt.Println(err)
		return
	}
	merge, err := trees.Merge(ctx, "CART", "Merge CART", nil, nil)
	fmt.Println(merge.Conflicts, err)

	err = errors.Join(trees.Repair(ctx, "CART"), os.WriteFile(cart, []byte("empty, with a sum\n"), 0o644))
	if err == nil {
		_, _, err = trees.Commit(ctx, "CART", "Both carts")
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	merge, err = trees.Merge(ctx, "CART", "Merge CART", nil, nil)
	fmt.Println(merge.Conflicts, err)
	text, err := os.ReadFile(filepath.Join(dir, "cart"))
	fmt.Print(string(text), err)
	// Output:
	// [cart] <nil>
	// [] <nil>
	// empty, with a sum
	// <nil>
}

// A task is begun anew: what an earlier run has left of it is kept, on a branch beside it.
func ExampleWorktrees_Anew() {
	dir := shop()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	trees := &pipeline.Worktrees{Dir: dir}
	if err := trees.Open(ctx); err != nil {
		fmt.Println(err)
		return
	}
	place, err := trees.Place(ctx, "CART")
	if err == nil {
		err = os.WriteFile(filepath.Join(place.Dir, "cart"), []byte("half of it\n"), 0o644)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	kept, err := trees.Anew(ctx, "CART")
	fmt.Println(kept, err)
	// Output: ralph/CART.1 <nil>
}

// The tasks of another branch are known before anything is checked out.
func ExamplePipeline_OnBranch() {
	dir := shop()
	defer os.RemoveAll(dir)
	p := pipeline.Pipeline{
		Source: &pipeline.File{Path: filepath.Join(dir, "tasks.yaml")},
		Dir:    dir, Runner: worker, Stages: []string{"coder"},
		Branch: "main", Rules: pipeline.Rules{Merge: true},
	}
	defs, err := p.OnBranch(context.Background())
	for _, def := range defs {
		fmt.Println(def.ID)
	}
	fmt.Println(err)
	// Output:
	// CART
	// LOGIN
	// PAY
	// <nil>
}

// A scheduler with a budget asks before each iteration: what the loop expects to use is
// reserved.
func ExampleStep_Reserve() {
	s, err := pipeline.Plan(pipeline.Rules{Tokens: 1000}, []pipeline.Planned{{ID: "page", Agents: []string{"coder"}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s = pipeline.State{}.Next(pipeline.Event{Kind: pipeline.EventStarted, State: &s})
	step := s.Ready()[0]
	s = s.Next(pipeline.Event{Kind: pipeline.EventBegan, Task: step.Task, Agent: step.Agent, Loop: step.Loop})
	loop := ralph.Start(ralph.Task{ID: "page", Agent: "coder"})
	s = s.Next(step.Reserve(pipeline.EventReserve, loop, nil))
	_, granted := s.Granted("page", loop)
	fmt.Println(granted, s.Remaining())
	// Output: true 1
}

// A driver of a Course takes the tasks from a source, and writes down at the end how they
// stand. In between another process sees that they were taken.
func ExampleAgreed_Settle() {
	dir := shop()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	p := pipeline.Pipeline{
		Source: &pipeline.File{Path: filepath.Join(dir, "tasks.yaml")},
		Dir:    dir, Runner: worker, Stages: []string{"coder"},
	}
	agreed, err := p.Agree(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	course, err := agreed.Course(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(course.Tasks), agreed.Unsettled())
	fmt.Println(agreed.Settle(ctx, course.State)) // nothing has run: they are open as before
	// Output:
	// 3 false
	// <nil>
}

// Where a pipeline stands, from its record.
func ExampleStandingOf() {
	record, remove := onRecord()
	defer remove()
	e, err := record.Look("pipeline")
	if err != nil {
		fmt.Println(err)
		return
	}
	st := pipeline.StandingOf(context.Background(), record, e)
	fmt.Println(st.Name(), st.Status, len(st.Tasks))
	// Output: pipeline completed 3
}
