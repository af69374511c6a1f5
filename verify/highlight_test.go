package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestFeedbackNamesTheFailing: of a long output the agent is quoted what fails,
// wherever it stands.
func TestFeedbackNamesTheFailing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, failing string
		want          []string
	}{
		{"go", "=== RUN   TestMedian\n    shop_test.go:12: got 3, want 2\n--- FAIL: TestMedian (0.00s)\n", []string{"TestMedian", "got 3, want 2"}},
		{"go, without -v", "--- FAIL: TestMedian (0.00s)\n    shop_test.go:12: got 3, want 2\n", []string{"TestMedian", "got 3, want 2"}},
		{"go build", "# example/shop\n./shop.go:7:2: undefined: sorted\n", []string{"undefined: sorted"}},
		{"pytest", "tests/test_shop.py::test_median FAILED\nE       assert 3 == 2\n", []string{"test_median FAILED", "assert 3 == 2"}},
		{"cargo", "test tests::median ... FAILED\nthread 'tests::median' panicked at src/lib.rs:9:5:\n", []string{"tests::median ... FAILED", "panicked"}},
		{"jest", "  ● median › of two\n    expect(received).toBe(expected)\n", []string{"median › of two", "expect(received)"}},
		{"jest, with blank lines", "FAIL src/shop.test.js\n  ● median › of two\n\n    expect(received).toBe(expected)\n\n    Expected: 2\n    Received: 3\n\n      at shop.test.js:11:23\n",
			[]string{"median › of two", "Expected: 2", "shop.test.js:11:23"}},
		{"pytest, in full", "________ test_median ________\n\n    def test_median():\n>       assert median([3]) == 2\nE       assert 3 == 2\n\ntests/test_shop.py:7: AssertionError\n",
			[]string{"test_median ____", "> ", "median([3]) == 2", "test_shop.py:7"}},
		{"go test -json", `{"Action":"output","Test":"TestMedian","Output":"--- FAIL: TestMedian (0.00s)\n"}` + "\n", []string{"TestMedian"}},
		{"tsc", "src/shop.ts(7,2): error TS2322: not assignable\n", []string{"TS2322"}},
		{"eslint", "/w/shop.js\n  7:2  error  'x' is not defined  no-undef\n", []string{"no-undef"}},
		{"mocha", "    3) finds the median\n", []string{"finds the median"}},
		{"node", "✖ finds the median (0.5ms)\n", []string{"finds the median"}},
		{"tap", "not ok 7 - median\n  ---\n  expected: 2\n", []string{"not ok 7 - median", "expected: 2"}},
		{"coloured", "\x1b[31m--- FAIL: TestMedian\x1b[0m\n", []string{"TestMedian"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			noise := func(n int) string {
				var b strings.Builder
				for i := range n {
					fmt.Fprintf(&b, "=== RUN   TestFine%d\n--- PASS: TestFine%d (0.00s)\n", i, i)
				}
				return b.String()
			}
			dir := t.TempDir()
			write(t, dir+"/out", noise(1000)+tt.failing+noise(1000)+"the last line\n")
			v, err := verify.External{Shell: "cat out; exit 1"}.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: dir}})
			if err != nil || v.Passed || len(v.Feedback) > 8<<10 {
				t.Fatal(len(v.Feedback), err)
			}
			for _, want := range append(tt.want, "the last line") {
				if !strings.Contains(v.Feedback, want) {
					t.Errorf("%q is not in the feedback:\n%s", want, v.Feedback)
				}
			}
		})
	}
}
