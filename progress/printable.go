package progress

import (
	"strings"

	"github.com/ralph-loop/ralph/internal/term"
)

// Printable returns text that nobody vouches for, such as an agent's answer or a
// name from a file, as a terminal or a log may show it: line feeds and tabs stay;
// escape sequences, other control characters and what is invisible or turns the
// direction of text around are removed, a carriage return becomes a line feed, and
// bytes that are not UTF-8 become U+FFFD. An emoji that invisible characters join of
// several is shown as these, side by side: terminals do not agree on how wide it is.
func Printable(text string) string { return term.Clean(text) }

// PrintableLine is [Printable] for text that must stay on one line, such as a name
// in a list: each run of white space becomes one blank, and there is none at the
// beginning or the end.
func PrintableLine(text string) string { return term.Line(text) }

// PrintableCut is [PrintableLine] cut to so many columns of a terminal, with "…" at the
// end of what was cut.
func PrintableCut(text string, columns int) string { return term.Cut(term.Line(text), columns) }

// PrintableWrap is [Printable] for a terminal of so many columns: a line that is wider is
// broken between words, and goes on in lines that begin with indent. A word that is wider
// stays whole. 0 columns = no line is broken.
func PrintableWrap(text, indent string, columns int) string {
	lines := strings.Split(Printable(text), "\n")
	for i, line := range lines {
		if columns > 0 && term.Width(line) > columns {
			lines[i] = strings.Join(wrap(line, indent, columns), "\n")
		}
	}
	return strings.Join(lines, "\n")
}

// PrintableJSON returns JSON, as [encoding/json] writes it, in which what
// [Printable] would remove is escaped: a terminal may show it, and its value is the
// same.
func PrintableJSON(text []byte) []byte { return term.EscapeJSON(text) }
