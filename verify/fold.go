package verify

import (
	"html"
	"strings"
	"unicode"

	"github.com/ralph-loop/ralph/internal/term"
)

// folded is text for comparison: what reads the same is the same. Entities are
// resolved, markup and what is invisible are dropped, text that is turned around is
// turned back, look-alikes are what they look like ([term.Skeleton]), and each run of
// white space is one blank.
func folded(text string) string { return strings.Join(strings.Fields(unmarked(text)), " ") }

// holdsFolded reports whether a person could read a text in another: as it stands,
// or folded, there at the beginning of a word; then a line break, or a blank that is
// hardly one, may also be in the middle of a word. It does not find letters with
// blanks or signs between them, accents, nor digits for letters.
func holdsFolded(text, want string) bool {
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

// startsWord reports whether want is in text, and no letter or digit before it.
func startsWord(text, want string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], want)
		if at < 0 {
			return false
		}
		before := strings.TrimRightFunc(text[:from+at], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if len(before) < from+at || from+at == 0 {
			return true
		}
		from += at + 1
	}
}

// unmarked is [term.Skeleton] of a text without its markup. Line breaks stay.
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

// untagged drops tags and comments, and where links lead to.
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

// between is how long the text is that begins with open, up to the end of what closes
// it; 0 = it does not begin so, or is not closed within most bytes.
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

// turned turns text around that a person would see turned around.
func turned(text string) string {
	const from, to = '\u202e', "\u202c\u2069\n"
	for at := strings.IndexRune(text, from); at >= 0; at = strings.IndexRune(text, from) {
		rest := text[at+len(string(from)):]
		end := strings.IndexAny(rest, to)
		if end < 0 {
			end = len(rest)
		}
		runes := []rune(rest[:end])
		for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
			runes[i], runes[j] = runes[j], runes[i]
		}
		text = text[:at] + string(runes) + rest[end:]
	}
	return text
}

// rejoined is a text without its line breaks, as if they were in the middle of words.
// Between two words that are often there in prose, and make another, a blank stays.
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
