package tasks

import (
	"strings"
)

// A scanner finds the boxes of a Markdown text in one pass over its lines. It
// knows as much of CommonMark's block structure as decides what is a list item
// and what is code: list items and their indentation, paragraphs, headings,
// fences, thematic breaks, block quotes and HTML comments.
type scanner struct {
	text string
	line int
	list List

	open  []int // the content columns of the list items that are open, outermost first
	para  bool  // the line before belongs to a paragraph, which may go on
	begin int   // where that paragraph begins; -1 = it is a box's
	fence fence
	empty bool // the last list item has nothing in it yet: a blank line ends it
	skip  int  // lines that begin at or before this offset are hidden
	html  int  // content column of the list item that what hides them ends with

	phase    string
	criteria int // level of the heading under which boxes are criteria; 0 = none

	item, other detail // that of the last task, and of the last other box
	unsorted    bool   // the tasks' IDs do not rise, so one may stand there twice

	lines          lines
	comment, close nextIndex
	tag            int   // where the next end tag of verbatim text is, if it was looked for
	ahead          lines // those from the line before blank
	blank          int   // where the next blank line begins, if it was looked for
}

// maxNesting bounds how deep list items are nested, so that the time does not grow
// with the square of the text.
const maxNesting = 100

// A fence is an open code fence. Its mark is 0 if there is none.
type fence struct {
	mark  byte
	size  int
	depth int // number of list items it is in
}

// A nextIndex remembers where the next occurrence of a text is, so that looking
// for rare things costs nothing on the lines without them.
type nextIndex struct{ at int }

func (n *nextIndex) find(text, what string, from int) int {
	if n.at < from || n.at == 0 && from == 0 {
		n.at = len(text)
		if i := strings.Index(text[from:], what); i >= 0 {
			n.at = from + i
		}
	}
	return n.at
}

func (s *scanner) scan() {
	pos := 0
	if strings.HasPrefix(s.text, "\ufeff") {
		pos = len("\ufeff")
	}
	s.skip = frontMatter(s.text, pos)
	for pos < len(s.text) {
		end, next := s.lines.end(s.text, pos)
		s.line++
		if pos > s.skip || s.leavesHTML(pos, end) {
			s.scanLine(pos, end)
		}
		pos = next
	}
	s.endDetails()
}

// A lines finds the ends of lines, in the order of the text: it never goes back.
type lines struct{ lf, cr nextIndex }

// end returns where the line that begins at pos ends, and where the next one
// begins. Lines end in LF, CR LF or CR.
func (l *lines) end(text string, pos int) (end, next int) {
	end = l.lf.find(text, "\n", pos)
	if cr := l.cr.find(text, "\r", pos); cr < end {
		if cr == end-1 && end < len(text) {
			return cr, end + 1
		}
		return cr, cr + 1
	}
	return end, min(end+1, len(text))
}

// indent skips spaces and tabs. Col is the column it begins at, and it returns
// the one where it ends; a tab goes to the next multiple of 4.
func indent(text string, i, end, col int) (int, int) {
	for ; i < end; i++ {
		switch text[i] {
		case ' ':
			col++
		case '\t':
			col += 4 - col%4
		default:
			return i, col
		}
	}
	return i, col
}

func (s *scanner) scanLine(pos, end int) {
	i, col := indent(s.text, pos, end, 0)
	if i == end {
		s.para = false // a fence goes on
		if s.empty {
			s.open, s.empty = s.open[:len(s.open)-1], false
		}
		return
	}
	s.empty = false
	s.item.line(s, pos, end, col)
	s.other.line(s, pos, end, col)

	depth := len(s.open)
	for depth > 0 && s.open[depth-1] > col {
		depth--
	}
	if s.fence.mark != 0 {
		if depth >= s.fence.depth {
			if col-s.base(depth) < 4 && closes(s.text[i:end], s.fence) {
				s.fence = fence{}
			}
			return
		}
		s.fence = fence{} // its list item has ended
	}
	for s.scanBlock(i, end, col, depth) {
		// A list item has begun, and what is in it begins on the same line.
		i, col = indent(s.text, s.begin, end, s.open[len(s.open)-1])
		depth = len(s.open)
	}
	if s.comment.find(s.text, "<!--", pos) < end {
		s.inlineComment(pos, end)
	}
}

