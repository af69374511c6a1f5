package tasks

import (
	"slices"
	"strings"
)

// atx returns the level and the text of a heading like "## Phase 1 ##"; level 0
// if it is none.
func atx(t string) (int, string) {
	level := run(t, '#')
	rest := t[level:]
	if level > 6 || rest != "" && !isBlank(rest[0]) {
		return 0, ""
	}
	rest = trimBlanks(rest)
	if open := strings.TrimRight(rest, "#"); open == "" || isBlank(open[len(open)-1]) {
		rest = trimBlanks(open)
	}
	return level, rest
}

// setext takes the paragraph that ends before i, where its underline begins, as
// a heading.
func (s *scanner) setext(i, level, depth int) {
	begin := s.begin
	s.enter(depth)
	if begin >= 0 {
		s.heading(level, strings.Join(strings.Fields(s.text[begin:i]), " "))
	}
}

// heading begins a section. A heading in a list item is part of the item.
func (s *scanner) heading(level int, title string) {
	if len(s.open) > 1 {
		return
	}
	s.phase = title
	if s.criteria == 0 || level <= s.criteria {
		s.criteria = 0
		if isCriteria(title) {
			s.criteria = level
		}
	}
}

// isCriteria reports whether a section holds criteria and not tasks: "Success
// criteria", "3. Definition of Done (US1)", "Phase 2: Acceptance criteria". A
// heading that says to do something about them, "Verify success criteria", is
// one of tasks.
func isCriteria(title string) bool {
	title = strings.ToLower(title)
	for _, mark := range [...]string{"*", "_", "`"} {
		title = strings.ReplaceAll(title, mark, "")
	}
	for _, end := range [...]string{"(", "[", " - ", " – ", " — "} {
		title, _, _ = strings.Cut(title, end)
	}
	title = strings.TrimRight(title, ": .")
	if _, name, found := strings.Cut(title, ":"); found {
		title = name
	}
	title = strings.TrimLeftFunc(title, func(c rune) bool { return !isLetter(c) }) // numbers and emoji
	title = strings.Join(strings.Fields(title), " ")
	first, rest, _ := strings.Cut(title, " ")
	doing := [...]string{"add", "define", "write", "create", "update", "implement", "verify", "validate", "check", "review", "document", "meet", "test"}
	if slices.Contains(doing[:], first) {
		return rest == "checklist"
	}
	for _, name := range [...]string{
		"success criteria", "acceptance criteria", "completion criteria", "exit criteria", "done criteria", "success metrics",
		"definition of done", "definition of ready",
		"acceptance checklist", "verification checklist", "validation checklist", "review checklist", "quality checklist",
	} {
		if title == name || strings.HasPrefix(title, name+" ") || strings.HasSuffix(title, " "+name) {
			return true
		}
	}
	return title == "checklist"
}
