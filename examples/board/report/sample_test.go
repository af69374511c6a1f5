package report_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/board/report"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

const shopTasks = `tasks:
- id: CART
  title: A cart that survives a reload
  completion: {outcome: The cart is there again after a reload, acceptance_criteria: [Prices are those of today, An empty cart is no error]}
- {id: LOGIN, title: Log in with a name and a password}
- {id: PAY, title: Payment by card, dependencies: [CART, LOGIN]}
- {id: LEGACY, title: Keep the old shop alive, status: skipped}
`

// record has a real pipeline of scripted agents run, in fake time, and returns the folder
// of its records.
func record(t *testing.T, tasks string, p pipeline.Pipeline) *progress.Dir {
	t.Helper()
	project := t.TempDir()
	path := filepath.Join(project, "tasks.yaml")
	if err := os.WriteFile(path, []byte(tasks), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := &progress.Dir{Path: filepath.Join(t.TempDir(), "record"), NoSync: true}
	p.Name, p.Dir, p.Record, p.Source, p.Share = "shop", project, dir, &pipeline.File{Path: path}, true
	p.Run(t.Context()) // how it ends is on record
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	return &progress.Dir{Path: dir.Path}
}

// shop is a small pipeline: a claim that is rejected, a fault, an attempt of unknown cost,
// an estimated one, and a task that fails.
func shop() pipeline.Pipeline {
	return pipeline.Pipeline{
		Stages: []string{"coder", "reviewer"}, Limits: ralph.Limits{Iterations: 3}, Rules: pipeline.Rules{Slots: 2},
		Runner: func(pipeline.Place) (ralph.Runner, error) {
			return ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
				time.Sleep(time.Duration(20*len(req.Task)+10*req.Iteration) * time.Second)
				if req.Task == "LOGIN" && req.Agent == "coder" && req.Iteration == 1 {
					return ralph.Response{}, errors.New("the connection was closed")
				}
				said := ralph.Response{
					Output: "I have changed shop.go.\n\n<promise>" + req.Promise + "</promise>", Model: "made up",
					Files: []string{"shop.go", fmt.Sprintf("%s_test.go", strings.ToLower(req.Task))},
					Usage: ralph.Usage{Requests: 3, InputTokens: 12000, OutputTokens: int64(700 * req.Iteration)},
				}
				if req.Task != "LOGIN" {
					said.Usage.CostUSD, said.Usage.Estimated = new(0.0421*float64(req.Iteration)), req.Agent == "reviewer"
				}
				return said, nil
			}), nil
		},
		Verifier: ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
			time.Sleep(5 * time.Second)
			v := ralph.Pass()
			exit, status := 0, ralph.CheckPassed
			if c.Task.ID == "PAY" || c.Task.ID == "CART" && c.Task.Agent == "coder" && c.Iteration == 1 {
				v = ralph.Reject("TestTotal fails: shop_test.go:12: the total is 3, want 6.\nPrices of more than one item are not added up.")
				exit, status = 1, ralph.CheckFailed
			}
			v.Checks = []ralph.Check{{Name: "go test ./...", Status: status, ExitCode: &exit, Duration: 1200 * time.Millisecond}}
			return v, nil
		}),
		HowVerified: "go test ./... must pass",
	}
}

// shopReport is that of the small pipeline, which is run once for all tests.
func shopReport(t *testing.T) report.Report {
	t.Helper()
	shopOnce.Do(func() {
		synctest.Test(t, func(t *testing.T) {
			dir := record(t, shopTasks, shop())
			var err error
			if shopRun, err = report.Read(t.Context(), dir, "shop"); err != nil {
				t.Fatal(err)
			}
		})
	})
	return shopRun
}

var (
	shopOnce sync.Once
	shopRun  report.Report
)
