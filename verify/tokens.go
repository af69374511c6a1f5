package verify

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A token is a word of a sentence, or a mark that counts as one.
type token struct {
	low, raw   string
	class      class
	start, end int // in the block's text
}

// code and quote stand for what is between back-ticks or quotation marks:
// something that is spoken of.
const (
	codeWord     = "‹code›"
	testCodeWord = "‹test›"
	quoteWord    = "‹quote›"
)

// words cuts text into words and marks, contractions taken apart.
func words(text string) []token {
	var out []token
	add := func(low string, start, end int) {
		out = append(out, token{low: low, raw: text[start:end], start: start, end: end})
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if closing := closingMark(text, i, r, size); closing > i {
			low := quoteWord
			if r == '`' {
				low = codeWord
				if isTestCode(text[i:closing]) {
					low = testCodeWord
				}
			}
			add(low, i, closing)
			i = closing
			continue
		}
		switch {
		case wordRune(r):
			end := wordEnd(text, i)
			if out := text[i:end]; (out == "TODO" || out == "FIXME") && strings.HasPrefix(text[end:], "(") {
				// TODO(name) is one mark.
				if n := strings.IndexAny(text[end:min(end+40, len(text))], ") "); n > 0 && text[end+n] == ')' {
					add(strings.ToLower(out), i, end)
					i = end + n + 1
					continue
				}
			}
			for _, part := range contraction(strings.ToLower(strings.ReplaceAll(text[i:end], "’", "'"))) {
				add(part, i, end)
			}
			i = end
		case strings.ContainsRune(".!?,;:()—–-…→", r):
			add(string(r), i, i+size)
			i += size
		default:
			i += size
		}
	}
	for i := range out {
		out[i].class = classOf(out[i])
	}
	return out
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// wordEnd is the end of the word that starts at i; marks inside it, as in
// parser.go, don't, end-to-end and 3/4, belong to it.
func wordEnd(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !wordRune(r) {
			next, _ := utf8.DecodeRuneInString(text[i+size:])
			inner := strings.ContainsRune("'’.-/@", r) && wordRune(next) || r == ':' && (next == ':' || next == '/' || text[i-1] == ':' && wordRune(next)) || r == '/' && next == '/'
			if !inner {
				break
			}
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

// closingMark is the end of the quotation that the rune at i begins, 0 = none.
func closingMark(text string, i int, r rune, size int) int {
	var closing string
	switch r {
	case '`':
		n := len(text[i:]) - len(strings.TrimLeft(text[i:min(i+8, len(text))], "`")) - max(len(text)-i-8, 0)
		closing, size = strings.Repeat("`", n), n
	case '"':
		closing = `"`
	case '“', '„':
		closing = "”"
	case '«':
		closing = "»"
	case '\'', '‘':
		if i > 0 && !strings.ContainsRune(" (\t:", rune(text[i-1])) {
			return 0
		}
		closing = "'"
		if r == '‘' {
			closing = "’"
		}
	default:
		return 0
	}
	from := i + size
	n := strings.Index(text[from:min(from+maxQuotation, len(text))], closing)
	if n <= 0 {
		return 0
	}
	end := from + n + len(closing)
	if next, _ := utf8.DecodeRuneInString(text[end:]); closing == "'" && wordRune(next) {
		return 0
	}
	return end
}

// contraction takes "isn't" apart into "is" and "not".
func contraction(low string) []string {
	switch low {
	case "cannot":
		return []string{"can", "not"}
	case "can't":
		return []string{"can", "not"}
	case "won't":
		return []string{"will", "not"}
	case "ain't":
		return []string{"is", "not"}
	case "let's":
		return []string{"let", "us"}
	}
	head, tail, found := strings.Cut(low, "'")
	if !found {
		return []string{low}
	}
	switch tail {
	case "t":
		if head, ok := strings.CutSuffix(head, "n"); ok && head != "" {
			return []string{head, "not"}
		}
	case "s":
		switch head {
		case "what", "there", "that", "it", "here", "nothing", "everything", "who", "where":
			return []string{head, "is"}
		}
		return []string{head}
	case "m":
		return []string{head, "am"}
	case "re":
		return []string{head, "are"}
	case "ve":
		return []string{head, "have"}
	case "ll":
		return []string{head, "will"}
	case "d":
		return []string{head, "would"}
	}
	return []string{low}
}
