package verifytest_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify/verifytest"
)

// TestReport: the report names every broken rule once, in one line, and says
// what happened.
func TestReport(t *testing.T) {
	t.Parallel()
	good, bad := claims()
	err := verifytest.TestVerifier(asWritten(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
		c.Files[0] = "c.go"
		return ralph.Reject(""), nil
	}), good, bad)
	want := `accepts: the good claim was rejected:
feedback: the good claim was rejected without any; the bad claim was rejected without any
cancel: the good claim was rejected without an error although the context was done before; the bad claim was rejected without an error although the context was done before
unmodified: Files of the good claim was written to; Files of the bad claim was written to`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLeftGoroutineIsNamed runs outside of a bubble, where time passes.
func TestLeftGoroutineIsNamed(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	go func() { <-release }() // somebody else's
	good, bad := claims()
	err := verifytest.TestVerifier(after(func(ralph.Claim, *ralph.Verdict) error {
		go leftBehind(release)
		return nil
	}), good, bad)
	if text := fmt.Sprint(err); !strings.HasPrefix(text, "goroutines: ") || !strings.Contains(text, "leftBehind") || strings.Contains(text, "\n") {
		t.Error(text)
	}
}

func leftBehind(release <-chan struct{}) { <-release }

func TestMisuse(t *testing.T) {
	t.Parallel()
	good, bad := claims()
	for _, err := range []error{
		verifytest.TestVerifier(nil, good, bad),
		verifytest.TestVerifier(ralph.VerifierFunc(nil), good, bad),
	} {
		if err == nil || err.Error() != "verifier: it is nil" {
			t.Error(err)
		}
	}
	if err := verifytest.TestVerifier(ralph.VerifierFunc(sound), good, good); err == nil || !strings.HasPrefix(err.Error(), "claims: ") {
		t.Error(err)
	}
}

// TestEveryReferenceInAClaim: the kit watches each field through which a
// verifier could write. This fails when a claim gets a new one.
func TestEveryReferenceInAClaim(t *testing.T) {
	t.Parallel()
	var fields []string
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		for f := range t.Fields() {
			switch f.Type.Kind() {
			case reflect.Struct:
				if f.Type != reflect.TypeFor[time.Time]() {
					walk(f.Type, path+f.Name+".")
				}
			case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface, reflect.Func, reflect.Chan, reflect.Array:
				fields = append(fields, path+f.Name)
			}
		}
	}
	walk(reflect.TypeFor[ralph.Claim](), "")
	slices.Sort(fields)
	if diff := cmp.Diff([]string{"Checks", "Files", "Task.Acceptance", "Task.Guarded", "Task.Spec"}, fields); diff != "" {
		t.Errorf("copy and compare the new field in call.go (-want +got):\n%s", diff)
	}
}
