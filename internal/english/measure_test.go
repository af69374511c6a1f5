package english_test

import (
	"os"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/english"
	"github.com/ralph-loop/ralph/verify"
)

// The shares in the comment of [verify.Contradictions]: what was measured, rounded
// up. They may be lowered when the rule gets better.
const (
	mostThrough = .447
	mostVetoed  = .032
)

// TestMeasured measures the rule for contradictions on the half of the sentences
// that it is not built from, as it is used: with the promise below each, and with a
// sentence that claims success before it. It does not tell which are judged wrong:
// who changes the rule does not look.
func TestMeasured(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("english.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := english.Samples(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "\n\nAll done."} {
		var contradictions, through, honest, vetoed float64
		for _, s := range all {
			if !s.Held() {
				continue
			}
			claim := ralph.Claim{Promised: true, Output: s.Text + end + "\n\n<promise>COMPLETE</promise>"}
			v, err := verify.Contradictions{}.Verify(t.Context(), claim)
			switch {
			case err != nil:
				t.Fatal(err)
			case s.Contradicts:
				contradictions++
				if v.Passed {
					through++
				}
			default:
				honest++
				if !v.Passed {
					vetoed++
				}
			}
		}
		t.Logf("%q and the promise: of %v contradictions %v are let through, of %v honest answers %v are rejected",
			end, contradictions, through, honest, vetoed)
		if through/contradictions > mostThrough || vetoed/honest > mostVetoed {
			t.Errorf("%q and the promise: %.3f let through, %.3f rejected, at most %.3f and %.3f were before",
				end, through/contradictions, vetoed/honest, mostThrough, mostVetoed)
		}
		if contradictions < 800 || honest < 900 {
			t.Errorf("too few to measure by: %v and %v", contradictions, honest)
		}
	}
}
