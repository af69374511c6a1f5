// Package gravest chooses the checks of a verdict that are kept where there is
// no room for all.
package gravest

import "slices"

// Of returns the places of as many checks as are kept, by their statuses, and of
// those that are left out. Those that say why a verdict rejects go before others:
// "failed" before "unable" before "timeout" before any other status; among equals
// the first. What is kept is in the order of the checks, what is left out begins
// with the gravest.
func Of[S ~string](statuses []S, most int) (kept, left []int) {
	gravity := func(i int) int { return slices.Index([]S{"timeout", "unable", "failed"}, statuses[i]) }
	order := make([]int, len(statuses))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return gravity(b) - gravity(a) })
	most = min(most, len(order))
	kept, left = order[:most:most], order[most:]
	slices.Sort(kept)
	return kept, left
}
