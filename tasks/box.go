package tasks

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// box records the box that a list item begins with at i; col is the column of
// the item's marker.
func (s *scanner) box(i, end, col int) bool {
	t := s.text[i:end]
	if len(t) < 5 || t[0] != '[' || t[2] != ']' || !isMark(t[1]) {
		return false
	}
	text, optional := boxText(t[3:])
	if text == "" {
		return false
	}
	it := describe(text)
	it.Key = cmp.Or(it.ID, it.Text)
	it.Phase, it.Done, it.Level, it.Line, it.Offset = s.phase, t[1] != ' ', len(s.open)-1, s.line, i+1

	s.other.end(s)
	list, d := &s.list.Others, &s.other
	if it.ID != "" && s.criteria == 0 && !optional && !isCriterion(it.ID) {
		s.task.end(s)
		list, d = &s.list.Items, &s.task
		n := len(*list)
		s.unsorted = s.unsorted || n > 0 && !rises((*list)[n-1].ID, it.ID)
	}
	if n := len(*list); n == cap(*list) { // make room for what there will be if the rest is like what was read
		*list = slices.Grow(*list, 16+min(8*n, n*(len(s.text)-i)/i))
	}
	*list = append(*list, it)
	*d = detail{list: list, index: len(*list) - 1, at: s.line, col: col}
	return true
}

func isMark(c byte) bool { return c == ' ' || c == 'x' || c == 'X' }

// boxText returns the text behind the brackets of a box, up to the end of the
// line; "" if there is none, or no white space before it. Kiro puts an asterisk
// between the two if the task is optional.
func boxText(t string) (text string, optional bool) {
	if len(t) > 1 && t[0] == '*' {
		t, optional = t[1:], true
	}
	if t == "" || !isBlank(t[0]) {
		return "", false
	}
	return trimBlanks(t), optional
}

// rises reports whether an ID comes after another, T10 after T2. IDs mostly rise
// through a file, which shows that none is repeated without looking any of them
// up.
func rises(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// setKeys makes the keys unique, the tasks' before the others', so that a
// criterion never takes a task's name.
func setKeys(l List) {
	last := make(map[string]int) // by key, the last number that was given to it; 0 = the key is free
	for _, items := range [...][]Item{l.Items, l.Others} {
		for i := range items {
			key, base := &items[i].Key, items[i].Key
			for last[*key] > 0 {
				last[base]++
				*key = base + "#" + strconv.Itoa(last[base])
			}
			last[*key] = 1
		}
	}
}

// maxDetails bounds Item.Details.
const maxDetails = 4 << 10

// A detail collects the lines indented below a box. The zero value collects none.
type detail struct {
	list   *[]Item
	index  int
	at     int // the line of the box
	col    int // of the box's list marker; what is indented more is below it
	indent int // of the first line
	from   int
	to     int // 0 = no line yet
}

// line looks at a line that is not blank.
func (d *detail) line(s *scanner, pos, end, col int) {
	switch {
	case d.list == nil || d.at == s.line:
		return
	case col <= d.col:
		d.end(s)
		return
	case d.to == 0:
		d.from, d.indent = pos, col
	}
	d.to = end
}

// end stores what was collected.
func (d *detail) end(s *scanner) {
	if d.to > 0 {
		(*d.list)[d.index].Details = dedent(s.text[d.from:d.to], d.indent)
	}
	*d = detail{}
}

// dedent takes so many columns of indentation off each line, and bounds the text.
func dedent(text string, cols int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\n")
		for col := 0; col < cols && line != "" && isBlank(line[0]); line = line[1:] {
			if line[0] == '\t' {
				col += 3 - col%4
			}
			col++
		}
		b.WriteString(line)
		b.WriteByte('\n')
		if b.Len() > maxDetails {
			break
		}
	}
	return clipText(strings.Trim(b.String(), " \t\n"), maxDetails)
}

// clipText bounds a text, at the end of a rune, and says so with an ellipsis.
func clipText(t string, size int) string {
	if len(t) <= size {
		return t
	}
	size -= len("…")
	for size > 0 && !utf8.RuneStart(t[size]) {
		size--
	}
	return t[:size] + "…"
}
