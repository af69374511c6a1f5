package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
	"github.com/ralph-loop/ralph/verify"
)

// onRecord has run the tasks of a shop, and has the record of it.
func onRecord() (record *progress.Dir, remove func()) {
	dir := shop()
	record = &progress.Dir{Path: filepath.Join(dir, "record")} // progress.WorkspaceDir in a program of yours
	p := pipeline.Pipeline{
		Source: &pipeline.File{Path: filepath.Join(dir, "tasks.yaml")},
		Dir:    dir,
		Record: record,
		Runner: worker,
		Stages: []string{"coder"},
	}
	if _, err := p.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	return record, func() { record.Close(); os.RemoveAll(dir) }
}

// A closing table of a pipeline, from its record: by any process, also while it runs.
func ExampleRecorded() {
	record, remove := onRecord()
	defer remove()
	s, events, err := pipeline.Recorded(context.Background(), record, "pipeline")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, sum := range s.Summaries(events) {
		fmt.Println(sum.ID, sum.Phase, sum.Iterations)
	}
	// Output:
	// CART done 1
	// LOGIN done 1
	// PAY done 1
}

// A list of all that runs in a workspace: loops, sessions, and pipelines with their tasks.
func ExampleStandings() {
	record, remove := onRecord()
	defer remove()
	all, err := pipeline.Standings(context.Background(), record)
	for _, st := range all {
		if st.Kind == progress.KindPipeline {
			fmt.Println(st.Name(), st.Status, len(st.Tasks), "tasks")
		}
	}
	fmt.Println(err)
	// Output:
	// pipeline completed 3 tasks
	// <nil>
}

// One iteration of a stage, by a worker that has the repository and nothing else: it is
// told the state of the loop, and tells how the loop stands then.
func ExampleSite() {
	dir := shop()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	trees := &pipeline.Worktrees{Dir: dir}
	if err := trees.Open(ctx); err != nil {
		fmt.Println(err)
		return
	}
	site := pipeline.Site{Local: &ralph.Local{Verifier: verify.String{}}, Trees: trees, Runner: worker, Host: "worker-3"}

	loop := ralph.Start(ralph.Task{ID: "CART", Agent: "coder", Prompt: "Make a cart."}) // from Course.Begin
	visit, err := site.Enter(ctx, loop, pipeline.Stage{Definition: spec.Definition{ID: "CART", Title: "A cart"}, Agent: "coder"})
	if err != nil {
		fmt.Println(err)
		return
	}
	answered, err := visit.Local.Attempt(ctx, visit.State)
	if err == nil {
		err = visit.Answered(ctx, answered) // what is verified is what was committed
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	it, err := visit.Local.Judge(ctx, visit.State, answered)
	if err != nil {
		fmt.Println(err)
		return
	}
	end, err := visit.Leave(ctx)
	fmt.Println("verified:", it.Verdict.Passed, "committed:", end.Commit != "", err)
	// Output:
	// verified: true committed: true <nil>
}

// An agent finds work that nobody asked for. It proposes a task, which a person can look
// at before the next run.
func ExampleFile_AddFollowups() {
	dir := shop()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	proposed := filepath.Join(dir, "followup.yaml") // pipeline.FollowupFile, in the task's workspace
	text := "- {id: VAT, title: Taxes, completion: {outcome: Prices have VAT, acceptance_criteria: [The sum has it too]}}\n"
	if err := os.WriteFile(proposed, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	f := &pipeline.File{Path: filepath.Join(dir, "tasks.yaml")}
	if _, err := f.Read(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defs, err := f.ReadFollowups(ctx, proposed)
	if err == nil {
		defs, err = f.AddFollowups(ctx, "CART", defs)
	}
	for _, d := range defs {
		fmt.Println(d.ID, "waits for", d.Dependencies)
	}
	fmt.Println(err)
	// Output:
	// VAT waits for [CART]
	// <nil>
}

// Somebody else has changed a task while it was worked on: nothing is written over that.
func ExampleAlteredError() {
	dir := shop()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	f := &pipeline.File{Path: filepath.Join(dir, "tasks.yaml")}
	if _, err := f.Read(ctx); err != nil {
		fmt.Println(err)
		return
	}
	if taken, err := f.Take(ctx, "CART"); !taken {
		fmt.Println(err)
		return
	}
	text := "tasks:\n- {id: CART, title: A better cart}\n" // a person writes it
	if err := os.WriteFile(f.Path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	err := f.Write(ctx, "CART", pipeline.Update{Status: spec.StatusDone})
	if altered, ok := errors.AsType[*pipeline.AlteredError](err); ok {
		fmt.Println(altered.ID, altered.What)
	}
	// Output: CART changed (title)
}

// A run on a branch of its own. It is made here, so that what Agree reads is on it.
func ExamplePipeline_Switch() {
	dir := shop()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	p := pipeline.Pipeline{
		Source: &pipeline.File{Path: filepath.Join(dir, "tasks.yaml")},
		Dir:    dir,
		Branch: "shop",
		Runner: worker,
		Rules:  pipeline.Rules{Merge: true},
	}
	if err := p.Switch(ctx); err != nil {
		fmt.Println(err)
		return
	}
	_, branch, err := ralph.WorkTree(ctx, dir)
	fmt.Println(branch, err)
	// Output: shop <nil>
}
