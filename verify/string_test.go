package verify_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

func TestString(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		v      verify.String
		claim  ralph.Claim
		passed bool
		status ralph.CheckStatus // of the last check
		says   string
	}{
		{"promise only", verify.String{}, ralph.Claim{Promised: true}, true, ralph.CheckWarning, ""},
		{"no promise", verify.String{}, ralph.Claim{Output: "done"}, false, ralph.CheckFailed, "does not claim"},
		{"fault", verify.String{}, ralph.Claim{Promised: true, Fault: ralph.FaultIncomplete}, false, ralph.CheckFailed, "incomplete"},
		{"contains, in another case", verify.String{Contains: []string{"Tests PASS"}}, ralph.Claim{Promised: true, Output: "all tests pass now"}, true, ralph.CheckPassed, ""},
		{"contains not", verify.String{Contains: []string{"tests pass", "committed"}}, ralph.Claim{Promised: true, Output: "tests pass"}, false, ralph.CheckFailed, `does not contain "committed"`},
		{"excludes", verify.String{Excludes: []string{"todo"}}, ralph.Claim{Promised: true, Output: "TODO: more"}, false, ralph.CheckFailed, `contains "todo"`},
		{"excludes not", verify.String{Excludes: []string{"todo"}}, ralph.Claim{Promised: true, Output: "done"}, true, ralph.CheckPassed, ""},
		{"excludes, but not all is known", verify.String{Excludes: []string{"todo"}}, ralph.Claim{Promised: true, Output: "done", Omitted: 5}, false, ralph.CheckUnable, "5 bytes"},
		{"contains, but not all is known", verify.String{Contains: []string{"tests"}}, ralph.Claim{Promised: true, Output: "done", Omitted: 5}, false, ralph.CheckUnable, "5 bytes"},
	} {
		v, err := tt.v.Verify(t.Context(), tt.claim)
		if err != nil || v.Passed != tt.passed || v.Checks[len(v.Checks)-1].Status != tt.status || !strings.Contains(v.Feedback, tt.says) || (v.Feedback == "") != v.Passed {
			t.Errorf("%s: %+v, %v", tt.name, v, err)
		}
	}
	if v, err := (verify.String{Contains: []string{""}}).Verify(t.Context(), ralph.Claim{Promised: true}); err == nil || v.Passed {
		t.Errorf("a blank entry: %+v, %v", v, err)
	}
	many := verify.String{Contains: slices.Repeat([]string{"first", strings.Repeat("\u20ac", 1000)}, 200)}
	if v, err := many.Verify(t.Context(), ralph.Claim{Promised: true}); err != nil || len(v.Feedback) > 8<<10 || !strings.Contains(v.Feedback, `"first"`) || len(v.Checks) != 64 || v.Checks[63].Name != "337 more checks" || v.Checks[63].Status != ralph.CheckFailed {
		t.Errorf("many rules: %d bytes of feedback, %v", len(v.Feedback), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := (verify.String{}).Verify(ctx, ralph.Claim{Promised: true}); err == nil || v.Passed {
		t.Errorf("cancelled: %+v, %v", v, err)
	}
}
