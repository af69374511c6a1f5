package progress_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// A log for people and agents, beside the task file.
func ExampleMarkdown() {
	dir, err := os.MkdirTemp("", "ralph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	log := &progress.Markdown{Path: filepath.Join(dir, "progress.txt"), Feature: "001-greeting"}
	loop := &ralph.Local{
		Runner:    ralph.Replay("The tests come next.\n\n**Learnings**:\n- Tests need a TTY", "<promise>COMPLETE</promise>"),
		Verifier:  verify.String{},
		Workspace: func(context.Context, string) (string, []string, error) { return "", []string{"hello.go"}, nil },
		Log:       log,
	}
	if _, err := loop.Run(context.Background(), ralph.Start(ralph.Task{ID: "T001", Title: "Say hello"})); err != nil {
		fmt.Println(err)
	}

	file, err := os.Open(log.Path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	session, err := progress.ReadMarkdown(file)
	fmt.Println(session.Feature, err)
	for _, s := range session.Sections {
		fmt.Println(s.Number, s.Task, s.Title, s.Status, s.Learnings)
	}
	// Output:
	// 001-greeting <nil>
	// 1 T001 Say hello success [Tests need a TTY]
	// 2 T001 Say hello success []
}

// A log for programs, from which a loop goes on after a crash.
func ExampleJSONL() {
	dir, err := os.MkdirTemp("", "ralph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "execution.jsonl")
	file, err := progress.OpenJSONL(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	loop := &ralph.Local{
		Runner:   ralph.Replay("I will say <promise>COMPLETE</promise> later.", "<promise>COMPLETE</promise>"),
		Verifier: verify.String{},
		Log:      &progress.JSONL{W: file},
	}
	task := ralph.Task{ID: "TASK-001", Agent: "coder", Prompt: "Add JWT.", Limits: ralph.Limits{Iterations: 15}}
	if _, err := loop.Run(context.Background(), ralph.Start(task)); err != nil {
		fmt.Println(err)
	}

	text, err := os.ReadFile(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	for r, err := range progress.ReadJSONL(strings.NewReader(string(text))) {
		if err != nil {
			fmt.Println(err)
		}
		if r.Kind == ralph.EventIterationEnded {
			fmt.Printf("%s %s %d/%d promise=%t continuing=%t reason=%q\n", r.TaskID, r.Stage, r.Iteration, r.Max, r.PromiseFound, r.Continuing, r.Reason)
		}
	}
	state, err := progress.Resume(strings.NewReader(string(text)), "TASK-001")
	fmt.Println(state.Stop, err)
	// Output:
	// TASK-001 coder 1/15 promise=false continuing=true reason="not_alone"
	// TASK-001 coder 2/15 promise=true continuing=false reason=""
	// verified <nil>
}

// A record that ends with a verdict, and not with the loop's end, proves nothing.
func ExampleResumeProven() {
	var record strings.Builder
	loop := &ralph.Local{
		Runner:   ralph.Replay("<promise>COMPLETE</promise>"),
		Verifier: verify.String{},
		Log:      &progress.JSONL{W: &record},
	}
	if _, err := loop.Run(context.Background(), ralph.Start(ralph.Task{ID: "T1", Prompt: "Add JWT."})); err != nil {
		fmt.Println(err)
	}
	whole := strings.TrimSpace(record.String())
	cut := whole[:strings.LastIndex(whole, "\n")]
	believed, _ := progress.Resume(strings.NewReader(cut), "T1")
	state, err := progress.ResumeProven(strings.NewReader(cut), "T1")
	fmt.Println(believed.Done(), state.Done(), err)
	// Output: true false <nil>
}

// A session as a person reads it.
func ExampleBanner() {
	session := &progress.Banner{W: os.Stdout, Mode: "build"}
	start := time.Date(2026, 1, 18, 9, 0, 0, 0, time.UTC)
	it := ralph.Iteration{Number: 1, Attempt: 1, Start: start, End: start.Add(time.Minute), Elapsed: time.Minute, Outcome: ralph.OutcomeSuccess}
	for _, kind := range []ralph.EventKind{ralph.EventLoopStarted, ralph.EventIterationStarted, ralph.EventIterationEnded} {
		if err := session.Append(context.Background(), ralph.Event{Kind: kind, Time: start, Iteration: it}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// ================================================================================
	// ITERATION 1
	// ================================================================================
	// Mode: build
	// Start Time: 2026-01-18T09:00:00Z
	// --------------------------------------------------------------------------------
	// --------------------------------------------------------------------------------
	// ITERATION 1 COMPLETE
	// End Time: 2026-01-18T09:01:00Z
	// Duration: 1m0s
	// Retries: 0
	// Status: success
	// ================================================================================
}

// Several logs at once.
func ExampleMulti() {
	print := func(name string) ralph.ProgressLog {
		return ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
			fmt.Println(name, ev.Kind)
			return nil
		})
	}
	log := progress.Multi(print("first"), nil, print("second"))
	fmt.Println(log.Append(context.Background(), ralph.Event{Kind: ralph.EventPaused}))
	// Output:
	// first paused
	// second paused
	// <nil>
}

func ExampleLearnings() {
	for _, text := range progress.Learnings("Done.\n\n**Learnings**:\n- Use the store\n- Run `go generate` first\n") {
		fmt.Println(text)
	}
	// Output:
	// Use the store
	// Run `go generate` first
}
