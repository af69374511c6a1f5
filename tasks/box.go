package tasks

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
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
	var it Item
	it.read(text)
	it.Key = cmp.Or(it.ID, it.Text)
	it.Phase, it.Done, it.Level, it.Line, it.Offset = s.phase, isDone(t[1]), len(s.open)-2, s.line, i+1
	it.Doing = !it.Done && t[1] != ' '

	s.other.end(s)
	criterion := s.criteria > 0 || strings.HasPrefix(it.ID, "AC-") || strings.HasPrefix(it.ID, "SC-")
	if why := cmp.Or(pick(criterion, WhyCriterion), pick(optional, WhyOptional), pick(it.ID == "", WhyNoID)); why != "" {
		s.list.Others = append(s.list.Others, Finding{Item: it, Why: why})
		s.other = detail{into: &s.list.Others[len(s.list.Others)-1].Item.Details, at: s.line, col: col}
		return true
	}
	s.task.end(s)
	list := &s.list.Items
	if n := len(*list); n > 0 { // IDs mostly rise through a file: then none is there twice, and none is looked up
		last := (*list)[n-1].ID
		s.unsorted = s.unsorted || len(it.ID) < len(last) || len(it.ID) == len(last) && it.ID <= last
	}
	if n := len(*list); n == cap(*list) { // make room for what there will be if the rest is like what was read
		*list = slices.Grow(*list, 16+min(8*n, n*(len(s.text)-i)/i))
	}
	*list = append(*list, it)
	s.task = detail{into: &(*list)[len(*list)-1].Details, at: s.line, col: col}
	return true
}

func pick(ok bool, why Why) Why {
	if ok {
		return why
	}
	return ""
}

// setParents says of each item which one it is a part of: the one that it is nested
// below, else that whose number it goes on, as 1.2 does with 1.
func setParents(items []Item) {
	var within []int
	ids := map[string]int{}
	for i := range items {
		it := &items[i]
		for len(within) > 0 && items[within[len(within)-1]].Level >= it.Level {
			within = within[:len(within)-1]
		}
		if len(within) > 0 {
			it.Parent = items[within[len(within)-1]].Key
		} else if dot := strings.LastIndexByte(it.ID, '.'); dot > 0 {
			if p, ok := ids[it.ID[:dot]]; ok {
				it.Parent = items[p].Key
			}
		}
		within = append(within, i)
		if it.Parent == "" {
			ids[it.ID] = i
		}
	}
}

func isMark(c byte) bool { return strings.IndexByte(" xX-~/", c) >= 0 }
func isDone(c byte) bool { return c == 'x' || c == 'X' }

// boxText returns the text behind the brackets of a box, up to the end of the
// line; "" if there is none, or no white space before it. Kiro puts an asterisk
// between the two if the task is optional.
func boxText(t string) (text string, optional bool) {
	t, optional = strings.CutPrefix(t, "*")
	if t == "" || !isBlank(t[0]) {
		return "", false
	}
	return trimBlanks(t), optional
}

// setKeys makes the keys unique, the tasks' before the others', so that a
// criterion never takes a task's name.
func setKeys(l List) {
	last := make(map[string]int) // by key, the last number that was given to it; 0 = the key is free
	name := func(it *Item) {
		base := it.Key
		for last[it.Key] > 0 {
			last[base]++
			it.Key = base + "#" + strconv.Itoa(last[base])
		}
		last[it.Key] = 1
	}
	for i := range l.Items {
		name(&l.Items[i])
	}
	for i := range l.Others {
		name(&l.Others[i].Item)
	}
}

// maxDetails bounds Item.Details.
const maxDetails = 4 << 10

// A detail collects the lines indented below a box. The zero value collects none.
type detail struct {
	into   *string // of the last item of its list, and so good until the next one is added
	at     int     // the line of the box
	col    int     // of the box's list marker; what is indented more is below it
	indent int     // of the first line
	from   int
	to     int // 0 = no line yet
}

// line looks at a line that is not blank.
func (d *detail) line(s *scanner, pos, end, col int) {
	switch {
	case d.into == nil || d.at == s.line:
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
		*d.into = dedent(s.text[d.from:d.to], d.indent)
	}
	*d = detail{}
}

// dedent takes so many columns of indentation off each line, and bounds the text.
func dedent(text string, cols int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\n")
		for col := 0; col < cols && line != "" && isBlank(line[0]); line = line[1:] {
			_, col = indent(line, 0, 1, col)
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
	return strings.ToValidUTF8(t[:size-len("…")], "") + "…"
}
