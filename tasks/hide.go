package tasks

import "strings"

// A raw is a block whose lines are no Markdown, so that no box is in it: a code
// fence, an HTML comment, an element with verbatim text. It ends with its end
// mark, with the list item it is in, or with the text.
type raw struct {
	mark byte // that of a fence, - of a comment, < of an element; 0 = none is open
	size int  // of a fence
	col  int  // the content column of the list item it is in; 0 = in none
}

func (r raw) fence() bool { return r.mark == '`' || r.mark == '~' }

// closes reports whether a line ends the block. It is given without its
// indentation, which reaches to col.
func (r raw) closes(line string, col int) bool {
	switch r.mark {
	case '-':
		return strings.Contains(line, "-->")
	case '<':
		line = strings.ToLower(line)
		for _, name := range verbatim {
			if strings.Contains(line, "</"+name+">") {
				return true
			}
		}
		return false
	}
	n := run(line, r.mark)
	return col-r.col < 4 && n >= r.size && trimBlanks(line[n:]) == ""
}

// verbatim are the elements in which nothing is Markdown.
var verbatim = [...]string{"pre", "script", "style", "textarea"}

// run returns how many times a text begins with a character.
func run(t string, c byte) int {
	n := 0
	for n < len(t) && t[n] == c {
		n++
	}
	return n
}

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
		r, from = raw{mark: '-'}, len("<!") // also behind the list item: that is what is meant
	}
	for _, name := range verbatim {
		after := 1 + len(name)
		if len(line) >= after && strings.EqualFold(line[1:after], name) && (len(line) == after || strings.IndexByte(" \t>", line[after]) >= 0) {
			r = raw{mark: '<', col: s.base(depth)}
		}
	}
	if r.mark == 0 {
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
			s.raw = raw{mark: '-'}
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
	at, keyed := 0, false
	for line := range strings.Lines(text) {
		begin := at
		at += len(line)
		line = strings.TrimRight(line, " \t\n")
		switch {
		case begin == 0 && line != "---":
			return 0
		case begin > 0 && keyed && (line == "---" || line == "..."):
			return at
		case begin > 0 && !keyed && !strings.HasPrefix(line, "#"):
			name, _, found := strings.Cut(line, ": ")
			if !found {
				name, found = strings.CutSuffix(line, ":")
			}
			if !found || name == "" || !isLetter(rune(name[0])) || strings.ContainsAny(name, " \t") {
				return 0
			}
			keyed = true
		}
	}
	return 0
}
