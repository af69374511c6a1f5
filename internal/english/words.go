package english

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A token is a word of a text, or a mark that counts as one.
type token struct {
	word, class uint16 // numbers in a lexicon; word 0 = not in it
	start, end  int32  // in the block's text
}

// in returns the token as it stands in the block's text.
func (w token) in(text string) string { return text[w.start:w.end] }

// A splitter splits text into tokens.
type splitter struct {
	*lexicon
	out []token
}

// split returns the tokens of text, which are valid until the next call. Words that are
// many are one to the lexicon, as ‹name› and #. So are code and quotations, which are
// spoken of, and say nothing themselves.
func (s *splitter) split(text string) []token {
	s.out = s.out[:0]
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		end := i + size
		switch quoted := quotationEnd(text, i, r, size); {
		case wordRune(r):
			end = s.word(text, i)
		case quoted > 0 && r == '`':
			end = quoted
			s.add(s.ifTest(text[i:end], "‹testcode›", "‹code›"), i, end)
		case quoted > 0:
			end = quoted
			s.add(s.token("‹quote›"), i, end)
		case strings.ContainsRune("-–—", r):
			s.add(s.token("-"), i, end)
		case strings.ContainsRune(".!?,;:()…→|", r):
			s.add(s.token(text[i:end]), i, end)
		}
		i = end
	}
	s.whole(text)
	return s.out
}

func (s *splitter) add(w token, start, end int) {
	w.start, w.end = int32(start), int32(end)
	s.out = append(s.out, w)
}

// word adds the word that begins at i, and returns its end.
func (s *splitter) word(text string, i int) int {
	end := wordEnd(text, i)
	raw := text[i:end]
	mark := s.marks[raw]
	head, tail := cmp.Or(mark, number(raw)), ""
	if head == "" {
		head, tail = s.contraction(lower(raw))
	}
	w := s.token(head)
	if w.word == 0 && isName(raw) {
		w, tail = s.ifTest(raw, "‹testname›", "‹name›"), ""
	}
	s.add(w, i, end)
	if tail != "" {
		s.add(s.token(tail), i, end)
	}
	if mark != "" && strings.HasPrefix(text[end:], "(") { // TODO(name) is one mark
		name, _, closed := strings.Cut(text[end:min(end+40, len(text))], ")")
		if closed && !strings.Contains(name, " ") {
			end += len(name) + 1
		}
	}
	return end
}

// whole finds shares that are the whole: "12 of 12".
func (s *splitter) whole(text string) {
	for i := 2; i < len(s.out); i++ {
		a, of, b := &s.out[i-2], s.out[i-1], s.out[i]
		if a.word == s.count && of.word == s.of && b.word == s.count && a.in(text) == b.in(text) {
			a.word, a.class = s.all.word, s.all.class
		}
	}
}

// ifTest returns the word for code, yes if it names a test or a command that runs tests.
func (l *lexicon) ifTest(code, yes, no string) token {
	for _, part := range l.tests {
		if strings.Contains(code, part) {
			return l.token(yes)
		}
	}
	return l.token(no)
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// wordEnd is the end of the word that starts at i; marks inside it, as in
// parser.go, don't, end-to-end and 3/4, belong to it.
func wordEnd(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !wordRune(r) && !inner(text, i, r, size) {
			break
		}
		i += size
	}
	if strings.HasPrefix(text[i:], " %") && unicode.IsDigit(rune(text[i-1])) {
		i++
	}
	if strings.HasPrefix(text[i:], "%") {
		i++
	}
	return i
}

// inner reports whether a mark belongs to the word around it.
func inner(text string, i int, r rune, size int) bool {
	next, _ := utf8.DecodeRuneInString(text[i+size:])
	switch r {
	case '\'', '’', '.', '-', '@':
		return wordRune(next)
	case '/':
		return wordRune(next) || next == '/'
	case ':':
		return next == ':' || next == '/' || text[i-1] == ':' && wordRune(next)
	}
	return false
}

// quotes are the marks that begin a quotation, each before the one that ends it.
const quotes = "``\"\"“”„”«»''‘’"

// quotationEnd is the end of the quotation that the rune at i begins, 0 = none.
func quotationEnd(text string, i int, r rune, size int) int {
	at := strings.IndexRune(quotes, r)
	if at < 0 || (r == '\'' || r == '‘') && i > 0 && !strings.ContainsRune(" (\t:", rune(text[i-1])) {
		return 0
	}
	_, n := utf8.DecodeRuneInString(quotes[at+size:])
	closing, from := quotes[at+size:at+size+n], i+size
	for r == '`' && from < i+8 && strings.HasPrefix(text[from:], "`") {
		from++
		closing = text[i:from]
	}
	body, _, closed := strings.Cut(text[from:min(from+maxQuotation, len(text))], closing)
	end := from + len(body) + len(closing)
	if !closed || body == "" {
		return 0
	}
	if next, _ := utf8.DecodeRuneInString(text[end:]); closing == "'" && wordRune(next) {
		return 0
	}
	return end
}

// number is what stands for a number, "" = it is none.
func number(raw string) string {
	body := strings.TrimSuffix(raw, "%")
	part, of, share := strings.Cut(body, "/")
	switch {
	case raw[0] < '0' || raw[0] > '9' || strings.Trim(body, "0123456789./") != "" || strings.Count(body, ".") > 1:
		return ""
	case share && part == of:
		return "#/whole"
	case strings.Trim(part, "0.") == "":
		return "0"
	case share:
		return "#/#"
	case raw == "100%":
		return raw
	case len(body) < len(raw):
		return "#%"
	}
	return "#"
}

// isName reports whether a word is no English: a path, an identifier, a version.
func isName(raw string) bool {
	for i, c := range []byte(raw) {
		if strings.IndexByte("/._@:0123456789", c) >= 0 ||
			i > 0 && c >= 'A' && c <= 'Z' && raw[i-1] >= 'a' && raw[i-1] <= 'z' {
			return true
		}
	}
	return false
}

// lower returns a word in lower case, with one kind of apostrophe.
func lower(raw string) string { return strings.ToLower(strings.ReplaceAll(raw, "’", "'")) }
