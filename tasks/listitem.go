package tasks

import (
	"strings"
	"unicode/utf8"
)

// box records the box that a list item begins with at i; col is the column of
// the item's marker.
func (s *scanner) box(i, end, col int) bool {
	if end-i < 5 || s.text[i] != '[' || s.text[i+2] != ']' || !isMark(s.text[i+1]) {
		return false
	}
	text, optional := boxText(s.text[i+3 : end])
	if text == "" {
		return false
	}
	l := describe(text)
	list, d := &s.list.Others, &s.other
	if l.id != "" && s.criteria == 0 && !optional && !isCriterion(l.id) {
		list, d = &s.list.Items, &s.item
		s.item.cut(s)
	}
	s.other.cut(s)

	if len(*list) == cap(*list) {
		*list = s.grow(*list, i)
	}
	n := len(*list)
	*list = (*list)[:n+1]
	it := &(*list)[n]
	it.ID, it.Key, it.Text, it.Story, it.Parallel = l.id, l.id, l.text, l.story, l.parallel
	if l.id == "" {
		it.Key = l.text
	}
	it.Phase, it.Done = s.phase, s.text[i+1] != ' '
	it.Level, it.Line, it.Offset = len(s.open)-1, s.line, i+1
	*d = detail{list: list, index: n, col: col}
	if n > 0 && list == &s.list.Items && !less((*list)[n-1].ID, l.id) {
		s.unsorted = true
	}
	return true
}

// boxText returns the text behind the brackets of a box, up to the end of the
// line; "" if there is none, or no white space before it. Kiro puts an asterisk
// between the two if the task is optional.
func boxText(t string) (text string, optional bool) {
	if len(t) > 1 && t[0] == '*' && isBlank(t[1]) {
		return trimBlanks(t[1:]), true
	}
	if !isBlank(t[0]) {
		return "", false
	}
	return trimBlanks(t), false
}

// grow makes room for as many boxes as there will be if the rest of the text is
// like what was read of it.
func (s *scanner) grow(list []Item, pos int) []Item {
	n := len(list)
	want := n*2 + 16
	if n >= 1024 {
		want = max(n+n/4, int(float64(n)*float64(len(s.text))/float64(pos)*1.02))
	}
	grown := make([]Item, n, want)
	copy(grown, list)
	return grown
}

// maxDetails bounds Item.Details.
const maxDetails = 4 << 10

// A detail collects the lines indented below a box. The zero value collects none.
type detail struct {
	list   *[]Item
	index  int
	col    int // of the box's list marker; what is indented more is below it
	indent int // of the first line
	from   int
	to     int // 0 = no line yet
	before int // to, before the last line
}

// line looks at a line that is not blank.
func (d *detail) line(s *scanner, pos, end, col int) {
	switch {
	case d.list == nil:
	case col <= d.col:
		d.end(s)
	case d.to == 0:
		d.from, d.to, d.indent, d.before = pos, end, col, 0
	default:
		d.to, d.before = end, d.to
	}
}

// cut ends with the line before the last one, which turned out to be another
// box.
func (d *detail) cut(s *scanner) {
	d.to = d.before
	d.end(s)
}

// end stores what was collected.
func (d *detail) end(s *scanner) {
	if d.list != nil && d.to > 0 {
		(*d.list)[d.index].Details = dedent(s.text[d.from:d.to], d.indent)
	}
	*d = detail{}
}

func (s *scanner) endDetails() {
	s.item.end(s)
	s.other.end(s)
}

// dedent takes so many columns of indentation off each line, and bounds the text.
func dedent(text string, cols int) string {
	if !strings.ContainsAny(text, "\r\n") {
		return clipText(strings.Trim(text, " \t"), maxDetails)
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		for col := 0; col < cols && line != "" && (line[0] == ' ' || line[0] == '\t'); line = line[1:] {
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
	return clipText(strings.TrimSpace(b.String()), maxDetails)
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
