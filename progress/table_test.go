package progress_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/progress"
)

// TestTable: what lines up on a terminal are columns, and neither bytes nor characters.
func TestTable(t *testing.T) {
	t.Parallel()
	var table progress.Table
	rows := [][]string{
		{"TASK", "OUTCOME", "TITLE"},
		{"T001", "success", "plain"},
		{"日本語", "é", "wide, and a mark"},
		{"🚀", "", "emoji"},
		{"evil\x1b[31m\n\u202e", "a\tb", "control  sequences"},
		{"short"},
	}
	want := []string{
		"TASK    OUTCOME  TITLE",
		"T001    success  plain",
		"日本語  é        wide, and a mark",
		"🚀      -        emoji",
		"evil    a b      control sequences",
		"short",
	}
	if diff := cmp.Diff(want, table.Lines(rows...)); diff != "" {
		t.Error(diff)
	}
	later := []string{"A       b        c", "much wider  than  they"}
	if diff := cmp.Diff(later, append(table.Lines([]string{"A", "b", "c"}), new(progress.Table).Lines([]string{"much wider", "than", "they"})...)); diff != "" {
		t.Error(diff)
	}
	if rows[3][1] != "" {
		t.Error("the caller's rows are changed")
	}
}

func ExampleTable() {
	var t progress.Table
	fmt.Println(strings.Join(t.Lines([]string{"TASK", "COST"}, []string{"T001", "$0.37"}), "\n"))
	fmt.Println(strings.Join(t.Lines([]string{"T2", ""}), "\n")) // it comes later
	// Output:
	// TASK  COST
	// T001  $0.37
	// T2    -
}

// TestPrintableWrap: lines are broken between words, by columns; what is narrow, and what
// is no terminal's, stays as it is.
func TestPrintableWrap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, want string
		columns    int
	}{
		{"one two three", "one two\n  three", 9},
		{"one two three", "one two three", 13},
		{"one two three", "one two three", 0},
		{"日本 日本 a\nshort", "日本\n  日本 a\nshort", 8},
		{"averyverylongword b\x1b[31m", "averyverylongword\n  b", 5},
		{"", "", 5},
	} {
		if got := progress.PrintableWrap(tt.text, "  ", tt.columns); got != tt.want {
			t.Errorf("%q in %d columns: %q, want %q", tt.text, tt.columns, got, tt.want)
		}
	}
	if got := progress.PrintableCut("日本語\n🚀", 5); got != "日本…" {
		t.Error(got)
	}
}
