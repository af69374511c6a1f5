package ralph

import (
	"crypto/rand"
	"strings"
	"unicode"

	"github.com/ralph-loop/ralph/internal/stream"
	"github.com/ralph-loop/ralph/internal/term"
)

// Match says which text counts as a promise. The zero value is
// [MatchLastLine], the only one that cannot be met by an agent that merely
// talks about the promise; the others are there for those who come from tools
// that have them.
type Match string

const (
	// MatchLastLine: the answer ends with the tag, which begins its line and
	// stands neither in a code fence nor in a quotation. What is between the
	// tags, white space folded and trimmed, is the promise exactly, case
	// included.
	MatchLastLine Match = ""
	// MatchOwnLine: such a tag alone on any line (S4).
	MatchOwnLine Match = "own_line"
	// MatchAnywhere: the exact tag anywhere (S3).
	MatchAnywhere Match = "anywhere"
	// MatchFold: the tag anywhere, in any case, white space around the promise
	// allowed (S2). Cases are compared by Unicode's simple folding, whatever
	// the language.
	MatchFold Match = "fold"
)

const matchLastLineName Match = "last_line" // another name for the default, for configuration

func (m Match) valid() bool {
	switch m {
	case MatchLastLine, matchLastLineName, MatchOwnLine, MatchAnywhere, MatchFold:
		return true
	}
	return false
}

func matchNames() []string {
	return []string{string(matchLastLineName), string(MatchOwnLine), string(MatchAnywhere), string(MatchFold)}
}

// A Promise is what [FindPromise] found.
type Promise struct {
	Found bool
	Line  int // of the tag in the text, from 1; 0 if there is no tag that means this promise
	// Why says why no promise was found: the first of WhyNone, WhyMalformed,
	// WhyWrongCase, WhyWrongText, WhyFenced, WhyQuoted, WhyNotAlone,
	// WhyNotLast that holds. "" if one was found.
	Why string
}

// Why an answer holds no promise. Each but WhyNone is a near miss: the next
// prompt tells the agent what was wrong with it.
const (
	WhyNone      = "none"       // nothing like a promise
	WhyMalformed = "malformed"  // something like a tag, but no <promise>…</promise>
	WhyWrongCase = "wrong_case" // right but for upper and lower case
	WhyWrongText = "wrong_text" // a promise of something else
	WhyFenced    = "fenced"     // in a code fence
	WhyQuoted    = "quoted"     // in a block quotation or between quotation marks
	WhyNotAlone  = "not_alone"  // other text on its line
	WhyNotLast   = "not_last"   // other text after it
)

const (
	openTag  = "<promise>"
	closeTag = "</promise>"
)

// NoncePromise returns base with a random suffix, so that nobody can quote the
// promise from an old transcript.
func NoncePromise(base string) string { return base + "-" + rand.Text()[:10] }

// FindPromise looks for a promise in an agent's final words. It is the one
// detector for every input. Terminal escape sequences, a byte-order mark and
// what a carriage return has overwritten are removed first, and CRLF is read as
// LF. An empty promise is never found.
func FindPromise(output, promise string, m Match) Promise {
	if !holdsTag(output) {
		if looksPromised(output) {
			return Promise{Why: WhyMalformed}
		}
		return Promise{Why: WhyNone}
	}
	text := term.Plain(output)
	want := fold(promise)
	if want == "" {
		return Promise{Why: WhyWrongText}
	}

	nearest, why := tag{open: -1}, WhyMalformed
	fences := fenceScanner{text: text}
	for t := range tags(text) {
		if w := t.judge(text, want, promise, m, &fences); rank(w) >= rank(why) {
			nearest, why = t, w
		}
	}
	p := Promise{Found: why == "", Why: why}
	if rank(why) > rank(WhyWrongText) {
		p.Line = 1 + strings.Count(text[:nearest.open], "\n")
	}
	return p
}

// rank orders the reasons by how near they come to a promise.
func rank(why string) int {
	for i, w := range []string{WhyNone, WhyMalformed, WhyWrongText, WhyWrongCase, WhyFenced, WhyQuoted, WhyNotAlone, WhyNotLast, ""} {
		if w == why {
			return i
		}
	}
	return -1
}

// A tag is a closing tag with the nearest opening tag before it, by offsets.
type tag struct{ open, inner, end, after int }

// meant reports whether the tag means the promise, be it in another case.
func (t tag) meant(text, want string) bool {
	return strings.EqualFold(fold(text[t.inner:t.end]), want)
}

