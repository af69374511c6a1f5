package verifytest_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
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
