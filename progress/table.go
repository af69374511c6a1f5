package progress

import (
	"cmp"
	"strings"

	"github.com/ralph-loop/ralph/internal/term"
)

// A Table lines up cells below each other, by the columns that text takes on a terminal:
// a wide character takes two, a combining mark none. It is for the tables of programs
// that print what logs and records say. The zero value is an empty one; a Table is for
// one goroutine.
type Table struct{ widths []int }

// Lines returns rows as lines without line feeds, with two blanks between cells. A cell
// is shown as [PrintableLine] makes it, an empty one as "-", and the last of a row is
// not filled up with blanks; rows may have fewer cells than others.
//
// A table may grow: rows that are given later are lined up with the earlier ones, as far
// as their cells are no wider, for what was printed cannot be moved any more.
func (t *Table) Lines(rows ...[]string) []string {
	safe := make([][]string, len(rows))
	for i, row := range rows {
		for k, cell := range row {
			cell = cmp.Or(term.Line(cell), "-")
			safe[i] = append(safe[i], cell)
			if k == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[k] = max(t.widths[k], term.Width(cell))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range safe {
		var b strings.Builder
		for k, cell := range row {
			b.WriteString(cell)
			if k < len(row)-1 {
				b.WriteString(strings.Repeat(" ", t.widths[k]-term.Width(cell)+2))
			}
		}
		lines[i] = b.String()
	}
	return lines
}
