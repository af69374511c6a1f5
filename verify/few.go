package verify

import (
	"fmt"
	"slices"

	"github.com/ralph-loop/ralph"
)

// maxChecks is how many checks a verdict may have.
const maxChecks = 64

// few returns the checks, or as many as a verdict may have and one that stands
// for the others. Those that reject stay before all others, for they are what
// the verdict is about.
func few(checks []ralph.Check) []ralph.Check {
	if len(checks) <= maxChecks {
		return checks
	}
	gravity := func(c ralph.Check) int {
		return slices.Index([]ralph.CheckStatus{ralph.CheckTimeout, ralph.CheckUnable, ralph.CheckFailed}, c.Status)
	}
	order := make([]int, len(checks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return gravity(checks[b]) - gravity(checks[a]) })
	kept, left := order[:maxChecks-1], order[maxChecks-1:]
	slices.Sort(kept)
	var out []ralph.Check
	for _, i := range kept {
		out = append(out, checks[i])
	}
	// The gravest of those left out is the first of them, and if it does not
	// reject, none does.
	rest := ralph.Check{Name: fmt.Sprintf("%d more checks", len(left)), Status: ralph.CheckSkipped, Detail: "left out; none of them rejects"}
	if first := checks[left[0]]; gravity(first) >= 0 {
		rest.Status, rest.Detail = first.Status, first.Detail
	}
	return append(out, rest)
}
