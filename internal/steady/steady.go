// Package steady leaves out of a text what differs each time that a program says the
// same.
package steady

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// units are what follows the number of a duration.
func units() []string {
	return []string{"ns", "us", "µs", "ms", "s", "m", "h", "sec", "secs", "second", "seconds", "min", "mins", "minutes"}
}

// Text is a text without what differs each time that a check says the same:
// durations, clock times and hexadecimal numbers are left out. Other numbers stay, for 3
// tests that failed are not 17.
func Text(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		n := 0
		for n < len(text) && partOfWord(text[n:]) {
			_, size := utf8.DecodeRuneInString(text[n:])
			n += size
		}
		if n == 0 {
			_, n = utf8.DecodeRuneInString(text)
			b.WriteString(text[:n])
			text = text[n:]
			continue
		}
		word := text[:n]
		text = text[n:]
		if next, found := strings.CutPrefix(text, " "); found && isNumber(word) && slices.Contains(units(), firstWord(next)) {
			text = next[len(firstWord(next)):] // as in 1.2 s
			continue
		}
		if !fleeting(word) {
			b.WriteString(word)
		}
	}
	return b.String()
}

func partOfWord(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	if r == '.' || r == ':' { // between digits alone, as in 0.5 and 12:30
		return len(text) > 1 && text[1] >= '0' && text[1] <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func firstWord(text string) string {
	n := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	if n < 0 {
		return text
	}
	return text[:n]
}

func isNumber(word string) bool { return word != "" && strings.Trim(word, "0123456789.") == "" }

// fleeting reports whether a word is a duration, a clock time or an address: 0.53s,
// 1m2.5s, 12:30:05, 0xc000012345.
func fleeting(word string) bool {
	if strings.HasPrefix(word, "0x") || strings.Contains(word, ":") && strings.Trim(word, "0123456789.:") == "" {
		return true
	}
	rest, some := word, false
	for rest != "" {
		number := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789."))]
		unit := firstWord(rest[len(number):])
		if number == "" || !slices.Contains(units(), unit) {
			return false
		}
		rest, some = rest[len(number)+len(unit):], true
	}
	return some
}
