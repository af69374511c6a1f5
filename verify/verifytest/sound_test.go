package verifytest_test

import (
	"context"
	"strings"

	"github.com/ralph-loop/ralph"
)

func claims() (good, bad ralph.Claim) {
	good = ralph.Claim{
		Promised: true, Output: "12 tests pass", Files: []string{"b.go", "a.go"},
		Task: ralph.Task{Acceptance: []string{"y", "x"}, Spec: []byte(`{"a":1}`), Guarded: map[string]string{"a_test.go": "00"}},
	}
	bad = good
	bad.Output = "2 tests fail"
	return good, bad
}

// sound is a verifier that keeps every rule. The broken ones are sound but for
// what their rule is about.
func sound(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if ctx.Err() != nil {
		return ralph.Verdict{}, context.Cause(ctx)
	}
	if strings.Contains(c.Output, "fail") {
		v := ralph.Reject("tests fail")
		v.Checks = []ralph.Check{{Name: "tests", Status: ralph.CheckFailed}}
		return v, nil
	}
	v := ralph.Pass()
	v.Checks = []ralph.Check{{Name: "tests", Status: ralph.CheckPassed}, {Name: "lint", Status: ralph.CheckWarning}}
	return v, nil
}

// asWritten is a verifier that is asked also when its context is done, which a
// VerifierFunc is not.
type asWritten func(context.Context, ralph.Claim) (ralph.Verdict, error)

func (f asWritten) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	return f(ctx, c)
}

// after is a verifier that changes sound's verdict, unless that is an error.
func after(change func(c ralph.Claim, v *ralph.Verdict) error) ralph.VerifierFunc {
	return func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
		v, err := sound(ctx, c)
		if err == nil {
			err = change(c, &v)
		}
		return v, err
	}
}

func passWith(status ralph.CheckStatus) func(<-chan struct{}) ralph.VerifierFunc {
	return func(<-chan struct{}) ralph.VerifierFunc {
		return after(func(_ ralph.Claim, v *ralph.Verdict) error {
			if v.Passed {
				v.Checks = append(v.Checks, ralph.Check{Name: "vet", Status: status})
			}
			return nil
		})
	}
}
