package progress_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestClosing: how each end is told, in words that fit one and many.
func TestClosing(t *testing.T) {
	t.Parallel()
	tests := ralph.Check{Name: "go test ./...", Status: ralph.CheckPassed, ExitCode: new(0), Duration: 1234 * time.Millisecond}
	failed := ralph.Check{Name: "go test ./...", Status: ralph.CheckFailed, ExitCode: new(1)}
	passed := func(checks ...ralph.Check) ralph.Verdict { return ralph.Verdict{Passed: true, Checks: checks} }
	word := ralph.Check{Name: "promise", Status: ralph.CheckPassed}
	for _, tt := range []struct {
		s    ralph.State
		want string
	}{
		{ralph.State{Stop: ralph.StopVerified, Verdict: passed(tests)}, "verified by go test ./... (exit code 0, 1.2s)"},
		{ralph.State{Stop: ralph.StopVerified, Verdict: passed(word, tests)}, "verified by go test ./... (exit code 0, 1.2s) and 1 more check"},
		{ralph.State{Stop: ralph.StopVerified, Verdict: passed(word, tests, word)}, "verified by go test ./... (exit code 0, 1.2s) and 2 more checks"},
		{ralph.State{Stop: ralph.StopVerified, Verdict: passed(word)}, "verified by promise"},
		{ralph.State{Stop: ralph.StopVerified}, "verified"},
		{ralph.State{Stop: ralph.StopVerified, Verdict: passed(ralph.Check{Name: "unverified: promise only", Status: ralph.CheckWarning})}, "verified, with a warning: unverified: promise only"},
		{ralph.State{Stop: ralph.StopIterations, Task: ralph.Task{Limits: ralph.Limits{Iterations: 1}}}, "not verified: limit of 1 iteration reached"},
		{ralph.State{Stop: ralph.StopIterations, Verdict: ralph.Verdict{Checks: []ralph.Check{failed, failed}}}, "not verified: limit of 10 iterations reached; last rejected by go test ./... (exit code 1) and 1 more check"},
		{ralph.Start(ralph.Task{Prompt: "x"}).Finish().Next(ralph.Iteration{Number: 1, Attempt: 1}), "not verified: stopped on request after iteration 1"},
		{ralph.State{Stop: ralph.StopDuration, Task: ralph.Task{Limits: ralph.Limits{Duration: 2 * time.Hour}}}, "not verified: limit of 2h0m reached"},
		{ralph.State{Stop: ralph.StopDuration, Task: ralph.Task{Limits: ralph.Limits{Duration: 5 * time.Second}}, Elapsed: 20100 * time.Millisecond, Wait: 20 * time.Second, RateLimits: 1},
			"not verified: rate limited for 20s, longer than the limit of 5s allows"},
		{ralph.State{Stop: ralph.StopDuration, Task: ralph.Task{Limits: ralph.Limits{Duration: 5 * time.Second}}, Elapsed: 6 * time.Second, Wait: 2 * time.Second}, "not verified: limit of 5s reached"},
		{ralph.State{Stop: ralph.StopCost, Detail: "spent $4.8000 of $5.0000"}, "not verified: limit of cost: spent $4.8000 of $5.0000"},
		{ralph.State{Stop: ralph.StopTokens}, "not verified: limit of tokens"},
		{ralph.State{Stop: ralph.StopRateLimited, Detail: "5 hours\n\x1b[2Jleft"}, "not verified: rate limited: 5 hours left"},
		{ralph.State{Stop: ralph.StopFailed, Detail: "not logged in"}, "not verified: not logged in"},
		{ralph.State{Stop: ralph.StopFailed, Detail: "the agent failed, exit status 9: oops"}, "not verified: the agent failed, exit status 9: oops"},
		{ralph.State{Stop: ralph.StopFailed}, "not verified: failed"},
		{ralph.State{Stop: ralph.StopStalled, Detail: "3 iterations in a row changed nothing"}, "not verified: stalled: 3 iterations in a row changed nothing"},
		{ralph.State{Stop: ralph.StopStalled, Stalled: 2, Detail: "2 iterations in a row changed nothing: git's view of …"}, "not verified: stalled: 2 iterations in a row changed no file"},
		{ralph.State{Stop: ralph.StopStalled, Stalled: 1, Detail: "x"}, "not verified: stalled: 1 iteration changed no file"},
		{ralph.State{Stop: ralph.StopBlocked, Detail: "the agent says that it cannot go on: no key"}, "not verified: the agent says that it cannot go on: no key"},
		{ralph.State{Stop: ralph.StopBlocked}, "not verified: the agent says that it cannot go on"},
		{ralph.State{Stop: ralph.StopCancelled, Detail: "enough"}, "not verified: cancelled: enough"},
		{ralph.State{Stop: ralph.StopCancelled, Detail: "cancelled by ralph cancel"}, "not verified: cancelled by ralph cancel"},
		{ralph.State{Stop: ralph.StopCancelled, Detail: "cancelled: cancelled by ralph cancel"}, "not verified: cancelled by ralph cancel"},
		{ralph.State{Stop: ralph.StopRateLimited, Detail: "rate limit: 5 hours left"}, "not verified: rate limited: 5 hours left"},
		{ralph.State{Stop: ralph.StopCancelled}, "not verified: cancelled"},
		{ralph.State{Stop: ralph.StopInvalid, Detail: "no prompt"}, "not verified: it makes no sense: no prompt"},
		{ralph.State{Stop: "some_day"}, "not verified: some day"},
		{ralph.State{Iteration: 3, Attempt: 1, Running: true}, "interrupted in iteration 3"},
		{ralph.State{Iteration: 3, Attempt: 2}, "interrupted in iteration 3"},
		{ralph.State{Iteration: 3, Attempt: 1}, "interrupted before iteration 3"},
		{ralph.Start(ralph.Task{Prompt: "x"}), "interrupted before the first iteration"},
	} {
		got, _, _ := strings.Cut(progress.Closing{State: tt.s}.String(), "\n")
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.s.Stop, got, tt.want)
		}
	}
}

