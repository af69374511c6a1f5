package report_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/examples/board/report"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

var began = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// longLoop is a loop of many iterations, with a night in the middle. What is told of each
// is as long as said.
func longLoop(iterations int, said string) report.Report {
	const name = "T1.coder"
	s := ralph.Start(ralph.Task{ID: "T1", Agent: "coder", Title: "Port the parser", Prompt: "Port the parser. " + said, Limits: ralph.Limits{Iterations: iterations}})
	s.Loop, s.Iteration, s.Attempt, s.Stop, s.Detail = name, iterations, 1, ralph.StopVerified, ""
	var h board.History
	var used ralph.Usage
	start := began
	for i := 1; i <= iterations; i++ {
		it := ralph.Iteration{Number: i, Attempt: 1, Start: start, Elapsed: time.Duration(30+i%7*20) * time.Second, Outcome: ralph.OutcomeFailure, Claimed: i%3 > 0,
			Usage: ralph.Usage{InputTokens: int64(1000 * (1 + i%9)), OutputTokens: int64(100 * (1 + i%4)), CostUSD: new(0.01 * float64(1+i%5))}}
		it.End = it.Start.Add(it.Elapsed)
		if start = it.End; i == iterations/2 {
			start = start.Add(14 * time.Hour)
		}
		switch {
		case i == iterations:
			it.Verdict = ralph.Pass()
		case i%11 == 0:
			it.Fault, it.Error, it.Usage = ralph.FaultError, "the connection was closed", ralph.Usage{}
		case i%3 > 0:
			it.Verdict = ralph.Reject(fmt.Sprintf("%d of 500 tests fail. %s", 500-i, said))
			it.Verdict.Checks = []ralph.Check{{Name: "go test ./...", Status: ralph.CheckFailed, Detail: said}}
		}
		for n := range 3 + len(said)/50 {
			it.Files = append(it.Files, fmt.Sprintf("parser/part%d/file%03d.go", i%10, n))
		}
		used = used.Add(it.Usage)
		h.Attempts = append(h.Attempts, board.Attempt{Iteration: it, Ended: true, Words: "I have changed the parser. " + said[:min(len(said), 4<<10)]})
	}
	st := pipeline.Standing{Standing: progress.Standing{Entry: progress.Entry{Loop: name, Kind: progress.KindLoop, Status: progress.StatusCompleted, State: s, Started: began, Active: start},
		Task: "T1", Stage: "coder", MaxIterations: iterations, CompletionPromise: "DONE", Used: used}}
	return report.Report{Run: board.Alone(st), Histories: map[string]board.History{name: h}, Made: start.Add(time.Hour)}
}

// manyTasks is a real pipeline of forty tasks with three agents each.
func manyTasks(t *testing.T) (rep report.Report) {
	t.Helper()
	var tasks strings.Builder
	tasks.WriteString("tasks:\n")
	for i := range 40 {
		fmt.Fprintf(&tasks, "- {id: TASK-%03d, title: Port part %d of the parser with all its tests}\n", i+1, i+1)
	}
	p := shop()
	p.Stages, p.Rules.Slots, p.Limits.Iterations = []string{"coder", "reviewer", "tester"}, 4, 5
	p.Verifier = ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
		time.Sleep(7 * time.Second)
		if n := len(c.Task.Agent) + int(c.Task.ID[7]); c.Iteration < n%4 || c.Task.ID == "TASK-017" {
			return ralph.Reject(strings.Repeat("TestPart fails: part_test.go:7: a statement is missing.\n", 20)), nil
		}
		return ralph.Pass(), nil
	})
	synctest.Test(t, func(t *testing.T) {
		dir := record(t, tasks.String(), p)
		var err error
		if rep, err = report.Read(t.Context(), dir, "shop"); err != nil {
			t.Fatal(err)
		}
	})
	return rep
}

// TestSize: a page stays one that a browser shows well, whatever was said, and is well
// formed.
func TestSize(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		rep  report.Report
		has  string
	}{
		{"pipeline", manyTasks(t), "TASK-040"},
		{"loop", longLoop(500, "a word "), "499 of 500 tests fail"},
		{"words", longLoop(500, strings.Repeat(`<&"'> `, 1400)), "more are on record"},
	} {
		got := page(t, tt.rep)
		wellFormed(t, tt.name, got)
		if len(got) > 2_000_000 || !strings.Contains(got, tt.has) {
			t.Errorf("%s: %d bytes", tt.name, len(got))
		}
	}
}
