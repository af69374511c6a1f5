package tasks

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNear bounds how many lines that are nearly boxes are told of.
const maxNear = 1000

// A nearBox is such a line, and the index of the section that it is in.
type nearBox struct {
	Finding
	section int
}

// noteNear notes a line that somebody may have meant as a box, though it is none.
func (s *scanner) noteNear(i, end int) {
	if len(s.near) == maxNear {
		return
	}
	if detail, text := near(s.text[i:end]); detail != "" {
		f := Finding{Item: Item{Text: text, Line: s.line, Offset: i}, Why: WhyNoBox, Detail: detail}
		s.near = append(s.near, nearBox{f, len(s.sections) - 1})
	}
}

// near says why a line without its indentation, which is no box, is none, and what it would
// say; "" if it is not even nearly one.
func near(line string) (detail, text string) {
	place, item := placeOf(line)
	bullet := bulletOf(item)
	rest := trimBlanksLeft(item[len(bullet):])
	listed, apart := bullet != "" && bullet[0] < utf8.RuneSelf, len(rest) < len(item)-len(bullet)
	if c, size := utf8.DecodeRuneInString(rest); c == '☐' || c == '☑' || c == '☒' {
		return `"` + string(c) + `" is a sign: a box is "- [ ]"`, trimBlanks(rest[size:])
	}
	inner, behind, found := strings.Cut(rest[:min(len(rest), 16)], "]")
	if !found || inner == "" || inner[0] != '[' || behind != "" && strings.IndexByte("([:", behind[0]) >= 0 {
		return "", "" // a link
	}
	inner, behind = inner[1:], rest[len(inner)+1:]
	text = trimBlanks(behind)
	if len(inner) == 1 && isMark(inner[0]) {
		return cmp.Or(place, misplaced(behind, listed, apart)), text
	}
	if !listed {
		return "", ""
	}
	return wrongMark(inner), text
}

// misplaced says what is wrong around brackets with a mark.
func misplaced(behind string, listed, apart bool) string {
	switch {
	case !listed:
		return `no list marker is before it: "- [ ]"`
	case !apart:
		return "there is no blank before its brackets"
	case trimBlanks(behind) == "":
		return "nothing is behind it"
	case !isBlank(behind[0]):
		return "there is no blank behind its brackets"
	}
	return "it is indented so far that it is code, or goes on the text above"
}

// wrongMark says what is wrong with what stands between brackets; "" if that is no mark.
func wrongMark(inner string) string {
	mark := strings.TrimFunc(inner, unicode.IsSpace)
	c, size := utf8.DecodeRuneInString(mark)
	switch {
	case mark == "":
		return `one blank belongs between its brackets: "[ ]"`
	case len(mark) == 1 && isMark(mark[0]):
		return "between its brackets there is more than the mark"
	case size == len(mark) && (!unicode.IsLetter(c) && !unicode.IsDigit(c) || strings.ContainsRune("vVoOyY", c)):
		return `"` + mark + `" is no mark: "x" is`
	}
	return ""
}

// placeOf says what else a line is than a list item, and returns what stands there.
func placeOf(line string) (place, rest string) {
	switch line[0] {
	case '>':
		return "it is in a block quote", trimBlanksLeft(strings.TrimLeft(line, "> \t"))
	case '#':
		return "it is a heading", trimBlanksLeft(strings.TrimLeft(line, "#"))
	case '|':
		for cell := range strings.SplitSeq(line, "|") {
			if cell = trimBlanks(cell); len(cell) > 2 && cell[0] == '[' && cell[2] == ']' && isMark(cell[1]) {
				return "it is in a table", cell
			}
		}
		return "", ""
	}
	return "", line
}

// bulletOf returns the list marker that a text begins with, or the sign that somebody took
// for one.
func bulletOf(t string) string {
	if n := digits(t); n > 0 && n < len(t) && (t[n] == '.' || t[n] == ')') {
		return t[:n+1]
	}
	for _, sign := range [...]string{"-", "*", "+", "–", "—", "•", "·", "−", "◦", "‣"} {
		if strings.HasPrefix(t, sign) {
			return sign
		}
	}
	return ""
}
