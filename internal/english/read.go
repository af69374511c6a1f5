package english

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/reply"
)

// Bounds that keep the work linear in the length of a text: no sentence or quotation
// is longer than a person would write it.
const (
	maxSentence  = 120 // words
	maxTitle     = 8   // words
	maxQuotation = 300 // bytes
)

// A statement is a sentence of an answer, with what it stands under.
type statement struct {
	tokens []token // from l.begin to l.end; positions are those in text
	text   string  // the sentence
	block  string  // that it stands in
	head   int     // where the sentence begins in tokens, after its title
	open   bool    // of an empty check box
	done   bool    // of a ticked one
}

// A reader cuts an answer into statements.
type reader struct {
	splitter
	out   func(statement)
	title []token // what the next block stands under
	block string  // the title's text
	level int     // of the title's heading, 0 = a line that ends in a colon
	used  bool    // something was said under the title
	words []token // of the statement
}

// read calls out with each statement, whose tokens are valid until it returns. A
// list item or the text under a heading is read with its title before it, as one
// would say it aloud: "Still open: the docs".
func (l *lexicon) read(text string, out func(statement)) {
	r := reader{splitter: splitter{lexicon: l}, out: out}
	reply.EachBlock(text, r.take)
	r.endTitle()
}

func (r *reader) take(b reply.Block) {
	switch {
	case b.Other:
		r.used = true
	case b.Title() && !b.Open && !b.Done:
		r.endTitle()
		tokens := r.split(b.Text)
		r.title = append(r.title[:0], tokens[:min(len(tokens), maxTitle)]...)
		r.block, r.level, r.used = b.Text, b.Level, false
	default:
		if !b.Item && r.level == 0 && r.used {
			r.title = r.title[:0]
		}
		r.sentences(b)
		r.used = true
	}
}

// endTitle says a title that nothing stands under.
func (r *reader) endTitle() {
	if len(r.title) > 0 && !r.used {
		r.say(statement{text: r.block, block: r.block}, r.title, nil)
	}
	r.title = r.title[:0]
}

func (r *reader) say(s statement, tokens, under []token) {
	r.words = append(r.words[:0], r.begin)
	if len(under) > 0 {
		r.words = append(append(r.words, under...), r.lexicon.title)
	}
	s.head = len(r.words)
	r.words = append(append(r.words, tokens...), r.end)
	s.tokens = r.words
	r.out(s)
}

// sentences says each sentence of a block.
func (r *reader) sentences(b reply.Block) {
	all := r.split(b.Text)
	if len(all) == 0 && b.Open {
		r.say(statement{text: "[ ]", open: true}, nil, r.title)
	}
	for len(all) > 0 {
		n := r.sentence(b.Text, all)
		words, last := all[:n], all[n-1]
		if strings.Contains(".!…", last.in(b.Text)) { // a question mark is a word
			words = words[:n-1]
		}
		if len(words) > 0 {
			text := b.Text[words[0].start:last.end]
			r.say(statement{text: text, block: b.Text, open: b.Open, done: b.Done}, words, r.title)
		}
		all = all[n:]
	}
}

// sentence returns how many tokens the first sentence has, with its mark. A point after
// an abbreviation ends none.
func (r *reader) sentence(text string, all []token) int {
	for i, w := range all[:len(all)-1] {
		mark := w.in(text)
		if mark == "." && i > 0 && slices.Contains(r.short, all[i-1].in(text)) {
			continue
		}
		if i >= maxSentence || strings.Contains(".!?…", mark) {
			return i + 1
		}
	}
	return len(all)
}
