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

	open  []int // the content columns of what is open: 0 of the text, then list items, outermost first
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
	s.text, s.open = text, []int{0}
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
	if s.raw.end != "" && (blank || col >= s.raw.col) {
		if s.raw.size > 0 && !blank {
			s.task.line(s, pos, end, col)
			s.other.line(s, pos, end, col)
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

	depth := len(s.open) - 1
	for s.open[depth] > col {
		depth--
	}
	at, from := i, col
	for s.scanBlock(at, end, from, depth) {
		// A list item has begun, and what is in it begins on the same line.
		depth = len(s.open) - 1
		at, from = indent(s.text, s.begin, end, s.open[depth])
	}
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

// scanBlock looks at what begins at i, in so many of the open list items. It
// returns true if that is a list item, and then s.begin is where its content begins.
func (s *scanner) scanBlock(i, end, col, depth int) bool {
	interrupts := s.para && depth == len(s.open)-1 // else plain text would go on the paragraph of a deeper item
	rest := s.text[i:end]
	if col-s.open[depth] >= 4 {
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
			s.raw = raw{end: rest[:1], size: n, col: s.open[depth]}
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
			s.setext(i, 1+strings.IndexByte("=-", c), depth)
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
	s.open, s.para = s.open[:depth+1], false
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
	return strings.Count(t, t[:1]) >= 3 && strings.Trim(t, t[:1]+" \t") == ""
}

// A raw is a block whose lines are no Markdown, so that no box is in it: a code
// fence, an HTML comment, an element with verbatim text. It ends with its end
// mark, with the list item it is in, or with the text.
type raw struct {
	end  string // what ends it: the character of a fence, -->, </pre>; "" = none is open
	size int    // of a fence; 0 = it is none
	col  int    // the content column of the list item it is in; 0 = in none
}

// closes reports whether a line ends the block. It is given without its
// indentation, which reaches to col.
func (r raw) closes(line string, col int) bool {
	if r.size == 0 {
		return strings.Contains(strings.ToLower(line), r.end)
	}
	n := run(line, r.end[0])
	return col-r.col < 4 && n >= r.size && trimBlanks(line[n:]) == ""
}

// run returns how many times a text begins with a character.
func run(t string, c byte) int { return len(t) - len(strings.TrimLeft(t, string(c))) }

// opens returns how many characters the code fence has that a line opens, or 0.
func opens(t string) int {
	n := run(t, t[0])
	if n < 3 || t[0] == '`' && strings.IndexByte(t[n:], '`') >= 0 {
		return 0
	}
	return n
}

// html opens the comment or the element with verbatim text that a line begins
// with, unless it ends in the same line.
func (s *scanner) html(line string, depth int) bool {
	r, from := raw{}, 0
	if strings.HasPrefix(line, "<!--") {
		r, from = raw{end: "-->"}, len("<!") // also behind the list item: that is what is meant
	}
	for _, name := range [...]string{"pre", "script", "style", "textarea"} {
		after := 1 + len(name)
		if len(line) >= after && strings.EqualFold(line[1:after], name) && (len(line) == after || strings.IndexByte(" \t>", line[after]) >= 0) {
			r = raw{end: "</" + name + ">", col: s.open[depth]}
		}
	}
	if r.end == "" {
		return false
	}
	s.enter(depth)
	if !r.closes(line[from:], 0) {
		s.raw = r
	}
	return true
}

// comment hides the lines behind a line of text in which a comment begins and
// does not end. GitHub would show a list that begins in there, but who writes one
// means it to be hidden. Without an end before the next blank line it is no
// comment.
func (s *scanner) comment(i, end int) {
	if !strings.Contains(s.text[i:end], "<!--") {
		return
	}
	at := i + strings.LastIndex(s.text[i:end], "<!--")
	before, after := s.text[i:at], s.text[at+2:end]
	code := strings.Count(before, "`")%2 == 1 && strings.Contains(after, "`")
	if code || strings.HasSuffix(before, `\`) || strings.Contains(after, "-->") {
		return
	}
	for pos := max(end+1, s.noEnd); pos < len(s.text); pos = end + 1 {
		end = s.lineEnd(pos)
		line := s.text[pos:end]
		if strings.Contains(line, "-->") {
			s.raw = raw{end: "-->"}
			return
		}
		if trimBlanks(line) == "" {
			return
		}
		s.noEnd = end + 1
	}
}

// frontMatter returns the length of the YAML block that a text begins with, 0 if
// there is none. What begins with "---" but not with a key is a thematic break.
func frontMatter(text string) int {
	first, rest, _ := strings.Cut(text, "\n")
	key, _, found := strings.Cut(rest, ":")
	if strings.TrimRight(first, " \t") != "---" || !found || letters(key) == 0 || strings.ContainsAny(key, " \t\n*<>[]()`/") {
		return 0
	}
	at := len(first) + 1
	for line := range strings.Lines(rest) {
		at += len(line)
		if line = strings.TrimRight(line, " \t\n"); line == "---" || line == "..." {
			return at
		}
	}
	return 0
}
