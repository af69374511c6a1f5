package ralph_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph"
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

// drive is a driver of its own.
func drive(ctx context.Context, local *ralph.Local, s ralph.State) (ralph.State, error) {
	for !s.Done() {
		it, err := local.Iterate(ctx, s)
		if err != nil {
			return s, err
		}
		s = s.Next(it)
	}
	return s, s.Err()
}

func ExampleState_Next() {
	local := &ralph.Local{Runner: ralph.Replay("Not yet.", "<promise>COMPLETE</promise>"), Verifier: verify.String{}}
	s, err := drive(context.Background(), local, ralph.Start(ralph.Task{Prompt: "Make the tests pass."}))
	fmt.Println(s.Stop, s.Iteration, err)
	// Output: verified 2 <nil>
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