// base is the column where the content of the list item at a depth begins.
func (s *scanner) base(depth int) int {
	if depth == 0 {
		return 0
	}
	return s.open[depth-1]
}

// scanBlock looks at what begins at i, in so many of the open list items. It
// returns true if that is a list item, and then s.begin is where its content begins.
func (s *scanner) scanBlock(i, end, col, depth int) bool {
	lazy := s.para && depth < len(s.open) // plain text would go on the paragraph of a deeper item
	rest := s.text[i:end]
	if col-s.base(depth) >= 4 {
		if !s.para {
			s.enter(depth) // indented code
		}
		return false
	}
	switch c := rest[0]; c {
	case '#':
		if level, title := atx(rest); level > 0 {
			s.enter(depth)
			s.heading(level, title)
			return false
		}
	case '`', '~':
		if n := opens(rest); n > 0 {
			s.enter(depth)
			s.fence = fence{c, n, depth}
			return false
		}
	case '>':
		s.enter(depth)
		return false
	case '<':
		if s.hideHTML(i, end, depth) {
			s.enter(depth)
			return false
		}
	case '=', '-', '*', '_', '+', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if s.para && !lazy && (c == '=' || c == '-') && strings.Trim(strings.TrimRight(rest, " \t"), rest[:1]) == "" {
			s.setext(i, map[byte]int{'=': 1, '-': 2}[c], depth)
			return false
		}
		if (c == '-' || c == '*' || c == '_') && thematicBreak(rest) {
			s.enter(depth)
			return false
		}
		if n := marker(rest, s.para && !lazy); n > 0 && depth < maxNesting {
			return s.listItem(i, n, end, col, depth)
		}
	}
	if !s.para { // a paragraph begins
		s.enter(depth)
		s.para, s.begin = true, i
	}
	return false
}

// enter closes the paragraph and the list items deeper than depth.
func (s *scanner) enter(depth int) {
	s.open, s.para = s.open[:depth], false
}

// listItem opens the list item whose marker of n bytes is at i.
func (s *scanner) listItem(i, n, end, col, depth int) bool {
	s.enter(depth)
	at, content := indent(s.text, i+n, end, col+n)
	if at == end || content > col+n+4 { // nothing, or indented code
		s.open, s.empty = append(s.open, col+n+1), at == end
		return false
	}
	s.open = append(s.open, content)
	if s.box(at, end, col) {
		s.para, s.begin = true, -1
		return false
	}
	s.begin = at
	return true
}

// marker returns the length of the list marker that a text begins with, or 0.
// Only some may interrupt a paragraph: so "2026. A year" on its second line is
// no list.
func marker(t string, interrupts bool) int {
	n := 0
	switch t[0] {
	case '-', '*', '+':
		n = 1
	case '=', '_':
		return 0
	default:
		for n < len(t) && n < 10 && '0' <= t[n] && t[n] <= '9' {
			n++
		}
		if n == 10 || n == len(t) || t[n] != '.' && t[n] != ')' || interrupts && strings.TrimLeft(t[:n], "0") != "1" {
			return 0
		}
		n++
	}
	switch {
	case n < len(t) && t[n] != ' ' && t[n] != '\t':
		return 0
	case interrupts && strings.Trim(t[n:], " \t") == "":
		return 0
	}
	return n
}

// thematicBreak reports whether a line is three or more of its first character,
// with spaces or without.
func thematicBreak(t string) bool {
	n := 0
	for i := range len(t) {
		switch t[i] {
		case t[0]:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3
}

// opens returns how many characters the code fence has that a line opens, or 0.
func opens(t string) int {
	n := len(t) - len(strings.TrimLeft(t, t[:1]))
	if n < 3 || t[0] == '`' && strings.IndexByte(t[n:], '`') >= 0 {
		return 0
	}
	return n
}

func closes(t string, f fence) bool {
	if t[0] != f.mark {
		return false
	}
	n := len(t) - len(strings.TrimLeft(t, t[:1]))
	return n >= f.size && strings.Trim(t[n:], " \t") == ""
}
