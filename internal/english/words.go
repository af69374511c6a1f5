package english

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A token is a word of a text, or a mark that counts as one.
type token struct {
	word, class uint16 // numbers in a lexicon; word 0 = not in it
	start, end  int32  // in the block's text
}

// What stands for words that are many. Code and quotations are spoken of, and say
// nothing themselves.
const (
	codeWord     = "‹code›"
	testCodeWord = "‹testcode›"
	quoteWord    = "‹quote›"
	nameWord     = "‹name›"
	testNameWord = "‹testname›"
	countWord    = "#"
	percentWord  = "#%"
	shareWord    = "#/#"
	wholeWord    = "#/whole" // 12/12, and the 12 of "12 of 12"
	markWord     = "TODO"
	marksWord    = "TODOs"
)

// A splitter splits text into tokens.
type splitter struct {
	*lexicon
	out     []token
	scratch []byte
}

// split returns the tokens of text, which are valid until the next call.
func (s *splitter) split(text string) []token {
	s.out = s.out[:0]
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf && wordByte[c] {
			i = s.word(text, i)
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		if end := closingMark(text, i, r, size); end > i {
			low := quoteWord
			if r == '`' {
				if low = codeWord; isTest(text[i:end]) {
					low = testCodeWord
				}
			}
			s.add(low, i, end)
			i = end
			continue
		}
		switch {
		case wordRune(r):
			i = s.word(text, i)
			continue
		case r == '-' || r == '–' || r == '—':
			s.add("-", i, i+size)
		case strings.ContainsRune(".!?,;:()…→|", r):
			s.add(text[i:i+size], i, i+size)
		}
		i += size
	}
	s.whole(text)
	return s.out
}

func (s *splitter) add(low string, start, end int) {
	word, class := s.lookup([]byte(low))
	s.out = append(s.out, token{word, class, int32(start), int32(end)})
}

// word adds the word that begins at i, and returns its end.
func (s *splitter) word(text string, i int) int {
	end := wordEnd(text, i)
	raw := text[i:end]
	if mark, ok := marker(raw); ok {
		s.add(mark, i, end)
		if strings.HasPrefix(text[end:], "(") { // TODO(name) is one mark
			if n := strings.IndexAny(text[end:min(end+40, len(text))], ") "); n > 0 && text[end+n] == ')' {
				end += n + 1
			}
		}
		return end
	}
	if stands := standIn(raw); stands != "" {
		s.add(stands, i, end)
		return end
	}
	s.scratch = appendLower(s.scratch[:0], raw)
	head, tail := contraction(s.scratch)
	word, class := s.lookup(head)
	if word == 0 && isName(raw) {
		low := nameWord
		if isTest(raw) {
			low = testNameWord
		}
		s.add(low, i, end)
		return end
	}
	s.out = append(s.out, token{word, class, int32(i), int32(end)})
	if tail != "" {
		s.add(tail, i, end)
	}
	return end
}

// whole finds shares that are the whole: "12 of 12".
func (s *splitter) whole(text string) {
	count, of := s.count, s.of
	for i := 2; i < len(s.out); i++ {
		a, b := s.out[i-2], s.out[i]
		if b.word == count && a.word == count && s.out[i-1].word == of &&
			text[a.start:a.end] == text[b.start:b.end] {
			s.out[i-2].word, s.out[i-2].class = s.lookup([]byte(wholeWord))
		}
	}
}

