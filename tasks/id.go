package tasks

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// read takes the text behind a box apart: markers, ID, description. Without IDs the
// description begins with what looks like one. It reports whether the ID is surely
// meant as one: it is set off from the text, or written as nothing else is.
//
// Nothing here decides whether a list has IDs: "H2 database" reads as the ID H2. That
// is for the schemes, which have seen all boxes.
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

// markers takes [P], (P) and [US1] off the front of a text, in any order, as spec-kit
// writes them and as people do. Other words in brackets stay, but do not hide the
// markers behind them.
func (it *Item) markers(t string) string {
	var kept strings.Builder
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
			kept.WriteString(word + " ")
		default:
			return kept.String() + t
		}
		t = rest
	}
	if kept.String() != "" {
		t = kept.String() + t
	}
	return t
}

// bracketed returns the word in brackets that a text begins with, if it is not that of
// a link: of "[P](p.md)" nothing may be taken off.
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

// isStory recognizes [US1], [US-2a] and lists like [US1, US2]. It must have a digit:
// [USE] is a word.
func isStory(word string) bool {
	stories, found := strings.CutPrefix(strings.TrimSuffix(word, "]"), "[US")
	return found && strings.ContainsAny(stories, "0123456789") && strings.Trim(stories, "0123456789abcdeUS-,/&+ ") == ""
}

// plainID returns the length of the ID in a text like most in a long list, "T001 Do
// it"; 0 for any other text. It is cutID for these, and several times faster.
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

// wraps are the pairs that an ID may stand between, longer ones before those that they
// begin with.
var wraps = [...][2]string{{"**", "**"}, {"__", "__"}, {"~~", "~~"}, {"*", "*"}, {"_", "_"}, {"[", "]"}, {"`", "`"}}

// cutID returns the ID a text begins with, as it is written without decoration, and the
// text behind it. Decoration goes, so that an ID that somebody makes bold stays the
// same key.
func cutID(t string) (id, rest string, sure bool) {
	if n := plainID(t); n > 0 {
		return t[:n], separator(t[n:]), true
	}
	// An emoji before the ID is decoration, as marks are.
	inner, closing := unwrap(strings.TrimLeftFunc(t, isSign))
	named := len(inner) > 5 && strings.EqualFold(inner[:5], "task ") // "Task 1: …"
	if named {
		inner = trimBlanksLeft(inner[5:])
	}
	n := idLen(inner)
	if n == 0 {
		return "", t, false
	}
	id, rest = inner[:n], inner[n:]
	// A number alone is the weakest ID, for many texts begin with one: "2 servers", "3
	// times".
	number := isDigit(rune(id[0])) && !strings.Contains(id, ".") // 1 and 1a, but not 1.1
	cut := cutSeparator
	// Behind an ID in marks another rule holds for what sets it off: the marks do.
	if len(closing) > 0 {
		cut = func(rest string, number, named bool) (string, bool, bool) {
			return cutWraps(rest, closing, number && !named)
		}
	}
	text, set, ok := cut(rest, number, named)
	if !ok {
		return "", t, false
	}
	return id, text, set || named || isPadded(id)
}

// isSign recognizes emoji and the blanks behind them, with which some agents begin each
// line.
func isSign(c rune) bool { return c == ' ' || c >= utf8.RuneSelf && !unicode.IsLetter(c) }

// unwrap takes off the marks that a text begins with, and returns those that end them,
// the innermost last. Three at most: more are no decoration.
func unwrap(t string) (inner string, closing []string) {
	for i := 0; i < len(wraps) && len(closing) < 3 && t != "" && !isAlnum(t[0]); i++ {
		if after, found := strings.CutPrefix(t, wraps[i][0]); found {
			t, closing, i = after, append(closing, wraps[i][1]), -1
		}
	}
	return t, closing
}

// cutSeparator handles T001 text, T001: text and T001. text. A number needs more than a
// blank, and "Task 2 of the plan" is none, but "Task 2 (AC: 1, 3)" is, as BMAD writes it.
func cutSeparator(rest string, number, named bool) (text string, set, ok bool) {
	switch colon := strings.TrimPrefix(rest, "："); {
	// Nothing behind it, or a script that puts no blank there.
	case rest == "" || rest[0] >= utf8.RuneSelf && colon == rest: // 1.1（…
		return rest, false, !number
	case colon != rest:
		return trimBlanksLeft(colon), true, true
	case isBlank(rest[0]):
		text = separator(rest)
		return text, false, !number || text != trimBlanksLeft(rest) || named && text[0] == '('
	case rest[0] == ':' && !number:
		return trimBlanksLeft(rest[1:]), true, true
	case strings.IndexByte(".:)", rest[0]) >= 0 && (len(rest) == 1 || isBlank(rest[1])):
		return separator(rest[1:]), true, true
	}
	return "", false, false
}

// cutWraps handles what stands behind an ID in **T001** text, **T001:** text, **T001:
// title** text and [T001](file) text. The innermost mark is the last. Set reports whether
// the ID is set off from the text, which a number must be.
func cutWraps(rest string, closing []string, number bool) (text string, set, ok bool) {
	for ; len(closing) > 0; closing = closing[:len(closing)-1] {
		mark := closing[len(closing)-1]
		after, found := strings.CutPrefix(strings.TrimLeft(rest, ".:)"), mark)
		if !found {
			return cutTitle(rest, closing, set, number)
		}
		// [1] is a footnote, and `1` a value.
		if number && len(mark) == 1 {
			return "", false, false
		}
		// An ID that is a link to its file; the address is no part of the text.
		if mark == "]" && strings.HasPrefix(after, "(") {
			_, after, _ = strings.Cut(after, ")")
		}
		rest, set = after, true
	}
	return separator(strings.TrimLeft(rest, ":")), true, true
}

