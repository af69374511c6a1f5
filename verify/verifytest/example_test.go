package verifytest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
	"github.com/ralph-loop/ralph/verify/verifytest"
)

// Changelog is somebody's own verifier: the answer must mention the changelog.
type Changelog struct{}

func (Changelog) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	switch {
	case ctx.Err() != nil:
		return ralph.Verdict{}, context.Cause(ctx)
	case strings.Contains(c.Output, "CHANGELOG"):
		return ralph.Pass(), nil
	}
	return ralph.Reject("add a line to CHANGELOG.md, and say so"), nil
}

func ExampleTestVerifier() {
	good := ralph.Claim{Promised: true, Output: "Done, and noted in CHANGELOG.md."}
	bad := ralph.Claim{Promised: true, Output: "Done."}
	if err := verifytest.TestVerifier(Changelog{}, good, bad); err != nil {
		fmt.Println(err) // in a test: t.Error(err)
	}
	// Output:
}

// A test of criteria needs no model. The judge knows what is true of the work, and
// holds nothing else for met.
func ExampleJudge() {
	met := []string{"the change has a test"}
	judge := verifytest.Judge(func(criterion string) bool { return slices.Contains(met, criterion) })
	v := verify.Semantic{Judge: judge, Criteria: []string{"the change has a test", "the change is documented"}}
	got, err := v.Verify(context.Background(), ralph.Claim{Promised: true, Output: "Done."})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range got.Checks {
		fmt.Println(c.Status, c.Name)
	}
	// Output:
	// passed judge
	// passed 1. the change has a test
	// failed 2. the change is documented
}
