package progress_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/progress"
)

func TestLearnings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, answer string
		want         []string
	}{
		{"none", "I learned a lot.\n- a\n", nil},
		{"bold headings", "Done.\n\n**Learnings**:\n- one\n- two\n\n**Files Changed**:\n- a.go\n", []string{"one", "two"}},
		{"colon inside", "**Learnings:**\n* one\n", []string{"one"}},
		{"plain", "Learnings:\n\n1. one\n2) two\n", []string{"one", "two"}},
		{"heading", "## Learnings\n\n- one\n\n## Next\n- no\n", []string{"one"}},
		{"heading with a colon", "### Learnings for next time:\n- one\n", []string{"one"}},
		{"other case", "**learnings**:\n- one\n", []string{"one"}},
		{"CRLF", "**Learnings**:\r\n- one\r\n- two\r\n", []string{"one", "two"}},
		{"on the label's line", "**Learnings**: use tabs\nMore text.\n", []string{"use tabs"}},
		{"as a list item", "- **Files**:\n  - a.go\n- **Learnings**:\n  - one\n  - two\n- **Next**: go on\n", []string{"one", "two"}},
		{"blank lines between", "**Learnings**:\n- one\n\n- two\n", []string{"one", "two"}},
		{"an entry that goes on", "**Learnings**:\n- one\n  and more\n- two\n", []string{"one and more", "two"}},
		{"text ends the list", "**Learnings**:\n- one\nThat is all.\n- no\n", []string{"one"}},
		{"a rule ends the list", "**Learnings**:\n- one\n---\n- no\n", []string{"one"}},
		{"twice", "**Learnings**:\n- one\n\nText.\n\nLearnings:\n- two\n- one\n", []string{"one", "two"}},
		{"nothing", "**Learnings**:\n- None.\n- n/a\n-\n", nil},
		{"not a label", "The learnings: none\n- a\nLearnings are good.\n- b\nKey learnings:\n- c\n", nil},
		{"control sequences", "**Learnings**:\n- \x1b[31mred\x1b[0m\a\n- \u202egnp\n- a\tb\n- \xff\n", []string{"red", "gnp", "a b", "\uFFFD"}},
		{"the promise is none", "**Learnings**:\n- one\n\n<promise>COMPLETE</promise>\n", []string{"one"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, progress.Learnings(tt.answer)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLearningsAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("**Learnings**:\n")
	for i := range 100 {
		fmt.Fprintf(&b, "- %d %s\n  and more\n", i, strings.Repeat("界", 200))
	}
	got := progress.Learnings(b.String())
	if len(got) != 20 {
		t.Errorf("%d entries", len(got))
	}
	for _, text := range got {
		if len(text) > 500 || !utf8.ValidString(text) || !strings.HasSuffix(text, "…") {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
}
