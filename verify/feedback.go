package verify

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/term"
)

// How much of an output is kept and quoted, in bytes. Its end says more than
// its beginning, because most tools sum up there. With a detail these stay
// under the 8 KiB that feedback may have: what is over that loses its middle,
// and the count of what was left out would be wrong.
const (
	headBytes   = 2 << 10
	tailBytes   = 5 << 10
	detailBytes = 900
)

// explain adds the useful parts of the output to what is wrong. That it printed
// nothing is said too: an agent would otherwise look for the output elsewhere.
func (o *output) explain(detail string) string {
	text := strings.TrimSpace(o.excerpt())
	if text == "" {
		return detail + "\nIt printed nothing."
	}
	return detail + "\nIt printed:\n" + text
}

// excerpt is the output as readable text, or its ends with the number of bytes
// left out between them. Where lines in the middle name what fails, these take
// most of the room of both ends: the name of the failing test is worth more
// than the end of a stack trace.
func (o *output) excerpt() string {
	head, tail := o.head, o.tail[max(len(o.tail)-tailBytes, 0):]
	if o.size == int64(len(head)+len(tail)) {
		// In one piece, so that nothing is cut between the two.
		all := append(head[:len(head):len(head)], tail...)
		if text := term.Clean(string(all)); len(text) <= headBytes+tailBytes {
			return text
		}
	}
	most, least := headBytes, tailBytes
	middle := o.middle(int64(headBytes/4), o.size-int64(tailBytes/2))
	if middle != "" { // the room for it
		most, least = headBytes/4, tailBytes/2
	}
	head, first := beginning(head, most)
	tail, last := ending(tail[max(len(tail)-least, 0):], least)
	left := o.size - int64(len(head)+len(tail))
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s%s", first, left, middle, last)
}

// beginning returns the part of b, cut at the border of a rune, whose text fits
// into limit, and that text. Both are needed: the text is shown, and the length
// of the part tells how many bytes are left out. What is not UTF-8 grows when
// it is made readable, to three times its size at most, so the cut moves by a
// third of what is too much.
func beginning(b []byte, limit int) ([]byte, string) {
	b = b[:len(b)-term.Begun(b)]
	text := term.Clean(string(b))
	for len(text) > limit {
		b = b[:len(b)-(len(text)-limit+2)/3]
		b = b[:len(b)-term.Begun(b)]
		text = term.Clean(string(b))
	}
	return b, text
}

// ending is beginning from the other side.
func ending(b []byte, limit int) ([]byte, string) {
	b = b[ended(b):]
	text := term.Clean(string(b))
	for len(text) > limit {
		b = b[(len(text)-limit+2)/3:]
		b = b[ended(b):]
		text = term.Clean(string(b))
	}
	return b, text
}

// ended is the number of bytes at the start of b that end a rune that began
// before it.
func ended(b []byte) int {
	n := 0
	for n < min(utf8.UTFMax-1, len(b)) && !utf8.RuneStart(b[n]) {
		n++
	}
	return n
}

// oneLine makes one line of text, in which a person can read a name.
func oneLine(text string, head, tail int) string {
	return ends(term.Line(text), head, tail)
}

// word is an argument as a person would write it: quoted only where it has to
// be, so that a name stays readable.
func word(arg string) string {
	odd := func(r rune) bool {
		return unicode.IsSpace(r) || r == '"' || r == '\'' || !unicode.IsPrint(r)
	}
	if arg == "" || strings.ContainsFunc(arg, odd) {
		return strconv.Quote(arg)
	}
	return arg
}

// quoted lists texts, the first five of them, each cut to its ends. A list in a
// message is there to recognize things by, and not to be complete.
func quoted(texts []string) string { return listed(texts, 5, 20) }

// listed lists the first of texts, as many as most says, each cut to its last bytes
// and three times as many of its first.
func listed(texts []string, most, last int) string {
	var list []string
	for _, text := range texts[:min(len(texts), most)] {
		list = append(list, strconv.Quote(ends(text, 3*last, last)))
	}
	all := strings.Join(list, ", ")
	if more := len(texts) - most; more > 0 {
		all += fmt.Sprintf(" and %d more", more)
	}
	return all
}

// ends cuts text to its first and last bytes, at the borders of runes. The
// middle goes, since paths and messages alike say most at their ends.
func ends(text string, head, tail int) string {
	if len(text) <= head+tail+len("…") {
		return text
	}
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	from := len(text) - tail
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[:head] + "…" + text[from:]
}
