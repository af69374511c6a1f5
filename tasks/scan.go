package tasks

import (
	"math"
	"strings"
)

// A scanner finds the boxes of a Markdown text in one pass over its lines. It
// knows as much of CommonMark's block structure as decides what is a list item
// and what is code: list items and their indentation, paragraphs, headings,
// fences, thematic breaks, block quotes and HTML comments. A whole CommonMark parser
// would know more and be slower by far: a list is read again after each iteration, and
// boxes are all that is wanted. What is not known, such as links that span lines,
// cannot make a box or hide one.
type scanner struct {
	text     string // its lines end in \n
	line     int    // from 1
	boxes    []box
	near     []nearBox // lines that are nearly boxes
	sections []section // the headings so far; the first is what comes before any
	schemes  schemes
	nested   bool // some boxes are nested below boxes
	dotted   bool // some IDs have a dot in them

	open  []container // what is open: the text, then list items, outermost first
	empty bool        // the last list item has nothing in it yet: a blank line ends it
	para  bool        // the line before belongs to a paragraph, which may go on
	begin int         // where that paragraph begins; -1 = it is a box's
	raw   raw         // the block that hides the line, if one is open

	criteria int     // level of the heading under which boxes are criteria; 0 = none
	growing  []int32 // the boxes below which the line may be, by their indentation
	last     int     // where the last line ended that was not blank
}

// A container is the text or a list item. It is open as long as lines are indented to
// its content.
type container struct {
	col int   // where its content begins
	box int32 // the index of its box; -1 = it has none
}

// A section is a heading and what comes below it. A label, "**Acceptance criteria:**",
// begins one too, with the title of the heading above it.
type section struct {
	title    string
	line     int    // of the heading; 0 = it is not in the scanner's text
	criteria string // the heading which says that boxes below it are criteria; "" = none does
}

// maxNesting bounds how deep list items are nested, so that the time does not grow
// with the square of the text.
const maxNesting = 100

// scan reads a text in which every offset is that of the file, since Tick writes at
// them. So a byte order mark is skipped and not cut off, and line ends are replaced by
// as many bytes. Lines end in LF, CR LF or CR; a CR before an LF counts as a blank at
// the end of the line.
func (s *scanner) scan(text string) {
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", " \n"), "\r", "\n")
	}
	s.text, s.open, s.sections = text, []container{{0, -1}}, []section{{}}
	pos := len(text) - len(strings.TrimPrefix(text, "\ufeff"))
	for pos < len(text) {
		end := len(text)
		if n := strings.IndexByte(text[pos:], '\n'); n >= 0 {
			end = pos + n
		}
		if s.line++; !s.plainBox(pos, end) {
			s.scanLine(pos, end)
		}
		pos = end + 1
	}
	s.outdent(-1)
}

// plainBox is scanLine for lines like most in a long list, and faster: it returns false
// for any other. It must leave the scanner as scanLine would, so it takes only what
// needs none of its rules: at the left edge, with nothing hidden.
func (s *scanner) plainBox(pos, end int) bool {
	t := s.text[pos:end]
	if s.raw.end != "" || len(t) < 7 || t[:3] != "- [" || t[4] != ']' || t[5] != ' ' || !isMark(t[3]) || isBlank(t[len(t)-1]) {
		return false
	}
	s.outdent(0)
	s.open, s.empty = append(s.open[:1], container{2, -1}), false
	s.para, s.begin, s.last = true, -1, end
	return s.box(pos+2, end, 0)
}

