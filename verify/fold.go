package verify

import (
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/term"
)

// folded is text for comparison: what reads the same becomes the same. Entities
// are resolved, markup and invisible characters are dropped, text that is
// turned around is turned back, look-alikes become what they look like
// ([term.Skeleton]), and each run of white space becomes one blank. An agent
// that must not write a word tends to write it so that only a program does not
// find it.
func folded(text string) string { return strings.Join(strings.Fields(unmarked(text)), " ") }

// holdsFolded reports whether a person could read a text in another one: as it
// stands, or folded and there at the beginning of a word. A line break, or a
// blank that is hardly one, may then also be in the middle of a word. It must
// begin a word because without that "todo" would be found across "into do", or
// in the middle of other words that were joined. It does not find letters with
// blanks or signs between them, accents, nor digits for letters: that would
// also find what nobody can read.
func holdsFolded(text, want string) bool {
	// The plain rule comes first, so that folding can only find more, and never
	// less, than a user would expect.
	if strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
		return true
	}
	want = folded(want)
	if want == "" {
		return false
	}
	text = unmarked(text)
	return startsWord(strings.Join(strings.Fields(text), " "), want) || startsWord(rejoined(text), want)
}

// startsWord reports whether want is in text with no letter or digit directly
// before it. It looks at every place, for the first may be in the middle of a
// word and a later one not.
func startsWord(text, want string) bool {
	for at := 0; ; at++ {
		next := strings.Index(text[at:], want)
		if next < 0 {
			return false
		}
		at += next
		if before, _ := utf8.DecodeLastRuneInString(text[:at]); !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return true
		}
	}
}

// unmarked is [term.Skeleton] of a text without its markup. Line breaks stay,
// for the two ways in which they are read later.
func unmarked(text string) string {
	for range 2 { // an entity can be made of entities
		text = html.UnescapeString(text)
	}
	text = turned(text)
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\u2028' || r == '\u2029':
			return '\n'
		case r >= '\u2006' && r <= '\u200a' || r == '\u202f' || r == '\u205f': // thin blanks
			return -1
		}
		return r
	}, text)
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("*_`~[]\\", r) {
			return -1
		}
		return r
	}, term.Skeleton(untagged(term.Clean(text))))
}

// untagged drops tags and comments, and the addresses of links. Each is looked
// for over a bounded length only, so that a lone "<" neither swallows the rest
// of an answer nor makes the time grow with the square of its length.
func untagged(text string) string {
	var b strings.Builder
	for text != "" {
		skip := max(between(text, "<!--", "-->", 4<<10), between(text, "](", ")", 500))
		if skip == 0 && len(text) > 1 && (text[1] == '/' || text[1]|0x20 >= 'a' && text[1]|0x20 <= 'z') {
			skip = between(text, "<", ">", 200)
		}
		if skip > 0 {
			text = text[skip:]
			continue
		}
		next := strings.IndexAny(text[1:], "<]") + 1
		if next == 0 {
			next = len(text)
		}
		b.WriteString(text[:next])
		text = text[next:]
	}
	return b.String()
}

// between is the length of a text that begins with open, up to the end of what
// closes it; 0 = it does not begin so, or is not closed within most bytes.
func between(text, open, end string, most int) int {
	if !strings.HasPrefix(text, open) {
		return 0
	}
	at := strings.Index(text[:min(len(text), most)], end)
	if at < 0 {
		return 0
	}
	return at + len(end)
}

// turned turns text back that a right-to-left override turns around for a
// reader: up to the sign that ends it, the end of the line, or the end of the
// text.
func turned(text string) string {
	const from, to = '\u202e', "\u202c\u2069\n"
	for at := strings.IndexRune(text, from); at >= 0; at = strings.IndexRune(text, from) {
		rest := text[at+len(string(from)):]
		end := strings.IndexAny(rest, to)
		if end < 0 {
			end = len(rest)
		}
		runes := []rune(rest[:end])
		slices.Reverse(runes)
		text = text[:at] + string(runes) + rest[end:]
	}
	return text
}

// rejoined is a text without its line breaks, as if they stood in the middle of
// words. Marks of quotations, tables and headings go from the ends of its
// lines, and hyphens. Between "to" and "do" a blank stays: they often meet at a
// line break in honest prose, and would make a word that is often excluded.
func rejoined(text string) string {
	var b strings.Builder
	last := ""
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(strings.Trim(line, " \t>|#"))
		if len(words) == 0 {
			continue
		}
		if last == "to" && words[0] == "do" {
			b.WriteByte(' ')
		}
		last = words[len(words)-1]
		b.WriteString(strings.TrimSuffix(strings.Join(words, " "), "-"))
	}
	return b.String()
}
