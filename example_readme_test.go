package ralph_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
	"github.com/ralph-loop/ralph/verify/verifytest"
)

func Example_claude() {
	ctx := context.Background()
	agent, err := ralph.Preset("claude") // or any ralph.Runner of your own
	if err != nil {
		log.Fatal(err)
	}
	loop := &ralph.Local{
		Runner:   agent,
		Verifier: verify.External{Args: []string{"go", "test", "./..."}},
	}
	final, err := loop.Run(ctx, ralph.Start(ralph.Task{Prompt: "Make the tests pass."}))
	fmt.Println(final.Stop, final.Iteration, err)
}

func Example_journal() {
	stateDir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(stateDir)
	ctx, task := context.Background(), ralph.Task{ID: "T001", Prompt: "Make the tests pass."}
	loop := &ralph.Local{Runner: ralph.Replay("Not yet.", "<promise>COMPLETE</promise>"), Verifier: verify.String{}}
	var final ralph.State

	journals := &progress.Dir{Path: stateDir} // outside the workspace
	j, err := journals.Open("T001")           // held by this process alone, until it ends
	if errors.Is(err, fs.ErrNotExist) {
		j, err = journals.Create(ralph.Start(task), progress.KindLoop)
	}
	if err == nil {
		final, err = j.Run(ctx, loop) // run it again after a crash: it goes on
	}
	fmt.Println(final.Stop, final.Iteration, err)
	// Output: verified 2 <nil>
}

// drive is a driver of its own: what [ralph.Local.Run] does, step by step. It may die
// at any moment and goes on from the journal.
func drive(ctx context.Context, j *progress.Journal, local *ralph.Local) (ralph.State, error) {
	if j.State.Done() {
		return j.State, j.State.Err()
	}
	s, err := local.Prepare(ctx, j.State)
	record := func(ev ralph.Event) { // what is recorded and what is decided cannot come apart
		if err == nil {
			s, err = j.Record(ctx, ev)
		}
	}
	agreed := s
	record(ralph.Event{Kind: ralph.EventLoopStarted, State: &agreed, Meta: j.Meta})
	var it ralph.Iteration
	if err == nil && s.Running { // the process that ran this attempt has died
		it = ralph.Iteration{Number: s.Iteration, Attempt: s.Attempt, Outcome: ralph.OutcomeInterrupted, Fault: ralph.FaultInterrupted}
		var ended []string
		if ended, err = ralph.EndLeft(s.Mark); errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
		if err == nil && j.Pending != nil { // and had the answer
			it, err = local.Judge(ctx, s, *j.Pending)
		}
		it.Ended = append(it.Ended, ended...)
		record(ralph.Event{Kind: ralph.EventIterationEnded, Iteration: it})
	}
	wake := j.Wake(ctx)           // when somebody wants something of the loop
	watched, stop := j.Watch(ctx) // ends the agent, or the check, when somebody cancels it
	defer stop()

	for err == nil && !s.Done() {
		if err = ralph.Sleep(ctx, s, wake); err == nil {
			s, err = j.Ask(ctx) // what other processes want
		}
		if err != nil || s.Done() || s.Paused || time.Now().Before(s.NotBefore()) {
			continue
		}
		record(starts(s))
		at, answered := s, ralph.Event{} // at: by which it is judged, also if it is cancelled meanwhile
		if err == nil && !at.Done() {
			answered, err = local.Attempt(watched, at)
			record(answered) // now a crash costs the verification, and not the agent's work
			if err == nil {
				it, err = local.Judge(watched, at, answered)
			}
			record(ralph.Event{Kind: ralph.EventIterationEnded, Iteration: it})
		}
	}
	end := s
	record(ralph.Event{Kind: ralph.EventLoopStopped, State: &end})
	return s, cmp.Or(err, s.Err())
}

// starts records that the next attempt begins, with the mark by which what is left of
// it is found after a crash.
func starts(s ralph.State) ralph.Event {
	it := ralph.Iteration{Number: s.Iteration, Attempt: s.Attempt, Start: time.Now()}
	return ralph.Event{Kind: ralph.EventIterationStarted, Iteration: it, Meta: map[string]string{"mark": ralph.NewMark()}}
}

// A driver of its own, with a journal.
func ExampleLocal_Attempt() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	journals := &progress.Dir{Path: dir}
	j, err := journals.Create(ralph.Start(ralph.Task{ID: "T001", Prompt: "Make the tests pass."}), progress.KindLoop)
	if err != nil {
		log.Fatal(err)
	}
	local := &ralph.Local{Runner: ralph.Replay("Not yet.", "<promise>COMPLETE</promise>"), Verifier: verify.String{}}
	s, err := drive(context.Background(), j, local)
	fmt.Println(s.Stop, s.Iteration, err, j.Close())
	e, err := journals.Look("T001")
	fmt.Println(e.Status, err)
	// Output:
	// verified 2 <nil> <nil>
	// completed <nil>
}

func ExampleVerifierFunc_tested() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "report.md"), nil, 0o644); err != nil {
		log.Fatal(err)
	}
	good := ralph.Claim{Promised: true, Task: ralph.Task{Dir: dir}}
	bad := ralph.Claim{Promised: true, Task: ralph.Task{Dir: filepath.Join(dir, "empty")}}

	report := ralph.VerifierFunc(func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
		if _, err := os.Stat(filepath.Join(c.Task.Dir, "report.md")); err != nil {
			return ralph.Reject("report.md is not there"), nil
		}
		return ralph.Pass(), nil
	})
	err = verifytest.TestVerifier(report, good, bad) // one line for each rule that it breaks
	fmt.Println(err)
	// Output: <nil>
}
