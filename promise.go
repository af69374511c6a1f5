package ralph

import (
	"crypto/rand"
	"slices"
	"strings"
	"unicode"

	"github.com/ralph-loop/ralph/internal/reply"
	"github.com/ralph-loop/ralph/internal/term"
)

// Match says which text counts as a promise. The zero value is
// [MatchLastLine], the only one that cannot be met by an agent that merely
// talks about the promise; the others are there for those who come from tools
// that have them.
//
// The strict ones, MatchLastLine and MatchOwnLine, follow Markdown and terminals: what
// a person would not read as the agent's own word is no promise.
type Match string

const (
	// MatchLastLine: the answer ends with the tag, which begins its line and
	// stands neither in code (a fence, <pre>, or indented by four) nor in a
	// quotation (a block, also where its paragraph goes on without a mark,
	// quotation marks, a code span, a comment), and is not hidden from a person
	// at a terminal. What is between the tags, white space folded and trimmed,
	// is the promise exactly, case included.
	//
	// Markdown and terminals are followed no further than that. Counted as a claim,
	// though a person might not read it so, is a tag in <details>, <blockquote> or
	// another element; in a comment that begins in a line of a quotation; in text of
	// its background's colour; on a screen that the client has left; and one that was
	// erased by a cursor which had moved up through text that a long answer leaves out.
	// Not counted, though it might be one, is a tag right below a quotation that ends
	// in code or in a comment, without a blank line, or below ``` that is indented by
	// four.
	MatchLastLine Match = ""
	// MatchOwnLine: such a tag alone on any line.
	MatchOwnLine Match = "own_line"
	// MatchAnywhere: the exact tag anywhere. White space around the promise that
	// was asked for may be missing in the tag, but none may be added.
	MatchAnywhere Match = "anywhere"
	// MatchFold: the tag anywhere, in any case, white space around the promise
	// allowed. Cases are compared by Unicode's simple folding, whatever the
	// language.
	MatchFold Match = "fold"
)

const matchLastLineName Match = "last_line" // another name for the default, for configuration

func (m Match) valid() bool {
	return m == MatchLastLine || slices.Contains(matchNames(), string(m))
}

func matchNames() []string {
	return []string{string(matchLastLineName), string(MatchOwnLine), string(MatchAnywhere), string(MatchFold)}
}

// A Promise is what [FindPromise] found.
type Promise struct {
	Found bool
	Line  int // of the opening tag, from 1; 0 if there is no tag that means this promise
	// Why says why no promise was found: the first of WhyNone, WhyMalformed,
	// WhyWrongCase, WhyWrongText, WhyFenced, WhyQuoted, WhyNotAlone,
	// WhyNotLast that holds. "" if one was found.
	Why string
}

// Why an answer holds no promise. Each but WhyNone is a near miss: the next
// prompt tells the agent what was wrong with it.
const (
	WhyNone      = "none"       // nothing like a promise
	WhyMalformed = "malformed"  // something like a tag, but no <promise>…</promise>; also one that is hidden or erased
	WhyWrongCase = "wrong_case" // right but for upper and lower case
	WhyWrongText = "wrong_text" // a promise of something else
	WhyFenced    = "fenced"     // in a code fence, in indented code or in <pre>
	WhyQuoted    = "quoted"     // in a block quotation, between quotation marks, in a comment, or repeated from the prompt
	WhyNotAlone  = "not_alone"  // other text on its line
	WhyNotLast   = "not_last"   // other text after it
)

const (
	openTag  = "<promise>"
	closeTag = "</promise>"
)

// NoncePromise returns base with a random suffix, so that nobody can quote the promise
// from an old transcript. The suffix is a hyphen and ten random letters and digits. It
// is of use where old answers can come back, by a cache or a transcript that is read
// again; a fresh context alone does not need it.
func NoncePromise(base string) string { return base + "-" + rand.Text()[:10] }

// FindPromise looks for a promise in an agent's final words. It is the one
// detector for every input, and takes time that grows with the output, whatever
// is in it. Terminal escape sequences, a byte-order mark at the beginning and what
// a carriage return has overwritten are removed first, and CRLF is read as LF. An
// empty promise is never found. Of several tags, the one that comes nearest to a
// promise counts, the last of these if there are more. An m that is none of the
// above is read as [MatchLastLine].
//
// Before the loop looks, it takes the prompt's own tags out of the answer, for an agent
// may repeat its prompt, and not verbatim: a tag that follows the same 256 letters as
// in the prompt, or all of them if there are fewer, is the prompt's, also behind the
// marks of a quotation. A repetition with other words, or with something put between
// them, cannot be known. So a prompt should not end with the tag; FindPromise(prompt,
// promise, MatchLastLine) tells whether it does. That of [State.Prompt] does not.
func FindPromise(output, promise string, m Match) Promise {
	return findPromise(output, promise, m, nil)
}

