package tasks

import (
	"slices"
	"strings"
)

// read takes the text behind a box apart: markers, ID, description.
func (it *Item) read(t string) {
	it.Text = it.markers(t)
	if it.Text == "" {
		*it = Item{Text: t} // a marker of nothing
		return
	}
	if it.ID, it.Text = cutID(it.Text); it.ID != "" {
		it.Text = separator(it.markers(it.Text))
	}
}

// markers takes [P], (P) and [US1] off the front of a text. Other words in
// brackets stay, but do not hide the markers behind them.
func (it *Item) markers(t string) string {
	var kept strings.Builder
	for range 16 { // more are a text of brackets
		word := bracketed(t)
		rest := trimBlanksLeft(t[len(word):])
		switch {
		case word == "[P]" || word == "(P)":
			it.Parallel = true
		case isStory(word):
			if it.Story != "" {
				it.Story += ", "
			}
			it.Story += word[1 : len(word)-1]
		case strings.HasPrefix(word, "[") && (strings.HasPrefix(rest, "[P]") || strings.HasPrefix(rest, "(P)") || strings.HasPrefix(rest, "[US")):
			kept.WriteString(word + " ")
		default:
			return kept.String() + t
		}
		t = rest
	}
	return kept.String() + t
}

// bracketed returns the word in brackets that a text begins with, if it is not
// that of a link.
func bracketed(t string) string {
	if t == "" || t[0] != '[' && t[0] != '(' {
		return ""
	}
	end := byte(']')
	if t[0] == '(' {
		end = ')'
	}
	n := strings.IndexByte(t, end) + 1
	if n < len(t) && t[n] == '(' {
		return ""
	}
	return t[:n]
}

// isStory recognizes [US1], [US-2a] and lists like [US1, US2].
func isStory(word string) bool {
	stories, found := strings.CutPrefix(word, "[US")
	known := func(c rune) bool { return strings.ContainsRune("0123456789abcdeUS-,/&+ ", c) }
	return found && strings.ContainsFunc(stories, isDigit) && strings.TrimLeftFunc(stories, known) == "]"
}

// cutID returns the ID a text begins with, as it is written without decoration,
// and the text behind it.
func cutID(t string) (id, rest string) {
	inner, mark := t, ""
	for _, pair := range [...][2]string{{"**", "**"}, {"__", "__"}, {"~~", "~~"}, {"[", "]"}, {"`", "`"}} {
		if isAlnum(t[0]) {
			break // mostly
		}
		if after, found := strings.CutPrefix(t, pair[0]); found {
			inner, mark = after, pair[1]
			break
		}
	}
	named := len(inner) > 5 && strings.EqualFold(inner[:5], "task ") // "Task 1: …"
	if named {
		inner = trimBlanksLeft(inner[5:])
	}
	n := idLen(inner, named || len(mark) == 2)
	id, rest = inner[:n], inner[n:]
	plain := digits(id) == n // 1, but not 1.1
	switch {
	case n == 0:
	case len(mark) == 2:
		return cutBold(t, id, rest, mark)
	case mark != "":
		if strings.HasPrefix(rest, mark) && !strings.HasPrefix(rest, "](") && !plain {
			return id, separator(rest[1:])
		}
	case rest == "":
		if !plain {
			return id, ""
		}
	case isBlank(rest[0]):
		// "Task 2 (AC: 1, 3)", as BMAD writes it, but not "Task 2 of the plan".
		if text := separator(rest); !plain || named && (text != trimBlanksLeft(rest) || text[0] == '(') {
			return id, text
		}
	case rest[0] == ':' && isLetter(rune(id[0])):
		return id, trimBlanksLeft(rest[1:])
	case strings.IndexByte(".:)", rest[0]) >= 0 && (len(rest) == 1 || isBlank(rest[1])):
		return id, separator(rest[1:])
	}
	return "", t
}

// cutBold handles **T001** text, **T001:** text and **T001: title** text.
func cutBold(t, id, rest, mark string) (string, string) {
	after := strings.TrimLeft(rest, ".:)")
	if text, found := strings.CutPrefix(after, mark); found {
		return id, separator(text)
	}
	if rest == "" || strings.IndexByte(" \t.:)", rest[0]) < 0 || digits(id) == len(id) && rest == after {
		return "", t
	}
	title, text, _ := strings.Cut(separator(after), mark)
	return id, title + text
}

// separator takes off what stands between an ID and the description.
func separator(t string) string {
	t = trimBlanksLeft(t)
	if t == "" || isAlnum(t[0]) {
		return t // mostly
	}
	if rest, found := strings.CutPrefix(t, ":"); found {
		return trimBlanksLeft(rest)
	}
	for _, dash := range [...]string{"-", "|", "–", "—"} {
		if rest, found := strings.CutPrefix(t, dash); found && (rest == "" || isBlank(rest[0])) {
			return trimBlanksLeft(rest)
		}
	}
	return t
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
func blank(c rune) bool   { return c == ' ' || c == '\t' }

// trimBlanks takes spaces and tabs off both ends, and nothing else: a NBSP is text.
func trimBlanks(t string) string     { return strings.TrimFunc(t, blank) }
func trimBlanksLeft(t string) string { return strings.TrimLeftFunc(t, blank) }

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
	word := strings.TrimRight(t[:len(t)-len(strings.TrimLeftFunc(t, func(c rune) bool { return isDigit(c) || c == '.' }))], ".")
	for part := range strings.SplitSeq(word, ".") {
		if part == "" || len(part) > 3 {
			return 0
		}
	}
	n := len(word)
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
		{letters: 1, least: 2, most: 2},               // B12, but not B3
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

// digits and letters return how many of them a text begins with.
func digits(t string) int  { return len(t) - len(strings.TrimLeftFunc(t, isDigit)) }
func letters(t string) int { return len(t) - len(strings.TrimLeftFunc(t, isLetter)) }

func isDigit(c rune) bool  { return '0' <= c && c <= '9' }
func isLetter(c rune) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isAlnum(c byte) bool  { return isLetter(rune(c)) || isDigit(rune(c)) }
