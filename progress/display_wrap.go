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
// The terminal would wrap it too, but in the middle of a word.
func wrap(text, indent string, width int) []string {
	lines := []string{""}
	for i, word := range strings.Split(text, " ") {
		last := &lines[len(lines)-1]
		switch {
		case i == 0:
			*last = word
		case term.Width(*last)+1+term.Width(word) > width && *last != indent:
			lines = append(lines, indent+word)
		default:
			*last += " " + word
		}
	}
	return lines
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
