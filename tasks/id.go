package tasks

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// read takes the text behind a box apart: markers, ID, description. Without IDs the
// description begins with what looks like one. It reports whether the ID is surely meant
// as one: it is set off from the text, or written as nothing else is.
func (it *Item) read(t string, ids bool) (sure bool) {
	it.Text = it.markers(t)
	if it.Text == "" {
		*it = Item{Text: t} // a marker of nothing
		return false
	}
	if !ids {
		return false
	}
	if it.ID, it.Text, sure = cutID(it.Text); it.ID != "" {
		it.Text = separator(it.markers(it.Text))
	}
	return sure
}

// markers takes [P], (P) and [US1] off the front of a text. Other words in
// brackets stay, but do not hide the markers behind them.
func (it *Item) markers(t string) string {
	var kept string
	for range 16 { // more are a text of brackets
		word := bracketed(t)
		if word == "" {
			break
		}
		rest := trimBlanksLeft(t[len(word):])
		switch {
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
	if kept != "" {
		t = kept + t
	}
	return t
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
	digit := false
	for i := 0; found && i < len(stories)-1; i++ {
		digit = digit || isDigit(rune(stories[i]))
		found = strings.IndexByte("0123456789abcdeUS-,/&+ ", stories[i]) >= 0
	}
	return found && digit && strings.HasSuffix(stories, "]")
}

// plainID returns the length of the ID in a text like most in a long list, "T001 Do it";
// 0 for any other text.
func plainID(t string) int {
	if t[0] != 'T' {
		return 0
	}
	n := 1
	for n < len(t) && '0' <= t[n] && t[n] <= '9' {
		n++
	}
	if n < 3 || n > 10 || n == len(t) || t[n] != ' ' {
		return 0
	}
	return n
}

// wraps are the pairs that an ID may stand between.
var wraps = [...][2]string{{"**", "**"}, {"__", "__"}, {"~~", "~~"}, {"*", "*"}, {"_", "_"}, {"[", "]"}, {"`", "`"}}

// cutID returns the ID a text begins with, as it is written without decoration,
// and the text behind it.
func cutID(t string) (id, rest string, sure bool) {
	if n := plainID(t); n > 0 {
		return t[:n], separator(t[n:]), true
	}
	inner, closing := t, [3]string{}
	for c, size := utf8.DecodeRuneInString(inner); size > 1 && !unicode.IsLetter(c) && inner != ""; c, size = utf8.DecodeRuneInString(inner) {
		inner = trimBlanksLeft(inner[size:]) // emoji
	}
	depth := 0
	for i := 0; i < len(wraps) && depth < len(closing) && inner != "" && !isAlnum(inner[0]); i++ {
		if after, found := strings.CutPrefix(inner, wraps[i][0]); found {
			inner, closing[depth] = after, wraps[i][1]
			depth, i = depth+1, -1
		}
	}
	named := len(inner) > 5 && strings.EqualFold(inner[:5], "task ") // "Task 1: …"
	if named {
		inner = trimBlanksLeft(inner[5:])
	}
	n := idLen(inner)
	if n == 0 {
		return "", t, false
	}
	id, rest = inner[:n], inner[n:]
	plain := isDigit(rune(id[0])) && !strings.Contains(id, ".") // 1 and 1a, but not 1.1
	sure = named || !plain && isPadded(id)
	if depth > 0 {
		text, set, ok := cutWraps(rest, closing[:depth], plain && !named)
		if !ok {
			return "", t, false
		}
		return id, text, sure || set
	}
	switch colon := strings.TrimPrefix(rest, "："); {
	case rest == "":
		if !plain {
			return id, "", sure
		}
	case colon != rest:
		return id, trimBlanksLeft(colon), true
	case rest[0] >= utf8.RuneSelf: // 1.1（…
		if !plain {
			return id, rest, sure
		}
	case isBlank(rest[0]):
		// "Task 2 (AC: 1, 3)", as BMAD writes it, but not "Task 2 of the plan".
		if text := separator(rest); !plain || named && (text != trimBlanksLeft(rest) || text[0] == '(') {
			return id, text, sure
		}
	case rest[0] == ':' && !isDigit(rune(id[0])):
		return id, trimBlanksLeft(rest[1:]), true
	case strings.IndexByte(".:)", rest[0]) >= 0 && (len(rest) == 1 || isBlank(rest[1])):
		return id, separator(rest[1:]), true
	}
	return "", t, false
}

// cutWraps handles what stands behind an ID in **T001** text, **T001:** text, **T001:
// title** text and [T001](file) text. The innermost mark is the last. Set reports whether
// the ID is set off from the text, which a plain number must be.
func cutWraps(rest string, closing []string, plain bool) (text string, set, ok bool) {
	for ; len(closing) > 0; closing = closing[:len(closing)-1] {
		mark := closing[len(closing)-1]
		after, found := strings.CutPrefix(strings.TrimLeft(rest, ".:)"), mark)
		if !found {
			break
		}
		if plain = plain && len(mark) == 1; plain {
			return "", false, false // [1] and `1`
		}
		if strings.HasPrefix(after, "(") && mark == "]" {
			if _, after, found = strings.Cut(after, ")"); !found {
				return "", false, false
			}
		}
		rest, set = after, true
	}
	if len(closing) == 0 {
		return separator(strings.TrimLeft(rest, ":")), true, true
	}
	text = separator(strings.TrimLeft(rest, ".:)"))
	set = set || text != trimBlanksLeft(rest)
	if rest == text || plain && !set {
		return "", false, false
	}
	for len(closing) > 0 {
		mark := closing[len(closing)-1]
		if closing = closing[:len(closing)-1]; mark == "]" || mark == "`" {
			return "", false, false
		}
		title, behind, _ := strings.Cut(text, mark)
		text = title + behind
	}
	return text, set, true
}

// separator takes off what stands between an ID and the description.
func separator(t string) string {
	t = trimBlanksLeft(t)
	if t == "" || isAlnum(t[0]) {
		return t // mostly
	}
	for _, colon := range [...]string{":", "："} {
		if rest, found := strings.CutPrefix(t, colon); found {
			return trimBlanksLeft(rest)
		}
	}
	for _, dash := range [...]string{"-", "|", "–", "—"} {
		if rest, found := strings.CutPrefix(t, dash); found && (rest == "" || isBlank(rest[0])) {
			return trimBlanksLeft(rest)
		}
	}
	return t
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// trimBlanks takes spaces and tabs off both ends, and nothing else: a NBSP is text.
func trimBlanks(t string) string {
	for t != "" && isBlank(t[len(t)-1]) {
		t = t[:len(t)-1]
	}
	return trimBlanksLeft(t)
}

func trimBlanksLeft(t string) string {
	for t != "" && isBlank(t[0]) {
		t = t[1:]
	}
	return t
}

// idLen returns the length of what looks like an ID at the beginning of a text, or 0: a
// number, or a word of letters and numbers, like T001, A.1.1, US-001-T2, TASK_25, #1.
// What looks like one is an ID only where others do too, see schemes.
func idLen(t string) int {
	n := 0
	for n < len(t) && n <= 32 && (isAlnum(t[n]) || t[n] == '.' || t[n] == '-' || t[n] == '_' || t[n] == '#' && n == 0) {
		n++
	}
	word := strings.TrimRight(t[:n], ".-_")
	switch {
	case word == "" || len(word) > 32 || len(word) < len(t) && t[len(word)] >= 0x80 && isWord(t[len(word):]):
	case word[0] == '#':
		if n := digits(word[1:]); 0 < n && n < 7 && n == len(word)-1 {
			return len(word)
		}
	case digits(word) > 0:
		return numberLen(word)
	case isJoined(word):
		return len(word)
	}
	return 0
}

func isWord(t string) bool {
	c, _ := utf8.DecodeRuneInString(t)
	return unicode.IsLetter(c)
}

// numberLen is the length of 1, 1.1, 2.3.1, 4.2a or 4a.2, else 0. Longer numbers are
// years and sizes.
func numberLen(word string) int {
	for part := range strings.SplitSeq(word, ".") {
		n := digits(part)
		if n == 0 || n > 3 || len(part)-n > 1 || n < len(part) && (part[n] < 'a' || part[n] > 'z') {
			return 0
		}
	}
	return len(word)
}

// isJoined recognizes IDs of letters and a number, behind which two letters may stand,
// and numbers after dots: T001, T5a, T12.3, A.1.1; and such parts joined by hyphens and
// underlines, of which one has a number: TASK-12, ABC-7a, US-001-T2, T031-MIN, Task-3.
func isJoined(id string) bool {
	numbered, parts := false, 0
	for part := range strings.FieldsFuncSeq(id, func(c rune) bool { return c == '-' || c == '_' }) {
		n := letters(part)
		d := digits(part[n:])
		rest := part[n+d:]
		if d > 0 {
			rest = rest[min(letters(rest), 2):]
		}
		for strings.HasPrefix(rest, ".") && digits(rest[1:]) > 0 {
			d, rest = d+1, rest[1+digits(rest[1:]):]
		}
		capital := part[:n] == strings.ToUpper(part[:n])
		switch {
		case rest != "" || n > 5 && d > 0 || parts > 0 && !capital:
			return false // 100ms, e2e-tests
		case !capital && (n > 1 || part[0] != 't' || d < 3) && d > 0:
			return false // OAuth2, v1.2, but t001
		}
		numbered = numbered || d > 0
		parts++
	}
	return numbered && (parts == 1 || strings.Count(id, "-")+strings.Count(id, "_") == parts-1)
}

// isPadded recognizes IDs that nothing else is written like: T12, F001, TASK-1, A.1.1.
func isPadded(id string) bool {
	n := strings.IndexAny(id, "0123456789")
	switch {
	case n <= 0:
		return false
	case id[n-1] == '.':
		return strings.Count(id, ".") > 1
	case digits(id[n:]) > 1 && (id[n] == '0' || id[:n] == "T"):
		return true
	}
	return strings.EqualFold(id[:letters(id)], "task")
}

// digits and letters return how many of them a text begins with.
func digits(t string) int {
	n := 0
	for n < len(t) && isDigit(rune(t[n])) {
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

func isDigit(c rune) bool  { return '0' <= c && c <= '9' }
func isLetter(c rune) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isAlnum(c byte) bool  { return isLetter(rune(c)) || isDigit(rune(c)) }
