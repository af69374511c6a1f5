package tasks

import "strings"

// describe takes the text behind a box apart: markers, ID, description.
func describe(t string) Item {
	var it Item
	text := it.markers(t)
	if text == "" {
		return Item{Text: t} // a marker of nothing
	}
	if it.ID, text = cutID(text); it.ID != "" {
		text = separator(it.markers(text))
	}
	it.Text = text
	return it
}

// markers takes [P], (P) and [US1] off the front of a text. Other words in
// brackets stay, but do not hide the markers behind them.
func (it *Item) markers(t string) string {
	kept := ""
	for range 16 { // more are a text of brackets
		word := bracketed(t)
		rest := trimBlanksLeft(t[len(word):])
		switch {
		case word == "":
			return kept + t
		case word == "[P]" || word == "(P)":
			it.Parallel = true
		case isStory(word):
			if it.Story != "" {
				it.Story += ", "
			}
			it.Story += word[1 : len(word)-1]
		case word[0] == '[' && (strings.HasPrefix(rest, "[P]") || strings.HasPrefix(rest, "(P)") || strings.HasPrefix(rest, "[US")):
			kept += word + " "
		default:
			return kept + t
		}
		t = rest
	}
	return kept + t
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
	return found && strings.ContainsAny(stories, "0123456789") && strings.Trim(stories, "0123456789abcdeUS-,/&+ ") == "]"
}

// cutID returns the ID a text begins with, as it is written without decoration,
// and the text behind it.
func cutID(t string) (id, rest string) {
	inner, mark := t, ""
	for _, pair := range [...][2]string{{"**", "**"}, {"__", "__"}, {"~~", "~~"}, {"[", "]"}, {"`", "`"}} {
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