// scanLine takes one line, from pos to end, which is without its line end: what it
// ends, what hides it, in which list items it is, and then what begins on it.
func (s *scanner) scanLine(pos, end int) {
	i, col := indent(s.text, pos, end, 0)
	blank := i == end
	if !blank {
		s.outdent(col)
		s.last = end
	}
	// A block of code in a list item ends with that, also if its fence is not closed:
	// else a fence that somebody has forgotten would hide the rest of the list.
	if s.raw.end != "" && (blank || col >= s.raw.col) {
		if s.raw.closes(s.text[i:end], col) {
			s.raw = raw{}
		} else if !blank {
			s.noteHidden(i, end)
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
	for s.open[depth].col > col {
		depth--
	}
	n, at, from := len(s.boxes), i, col
	for s.scanBlock(at, end, from, depth) {
		// A list item has begun, and what is in it begins on the same line.
		depth = len(s.open) - 1
		at, from = indent(s.text, s.begin, end, s.open[depth].col)
	}
	s.noteNear(n, i, end)
}

// outdent ends what is below boxes whose list marker is not left of the column. It is
// the indentation that counts here, and not what CommonMark takes for nested: people
// indent notes by less than it asks for, and mean them all the same.
func (s *scanner) outdent(col int) {
	n := len(s.growing)
	for ; n > 0; n-- {
		b := &s.boxes[s.growing[n-1]]
		if int(b.col) < col {
			break
		}
		b.below = int32(s.last)
	}
	s.growing = s.growing[:n]
}

// indent skips spaces and tabs. Col is the column it begins at, and it returns the one
// where it ends; a tab goes to the next multiple of 4, whatever an editor shows.
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
	// Four columns are code, but not behind a paragraph, which they go on with.
	if col-s.open[depth].col >= 4 {
		if !s.para {
			s.enter(depth) // indented code
		}
		return false
	}
	if s.leafBlock(i, rest, interrupts, depth) {
		return false
	}
	if n := marker(rest, interrupts); n > 0 && depth < maxNesting {
		return s.listItem(i, n, end, col, depth)
	}
	if !s.para { // a paragraph begins
		s.enter(depth)
		s.para, s.begin = true, i
		s.label(rest)
	}
	return false
}

// leafBlock takes a line that is a block by itself, or begins one of no Markdown, or a
// block quote; false = it is none. A line of dashes below a paragraph is a heading's,
// and else a thematic break, so that is asked first.
func (s *scanner) leafBlock(i int, rest string, interrupts bool, depth int) bool {
	switch c := rest[0]; c {
	case '#':
		level, title := atx(rest)
		if level > 0 {
			s.enter(depth)
			s.heading(level, title)
		}
		return level > 0
	case '`', '~', '<':
		return s.verbatim(rest, depth)
	case '>':
		s.quote(rest, depth)
		return true
	case '=', '-', '*', '_':
		if interrupts && s.setext(i, rest, depth) {
			return true
		}
		if c != '=' && thematicBreak(rest) {
			s.enter(depth)
			return true
		}
	}
	return false
}

// verbatim opens the code fence or the comment that a line begins with; false = none.
// Other HTML hides nothing here, though it does in CommonMark: lists in <details> are
// common, and GitHub renders their boxes when a blank line is before them.
func (s *scanner) verbatim(line string, depth int) bool {
	r := raw{end: "-->", col: s.open[depth].col}
	comment := strings.HasPrefix(line, "<!--")
	if !comment {
		r.end, r.size = line[:1], opens(line)
	}
	if !comment && (line[0] == '<' || r.size == 0) {
		return false
	}
	s.enter(depth)
	if !comment || !r.closes(line[len("<!"):], 0) {
		s.raw = r
	}
	return true
}

// quote opens a block quote, in which no box counts: what is quoted is somebody's words
// about a list. If a paragraph ends its line, text goes on with it.
func (s *scanner) quote(rest string, depth int) {
	s.enter(depth)
	s.open = append(s.open, container{math.MaxInt, -1})
	rest = strings.TrimLeft(rest, "> \t")
	s.para, s.begin = rest != "" && !leaf(rest), -1
}

// enter closes the paragraph and the list items deeper than depth. What a container has
// in it ends with it, so there is nothing else to close.
func (s *scanner) enter(depth int) {
	s.open, s.para = s.open[:depth+1], false
}

// listItem opens the list item whose marker of n bytes is at i. It returns true if
// something other than a box begins on its line. That may be another list item, whose
// text may be a box.
func (s *scanner) listItem(i, n, end, col, depth int) bool {
	s.enter(depth)
	at, content := indent(s.text, i+n, end, col+n)
	if at == end || content > col+n+4 { // nothing, or indented code
		s.open, s.empty = append(s.open, container{col + n + 1, -1}), at == end
		return false
	}
	s.open = append(s.open, container{content, -1})
	if s.box(at, end, col) {
		s.para, s.begin = true, -1
		return false
	}
	s.begin = at
	return true
}

// marker returns the length of the list marker that a text begins with, or 0.
// Only some may interrupt a paragraph: so "2026. A year" on its second line is
// no list. A number has nine digits at most, as in CommonMark, whose reason is
// browsers.
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
	return strings.Trim(t, " \t"+t[:1]) == "" && strings.Count(t, t[:1]) >= 3
}

// leaf reports whether a line is a block by itself, or begins one of no Markdown.
func leaf(t string) bool {
	level, _ := atx(t)
	return level > 0 || (t[0] == '`' || t[0] == '~') && opens(t) > 0 || strings.HasPrefix(t, "<!--") || thematicBreak(t)
}

// A raw is a block whose lines are no Markdown, so that no box is in it: a code
// fence or an HTML comment. It ends with its end mark, with the list item it is in,
// or with the text.
type raw struct {
	end  string // what ends it: the character of a fence, or -->; "" = none is open
	size int    // of a fence; 0 = it is none
	col  int    // the content column of the list item it is in; 0 = in none
}

// closes reports whether a line ends the block. It is given without its
// indentation, which reaches to col.
func (r raw) closes(line string, col int) bool {
	if r.size == 0 {
		return strings.Contains(line, r.end)
	}
	n := run(line, r.end[0])
	return col-r.col < 4 && n >= r.size && trimBlanks(line[n:]) == ""
}

// run returns how many times a text begins with a character.
func run(t string, c byte) int { return len(t) - len(strings.TrimLeft(t, string(rune(c)))) }

// opens returns how many characters the code fence has that a line opens, or 0.
func opens(t string) int {
	n := run(t, t[0])
	if n < 3 || t[0] == '`' && strings.IndexByte(t[n:], '`') >= 0 {
		return 0
	}
	return n
}