// cutTitle handles what stands behind an ID if marks end later: behind a title, as in
// "**T001: Parser** with tests". The title is part of the text then, without its marks.
func cutTitle(rest string, closing []string, set, number bool) (string, bool, bool) {
	text := separator(strings.TrimLeft(rest, ".:)"))
	set = set || text != trimBlanksLeft(rest)
	if rest == text || number && !set {
		return "", false, false
	}
	for i := range closing {
		mark := closing[len(closing)-1-i]
		if mark == "]" || mark == "`" {
			return "", false, false
		}
		title, behind, _ := strings.Cut(text, mark)
		text = title + behind
	}
	return text, set, true
}

// separator takes off what stands between an ID and the description: a colon, or a dash
// or bar with a blank behind it. A dash without one is the text's own: "-v prints it".
func separator(t string) string {
	t = trimBlanksLeft(t)
	if t == "" || isAlnum(t[0]) {
		return t // mostly
	}
	for _, sign := range [...]string{":", "：", "-", "|", "–", "—"} {
		rest, found := strings.CutPrefix(t, sign)
		if colon := sign == ":" || sign == "："; found && (colon || rest == "" || isBlank(rest[0])) {
			return trimBlanksLeft(rest)
		}
	}
	return t
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// trimBlanks takes spaces and tabs off both ends, and nothing else: a NBSP is text.
func trimBlanks(t string) string { return trimBlanksLeft(strings.TrimRight(t, " \t")) }

func trimBlanksLeft(t string) string {
	for t != "" && isBlank(t[0]) {
		t = t[1:]
	}
	return t
}

// idLen returns the length of what looks like an ID at the beginning of a text, or 0: a
// number, or a word of letters and numbers, like T001, A.1.1, US-001-T2, TASK_25, #1.
// What looks like one is an ID only where others do too, see schemes. More than 32
// bytes are no name that anybody types.
func idLen(t string) int {
	sign := len(t) - len(strings.TrimPrefix(t, "#"))
	n := sign
	for n < len(t) && n <= 32 && (isAlnum(t[n]) || strings.IndexByte(".-_", t[n]) >= 0) {
		n++
	}
	word := strings.TrimRight(t[sign:n], ".-_")
	n = sign + len(word)
	if c, _ := utf8.DecodeRuneInString(t[n:]); word == "" || n > 32 || unicode.IsLetter(c) {
		return 0
	}
	if sign > 0 && digits(word) == len(word) || sign == 0 && (isNumber(word) || isJoined(word)) {
		return n
	}
	return 0
}

// isNumber recognizes 1, 1.1, 2.3.1, 4.2a and 4a.2. Longer numbers are years and sizes,
// and 1.2.x, v1.2 and 1.5GB something else.
func isNumber(word string) bool {
	for part := range strings.SplitSeq(word, ".") {
		n := digits(part)
		if n == 0 || n > 3 || len(part)-n > 1 || n < len(part) && (part[n] < 'a' || part[n] > 'z') {
			return false
		}
	}
	return true
}

// isJoined recognizes IDs of letters and a number, behind which two letters may stand,
// and numbers after dots: T001, T5a, T12.3, A.1.1; and such parts joined by hyphens and
// underlines, of which one has a number: TASK-12, ABC-7a, US-001-T2, T031-MIN, Task-3.
// Parts behind the first are in capitals: in "utf-8-text" there is a number, and no ID.
func isJoined(id string) bool {
	numbered, first := false, true
	for part := range strings.FieldsFuncSeq(id, func(c rune) bool { return c == '-' || c == '_' }) {
		n := letters(part)
		capital := part[:n] == strings.ToUpper(part[:n])
		if n < len(part) && !hasNumber(part, n, capital) || !first && !capital || first && n == 0 {
			return false
		}
		numbered, first = numbered || n < len(part), false
	}
	return numbered
}

// hasNumber reports whether what stands behind the n letters of a part is a number.
// Small letters before it are those of words, products and versions; only a "t" with
// three digits is an ID that somebody did not capitalize.
func hasNumber(part string, n int, capital bool) bool {
	d := digits(part[n:])
	if n > 5 || !capital && (part[:n] != "t" || d < 3) {
		return false // OAuth2, v1.2, but t001
	}
	rest := part[n+d:]
	if d > 0 {
		rest = rest[min(letters(rest), 2):]
	}
	for strings.HasPrefix(rest, ".") && digits(rest[1:]) > 0 {
		rest = rest[1+digits(rest[1:]):]
	}
	return rest == ""
}

// isPadded recognizes IDs that nothing else is written like: T12, F001, TASK-1, A.1.1.
// One such box is enough to say that the list has IDs.
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

// digits and letters return how many of them a text begins with. Only ASCII digits
// count, as in the IDs that they are part of.
func digits(t string) int  { return len(t) - len(strings.TrimLeft(t, "0123456789")) }
func letters(t string) int { return len(t) - len(strings.TrimLeftFunc(t, isLetter)) }

// isDigit, isLetter and isAlnum know ASCII alone: IDs are names that people type, and a
// letter of another script ends one.
func isDigit(c rune) bool  { return '0' <= c && c <= '9' }
func isLetter(c rune) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isAlnum(c byte) bool  { return isLetter(rune(c)) || isDigit(rune(c)) }
