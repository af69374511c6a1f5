package ralph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
)

// TestStateBound: a state without its task travels in messages that must be
// small, whatever is put into it. What is quoted as JSON doubles at most.
func TestStateBound(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\"\n", 20<<10)
	code := -1 << 31
	it := ralph.Iteration{Claimed: true, Line: 1 << 30, NearMiss: long, Error: long, Fault: ralph.FaultError, Workspace: long, Model: long, Session: long}
	for i := range 300 {
		it.Files = append(it.Files, fmt.Sprintf("%d%s", i, long[:100]))
		it.Verdict.Checks = append(it.Verdict.Checks, ralph.Check{Name: long, Detail: long, Digest: long, Status: ralph.CheckFailed, ExitCode: &code, Duration: 1 << 62})
	}
	it.Verdict.Feedback = long
	s := ralph.Start(ralph.Task{ID: "T1", Limits: ralph.Limits{Failures: -1}}).Guide(long).Guide(long)
	for range 8 {
		if s.Attempt == 4 {
			it.Fault = ""
		}
		it.Number, it.Attempt = s.Iteration, s.Attempt
		s = s.Next(it).Guide(long)
	}
	s.Task = ralph.Task{}
	text, err := json.Marshal(s)
	if err != nil || len(text) >= 64<<10 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// TestStateKeepsWhatRejects: of more checks than a state holds it keeps those
// that say why, on which also depends whether a rejection is the agent's doing.
func TestStateKeepsWhatRejects(t *testing.T) {
	t.Parallel()
	it := ralph.Iteration{Number: 1, Attempt: 1, Claimed: true}
	for i := range 200 {
		status := ralph.CheckUnable
		switch {
		case i < 100:
			status = ralph.CheckPassed
		case i == 190:
			status = ralph.CheckFailed
		}
		it.Verdict.Checks = append(it.Verdict.Checks, ralph.Check{Name: fmt.Sprint(i), Status: status})
	}
	it.Verdict.Feedback = "the tests fail"
	s := ralph.Start(ralph.Task{}).Next(it)
	checks := s.Verdict.Checks
	if len(checks) != 64 || checks[0].Name != "100" || checks[63].Name != "190" || checks[63].Status != ralph.CheckFailed {
		t.Errorf("%d checks: %+v", len(checks), checks)
	}
	if s.Failures != 0 || !strings.HasPrefix(s.Feedback, "the tests fail") {
		t.Errorf("%d failures, feedback %q", s.Failures, s.Feedback)
	}
}

// TestCompletionRecord: a verified loop ends with what proves it, in its state
// and in its last event.
func TestCompletionRecord(t *testing.T) {
	t.Parallel()
	code := 0
	s := ralph.Start(ralph.Task{Guarded: map[string]string{"a_test.go": "12"}})
	s = s.Next(ralph.Iteration{Number: 1, Attempt: 1, Claimed: true, Line: 9, Files: []string{"b.go", "a.go"}, Verdict: ralph.Reject("no")})
	check := ralph.Check{Name: "go test", Status: ralph.CheckPassed, Duration: 5, ExitCode: &code, Digest: "sha256:00"}
	s = s.Next(ralph.Iteration{Number: 2, Attempt: 1, Claimed: true, Line: 7, Files: []string{"a.go", "c.go"},
		Usage: ralph.Usage{InputTokens: 3}, Verdict: ralph.Verdict{Passed: true, Checks: []ralph.Check{check}}})
	type record struct {
		Stop    ralph.StopReason
		Line    int
		Files   []string
		Checks  []ralph.Check
		Tokens  int64
		Guarded map[string]string
	}
	want := record{ralph.StopVerified, 7, []string{"b.go", "a.go", "c.go"}, []ralph.Check{check}, 3, map[string]string{"a_test.go": "12"}}
	if diff := cmp.Diff(want, record{s.Stop, s.Line, s.Files, s.Verdict.Checks, s.Usage.InputTokens, s.Task.Guarded}); diff != "" {
		t.Error(diff)
	}
}
