package gravest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/internal/gravest"
)

func TestOf(t *testing.T) {
	t.Parallel()
	all := []string{"passed", "unable", "failed", "warning", "timeout", "failed", "skipped"}
	for most, want := range [][2][]int{
		{{}, {2, 5, 1, 4, 0, 3, 6}},
		{{2}, {5, 1, 4, 0, 3, 6}},
		{{2, 5}, {1, 4, 0, 3, 6}},
		{{1, 2, 5}, {4, 0, 3, 6}},
		{{1, 2, 4, 5}, {0, 3, 6}},
		{{0, 1, 2, 4, 5}, {3, 6}},
		{{0, 1, 2, 3, 4, 5}, {6}},
		{{0, 1, 2, 3, 4, 5, 6}, {}},
		{{0, 1, 2, 3, 4, 5, 6}, {}},
	} {
		kept, left := gravest.Of(all, most)
		if diff := cmp.Diff(want, [2][]int{kept, left}); diff != "" {
			t.Errorf("%d: %s", most, diff)
		}
	}
}
