package tasks

import "strings"

// A label is what the text behind a box says.
type label struct {
	id, text, story string
	parallel        bool
}

// describe takes the text behind a box apart: ID, markers, description.
func describe(t string) label {
	var l label
	marked := l.markers(t)
	if marked == "" {
		return label{text: t} // a marker of nothing
	}
	id, rest := cutID(marked)
	if id == "" {
		l.text = marked
		return l
	}
	l.id = id
	l.text = separator(l.markers(rest))
	return l
}

// markers takes [P], (P) and [US1] off the front of a text. Other words in
// brackets stay, but do not hide the markers behind them.
func (l *label) markers(t string) string {
	kept := ""
	for range 16 { // more are a text of brackets
		if t == "" || t[0] != '[' && t[0] != '(' {
			break
		}
		word := bracketed(t)
		rest := trimBlanksLeft(t[len(word):])
		switch {
		case word == "[P]" || word == "(P)":
			l.parallel = true
		case isStory(word):
			story := word[1 : len(word)-1]
			if l.story != "" {
				story = l.story + ", " + story
			}
			l.story = story
		case word != "" && word[0] == '[' && (strings.HasPrefix(rest, "[P]") || strings.HasPrefix(rest, "(P)") || strings.HasPrefix(rest, "[US")):
			kept = join(kept, word+" ")
		default:
			return join(kept, t)
		}
		t = rest
	}
	return join(kept, t)
}

// join spares the runtime a look at an empty text, a million times.
func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + b
}

