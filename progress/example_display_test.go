package progress_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// What a loop shows in a pipe. On a terminal it has a last line, too, which says how
// things stand: DisplayOn(os.Stderr, os.Getenv) finds out which it is.
func ExampleDisplay() {
	var shown strings.Builder
	d := &progress.Display{W: &shown, Agent: "replay"}
	loop := &ralph.Local{
		Runner:   ralph.Replay("I have begun.\n→ Bash go test ./...", "All done.\n<promise>COMPLETE</promise>"),
		Verifier: verify.String{},
		Log:      d,
		Live:     d.Live,
		Output:   func(req ralph.Request) (display, raw io.Writer) { return d.Output(req), nil },
	}
	final, err := loop.Run(context.Background(), ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 5}}))
	if err == nil {
		err = d.Close()
	}
	for line := range strings.Lines(shown.String()) {
		if clock, text, _ := strings.Cut(line, " "); len(clock) == len(time.TimeOnly) && clock[2] == ':' {
			text, _, _ = strings.Cut(text, " · took") // which differs each time
			line = "hh:mm:ss " + strings.TrimSpace(text) + "\n"
		}
		fmt.Print(line)
	}
	fmt.Println(final.Stop, err)
	// Output:
	// hh:mm:ss iteration 1/5 · replay
	// I have begun.
	// → Bash go test ./...
	// hh:mm:ss iteration 1/5: no claim
	// hh:mm:ss iteration 2/5 · replay
	// All done.
	// <promise>COMPLETE</promise>
	// hh:mm:ss iteration 2/5: verified
	// hh:mm:ss warning: unverified: promise only: nothing but the agent's word was checked
	// verified <nil>
}

// What a loop is shown on, and how: a display on the terminal, if standard error is one.
func ExampleDisplayOn() {
	d := progress.DisplayOn(os.Stderr, os.Getenv)
	d.Agent = "claude"
	d.Redact = progress.Redactor{}.Writer // in what the agent says
	defer d.Close()
	loop := &ralph.Local{
		Runner:   ralph.Replay("<promise>COMPLETE</promise>"),
		Verifier: verify.String{},
		Log:      progress.Redactor{}.Log(d), // in what events tell
		Live:     d.Live,
		Output:   func(req ralph.Request) (display, raw io.Writer) { return d.Output(req), nil },
	}
	final, err := loop.Run(context.Background(), ralph.Start(ralph.Task{Prompt: "Do it."}))
	fmt.Println(final.Stop, err)
}

// The three lines at the end.
func ExampleClosing() {
	exit := 0
	fmt.Print(progress.Closing{
		State: ralph.State{
			Stop: ralph.StopVerified, Iteration: 3, Attempt: 1, Elapsed: 252 * time.Second, Updated: time.Now(),
			Usage: ralph.Usage{InputTokens: 40_000, OutputTokens: 1_000}, Files: []string{"add.go", "add_test.go"},
			Verdict: ralph.Verdict{Passed: true, Checks: []ralph.Check{{Name: "go test ./...", Status: ralph.CheckPassed, ExitCode: &exit, Duration: 1200 * time.Millisecond}}},
		},
		Records: ".ralph/T001",
	})
	fmt.Print(progress.Closing{State: ralph.State{Stop: ralph.StopIterations, Task: ralph.Task{Limits: ralph.Limits{Iterations: 1}}}, Next: "ralph resume T001 --max 5"})
	// Output:
	// verified by go test ./... (exit code 0, 1.2s)
	// 3 iterations in 4m12s, cost unknown, 41k tokens, 2 files changed
	// records: .ralph/T001
	// not verified: limit of 1 iteration reached
	// go on: ralph resume T001 --max 5
}

// Events as structured records, among those of a program.
func ExampleSlog() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "elapsed" || a.Key == "tokens" {
			return slog.Attr{} // what differs each time
		}
		return a
	}}))
	loop := &ralph.Local{Runner: ralph.Replay("<promise>COMPLETE</promise>"), Verifier: verify.String{}, Log: progress.Slog(log)}
	if _, err := loop.Run(context.Background(), ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it."})); err != nil {
		fmt.Println(err)
	}
	// Output:
	// level=INFO msg=loop_started loop=T1 task=T1 state.loop=T1 state.task=T1 state.iteration=1
	// level=INFO msg=iteration_started loop=T1 task=T1 iteration=1 attempt=1
	// level=INFO msg=iteration_ended loop=T1 task=T1 iteration=1 attempt=1 outcome=success claimed=true verified=true
	// level=INFO msg=loop_stopped loop=T1 task=T1 state.loop=T1 state.task=T1 state.iteration=1 state.stop=verified state.unpriced=1
}
