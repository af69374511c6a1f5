package tasks

import "strings"

// A scanner finds the boxes of a Markdown text in one pass over its lines. It
// knows as much of CommonMark's block structure as decides what is a list item
// and what is code: list items and their indentation, paragraphs, headings,
// fences, thematic breaks, block quotes and HTML comments.
type scanner struct {
	text string // its lines end in \n
	line int
	list List

	open  []int // the content columns of the list items that are open, outermost first
	empty bool  // the last list item has nothing in it yet: a blank line ends it
	para  bool  // the line before belongs to a paragraph, which may go on
	begin int   // where that paragraph begins; -1 = it is a box's
	raw   raw   // the block that hides the line, if one is open
	noEnd int   // no comment ends from the line that was looked at last up to here

	phase    string
	criteria int // level of the heading under which boxes are criteria; 0 = none

	task, other detail // that of the last task, and of the last other box
	unsorted    bool   // the tasks' IDs do not rise, so one may stand there twice
}

// maxNesting bounds how deep list items are nested, so that the time does not grow
// with the square of the text.
const maxNesting = 100

// scan reads a text in which every offset is that of the file. Lines end in LF,
// CR LF or CR; a CR before an LF counts as a blank at the end of the line.
func (s *scanner) scan(text string) {
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", " \n"), "\r", "\n")
	}
	s.text = text
	pos := len(text) - len(strings.TrimPrefix(text, "\ufeff"))
	shown := pos + frontMatter(text[pos:])
	for pos < len(text) {
		end := s.lineEnd(pos)
		if s.line++; pos >= shown {
			s.scanLine(pos, end)
		}
		pos = end + 1
	}
	s.task.end(s)
	s.other.end(s)
}

// lineEnd returns where the line ends that begins at pos.
func (s *scanner) lineEnd(pos int) int {
	if n := strings.IndexByte(s.text[pos:], '\n'); n >= 0 {
		return pos + n
	}
	return len(s.text)
}

func (s *scanner) scanLine(pos, end int) {
	i, col := indent(s.text, pos, end, 0)
	blank := i == end
	if s.raw.mark != 0 && (blank || col >= s.raw.col) {
		if s.raw.fence() && !blank {
			s.details(pos, end, col)
		}
		if s.raw.closes(s.text[i:end], col) {
			s.raw = raw{}
		}
		return
	}
	if blank {
		s.para = false
		if s.empty {
			s.open, s.empty = s.open[:len(s.open)-1], false
		}
		return
	}
	s.raw, s.empty = raw{}, false // what hid lines has ended with its list item

	depth := len(s.open)
	for depth > 0 && s.open[depth-1] > col {
		depth--
	}
	at, from := i, col
	for s.scanBlock(at, end, from, depth) {
		// A list item has begun, and what is in it begins on the same line.
		at, from = indent(s.text, s.begin, end, s.open[len(s.open)-1])
		depth = len(s.open)
	}
	s.details(pos, end, col)
}

// details tells those who collect what stands below a box of a line.
func (s *scanner) details(pos, end, col int) {
	s.task.line(s, pos, end, col)
	s.other.line(s, pos, end, col)
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
	interrupts := s.para && depth == len(s.open) // else plain text would go on the paragraph of a deeper item
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
			s.comment(i, end)
			return false
		}
	case '`', '~':
		if n := opens(rest); n > 0 {
			s.enter(depth)
			s.raw = raw{c, n, s.base(depth)}
			return false
		}
	case '>':
		s.enter(depth)
		return false
	case '<':
		if s.html(rest, depth) {
			return false
		}
	case '=', '-', '*', '_':
		if interrupts && (c == '=' || c == '-') && strings.Trim(trimBlanks(rest), rest[:1]) == "" {
			s.setext(i, c, depth)
			return false
		}
		if c != '=' && thematicBreak(rest) {
			s.enter(depth)
			return false
		}
	}
	if n := marker(rest, interrupts); n > 0 && depth < maxNesting {
		return s.listItem(i, n, end, col, depth)
	}
	if !s.para { // a paragraph begins
		s.enter(depth)
		s.para, s.begin = true, i
	}
	s.comment(i, end)
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
		s.comment(at, end)
		return false
	}
	s.begin = at
	return true
}

// marker returns the length of the list marker that a text begins with, or 0.
// Only some may interrupt a paragraph: so "2026. A year" on its second line is
// no list.
func marker(t string, interrupts bool) int {
	n := 1
	if strings.IndexByte("-*+", t[0]) < 0 {
		n = digits(t)
		if n == 0 || n > 9 || n == len(t) || t[n] != '.' && t[n] != ')' || interrupts && strings.TrimLeft(t[:n], "0") != "1" {
			return 0
		}
		n++
	}
	if n < len(t) && !isBlank(t[n]) || interrupts && trimBlanks(t[n:]) == "" {
		return 0
	}
	return n
}

// thematicBreak reports whether a line is three or more of its first character,
// with spaces or without.
func thematicBreak(t string) bool {
	n := 0
	for i := range len(t) {
		switch {
		case t[i] == t[0]:
			n++
		case !isBlank(t[i]):
			return false
		}
	}
	return n >= 3
}
