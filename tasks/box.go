package tasks

import (
	"slices"
	"strings"
)

// A box is what the scanner notes of a box. What it says is read when it is known
// whether it is a task. Offsets are those of the scanner's text. It is kept small, and
// without a pointer, for there is one for each line of a long list.
type box struct {
	at      int32 // of the mark
	end     int32 // where its line ends
	below   int32 // where the last line ends that is indented below it; end = there is none
	line    int32
	col     int32 // of the list marker
	parent  int32 // the index of the box that it is nested below; -1 = none
	section int32 // index
	scheme  int32 // index of what its ID is like; 0 = it has none
	level   uint8 // how many list items it is nested below
	why     uint8 // index in whys
	task    bool  // it is one, whatever speaks against it
}

// whys are the reasons why a box is no task; the first is none. A box notes an index,
// of one byte, instead of the text.
var whys = [...]Why{"", WhyCriterion, WhyOptional, WhySkipped, WhyPart, WhyNoID}

const (
	isTask = iota
	isCriterion
	isOptional
	isSkipped
	isPart
	isNoID
)

// box records the box that a list item begins with at i; col is the column of the
// item's marker. It returns false if there is no box. Its ID, if it may be one, counts
// for its scheme; whether it is one is decided when the whole list is read.
func (s *scanner) box(i, end, col int) bool {
	text, optional := boxText(s.text[i:end])
	if text == "" {
		return false
	}
	b := box{
		at: int32(i + 1), end: int32(end), line: int32(s.line), col: int32(col), parent: -1,
		section: int32(len(s.sections) - 1), level: uint8(len(s.open) - 2),
	}
	for _, c := range s.open {
		b.parent = max(b.parent, c.box)
	}
	// The box that a line is nested below is that of the innermost list item that has
	// one.
	s.open[len(s.open)-1].box = int32(len(s.boxes))
	// The short way first: in a list of a million boxes nearly each begins so.
	id, sure := text[:plainID(text)], true
	if id == "" {
		var it Item
		sure = it.read(text, true)
		id = it.ID
	}
	switch {
	// What it is by its place goes before what it is by its marks: criteria that are
	// struck out, or optional, are criteria.
	case s.sections[b.section].criteria != "" || id != "" && isCriterionScheme(schemeOf(id)):
		b.why = isCriterion
	case optional:
		b.why = isOptional
	case !isTicked(s.text[b.at]) && strings.HasPrefix(strings.TrimLeft(text, "*_"), "~~"):
		b.why = isSkipped
	}
	s.nested = s.nested || b.parent >= 0
	s.dotted = s.dotted || strings.IndexByte(id, '.') >= 0
	b.scheme = s.schemes.add(id, sure, b.parent >= 0, b.why == isCriterion)
	s.growing = append(s.growing, int32(len(s.boxes)))
	if n := len(s.boxes); n == cap(s.boxes) { // make room for what there will be if the rest is like what was read
		s.boxes = slices.Grow(s.boxes, 16+min(8*n, n*(len(s.text)-i)/(i+1)+n/64))
	}
	s.boxes = append(s.boxes, b)
	return true
}

// isMark recognizes what may stand between the brackets: GitHub's, and those that
// people and Obsidian use for what is begun.
func isMark(c byte) bool   { return c == ' ' || c == 'x' || c == 'X' || c == '-' || c == '~' || c == '/' }
func isTicked(c byte) bool { return c == 'x' || c == 'X' }

// boxText returns the text of the box that a line begins with; "" if it has none, or no
// white space before it, and if there is no box. "[x](link)" is a link and no box, and
// "[ ]" alone is nothing to do.
//
// Kiro puts an asterisk between the two, or behind the ID, if the task is optional, and
// formatters a backslash before that.
func boxText(t string) (text string, optional bool) {
	// The shortest box is "[ ] a".
	if len(t) < 5 || t[0] != '[' || t[2] != ']' || !isMark(t[1]) {
		return "", false
	}
	t = t[3:]
	if t[0] == '*' || t[0] == '\\' {
		t, optional = strings.CutPrefix(strings.TrimPrefix(t, `\`), "*")
	}
	if t == "" || !isBlank(t[0]) {
		return "", false
	}
	t = trimBlanks(t)
	if n := strings.IndexByte(t, ' ') - 1; n > 0 && t[n] == '*' && isAlnum(t[n-1]) && isAlnum(t[0]) { // 1.2* Test it
		return t[:n] + t[n+1:], true
	}
	return t, optional
}