// wordByte are the ASCII characters of words.
var wordByte = func() (is [utf8.RuneSelf]bool) {
	for c := range is {
		is[c] = wordRune(rune(c))
	}
	return is
}()

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// wordEnd is the end of the word that starts at i; marks inside it, as in
// parser.go, don't, end-to-end and 3/4, belong to it.
func wordEnd(text string, i int) int {
	for i < len(text) {
		if c := text[i]; c < utf8.RuneSelf && wordByte[c] {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if !wordRune(r) && !inner(text, i, r, size) {
			break
		}
		i += size
	}
	if strings.HasPrefix(text[i:], " %") && unicode.IsDigit(rune(text[i-1])) {
		i++
	}
	if i < len(text) && text[i] == '%' {
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

// closingMark is the end of the quotation that the rune at i begins, 0 = none.
func closingMark(text string, i int, r rune, size int) int {
	at := strings.IndexRune(quotes, r)
	if at < 0 || (r == '\'' || r == '‘') && i > 0 && !strings.ContainsRune(" (\t:", rune(text[i-1])) {
		return 0
	}
	_, n := utf8.DecodeRuneInString(quotes[at+size:])
	closing := quotes[at+size : at+size+n]
	for r == '`' && size < 8 && strings.HasPrefix(text[i+size:], "`") {
		size++
		closing = text[i : i+size]
	}
	from := i + size
	n = strings.Index(text[from:min(from+maxQuotation, len(text))], closing)
	if n <= 0 {
		return 0
	}
	end := from + n + len(closing)
	if next, _ := utf8.DecodeRuneInString(text[end:]); closing == "'" && wordRune(next) {
		return 0
	}
	return end
}

// marker reports whether a word is a mark of open work, as it stands in code.
func marker(raw string) (string, bool) {
	switch raw {
	case "TODO", "FIXME", "XXX", "WIP", "HACK", "TBD":
		return markWord, true
	case "TODOs", "TODO's", "TODOS", "FIXMEs", "FIXME's", "FIXMES", "TODO/FIXME", "FIXME/TODO":
		return marksWord, true
	}
	return "", false
}

// standIn is what stands for a number, "" = it is none.
func standIn(raw string) string {
	body := strings.TrimSuffix(raw, "%")
	part, of, share := strings.Cut(body, "/")
	switch {
	case raw[0] < '0' || raw[0] > '9' || strings.Trim(body, "0123456789./") != "" || strings.Count(body, ".") > 1:
		return ""
	case share && part == of:
		return wholeWord
	case strings.Trim(part, "0.") == "":
		return "0"
	case share:
		return shareWord
	case raw == "100%" || raw == "100 %":
		return "100%"
	case len(body) < len(raw):
		return percentWord
	}
	return countWord
}

// isName reports whether a word is no English: a path, an identifier, a version.
func isName(raw string) bool {
	if strings.ContainsAny(raw, "/._@:0123456789") {
		return true
	}
	for i := 1; i < len(raw); i++ {
		if raw[i] >= 'A' && raw[i] <= 'Z' && raw[i-1] >= 'a' && raw[i-1] <= 'z' {
			return true
		}
	}
	return false
}

// isTest reports whether code names a test, or a command that runs tests.
func isTest(code string) bool {
	for _, part := range []string{
		"test", "Test", "build", "lint", "spec", "tsc", "mypy", "vet", "check", "clippy", "ruff", "validate", "audit",
	} {
		if strings.Contains(code, part) {
			return true
		}
	}
	return false
}

// appendLower appends a word in lower case, with one kind of apostrophe.
func appendLower(to []byte, raw string) []byte {
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c >= utf8.RuneSelf {
			return append(to[:0], strings.ToLower(strings.ReplaceAll(raw, "’", "'"))...)
		}
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		to = append(to, c)
	}
	return to
}

// contraction takes "isn't" apart into "is" and "not".
func contraction(low []byte) (head []byte, tail string) {
	before, after, ok := bytes.Cut(low, []byte{'\''})
	if !ok {
		if string(low) == "cannot" {
			return low[:3], "not"
		}
		return low, ""
	}
	head = before
	switch end := string(after); end {
	case "t":
		switch string(head) {
		case "can":
		case "won":
			head = append(head[:0], "will"...)
		case "ain":
			head = append(head[:0], "is"...)
		default:
			head = bytes.TrimSuffix(head, []byte("n"))
		}
		return head, "not"
	case "s":
		return head, ""
	case "m", "re", "ve", "ll", "d":
		return head, map[string]string{"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would"}[end]
	}
	return low, ""
}
