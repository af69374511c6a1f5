package tasks

import (
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
	listed, blanks := bullet != "" && bullet[0] < utf8.RuneSelf, len(rest) < len(item)-len(bullet)
	if c, size := utf8.DecodeRuneInString(rest); c == '☐' || c == '☑' || c == '☒' {
		return `"` + string(c) + `" is a sign: a box is "- [ ]"`, trimBlanks(rest[size:])
	}
	inner, behind, found := "", "", false
	if strings.HasPrefix(rest, "[") {
		inner, behind, found = strings.Cut(rest[1:min(len(rest), 16)], "]")
		behind = rest[min(len(rest), 1+len(inner)+1):]
	}
	if !found || strings.HasPrefix(behind, "(") || strings.HasPrefix(behind, "[") || strings.HasPrefix(behind, ":") {
		return "", ""
	}
	text = trimBlanks(behind)
	mark := strings.TrimFunc(inner, unicode.IsSpace)
	c, size := utf8.DecodeRuneInString(mark)
	switch one := len(inner) == 1 && isMark(inner[0]); {
	case one && place != "":
		return place, text
	case one && !listed:
		return `no list marker is before it: "- [ ]"`, text
	case one && !blanks:
		return "there is no blank before its brackets", text
	case one && text == "":
		return "nothing is behind it", text
	case one && !isBlank(behind[0]):
		return "there is no blank behind its brackets", text
	case one:
		return "it is indented so far that it is code, or goes on the text above", text
	case mark == "" && listed:
		return "between its brackets there is not one blank", text
	case len(mark) == 1 && isMark(mark[0]):
		return "between its brackets there is more than the mark", text
	case size == len(mark) && mark != "" && (!unicode.IsLetter(c) && !unicode.IsDigit(c) || strings.ContainsRune("vVoOyY", c)) && listed:
		return `"` + mark + `" is no mark: "x" is`, text
	}
	return "", ""
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
