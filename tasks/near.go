package tasks

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNear bounds how many lines that are nearly boxes are told of: a table may have a
// million, and the first tell what is wrong.
const maxNear = 1000

// variation says how the sign before it is drawn. It is invisible, and so must not be
// part of a text that is shown or compared.
const variation = "\ufe0f"

// A nearBox is such a line, and the index of the section that it is in. People
// take it for a task, and a loop would leave it out without a word. Its section is not
// its phase yet: a chunk does not know what it begins in until all are scanned.
type nearBox struct {
	Finding
	section int
	end     int // the last line of the table that it is in
}

// inTable is what is wrong with boxes of a table, of which the first is told of: all
// other rows are wrong in the same way.
const inTable = "it is in a table"

// noteNear notes a line that somebody may have meant as a box, though it is none: there
// are only as many boxes as before it.
func (s *scanner) noteNear(before, i, end int) {
	if len(s.boxes) > before || len(s.near) == maxNear {
		return
	}
	if detail, text := near(s.text[i:end]); detail != "" {
		if n := len(s.near) - 1; n >= 0 && detail == inTable && s.near[n].Detail == inTable && s.near[n].end == s.line-1 {
			s.near[n].end = s.line
			return
		}
		s.addNear(i, text, detail)
	}
}

func (s *scanner) addNear(i int, text, detail string) {
	f := Finding{Item: Item{Text: text, Line: s.line, Offset: i}, Why: WhyNoBox, Detail: detail}
	s.near = append(s.near, nearBox{f, len(s.sections) - 1, s.line})
}

// noteHidden notes a line that would be a box but for the block that hides it. Only a
// right box is told of: in code any brackets are common.
func (s *scanner) noteHidden(i, end int) {
	line := s.text[i:end]
	text, _ := boxText(trimBlanksLeft(line[len(bulletOf(line)):]))
	if text == "" || len(s.near) == maxNear {
		return
	}
	detail := "it is in a block of code"
	if s.raw.size == 0 {
		detail = "it is in a comment"
	}
	s.addNear(i, text, detail)
}

// aHeading is why a task that is a heading is no box.
const aHeading = "it is a heading, no box"

// headings are those that somebody may have meant as tasks: three or more begin with IDs
// of one scheme, and no task is below them. Section numbers are no IDs. One or two
// headings with an ID are titles, which name what the document is about; three are a
// list that somebody has written as headings.
func headings(chunks []chunk, items []Item) []Finding {
	var found []Finding
	count, grouped := map[string]int{}, map[string]bool{}
	for i := range chunks {
		last := 0 // a label below a heading begins a section with the same line
		for _, s := range chunks[i].sections {
			if name := headingScheme(s.title); name != "" && s.line > last && len(found) < maxNear {
				last = s.line
				count[name]++
				found = append(found, Finding{Item: Item{Text: s.title, Phase: s.title, Line: s.line + chunks[i].above}, Why: WhyNoBox, Detail: aHeading})
			}
		}
	}
	// A heading with tasks below it is their phase.
	for i := 0; i < len(items) && found != nil; i++ {
		grouped[items[i].Phase] = true
	}
	// Whether three have one scheme is known when all are seen.
	return slices.DeleteFunc(found, func(f Finding) bool { return count[headingScheme(f.Item.Text)] < 3 || grouped[f.Item.Text] })
}

// headingScheme is that of the ID that a heading begins with; "" = it has none that is surely
// meant as one: T001, US-1, "Task 1", "Story 1.1".
func headingScheme(title string) string {
	t := strings.Trim(strings.TrimLeftFunc(title, isSign), "*_:")
	kind, rest, _ := strings.Cut(t, " ")
	named := strings.EqualFold(kind, "task") || strings.EqualFold(kind, "story")
	if !named && idLen(t) == 0 {
		return ""
	}
	if detail, _ := near(title); detail != "" {
		return "" // it is told of already
	}
	if named {
		t = "Task " + rest
	}
	var it Item
	it.read(t+":", true)
	name := schemeOf(it.ID)
	switch {
	case it.ID == "" || isCriterionScheme(name):
		return ""
	case isDigit(rune(it.ID[0])) && named:
		return strings.ToLower(kind)
	case name == "T" || strings.HasSuffix(name, "-") || isPadded(it.ID):
		return name
	}
	return ""
}

