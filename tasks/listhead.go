package tasks

import "strings"

// atx returns the level and the text of a heading like "## Phase 1 ##"; level 0
// if it is none.
func atx(t string) (int, string) {
	level := len(t) - len(strings.TrimLeft(t, "#"))
	rest := t[level:]
	if level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, ""
	}
	rest = strings.Trim(rest, " \t")
	if open := strings.TrimRight(rest, "#"); open == "" || strings.HasSuffix(open, " ") || strings.HasSuffix(open, "\t") {
		rest = strings.TrimRight(open, " \t")
	}
	return level, rest
}

// setext takes the paragraph that ends before i, where its underline begins, as
// a heading.
func (s *scanner) setext(i, level, depth int) {
	begin := s.begin
	s.enter(depth)
	if begin < 0 {
		return
	}
	title := strings.Trim(s.text[begin:i], " \t\r\n")
	if strings.ContainsAny(title, "\r\n") {
		title = strings.Join(strings.Fields(title), " ")
	}
	s.heading(level, title)
}

// heading begins a section. A heading in a list item is part of the item.
func (s *scanner) heading(level int, title string) {
	if len(s.open) > 0 {
		return
	}
	s.phase = title
	if s.criteria > 0 && level > s.criteria {
		return
	}
	s.criteria = 0
	if isCriteria(title) {
		s.criteria = level
	}
}

// isCriteria reports whether a section holds criteria and not tasks: "Success
// criteria", "3. Definition of Done (US1)", "Phase 2: Acceptance criteria". A
// heading that says to do something about them, "Verify success criteria", is
// one of tasks.
func isCriteria(title string) bool {
	title = strings.ToLower(title)
	if !strings.Contains(title, "criteria") && !strings.Contains(title, "definition") && !strings.Contains(title, "checklist") && !strings.Contains(title, "metrics") {
		return false // most headings
	}
	title = strings.NewReplacer("*", "", "_", "", "`", "").Replace(title)
	for _, end := range [...]string{"(", "[", " - ", " – ", " — "} {
		title, _, _ = strings.Cut(title, end)
	}
	title = strings.TrimRight(title, ": .")
	if _, name, found := strings.Cut(title, ":"); found {
		title = name
	}
	words := strings.Fields(title)
	for len(words) > 0 && strings.IndexFunc(words[0], func(c rune) bool { return isLetter(c) }) < 0 {
		words = words[1:] // numbers and emoji
	}
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "add", "define", "write", "create", "update", "implement", "verify", "validate", "check", "review", "document", "meet", "test":
		return len(words) == 2 && words[1] == "checklist"
	}
	title = strings.Join(words, " ")
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
