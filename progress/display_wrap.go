package progress

import (
	"bytes"
	"strings"

	"github.com/ralph-loop/ralph/internal/term"
)

// indent is what the second and later lines of one that is broken begin with: what
// follows stands below the text, and not below the mark of our own lines.
const indent = "   "

// wrap breaks a line between words. A word that is wider than the screen is left to it:
// an address or a path would be none any more.
// The terminal would wrap it too, but in the middle of a word. Blanks at which a line is
// broken are gone, also if they are several.
func wrap(text, indent string, width int) []string {
	lines := []string{""}
	columns, blanks := 0, 0 // of the last line; before the word
	for _, word := range words(text, width-term.Width(indent)) {
		if word == " " {
			blanks++
			continue
		}
		last, w := &lines[len(lines)-1], term.Width(word)
		if columns+blanks+w > width && strings.TrimLeft(*last, " ") != "" {
			lines, columns, blanks = append(lines, indent), term.Width(indent), 0
			last = &lines[len(lines)-1]
		}
		*last += strings.Repeat(" ", blanks) + word
		columns, blanks = columns+blanks+w, 0
	}
	return lines
}

// words are what a line of so many columns can be broken between, and blanks. A word that
// has no room in it is perhaps none: Chinese and Japanese are written without blanks, and
// are broken between any two characters, but for signs that do not stand at the beginning
// or at the end of a line.
func words(text string, width int) []string {
	var all []string
	for i, word := range strings.Split(text, " ") {
		if i > 0 {
			all = append(all, " ")
		}
		switch {
		case word == "":
			continue
		case term.Width(word) <= width:
			all = append(all, word)
			continue
		}
		begin, wide := 0, false // of the piece; the last character was
		for at, r := range word {
			w := term.Width(string(r))
			if (w == 2 || wide) && at > begin && !term.Stays(word[:at], r) {
				all, begin = append(all, word[begin:at]), at
			}
			wide = w == 2 || wide && w == 0
		}
		all = append(all, word[begin:])
	}
	return all
}

// spoken is a line of an agent as a terminal shows it. What goes on stands below where it
// began, so that lists and what sub-agents say keep their shape; where that is far to the
// right, below a few blanks.
func spoken(line string, width int) []string {
	if plain := term.FoldTabs(line); plain != line && term.Width(line)+7*strings.Count(line, "\t") > width {
		line = plain // a tab is of no known width
	}
	if term.Width(line) <= width || width < 12 { // hardly a word has room
		return []string{line}
	}
	rest := strings.TrimLeft(line, " ")
	below := len(line) - len(rest)
	for _, mark := range []string{toolMark, failureMark, "- ", "* ", "• "} {
		if strings.HasPrefix(rest, mark) {
			below += term.Width(mark)
			break
		}
	}
	return wrap(line, strings.Repeat(" ", min(below, width/3)), width)
}

// fill is wrap for what must not be wider: it breaks a word that is, too.
func fill(text string, width int) []string {
	if term.Width(text) <= width {
		return []string{text}
	}
	var lines []string
	for _, line := range wrap(text, "", width) {
		begin, columns := 0, 0
		for at, r := range line {
			if w := term.Width(string(r)); columns+w > width && at > begin {
				lines = append(lines, line[begin:at])
				begin, columns = at, w
			} else {
				columns += w
			}
		}
		if rest := line[begin:]; strings.TrimSpace(rest) != "" {
			lines = append(lines, rest)
		}
	}
	return lines
}

// wrapped is lines of the caller's own as a terminal shows them, with their ends. Most
// have room, and stay as they are.
func wrapped(text []byte, width int) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		if len(line)-1 <= width || term.Width(string(line[:len(line)-1])) <= width {
			out = append(out, line...)
			continue
		}
		for _, row := range wrap(string(line[:len(line)-1]), indent, width) {
			out = append(append(out, row...), '\n')
		}
	}
	return out
}