// near says why a line without its indentation, which is no box, is none, and what it would
// say; "" if it is not even nearly one. What is a link, a footnote or a reference is
// none. The cases come from lists that people and agents have written.
func near(line string) (detail, text string) {
	place, item := placeOf(line)
	bullet := bulletOf(item)
	rest := trimBlanksLeft(item[len(bullet):])
	listed, apart := bullet != "" && bullet[0] < utf8.RuneSelf, len(rest) < len(item)-len(bullet)
	if c, size := utf8.DecodeRuneInString(rest); strings.ContainsRune("☐☑☒", c) || c == '⬜' && listed {
		return `"` + string(c) + `" is a sign: a box is "- [ ]"`, trimBlanks(strings.TrimPrefix(rest[size:], variation))
	}
	if detail, text = inBold(rest); detail != "" {
		return detail, text
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

// inBold says of "**[ ] text**" why it is no box; "" = it is something else. Agents
// write so to stress a task, and no program renders a box there.
func inBold(t string) (detail, text string) {
	inner, marks := unwrap(t)
	if len(marks) != 2 || len(marks[0]) != 2 || marks[1] != "]" || len(inner) < 2 || !isMark(inner[0]) || inner[1] != ']' {
		return "", ""
	}
	return "its brackets stand in " + marks[0], strings.Trim(inner[2:], "*_~ \t")
}

// misplaced says what is wrong around brackets with a mark. The last answer is what is
// left: all is as it should be, but the line is where no list item can begin.
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

// wrongMark says what is wrong with what stands between brackets; "" if that is no
// mark. A single letter or word in brackets is mostly a name or a link; only those are
// told of that people tick boxes with.
func wrongMark(inner string) string {
	mark := strings.TrimSuffix(strings.TrimFunc(inner, unicode.IsSpace), variation)
	word := strings.ToLower(mark)
	c, size := utf8.DecodeRuneInString(mark)
	switch {
	case mark == "":
		return `one blank belongs between its brackets: "[ ]"`
	case len(mark) == 1 && isMark(mark[0]):
		return "between its brackets there is more than the mark"
	// Signs of all kinds, the letters of yes and of v, o for a tick, and words such as
	// "wip" or "50%" are meant as a state.
	case size == len(mark) && (!unicode.IsLetter(c) && !unicode.IsDigit(c) || strings.ContainsRune("vVoOyY", c)),
		word == "wip" || word == "todo" || word == "done" || len(word) > 1 && digits(word) == len(word)-1 && word[len(word)-1] == '%':
		return `"` + mark + `" is no mark: "x" is`
	}
	return ""
}

// placeOf says what else a line is than a list item, and returns what stands there. A
// box in a block quote, a heading or a table is rendered as text by GitHub.
func placeOf(line string) (place, rest string) {
	switch line[0] {
	case '>':
		return "it is in a block quote", trimBlanksLeft(strings.TrimLeft(line, "> \t"))
	case '#':
		return "it is a heading", trimBlanksLeft(strings.TrimLeft(line, "#"))
	// A row of a table counts if one of its cells is a box.
	case '|':
		for cell := range strings.SplitSeq(line, "|") {
			if cell = trimBlanks(cell); len(cell) > 2 && cell[0] == '[' && cell[2] == ']' && isMark(cell[1]) {
				return inTable, cell
			}
		}
		return "", ""
	}
	return "", line
}

// bulletOf returns the list marker that a text begins with, or the sign that somebody
// took for one. Word processors put such signs for hyphens.
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
