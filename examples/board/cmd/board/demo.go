package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

const demoTasks = `tasks:
- id: CART
  title: A cart that survives a reload
  completion: {outcome: The cart is there again after a reload, acceptance_criteria: [Prices are those of today, An empty cart is no error]}
- id: LOGIN
  title: Log in with a name and a password
  completion: {outcome: Only who knows the password gets in, acceptance_criteria: [Five wrong passwords lock the account]}
- {id: SEARCH, title: Search that forgives misspelt words}
- {id: PAY, title: Payment by card, dependencies: [CART, LOGIN]}
- {id: MAIL, title: A mail that confirms the order, dependencies: [PAY]}
- {id: REPORT, title: A report for the shop's owner, dependencies: [PAY]}
- {id: LEGACY, title: Keep the old shop alive, status: skipped}
`

// demo runs a real pipeline, with agents and checks that are made up, in a folder of its
// own. It returns the folder of its records, and what ends it and removes the folder.
func demo(ctx context.Context) (dir *progress.Dir, end func() error, err error) {
	base, err := os.MkdirTemp("", "board-demo-")
	if err != nil {
		return nil, nil, err
	}
	project := filepath.Join(base, "shop")
	if err := errors.Join(os.Mkdir(project, 0o755), os.WriteFile(filepath.Join(project, "tasks.yaml"), []byte(demoTasks), 0o644)); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(base))
	}
	record := &progress.Dir{Path: filepath.Join(base, "record"), NoSync: true}
	p := pipeline.Pipeline{
		Name: "shop", Dir: project, Record: record, Share: true,
		Source: &pipeline.File{Path: filepath.Join(project, "tasks.yaml")},
		Stages: []string{"coder", "reviewer"},
		Rules:  pipeline.Rules{Slots: 3},
		Limits: ralph.Limits{Iterations: 5},
		Runner: func(pipeline.Place) (ralph.Runner, error) { return ralph.RunnerFunc(act), nil },
		// One task is to be seen failing.
		Verifier: ralph.VerifierFunc(judge), HowVerified: "go test ./... must pass",
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		p.Run(ctx) // how it ends is on record, and shown
	}()
	return &progress.Dir{Path: record.Path}, func() error {
		cancel()
		<-over
		return errors.Join(record.Close(), os.RemoveAll(base))
	}, nil
}

// act is the agent: it says what it does, takes its time, and at first is too sure of
// itself.
func act(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	said := ralph.Response{Model: "made up"}
	cost := 0.0
	for i, text := range []string{
		fmt.Sprintf("I am the %s of %s, in iteration %d.", req.Agent, req.Task, req.Iteration),
		"→ Read tasks.yaml", "→ Bash go test ./...", "Two tests fail. I look at the first one.", "→ Edit shop.go",
		"→ Bash go test ./...", "It looks good now.",
	} {
		fmt.Fprintln(req.Raw, text)
		cost += 0.011
		spent := cost
		said.Usage = ralph.Usage{Requests: int64(i + 1), InputTokens: int64(900 * (i + 1)), OutputTokens: int64(120 * (i + 1)), CostUSD: &spent}
		if req.Live != nil {
			req.Live(said.Usage)
		}
		select {
		case <-ctx.Done():
			return said, context.Cause(ctx)
		case <-time.After(time.Duration(600+100*len(req.Task)) * time.Millisecond):
		}
	}
	said.Output = "Committed, and all tests pass.\n\n<promise>" + req.Promise + "</promise>"
	fmt.Fprintln(req.Raw, said.Output)
	return said, nil
}

// judge is the check: a coder's first claim is wrong, and one task never gets right.
func judge(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
	v := ralph.Pass()
	if c.Task.Agent == "coder" && (c.Iteration == 1 || strings.EqualFold(c.Task.ID, "REPORT")) {
		v = ralph.Reject("TestTotal fails: shop_test.go:12: the total is 3, want 6. Prices of more than one item are not added up.")
	}
	exit, status := 0, ralph.CheckPassed
	if !v.Passed {
		exit, status = 1, ralph.CheckFailed
	}
	v.Checks = []ralph.Check{
		{Name: "go vet ./...", Status: ralph.CheckPassed, Duration: 410 * time.Millisecond},
		{Name: "go test ./...", Status: status, ExitCode: &exit, Duration: 1200 * time.Millisecond, Detail: v.Feedback},
	}
	return v, nil
}
