package tasks

import "strings"

// atx returns the level, 1 to 6, and the text of a heading like "## Phase 1 ##"; level
// 0 if it is none. "#12" is none: Markdown wants a blank, and issues are written so.
func atx(t string) (int, string) {
	level := run(t, '#')
	rest := t[level:]
	if level == 0 || level > 6 || rest != "" && !isBlank(rest[0]) {
		return 0, ""
	}
	rest = trimBlanks(rest)
	if open := strings.TrimRight(rest, "#"); open == "" || isBlank(open[len(open)-1]) {
		rest = trimBlanks(open)
	}
	return level, rest
}

// setext takes the paragraph that ends before i for a heading if a line underlines it.
// A box is a paragraph too, but a line below it is no heading: nobody means a task as
// one.
func (s *scanner) setext(i int, line string, depth int) bool {
	level := 1 + strings.IndexByte("=-", line[0])
	if level == 0 || strings.Trim(trimBlanks(line), line[:1]) != "" {
		return false
	}
	begin := s.begin
	if s.enter(depth); begin >= 0 {
		s.heading(level, strings.Join(strings.Fields(s.text[begin:i]), " "))
	}
	return true
}

// heading begins a section. A heading in a list item is part of the item. Below a
// heading for criteria all deeper ones are for criteria too, until one of the same
// level or a higher one.
func (s *scanner) heading(level int, title string) {
	if len(s.open) > 1 {
		return
	}
	next := section{title: title, line: s.line}
	switch {
	case s.criteria > 0 && level > s.criteria:
		next.criteria = s.sections[len(s.sections)-1].criteria
	case isCriteria(title):
		s.criteria, next.criteria = level, title
	default:
		s.criteria = 0
	}
	s.sections = append(s.sections, next)
}
