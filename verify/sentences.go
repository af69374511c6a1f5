package verify

import "strings"

// A clause is a part of a sentence that states one thing.
type clause struct {
	words []token
	mark  string // what it is introduced by: "", ",", ":", "but", "because", "if", "that", …
	after string // for "that" and "which": the word they follow
}

// A sentence is its clauses and its place in the block's text.
type sentence struct {
	clauses    []clause
	question   bool
	start, end int
}

// sentences cuts a block's text into sentences and those into clauses.
func sentences(text string) []sentence {
	var (
		out []sentence
		all = words(text)
	)
	from := 0
	for i, w := range all {
		end := w.low == "." || w.low == "!" || w.low == "?" || w.low == "…" || i-from >= maxSentence || i == len(all)-1
		if !end || w.low == "." && i > 0 && abbreviation(all[i-1].low) && i < len(all)-1 {
			continue
		}
		if s := clauses(all[from : i+1]); len(s.clauses) > 0 {
			s.question = w.low == "?"
			out = append(out, s)
		}
		from = i + 1
	}
	return out
}

func abbreviation(low string) bool {
	switch low {
	case "e.g", "i.e", "etc", "vs", "approx", "incl", "cf":
		return true
	}
	return false
}

func clauses(all []token) sentence {
	c := cutter{s: sentence{start: all[0].start, end: all[len(all)-1].end}}
	for i, w := range all {
		if len(c.now.words) >= maxClause {
			c.next(",")
		}
		switch w.low {
		case ".", "!", "?", "…":
			continue
		case ":":
			// The colon of "all TODO: comments" belongs to the word.
			if k := len(c.now.words) - 1; k > 0 && c.now.words[k].is(marker) {
				continue
			}
			c.next(w.low)
			continue
		case ",", ";", "(", ")", "—", "–", "-", "→", "however", "although", "though", "whereas", "because", "then", "otherwise", "yet,":
			c.next(w.low)
			continue
		case "but":
			if k := len(c.now.words) - 1; k < 0 || !c.now.one(k, "all", "everything", "nothing", "anything", "none", "last") {
				c.next(w.low)
				continue
			}
		case "if", "when", "whenever", "unless", "whether", "while", "once", "until", "wherever", "except":
			c.next(w.low)
			if w.low == "except" {
				break
			}
			continue
		case "so":
			if i+1 < len(all) && all[i+1].low != "far" && all[i+1].low != "it" {
				c.next(w.low)
				continue
			}
		case "and":
			if i+1 < len(all) && startsClause(all[i+1:]) {
				c.next("and")
				continue
			}
		case "that", "which", "who", "whose", "where", "how", "what", "why":
			if n := len(c.now.words); n > 0 && !c.now.one(n-1, "of") && i+1 < len(all) && wordLike(all[i+1].low) && !(w.low == "that" && all[i+1].low == "yet") {
				after := c.now.words[n-1].low
				c.next("that")
				if c.now.after = after; w.low != "that" && w.low != "which" && w.low != "who" {
					c.now.after = w.low
				}
				continue
			}
			if c.now.mark != "" && w.low == "which" && len(c.now.words) == 0 {
				c.now.mark = "which"
				continue
			}
		default:
			c.resume(w)
		}
		c.now.words = append(c.now.words, w)
	}
	c.next("")
	return c.s
}

// wordLike reports whether the token is no punctuation mark.
func wordLike(low string) bool { return !strings.Contains(".!?…,;:()—–-→", low) }

// A cutter cuts a sentence into clauses.
type cutter struct {
	s   sentence
	now clause
}

// next ends the clause and begins another.
func (c *cutter) next(mark string) {
	if len(c.now.words) > 0 {
		c.s.clauses = append(c.s.clauses, c.now)
		c.now = clause{mark: mark}
		return
	}
	if c.now.mark == "" || c.now.mark == "," || c.now.mark == "and" {
		c.now.mark = mark
	}
}

// resume goes on with a clause that a relative one interrupted: "the endpoint
// that handles uploads | is not done". A relative clause has a verb of its own
// first, so the second one is not its own.
func (c *cutter) resume(w token) {
	n := len(c.now.words)
	if c.now.mark != "that" || n < 2 || len(c.s.clauses) == 0 || reporting(c.now.after) {
		return
	}
	if c.now.words[n-1].low == "to" || c.now.any(0, n, "made", "make", "makes", "let", "lets") >= 0 && w.is(failing|passing) {
		return
	}
	verb := w.is(finite) && !c.now.words[n-1].is(finite|negator|self) || w.low == "fail" || w.low == "fails" || w.low == "pass" || w.low == "passes"
	if !verb || c.now.subjectFirst() && c.now.of(finite, 0, n) < 0 {
		return
	}
	head := c.s.clauses[len(c.s.clauses)-1]
	if len(head.words) > 6 {
		head.words = head.words[len(head.words)-6:]
	}
	c.next("resume")
	c.now.words = append(c.now.words, head.words...)
	if head.subordinate() {
		c.now.mark = head.mark
	}
}

// subjectFirst reports whether a relative clause names who does something first,
// so that the first verb is its own: "where the upload | cannot complete".
func (c *clause) subjectFirst() bool {
	switch c.after {
	case "how", "where", "whose", "what", "why":
		return true
	}
	return c.one(0, "i", "we", "you", "the", "a", "an", "it", "they", "this", "some", "all", "no", "each", "every", "its", "my", "our", "to") || c.is(0, tester|work|actor)
}

// reporting reports whether a word introduces by "that" what is stated: "note
// that", "the problem is that", "means that".
func reporting(low string) bool {
	switch low {
	case "note", "notice", "noticed", "noted", "is", "was", "means", "see", "saw", "found", "know", "say", "mention", "aware", "seems", "appears", "afraid", "fact", "think", "believe", "remember", "warn", "report", "reported", "confirm", "confirmed", "confirms", "sure", "discovered", "admit", "sorry", "flag", "now", "caveat", "realised", "realized", "suspect", "out":
		return true
	}
	return false
}

// startsClause reports whether what follows an "and" is a statement of its own.
func startsClause(rest []token) bool {
	switch rest[0].low {
	case "i", "we", "it", "they", "he", "this", "that", "now", "there", "nothing", "everything", "no", "none", "still", "the", "all", "only", "every", "then", "does", "is", "are", "was", "were", "has", "have", "will", "cannot", "not", "can":
		return true
	}
	return rest[0].class.is(number | passing | failing | tester)
}

// subordinate reports whether the clause only describes something, or says when
// something would be, and so states nothing about the work itself.
func (c *clause) subordinate() bool {
	switch c.mark {
	case "if", "when", "whenever", "unless", "whether", "wherever", "once", "until", "while":
		return true
	case "that":
		return !reporting(c.after)
	}
	return false
}

func (w token) is(want class) bool { return w.class.is(want) }

func joined(words []token) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(w.low + " ")
	}
	return b.String()
}
