package verify

import (
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/gravest"
)

// maxChecks is how many checks a verdict may have. The loop would cut a longer
// list itself; a verifier that cuts knows what the checks stand for.
const maxChecks = 64

// few returns the checks, or as many as a verdict may have and one that stands
// for the others. Those that reject are kept before all others, for they are
// what the verdict is about. The one that stands for the rest takes the gravest
// status among them, so that a pass is never read out of a list whose failures
// were left out.
func few(checks []ralph.Check) []ralph.Check {
	if len(checks) <= maxChecks {
		return checks
	}
	statuses := make([]ralph.CheckStatus, len(checks))
	for i, c := range checks {
		statuses[i] = c.Status
	}
	kept, left := gravest.Of(statuses, maxChecks-1)
	var out []ralph.Check
	for _, i := range kept {
		out = append(out, checks[i])
	}
	rest := ralph.Check{Name: fmt.Sprintf("%d more checks", len(left)), Status: ralph.CheckSkipped, Detail: "left out; none of them rejects"}
	switch first := checks[left[0]]; first.Status { // the gravest of them
	case ralph.CheckFailed, ralph.CheckUnable, ralph.CheckTimeout:
		rest.Status, rest.Detail = first.Status, first.Detail
	}
	return append(out, rest)
}