// bracketed returns the word in brackets that a text begins with, if it is not
// that of a link.
func bracketed(t string) string {
	if strings.HasPrefix(t, "[P] ") {
		return t[:3] // mostly
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
	if len(word) < 5 || word[:3] != "[US" {
		return false
	}
	digit := false
	for i := 3; i < len(word)-1; i++ {
		switch c := word[i]; {
		case '0' <= c && c <= '9':
			digit = true
		case 'a' <= c && c <= 'e' && digit, strings.IndexByte("US-,/&+ ", c) >= 0:
		default:
			return false
		}
	}
	return digit
}

// cutID returns the ID a text begins with, as it is written without decoration,
// and the text behind it.
func cutID(t string) (id, rest string) {
	if t == "" {
		return "", t
	}
	open := ""
	switch {
	case strings.HasPrefix(t, "**"), strings.HasPrefix(t, "__"), strings.HasPrefix(t, "~~"):
		open = t[:2]
	case t[0] == '[':
		open = "]"
	case t[0] == '`':
		open = "`"
	}
	bold := len(open) == 2
	inner := t[len(open):]
	n, number := 0, false
	if len(inner) > 5 && inner[4] == ' ' && strings.EqualFold(inner[:4], "task") {
		inner, number = trimBlanksLeft(inner[5:]), true // "Task 1: …"
	}
	if n = idLen(inner, bold || number); n == 0 {
		return "", t
	}
	id, rest = inner[:n], inner[n:]
	plain := digits(id) == len(id) // 1, but not 1.1
	switch {
	case bold:
		return cutBold(t, id, rest, open)
	case open != "":
		if !strings.HasPrefix(rest, open) || strings.HasPrefix(rest, "](") || plain {
			return "", t
		}
		return id, separator(rest[1:])
	case rest == "":
		if plain {
			return "", t
		}
		return id, rest
	case rest[0] == ' ' || rest[0] == '\t':
		// "Task 2 (AC: 1, 3)", as BMAD writes it, but not "Task 2 of the plan".
		if cut := separator(rest); !plain || number && (cut != strings.TrimLeft(rest, " \t") || cut[0] == '(') {
			return id, cut
		}
	case rest[0] == ':' && isLetter(rune(id[0])):
		return id, separator(rest)
	case strings.IndexByte(".:)", rest[0]) >= 0 && (len(rest) == 1 || rest[1] == ' ' || rest[1] == '\t'):
		return id, separator(rest[1:])
	}
	return "", t
}

// cutBold handles **T001** text, **T001:** text and **T001: title** text.
func cutBold(t, id, rest, mark string) (string, string) {
	after := strings.TrimLeft(rest, ".:)")
	if strings.HasPrefix(after, mark) {
		return id, separator(after[2:])
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
	if t == "" {
		return ""
	}
	n := 0
	switch t[0] {
	case ':':
		return trimBlanksLeft(t[1:])
	case '-', '|':
		n = 1
	case "–"[0]: // and of the em dash
		if strings.HasPrefix(t, "–") || strings.HasPrefix(t, "—") {
			n = len("–")
		}
	}
	if n > 0 && (n == len(t) || isBlank(t[n])) {
		return trimBlanksLeft(t[n:])
	}
	return t
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func trimBlanksLeft(t string) string {
	for t != "" && isBlank(t[0]) {
		t = t[1:]
	}
	return t
}

// trimBlanks takes spaces and tabs off both ends, and nothing else: a NBSP is text.
func trimBlanks(t string) string {
	for t != "" && isBlank(t[len(t)-1]) {
		t = t[:len(t)-1]
	}
	return trimBlanksLeft(t)
}

// idLen returns the length of the ID that a text begins with, without what may
// follow it, or 0. Sure means that something else marks it as an ID, such as
// bold type: then A1 is one too, which else may be a plain word.
func idLen(t string, sure bool) int {
	if t == "" {
		return 0
	}
	if '0' <= t[0] && t[0] <= '9' {
		return numberLen(t)
	}
	if d := digits(t[1:]); t[0] == 'T' && 0 < d && d <= 9 && 1+d < len(t) && t[1+d] == ' ' {
		return 1 + d // nearly all
	}
	n := 0
	for n < len(t) && n <= 32 && (isAlnum(t[n]) || t[n] == '.' || t[n] == '-') {
		n++
	}
	for n > 0 && (t[n-1] == '.' || t[n-1] == '-') {
		n--
	}
	if n == 0 || n > 32 {
		return 0
	}
	if strings.IndexByte(t[:n], '-') >= 0 {
		if isHyphened(t[:n]) {
			return n
		}
		return 0
	}
	if isNumbered(t[:n], sure) {
		return n
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

// isNumbered recognizes T001, T12.3, T5a, and F001 or B12, whose number is
// written as that of an ID, but not S3, OAuth2 or ES2022.
func isNumbered(id string, sure bool) bool {
	n := letters(id)
	d := digits(id[n:])
	rest := id[n+d:]
	if n == 0 || n > 5 || d == 0 || d > 9 {
		return false
	}
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
	upper := strings.ToUpper(id[:n]) == id[:n]
	switch {
	case n == 1 && (id[0] == 'T' || id[0] == 't' && d >= 3):
		return true
	case !upper:
		return false
	case sure, n <= 2 && (dotted || d == 3), n == 1 && d == 2:
		return true
	}
	return d >= 2 && id[n] == '0'
}

// isHyphened recognizes TASK-12, ABC-7a, US-001-T2 and Task-3: capital letters,
// and a number at the end.
func isHyphened(id string) bool {
	parts := strings.Split(id, "-")
	switch parts[0] {
	case "UTF", "SHA", "MD", "ISO", "RFC", "AES", "RSA", "CVE", "GPT", "IEEE", "COVID":
		return false // SHA-256 is not the 256th of anything
	}
	for i, part := range parts {
		n := letters(part)
		switch {
		case part == "" || i == 0 && n == 0:
			return false
		case i == 0 && len(parts) == 2 && (strings.EqualFold(part, "task") || part == "t"):
		case i < len(parts)-1:
			if strings.ToUpper(part) != part || strings.IndexByte(part, '.') >= 0 {
				return false
			}
		case n > 0:
			return isNumbered(part, true)
		}
	}
	return numberLen(trimLetter(parts[len(parts)-1])) > 0 || digits(parts[len(parts)-1]) > 3 && digits(parts[len(parts)-1]) == len(parts[len(parts)-1])
}

// trimLetter takes the letter off 7a.
func trimLetter(t string) string {
	if n := len(t); n > 1 && isLetter(rune(t[n-1])) && !isLetter(rune(t[n-2])) {
		return t[:n-1]
	}
	return t
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