// judge returns why the tag is not a promise under m, "" if it is.
func (t tag) judge(text, want, promise string, m Match, fences *fenceScanner) string {
	inner := text[t.inner:t.end]
	exactTags := text[t.open:t.inner] == openTag && text[t.end:t.after] == closeTag
	switch {
	case !t.meant(text, want):
		return WhyWrongText
	case m == MatchFold:
		return ""
	case !exactTags || fold(inner) != want:
		return WhyWrongCase
	case m == MatchAnywhere && inner != promise && inner != strings.TrimSpace(promise):
		return WhyWrongText
	case m == MatchAnywhere:
		return ""
	}
	lineStart := strings.LastIndexByte(text[:t.open], '\n') + 1
	before := text[lineStart:t.open]
	rest := text[t.after:]
	line, after, _ := strings.Cut(rest, "\n")
	switch {
	case fences.inside(lineStart):
		return WhyFenced
	case quoted(before, line):
		return WhyQuoted
	case !blank(before) || !blank(line):
		return WhyNotAlone
	case m != MatchOwnLine && !blank(after):
		return WhyNotLast
	}
	return ""
}

// quoted reports whether what stands around a tag on its line makes it a
// quotation: a block quotation's mark, a code span, quotation marks.
func quoted(before, after string) bool {
	before, after = strings.TrimSpace(before), strings.TrimSpace(after)
	if strings.HasPrefix(before, ">") || strings.Count(before, "`")%2 == 1 {
		return true
	}
	for _, marks := range []string{`""`, `''`, "“”", "„“", "‘’", "«»", "”“"} {
		m := []rune(marks)
		if strings.HasSuffix(before, string(m[0])) && strings.HasPrefix(after, string(m[1])) {
			return true
		}
	}
	return false
}

func blank(s string) bool { return strings.TrimFunc(s, ignorable) == "" }

// ignorable is white space, and what is as invisible.
func ignorable(r rune) bool {
	return unicode.IsSpace(r) || r == '\uFEFF' || r == '\u200B' || r == '\u2060' || r == 0
}

// fold trims white space and makes one blank of each run of it.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// tags yields the pairs of tags in text, in order, whatever their case.
func tags(text string) func(yield func(tag) bool) {
	return func(yield func(tag) bool) {
		open, inner := -1, -1
		for i := 0; ; {
			n := strings.IndexByte(text[i:], '<')
			if n < 0 {
				return
			}
			i += n
			switch {
			case hasPrefixFold(text[i:], openTag):
				open, inner = i, i+len(openTag)
				i = inner
			case hasPrefixFold(text[i:], closeTag):
				after := i + len(closeTag)
				if open >= 0 && !yield(tag{open: open, inner: inner, end: i, after: after}) {
					return
				}
				open, i = -1, after
			default:
				i++
			}
		}
	}
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// scanBlock is the piece of text that is searched for everything before the
// next is looked at, so that long texts pass through the cache once.
const scanBlock = 32 << 10

// holdsTag reports whether the text may hold a promise's tag. It is exact for
// text without escape sequences, which may hide one, and cheap for both.
func holdsTag(text string) bool {
	for i := 0; i < len(text); i += scanBlock {
		block := text[i:min(i+scanBlock, len(text))]
		if strings.IndexByte(block, 0x1b) >= 0 || strings.Contains(block, "\u009b") {
			return true // look closely: what an escape sequence splits is one word to a person
		}
		for at := i; ; at++ {
			n := strings.IndexByte(text[at:i+len(block)], '<')
			if n < 0 {
				break
			}
			at += n
			name := strings.TrimPrefix(text[at+1:min(at+len(closeTag), len(text))], "/")
			if hasPrefixFold(name, "promise") {
				return true
			}
		}
	}
	return false
}

// looksPromised reports whether the end of an answer without a tag was meant as
// one: &lt;promise&gt;, (promise), <completion-promise>.
func looksPromised(text string) bool {
	tail := strings.ToLower(text[max(len(text)-1<<10, 0):])
	for at := 0; ; at++ {
		n := strings.Index(tail[at:], "promise")
		if n < 0 {
			return false
		}
		at += n
		before, after := tail[:at], tail[at+len("promise"):]
		for _, pair := range [][2]string{{"<", ">"}, {"&lt;", "&gt;"}, {"(", ")"}, {"[", "]"}, {"{", "}"}, {"-", ">"}, {"\\u003c", "\\u003e"}} {
			if strings.HasSuffix(strings.TrimSuffix(before, "/"), pair[0]) && strings.HasPrefix(strings.TrimPrefix(after, "s"), pair[1]) {
				return true
			}
		}
	}
}

// A fenceScanner tells which lines of a text stand in a code fence. It only
// moves on.
type fenceScanner struct {
	text  string
	at    int // start of the first line not read yet
	fence stream.Fence
}

// inside reports whether the line that starts at offset stands in a fence.
func (f *fenceScanner) inside(offset int) bool {
	for f.at < offset {
		line, _, _ := strings.Cut(f.text[f.at:], "\n")
		f.at += len(line) + 1
		f.fence.Line(line)
	}
	return f.fence.Open() != ""
}