// findPromise does not take those tags that repeat what a prompt says.
func findPromise(output, promise string, m Match, said []passage) Promise {
	seen := output
	tagged, escaped := scan(output)
	if tagged || escaped {
		seen = m.seen(output)
	}
	if !tagged && !(escaped && reply.HasTag(seen)) {
		if looksPromised(seen) {
			return Promise{Why: WhyMalformed}
		}
		return Promise{Why: WhyNone}
	}
	w := wanted{promise: promise, words: strings.Fields(promise), match: m, said: said}
	if len(w.words) == 0 {
		return Promise{Why: WhyWrongText}
	}

	text := markedText{text: seen, blank: true, blocks: blockScanner{text: seen}}
	best, nearest := rankMalformed, tag{}
	for t := range tags(seen) {
		if n := w.judge(t, &text); n >= best {
			best, nearest = n, t
		}
	}
	p := Promise{Found: best == rankFound, Why: best.why()}
	if best > rankWrongText {
		p.Line = 1 + strings.Count(seen[:nearest.open], "\n")
	}
	return p
}

// seen returns what a person sees of a text; the strict rules also know what is
// hidden from people.
func (m Match) seen(text string) string {
	if m == MatchAnywhere || m == MatchFold {
		return term.Plain(text)
	}
	return term.Visible(text)
}

// A rank orders tags by how near they come to a promise. The order is that of how
// little the agent would have to change, so that the near miss which it is told of is
// the one to mend.
type rank int

const (
	rankMalformed rank = iota
	rankWrongText
	rankWrongCase
	rankFenced
	rankQuoted
	rankNotAlone
	rankNotLast
	rankFound
)

func (n rank) why() string {
	return [...]string{WhyMalformed, WhyWrongText, WhyWrongCase, WhyFenced, WhyQuoted, WhyNotAlone, WhyNotLast, ""}[n]
}

// A wanted promise is looked for.
type wanted struct {
	promise string
	words   []string
	match   Match
	said    []passage // in the prompt
}

// judge says how near a tag comes to the promise.
func (w wanted) judge(t tag, text *markedText) rank {
	n := w.form(t, text)
	if n == rankFound && slices.ContainsFunc(w.said, func(p passage) bool { return p.repeated(text.text[:t.after]) }) {
		return rankQuoted
	}
	return n
}

// form is that, whoever says it.
func (w wanted) form(t tag, text *markedText) rank {
	inner := text.text[t.inner:t.end]
	switch {
	case !sameWords(inner, w.words, strings.EqualFold):
		return rankWrongText
	case w.match == MatchFold:
		return rankFound
	case text.text[t.open:t.inner] != openTag || text.text[t.end:t.after] != closeTag || !sameWords(inner, w.words, equal):
		return rankWrongCase
	case w.match != MatchAnywhere:
		return text.place(t, w.match)
	case inner != w.promise && inner != strings.TrimSpace(w.promise):
		return rankWrongText
	}
	return rankFound
}

func equal(a, b string) bool { return a == b }

// sameWords reports whether text, white space aside, is these words.
func sameWords(text string, words []string, same func(a, b string) bool) bool {
	n := 0
	for word := range strings.FieldsSeq(text) {
		if n == len(words) || !same(word, words[n]) {
			return false
		}
		n++
	}
	return n == len(words)
}

// A markedText is a text with what was found out about the lines up to a place in
// it. It only moves on, so that a line with many tags is not looked at again for
// each.
type markedText struct {
	text   string
	blocks blockScanner

	at    int  // so far
	line  int  // where the line begins
	blank bool // nothing has been seen on it
	lead  byte // the first character that is no white space, 0 = none
	ticks int  // backquotes on it
}

// moveTo reads on up to a place.
func (m *markedText) moveTo(at int) {
	passed := m.text[m.at:at]
	if n := strings.LastIndexByte(passed, '\n'); n >= 0 {
		m.line, m.blank, m.lead, m.ticks = m.at+n+1, true, 0, 0
		passed = passed[n+1:]
	}
	m.at = at
	if seen := strings.TrimSpace(passed); seen != "" && m.lead == 0 {
		m.lead = seen[0]
	}
	m.blank = m.blank && skipBlank(passed) == ""
	m.ticks += strings.Count(passed, "`")
}

