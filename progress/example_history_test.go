package progress_test

import (
	"context"
	"fmt"
	"os"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// A loop that begins learns from those that are on record in its folder.
func ExampleDir_Learn() {
	path, err := os.MkdirTemp("", "records-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(path)
	dir := &progress.Dir{Path: path}
	defer dir.Close()
	verifier := ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
		if c.Iteration == 1 {
			return ralph.Reject("lint: unused variable"), nil
		}
		return ralph.Verdict{Passed: true}, nil
	})
	for n := range 6 {
		local := &ralph.Local{
			Runner:   ralph.Replay("<promise>COMPLETE</promise>", "<promise>COMPLETE</promise>"),
			Verifier: verifier,
			Log:      dir,
			Learn: func(ctx context.Context, s ralph.State) (ralph.Lesson, error) {
				return dir.Learn(ctx, s, 10, 0)
			},
		}
		task := ralph.Task{ID: fmt.Sprint("T", n), Agent: "coder", Method: "external", Prompt: "Do it."}
		for ev, err := range local.Events(context.Background(), ralph.Start(task)) {
			if err != nil {
				fmt.Println(err)
			}
			if n == 5 && ev.Kind == ralph.EventLearned {
				fmt.Println(ev.Text)
				fmt.Println(ev.State.Lessons)
			}
		}
	}
	// Output:
	// iterations 10 → 2: 95% of 5 verified loops of coder with external checks needed at most 2; the agent is told why claims were rejected in several of 5 loops of coder with external checks
	// [lint: unused variable]
}

// What is on record of a folder's loops, for people.
func ExampleDir_History() {
	dir := &progress.Dir{Path: "no-such-folder"}
	h, err := dir.History(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range h.Stats {
		fmt.Printf("%s, %s: %d of %d verified, 95%% of them within %d iterations, %s\n",
			s.Agent, s.Method, s.Verified, s.Loops, s.Iterations(95, 1), s.Usage.Cost())
	}
	task := ralph.Task{Agent: "coder", Acceptance: []string{"It adds.", "It subtracts.", "It is tested."}}
	fmt.Println(h.Limits(task, 15, 0).Iterations, h.Limits(task, 15, 20).Iterations)
	// Output: 45 20
}
