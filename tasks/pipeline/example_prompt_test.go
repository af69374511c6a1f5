package pipeline_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
	"github.com/ralph-loop/ralph/verify"
)

// An agent is told its part of a task, and which iteration it is in.
func ExampleRoles_Prompt() {
	roles, err := pipeline.Prompts{}.Load([]string{"coder", "reviewer"})
	if err != nil {
		log.Fatal(err)
	}
	d := spec.Definition{ID: "TASK-001", Title: "Reject expired vouchers", Completion: &spec.Completion{
		Outcome: "An expired voucher cannot be redeemed", Acceptance: []string{"Redeem returns ErrExpired"},
	}}
	prompt, err := roles.Prompt(".", pipeline.Stage{Definition: d, Agent: "reviewer", Before: []pipeline.Record{{Agent: "coder", Verified: true, Commit: "1a2b3c4"}}})
	if err != nil {
		log.Fatal(err)
	}
	task, err := d.Task("reviewer")
	if err != nil {
		log.Fatal(err)
	}
	reviewer := ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		for line := range strings.Lines(req.Prompt) {
			if strings.HasPrefix(line, "- **") || strings.HasPrefix(line, "    coder") {
				fmt.Print(line)
			}
		}
		return ralph.Response{Output: "Approved: it holds.\n\n<promise>REVIEW_PASSED</promise>"}, nil
	})
	loop := ralph.Local{Runner: reviewer, Verifier: verify.String{}, Prompt: prompt}
	final, err := loop.Run(context.Background(), ralph.Start(task))
	fmt.Println(final.Stop, err)
	// Output:
	// - **Task ID**: TASK-001
	// - **Title**: Reject expired vouchers
	// - **Stage**: reviewer
	// - **Ralph Iteration**: 1/5
	//     coder: verified; commit 1a2b3c4
	// verified <nil>
}