// place says what is wrong with where a tag stands.
func (m *markedText) place(t tag, match Match) rank {
	m.moveTo(t.open)
	after := m.text[t.after:]
	rest := skipBlankInLine(after)
	in := m.blocks.place(m.line, t.open)
	switch quoted := m.lead == '>' || m.ticks%2 == 1 || marked(m.text[m.line:t.open], after); {
	case in == reply.InCode && (!quoted || m.blocks.Open() != ""):
		return rankFenced
	case quoted || in == reply.InQuote:
		return rankQuoted
	case !m.blank || rest != "" && rest[0] != '\n':
		return rankNotAlone
	case match != MatchOwnLine && skipBlank(rest) != "":
		return rankNotLast
	}
	return rankFound
}

// marked reports whether quotation marks stand around a tag on its line.
func marked(before, after string) bool {
	before = strings.TrimRightFunc(before, unicode.IsSpace)
	after = strings.TrimLeftFunc(after, func(r rune) bool { return r != '\n' && unicode.IsSpace(r) })
	for _, marks := range [...][2]string{{`"`, `"`}, {"'", "'"}, {"“", "”"}, {"„", "“"}, {"‘", "’"}, {"«", "»"}, {"”", "“"}} {
		if strings.HasSuffix(before, marks[0]) && strings.HasPrefix(after, marks[1]) {
			return true
		}
	}
	return false
}

func blank(s string) bool { return skipBlank(s) == "" }

// skipBlank returns s from the first character that shows.
func skipBlank(s string) string { return strings.TrimLeftFunc(s, ignorable) }

func skipBlankInLine(s string) string {
	return strings.TrimLeftFunc(s, func(r rune) bool { return r != '\n' && ignorable(r) })
}

// ignorable is white space and zero-width characters.
func ignorable(r rune) bool {
	return unicode.IsSpace(r) || r == '\uFEFF' || r == '\u200B' || r == '\u2060' || r == 0
}

// fold trims white space and makes one blank of each run of it.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// A tag is a closing tag with the nearest opening tag before it, by offsets.
type tag struct{ open, inner, end, after int }

// tags yields the pairs of tags in text, in order, whatever their case.
func tags(text string) func(yield func(tag) bool) {
	return func(yield func(tag) bool) {
		open := -1
		for i := 0; ; {
			n := strings.IndexByte(text[i:], '<')
			if n < 0 {
				return
			}
			i += n
			switch {
			case i+1 < len(text) && text[i+1] != '/' && text[i+1]|0x20 != 'p': // quickly
				i++
			case hasPrefixFold(text[i:], openTag):
				open = i
				i += len(openTag)
			case hasPrefixFold(text[i:], closeTag):
				t := tag{open: open, inner: open + len(openTag), end: i, after: i + len(closeTag)}
				if open >= 0 && !yield(t) {
					return
				}
				open, i = -1, t.after
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

// scan reads up to the first block that may hold a tag or an escape sequence, in
// which case a tag may be split by one.
func scan(text string) (tagged, escaped bool) {
	for i := 0; i < len(text); i += scanBlock {
		end := min(i+scanBlock, len(text))
		tagged = reply.HasTag(text[i:min(end+len(closeTag), len(text))])
		escaped = term.MayEscape(text[i:end])
		if tagged || escaped {
			break
		}
	}
	return tagged, escaped
}

// looksPromised reports whether the end of an answer without a tag was meant as one:
// &lt;promise&gt;, (promise), <completion-promise>. Only the end is searched: an answer
// about promises in code is not a failed claim.
func looksPromised(text string) bool {
	tail := strings.ToLower(text[max(len(text)-1<<10, 0):])
	for at := 0; ; at++ {
		n := strings.Index(tail[at:], "promise")
		if n < 0 {
			return false
		}
		at += n
		before, after := strings.TrimSuffix(tail[:at], "/"), strings.TrimPrefix(tail[at+len("promise"):], "s")
		for _, pair := range [...][2]string{{"&lt;", "&gt;"}, {"(", ")"}, {"[", "]"}, {"{", "}"}, {"-", ">"}, {"\\u003c", "\\u003e"}} {
			if strings.HasSuffix(before, pair[0]) && strings.HasPrefix(after, pair[1]) {
				return true
			}
		}
	}
}

// A blockScanner tells where the lines of a text stand. It only moves on.
type blockScanner struct {
	reply.Blocks
	text string
	at   int // start of the first line not read yet
}

// place says where the line stands that starts at an offset, as far as it is read.
func (b *blockScanner) place(line, end int) reply.Place {
	for b.at < line {
		text, _, _ := strings.Cut(b.text[b.at:], "\n")
		b.at += len(text) + 1
		b.Line(text)
	}
	return b.Place(b.text[line:end])
}