// TestClosingAccount: the second line counts what is known, and says what is not.
func TestClosingAccount(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	used := ralph.Usage{InputTokens: 40000, OutputTokens: 1000, CostUSD: new(0.37)}
	for _, tt := range []struct {
		c    progress.Closing
		want string
	}{
		{progress.Closing{State: ralph.State{Stop: ralph.StopVerified, Iteration: 3, Attempt: 1, Updated: at, Elapsed: 252 * time.Second, Usage: used, Unpriced: 1, Files: []string{"a", "b", "c", "d", "e"}}},
			"3 iterations in 4m12s, $0.37 (cost of 1 attempt unknown), 41k tokens, 5 files changed"},
		{progress.Closing{State: ralph.State{Stop: ralph.StopIterations, Iteration: 1, Attempt: 1, Updated: at, Elapsed: 661 * time.Millisecond, Files: []string{"a"}}},
			"1 iteration in 661ms, 1 file changed"},
		{progress.Closing{State: ralph.Start(ralph.Task{Prompt: "x", Limits: ralph.Limits{Duration: 5 * time.Second}}).Next(
			ralph.Iteration{Number: 1, Attempt: 1, Fault: ralph.FaultRateLimit, RetryAfter: 20 * time.Second, Elapsed: 100 * time.Millisecond, End: at})},
			"1 iteration in 100ms"}, // and not the wait that did not happen
		{progress.Closing{State: ralph.State{Stop: ralph.StopFailed, Iteration: 1, Attempt: 1, Updated: at, Elapsed: time.Second, Unpriced: 2, Usage: ralph.Usage{OutputTokens: 1}}},
			"1 iteration in 1s, cost unknown, 1 token"},
		{progress.Closing{State: ralph.State{Iteration: 2, Attempt: 2, Updated: at, Elapsed: time.Second, Usage: used}, Untold: 1},
			"2 iterations in 1s, $0.37 (cost of 1 attempt unknown), 41k tokens"}, // the second was interrupted
		{progress.Closing{State: ralph.State{Iteration: 2, Attempt: 2, Updated: at, Elapsed: time.Second, Usage: used, Unpriced: 1}, Untold: 1},
			"2 iterations in 1s, $0.37 (cost of 2 attempts unknown), 41k tokens"},
		{progress.Closing{State: ralph.State{Iteration: 1, Attempt: 2, Updated: at, Elapsed: time.Second}, Untold: 1}, "1 iteration in 1s, cost unknown"},
		{progress.Closing{State: ralph.State{Stop: ralph.StopCancelled, Iteration: 3, Attempt: 1, Updated: at}}, "2 iterations in 0s"},
		{progress.Closing{State: ralph.State{Stop: ralph.StopCancelled, Iteration: 3, Attempt: 1, Updated: at, Uncounted: true}}, "3 iterations in 0s"},
		{progress.Closing{State: ralph.State{Iteration: 3, Attempt: 1}}, "2 iterations in 0s"},
		{progress.Closing{State: ralph.State{Usage: used, Unpriced: 3, Elapsed: 3 * time.Hour}, Iterations: 12}, "12 iterations in 3h0m, $0.37 (cost of 3 attempts unknown), 41k tokens"},
		{progress.Closing{State: ralph.State{Usage: ralph.Usage{CostUSD: new(0.371), Estimated: true}}, Iterations: 1}, "1 iteration in 0s, ≈ $0.37"},
		{progress.Closing{State: ralph.State{Files: strings.Split(strings.Repeat("some/where/or/other.go\n", 150), "\n")}, Iterations: 1}, "1 iteration in 0s, at least 151 files changed"},
		{progress.Closing{State: ralph.Start(ralph.Task{})}, ""},
	} {
		tt.c.Result = "first"
		if got := tt.c.String(); got != "first\n"+tt.want+strings.Repeat("\n", min(len(tt.want), 1)) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	for _, tt := range []struct{ records, next, want string }{
		{"", "", "x\n"}, {".ralph", "", "x\nrecords: .ralph\n"}, {"", "ralph resume T1", "x\ngo on: ralph resume T1\n"}, {".ralph", "ralph\x1b[2J\nresume", "x\nrecords: .ralph; go on: ralph resume\n"},
	} {
		if got := (progress.Closing{Result: "x", Records: tt.records, Next: tt.next}).String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestClosingColumns: on a terminal lines are broken between words, and the command is not.
func TestClosingColumns(t *testing.T) {
	t.Parallel()
	c := progress.Closing{
		State:  ralph.State{Usage: ralph.Usage{InputTokens: 41000, CostUSD: new(0.37)}, Unpriced: 1, Elapsed: time.Minute},
		Result: "verified by go test ./... and more (exit code 0)", Iterations: 3,
		Records: "/home/me/project/.ralph/T001", Next: "ralph resume T001 --list tasks.md --agent claude",
	}
	for columns, want := range map[int]string{
		0: "verified by go test ./... and more (exit code 0)\n3 iterations in 1m0s, $0.37 (cost of 1 attempt unknown), 41k tokens\n" +
			"records: /home/me/project/.ralph/T001; go on: ralph resume T001 --list tasks.md --agent claude\n",
		48: "verified by go test ./... and more (exit code 0)\n3 iterations in 1m0s, $0.37 (cost of 1 attempt\n   unknown), 41k tokens\n" +
			"records: /home/me/project/.ralph/T001\ngo on: ralph resume T001 --list tasks.md --agent claude\n",
		20: "verified by go test\n   ./... and more\n   (exit code 0)\n3 iterations in\n   1m0s, $0.37 (cost\n   of 1 attempt\n   unknown), 41k\n   tokens\n" +
			"records:\n   /home/me/project/.ralph/T001\ngo on: ralph resume T001 --list tasks.md --agent claude\n",
	} {
		c.Columns = columns
		if diff := cmp.Diff(want, c.String()); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", columns, diff)
		}
	}
	c.Records, c.Columns = "", 20
	if got := c.String(); !strings.HasSuffix(got, "tokens\ngo on: ralph resume T001 --list tasks.md --agent claude\n") {
		t.Errorf("%q", got)
	}
}
