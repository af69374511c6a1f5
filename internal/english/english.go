// Package english reads what an agent says at the end of its work: whether it
// contradicts that the work is done, and what it says of commits, tests and reviews.
//
// It knows no English. What it knows stands in english.txt, and how that is used is
// a pipeline of small steps. An answer is cut into blocks (headings, items, rows of
// tables, paragraphs) and those into sentences; code, fences and quotations are
// spoken of and say nothing themselves. A sentence is its words, each with a class.
// Rules say what some sentences mean for certain; any other is judged by the sum of
// the weights of its features: the words and classes that follow each other in it.
//
// The weights in model.txt are learnt from half of the sentences in english.txt, and
// from its patterns, by "go generate ./internal/english" (train_test.go). The other
// half measures them.
package english

import (
	"cmp"
	"slices"
	"strings"
)

// A Kind is a kind of contradiction.
type Kind int

// The kinds of contradictions.
const (
	OpenMark     Kind = iota // a TODO or its like
	FailingTests             // tests or the build fail
	WorkLeft                 // anything else that is not done
	Blocked                  // something blocks the work
	Kinds        int  = iota
)

// Contradictions returns for each kind the first sentence in text that contradicts
// that the work is done, "" = none.
func Contradictions(text string) (found [Kinds]string) {
	m := theModel()
	m.read(text, func(s statement) {
		if m.contradicts(s) {
			k := m.kind(s)
			found[k] = cmp.Or(found[k], s.text)
		}
	})
	return found
}

// contradicts judges a statement.
func (m *model) contradicts(s statement) bool {
	if s.open || s.done {
		return s.open
	}
	if says, fits := m.says("contradictions", s.tokens); fits {
		return says > 0
	}
	return m.score(s.tokens) > 0
}

// kind returns the kind of a contradiction.
func (m *model) kind(s statement) Kind {
	for k, rules := range [Kinds]string{OpenMark: "open mark", FailingTests: "failing tests", Blocked: "blocked"} {
		if says, _ := m.says(rules, s.tokens); says > 0 && !s.open {
			return Kind(k)
		}
	}
	return WorkLeft
}

// Stage returns what an answer says by the rules of a stage of work, "coder",
// "tester" or "reviewer": the first sentence that says that its work was done, and
// the first that says the contrary, "" = none.
func Stage(name, text string) (yes, no string) {
	m := theModel()
	m.read(text, func(s statement) {
		says, _ := m.says(name, s.tokens)
		switch {
		case says > 0 && yes == "":
			yes = s.text
		case says < 0 && no == "":
			no = s.text
		}
	})
	return yes, no
}

// Words returns the words of a pattern, in lower case. There are none in one that
// is blank or only marks.
func Words(pattern string) []string {
	s := splitter{lexicon: theModel().lexicon}
	var all []string
	for _, w := range s.split(pattern) {
		if w.class != s.stop && !strings.ContainsAny(w.in(pattern), ".!?…") {
			all = append(all, strings.ToLower(w.in(pattern)))
		}
	}
	return all
}

// States returns the first sentence that states the words of one of the patterns, ""
// = none. One that denies them or says that they are gone does not state them.
func States(text string, patterns [][]string) (found string) {
	m := theModel()
	m.read(text, func(s statement) {
		stated := func(p []string) bool { return m.states(s, p) }
		if found == "" && !s.done && slices.ContainsFunc(patterns, stated) {
			found = s.text
		}
	})
	return found
}

// states reports whether a sentence states a pattern: no word before it denies it,
// or says that it was removed, and what follows is not "none".
func (m *model) states(s statement, pattern []string) bool {
	same := func(w token, word string) bool { return strings.EqualFold(w.in(s.block), word) }
	for i := s.head; i+len(pattern) < len(s.tokens); i++ {
		before, found, after := s.tokens[s.head:i], s.tokens[i:i+len(pattern)], s.tokens[i+len(pattern):]
		if !slices.EqualFunc(found, pattern, same) {
			continue
		}
		// The rules are those for a mark, which stands for any pattern.
		around := slices.Concat([]token{m.begin}, before, []token{m.token("TODO")}, after)
		if says, fits := m.says("stated", around); !fits || says > 0 {
			return true
		}
	}
	return false
}
