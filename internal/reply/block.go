package reply

import "strings"

// Blocks reads Markdown line by line, as far as it must be known whether a line is
// the writer's own prose: what stands in a code fence, in indented code, in <pre>, in
// a comment or in a block quotation, also where the quotation's paragraph goes on
// without its mark, is not. The zero value is at the beginning of a text.
//
// It is CommonMark's rules, simplified: a text's first line is never indented code,
// of lists only the innermost item is known, of what a quotation holds only fences and
// headings, and of HTML only <pre> and comments. A
// comment that does not begin its line ends with the paragraph.
type Blocks struct {
	fence   Fence
	html    string // <pre> or <!-- that began a line and is open; "" = none
	comment bool   // open in a paragraph
	quoted  Fence  // in a block quotation
	lazy    bool   // a quotation's paragraph may go on without its mark
	item    int    // the column at which the text of the list item begins; 0 = in no list
	begun   bool   // there was text
	gap     bool   // the last line was blank or code: no paragraph goes on
}

const maxItem = 64

// A Place is where a line stands.
type Place int

const (
	InProse Place = iota
	InCode
	InQuote
)

// Open is the mark of the code fence, <pre> or comment at the beginning of a line
// that is open; "" = none.
func (b *Blocks) Open() string {
	if b.fence.open != "" {
		return b.fence.open
	}
	return b.html
}

// closing is the mark that closes what [Blocks.Open] returned.
func closing(open string) string {
	switch open {
	case "<pre>":
		return "</pre>"
	case "<!--":
		return "-->"
	}
	return open
}

// Place says where a line stands that comes after those read and begins like this.
// That it begins with the mark of a quotation is for the caller to see.
func (b *Blocks) Place(line string) Place {
	line = strings.TrimLeft(line, Mark)
	switch {
	case b.fence.open != "" || b.html == "<pre>":
		return InCode
	case b.html != "" || b.comment || b.lazy:
		return InQuote
	case b.begun && b.code(indent(line, b.item+4)):
		return InCode
	}
	return InProse
}

// code reports whether a line that is indented so far is code. One that follows a
// line of a paragraph at once belongs to that.
func (b *Blocks) code(columns int) bool {
	return columns >= b.item+4 && (b.gap || !b.begun)
}

// indent is how many columns a line is indented, counted up to a bound.
func indent(line string, bound int) int {
	n := 0
	for i := 0; i < len(line) && n < bound; i++ {
		switch line[i] {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

// Lines reads lines of text.
func (b *Blocks) Lines(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		b.Line(line)
	}
}

// Line reads one line. A [Mark] at its beginning is for what was left out there.
func (b *Blocks) Line(line string) {
	line = strings.TrimLeft(line, Mark)
	switch {
	case b.fence.open != "":
		b.gap = true
		b.fence.Line(line)
	case b.html != "":
		b.gap = true
		if hasFold(line, closing(b.html)) {
			b.html = ""
		}
	case strings.TrimSpace(line) == "":
		b.gap, b.lazy, b.comment, b.quoted = true, false, false, Fence{}
	default:
		b.words(line)
	}
}

// words reads a line that is not blank and stands in nothing that goes on for lines.
func (b *Blocks) words(line string) {
	body := strings.TrimSpace(line)
	inner := withoutListMark(body)
	heading, mark := starts(body), len(body)-len(inner)
	if heading {
		mark = 0
	}
	columns := indent(line, b.item+4)
	code := b.code(columns)
	if !code {
		b.list(columns, mark, heading || fenceMark(body) != "")
	}
	b.gap, b.begun = code || heading || !b.lazy && underlines(body), true
	if inner[0] == '>' && !code {
		b.quote(inner)
		return
	}
	b.quoted = Fence{}
	b.fence.Line(line)
	if b.fence.open != "" || heading || mark > 0 && interrupts(body) {
		b.lazy, b.comment = false, false
	}
	if !code {
		b.openHTML(inner)
	}
}

// list takes over whether a line that is indented so far is in a list item. mark is
// the length of the item's mark that it begins with, 0 = none; block says that it is
// no paragraph.
func (b *Blocks) list(columns, mark int, block bool) {
	switch {
	case mark > 0:
		b.item = min(columns+mark, maxItem)
	case columns < b.item && (b.gap || block):
		b.item = columns
	}
}

// underlines reports whether a line makes a heading of the paragraph before it. With -
// it is a rule, too.
func underlines(line string) bool { return strings.Trim(line, "=") == "" }

// interrupts reports whether a list item ends a paragraph: if it has a number, it is
// the first.
func interrupts(item string) bool {
	return item[0] < '0' || item[0] > '9' || item[:2] == "1." || item[:2] == "1)"
}

// quote reads a line of a block quotation.
func (b *Blocks) quote(line string) {
	line = strings.TrimLeft(line, "> \t")
	fenced := b.quoted.open != ""
	b.quoted.Line(line)
	b.lazy = line != "" && !fenced && b.quoted.open == "" && !starts(line)
	b.comment = false
}

// starts reports whether a line is a heading or a rule, which are no paragraph.
func starts(line string) bool {
	if line[0] == '#' {
		rest := strings.TrimLeft(line, "#")
		return len(line)-len(rest) <= 6 && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
	}
	return strings.ContainsRune("-*_", rune(line[0])) && strings.Trim(line, line[:1]+" \t") == "" && strings.Count(line, line[:1]) >= 3
}

// openHTML looks for <pre> at the beginning of a line, and for a comment that stays
// open.
func (b *Blocks) openHTML(line string) {
	if b.fence.open != "" {
		return
	}
	if hasPrefixFold(line, "<pre") && (len(line) == 4 || strings.IndexByte(" \t>", line[4]) >= 0) {
		b.lazy = false
		if !hasFold(line, "</pre>") {
			b.html = "<pre>"
		}
		return
	}
	if b.comment { // on the last line
		_, rest, ended := strings.Cut(line, "-->")
		if !ended {
			return
		}
		b.comment, line = false, rest
	}
	for first := true; ; first = false {
		at := strings.Index(line, "<!--")
		if at < 0 {
			return
		}
		_, rest, ended := strings.Cut(line[at+2:], "-->")
		switch {
		case ended:
			line = rest
			continue
		case first && at == 0:
			b.html, b.lazy = "<!--", false
		default:
			b.comment = strings.Count(line[:at], "`")%2 == 0
		}
		return
	}
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// hasFold reports whether text holds a mark, which is in lower case, in any case.
func hasFold(text, mark string) bool { return strings.Contains(strings.ToLower(text), mark) }
