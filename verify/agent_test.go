package verify_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestAgentCorpus needs every answer of every stage judged right.
func TestAgentCorpus(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, j := range corpus(t, "testdata/stages.txt") {
		stage, right := j.mark[:len(j.mark)-1], strings.HasSuffix(j.mark, "+")
		seen[stage]++
		v, err := verify.Agent(stage).Verify(t.Context(), ralph.Claim{Promised: true, Output: j.text})
		if err != nil || v.Passed != right {
			t.Errorf("testdata/stages.txt:%d: %s %q: %+v, %v", j.line, j.mark, j.text, v, err)
		}
	}
	for _, stage := range []string{"coder", "tester", "reviewer"} {
		if seen[stage] < 20 {
			t.Errorf("%d answers of a %s", seen[stage], stage)
		}
	}
}

func TestAgent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, stage string
		claim       ralph.Claim
		passed      bool
		status      ralph.CheckStatus
		says        string
	}{
		{"in another case", "Coder", ralph.Claim{Promised: true, Output: "Committed."}, true, ralph.CheckPassed, ""},
		{"not promised", "coder", ralph.Claim{Output: "Committed."}, false, ralph.CheckFailed, "does not claim"},
		{"fault", "tester", ralph.Claim{Promised: true, Output: "All tests pass.", Fault: ralph.FaultIncomplete}, false, ralph.CheckFailed, "incomplete"},
		{"no commit, but not all is known", "coder", ralph.Claim{Promised: true, Output: "Done.", Omitted: 7}, false, ralph.CheckUnable, "7 bytes"},
		{"a commit, and not all is known", "coder", ralph.Claim{Promised: true, Output: "Committed.", Omitted: 7}, true, ralph.CheckPassed, ""},
		{"no failure, but not all is known", "tester", ralph.Claim{Promised: true, Output: "All tests pass.", Omitted: 7}, false, ralph.CheckUnable, "7 bytes"},
		{"a failure, and not all is known", "tester", ralph.Claim{Promised: true, Output: "Two tests fail.", Omitted: 7}, false, ralph.CheckFailed, "Two tests fail"},
		{"no objection, but not all is known", "reviewer", ralph.Claim{Promised: true, Output: "Approved.", Omitted: 7}, false, ralph.CheckUnable, "7 bytes"},
		{"a stage without a rule", "qa", ralph.Claim{Promised: true, Output: "Done."}, true, ralph.CheckWarning, ""},
		{"in a fence only", "coder", ralph.Claim{Promised: true, Output: "```\ncommitted\n```\nDone."}, false, ralph.CheckFailed, "commit"},
	} {
		v, err := verify.Agent(tt.stage).Verify(t.Context(), tt.claim)
		if err != nil || v.Passed != tt.passed || len(v.Checks) != 1 || v.Checks[0].Status != tt.status || !strings.Contains(v.Feedback, tt.says) {
			t.Errorf("%s: %+v, %v", tt.name, v, err)
		}
	}
	for _, name := range []string{"", "designer", "coder2"} {
		v, err := verify.Agent(name).Verify(t.Context(), ralph.Claim{Promised: true, Output: "Committed. All tests pass. Approved."})
		if err == nil || v.Passed || !strings.Contains(err.Error(), "coder, tester, reviewer") {
			t.Errorf("stage %q: %+v, %v", name, v, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := verify.Agent("coder").Verify(ctx, ralph.Claim{Promised: true, Output: "Committed."}); err == nil || v.Passed {
		t.Errorf("cancelled: %+v, %v", v, err)
	}
}
