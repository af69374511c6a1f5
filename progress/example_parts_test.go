package progress_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// Two agents print into one terminal.
func ExamplePrefix() {
	var lock sync.Mutex
	coder := &progress.Prefix{W: os.Stdout, Text: "coder    | ", Lock: &lock}
	reviewer := &progress.Prefix{W: os.Stdout, Text: "reviewer | ", Lock: &lock}
	fmt.Fprint(coder, "Writing the ")
	fmt.Fprint(reviewer, "Reading the tests.\n")
	fmt.Fprint(coder, "login page.\n")
	// Output:
	// reviewer | Reading the tests.
	// coder    | Writing the login page.
}

// An execution log is read back attempt by attempt.
func ExampleReadJSONL() {
	var log strings.Builder
	loop := &ralph.Local{
		Runner:   ralph.Replay("It is nearly <promise>COMPLETE</promise>.", "<promise>COMPLETE</promise>"),
		Verifier: verify.String{},
		Log:      &progress.JSONL{W: &log},
	}
	if _, err := loop.Run(context.Background(), ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it."})); err != nil {
		fmt.Println(err)
	}
	for rec, err := range progress.ReadJSONL(strings.NewReader(log.String())) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if rec.Kind == ralph.EventIterationEnded {
			fmt.Println(rec.TaskID, rec.Iteration, rec.PromiseFound, rec.Verified, rec.Reason)
		}
	}
	// Output:
	// T1 1 false false not_alone
	// T1 2 true true
}

// A program that reads tasks.json sees which tasks are worked on, and why one failed.
func ExampleTaskFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tasks.json")
	loop := &ralph.Local{Runner: ralph.Replay("Not yet."), Verifier: verify.String{}, Log: &progress.TaskFile{Path: path}}
	_, _ = loop.Run(context.Background(), ralph.Start(ralph.Task{ID: "T1", Agent: "coder", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}}))
	text, err := os.ReadFile(path)
	fmt.Print(string(text))
	fmt.Println(err)
	// Output:
	// {
	//   "T1": {
	//     "ralph_failure": {
	//       "stage": "coder",
	//       "iterations_used": 1,
	//       "last_output": "Not yet.",
	//       "reason": "iterations: the limit of iterations, 1, is reached, and the task is not verified"
	//     }
	//   }
	// }
	// <nil>
}

// The agent may remove the log: the next line begins it again.
func ExampleFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	log := progress.File{Path: filepath.Join(dir, ".ralph", "log.jsonl")}
	for range 2 {
		if _, err := fmt.Fprintln(log, "{}"); err != nil {
			fmt.Println(err)
		}
		text, err := os.ReadFile(log.Path)
		fmt.Printf("%q %v\n", text, err)
		os.RemoveAll(filepath.Dir(log.Path))
	}
	// Output:
	// "{}\n" <nil>
	// "{}\n" <nil>
}

// What an agent prints may hold control sequences, which a terminal would obey.
func ExamplePrintable() {
	fmt.Printf("%q\n", progress.Printable("\x1b[2JAll done.\x07"))
	// Output: "All done."
}
