package tasks

import (
	"slices"
	"strings"
)

// idLen returns the length of the ID that a text begins with, without what may
// follow it, or 0. Sure means that something else marks it as an ID, such as
// bold type: only then is A1 an ID, which else may be a plain word.
func idLen(t string, sure bool) int {
	n := 0
	for n < len(t) && n <= 32 && (isAlnum(t[n]) || t[n] == '.' || t[n] == '-') {
		n++
	}
	word := strings.TrimRight(t[:n], ".-")
	switch {
	case word == "" || len(word) > 32:
		return 0
	case digits(word) > 0:
		return numberLen(t)
	case strings.Contains(word, "-") && isHyphened(word), !strings.Contains(word, "-") && isNumbered(word, sure):
		return len(word)
	}
	return 0
}

// numberLen is the length of 1, 1.1, 2.3.1 or 4.2a. Longer numbers are years and
// sizes.
func numberLen(t string) int {
	n := 0
	for {
		d := digits(t[n:])
		if d == 0 || d > 3 {
			return 0
		}
		n += d
		if n+1 >= len(t) || t[n] != '.' || digits(t[n+1:]) == 0 {
			break
		}
		n++
	}
	if n < len(t) && 'a' <= t[n] && t[n] <= 'e' {
		n++
	}
	if n < len(t) && (isAlnum(t[n]) || t[n] >= 0x80) {
		return 0
	}
	return n
}

// isNumbered recognizes IDs of letters and a number, behind which a letter of a
// to e and numbers after dots may stand: T001, T5a, T12.3.
func isNumbered(id string, sure bool) bool {
	n := letters(id)
	d := digits(id[n:])
	rest := id[n+d:]
	if rest != "" && 'a' <= rest[0]|0x20 && rest[0]|0x20 <= 'e' {
		rest = rest[1:]
	}
	dotted := rest != ""
	for rest != "" {
		d := digits(rest[1:])
		if rest[0] != '.' || d == 0 {
			return false
		}
		rest = rest[1+d:]
	}
	word := id[:n]
	for _, form := range [...]struct {
		word                 string // the letters; "" = capital ones
		letters              int    // at most
		least, most          int    // digits
		zero, dotted, marked bool   // only with a 0 as first digit; with a dot; where it is sure
	}{
		{word: "T", letters: 1, least: 1, most: 9},    // T1, T001
		{word: "t", letters: 1, least: 3, most: 9},    // t001
		{letters: 1, least: 2, most: 2},               // B12, but not S3
		{letters: 2, least: 3, most: 3},               // F001, FR101
		{letters: 2, least: 1, most: 9, dotted: true}, // A1.1
		{letters: 5, least: 2, most: 9, zero: true},   // TASK01, but not ES2022
		{letters: 5, least: 1, most: 9, marked: true}, // **A1**
	} {
		if n > 0 && n <= form.letters && (word == form.word || form.word == "" && word == strings.ToUpper(word)) &&
			form.least <= d && d <= form.most &&
			(dotted || !form.dotted) && (sure || !form.marked) && (!form.zero || id[n] == '0') {
			return true
		}
	}
	return false
}

// isHyphened recognizes TASK-12, ABC-7a, US-001-T2 and Task-3: capital letters,
// and a number at the end.
func isHyphened(id string) bool {
	parts := strings.Split(id, "-")
	first, last := parts[0], parts[len(parts)-1]
	known := [...]string{"UTF", "SHA", "MD", "ISO", "RFC", "AES", "RSA", "CVE", "GPT", "IEEE", "COVID"}
	if letters(first) == 0 || slices.Contains(known[:], first) { // SHA-256 is not the 256th of anything
		return false
	}
	word := len(parts) == 2 && (strings.EqualFold(first, "task") || first == "t")
	for _, part := range parts[:len(parts)-1] {
		if !word && (part == "" || strings.ToUpper(part) != part || strings.Contains(part, ".")) {
			return false
		}
	}
	if letters(last) > 0 {
		return isNumbered(last, true)
	}
	if n := len(last); n > 1 && letters(last[n-1:]) > 0 && letters(last[n-2:]) == 0 { // 7a
		last = last[:n-1]
	}
	return numberLen(last) > 0 || digits(last) > 3 && digits(last) == len(last)
}

// isCriterion reports whether an ID is that of a criterion: AC-1, SC-001.
func isCriterion(id string) bool {
	return strings.HasPrefix(id, "AC-") || strings.HasPrefix(id, "SC-")
}

func digits(t string) int {
	n := 0
	for n < len(t) && '0' <= t[n] && t[n] <= '9' {
		n++
	}
	return n
}

func letters(t string) int {
	n := 0
	for n < len(t) && isLetter(rune(t[n])) {
		n++
	}
	return n
}

func isLetter(c rune) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isAlnum(c byte) bool { return isLetter(rune(c)) || '0' <= c && c <= '9' }
