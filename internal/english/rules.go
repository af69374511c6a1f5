package english

import (
	"fmt"
	"slices"
	"strings"
)

// A rule is a sequence of words that says something (1), denies it (-1), or says
// nothing although a later rule would fit (0).
type rule struct {
	says int
	of   []element
}

// An element of a rule is one of some words or classes, or a gap of words.
type element struct {
	any []uint16
	gap int // the most words of a gap, 0 = no gap
}

// A ruleSet is rules in their order: the first that fits a sentence counts.
type ruleSet struct {
	rules []rule
	first [][]int // rules by the number of the word or the class they begin with
}

const shortGap = 3 // words, of a clause

// parseRules reads the sections "rules NAME", in which a line is a mark (+, - or 0)
// and a rule: words, classes, alternatives of them ("is|was"), "*" for up to three
// words of a clause, "**" for any words, and ^ and $ for the ends of a sentence.
func parseRules(l *lexicon, parts map[string][]string) (map[string]ruleSet, error) {
	all := map[string]ruleSet{}
	for section, lines := range parts {
		name, ok := strings.CutPrefix(section, "rules ")
		if !ok {
			continue
		}
		set := ruleSet{}
		for i, line := range lines {
			r, err := l.rule(line)
			if err != nil {
				return nil, err
			}
			set.rules = append(set.rules, r)
			for _, n := range r.of[0].any {
				set.first = append(set.first, make([][]int, max(0, int(n)+1-len(set.first)))...)
				set.first[n] = append(set.first[n], i)
			}
		}
		all[name] = set
	}
	return all, nil
}

func (l *lexicon) rule(line string) (r rule, err error) {
	words := strings.Fields(line)
	says, ok := map[string]int{"+": 1, "-": -1, "0": 0}[words[0]]
	if !ok {
		return r, fmt.Errorf("%q begins with no mark: +, - or 0", line)
	}
	r.says = says
	for _, word := range words[1:] {
		r.of = append(r.of, l.element(word))
	}
	if len(r.of) == 0 || r.of[0].gap > 0 {
		return r, fmt.Errorf("%q does not begin with a word", line)
	}
	return r, nil
}

func (l *lexicon) element(word string) element {
	switch word {
	case "*":
		return element{gap: shortGap}
	case "**":
		return element{gap: maxSentence}
	}
	var e element
	for one := range strings.SplitSeq(word, "|") {
		e.any = append(e.any, l.add(one, 0))
	}
	return e
}

func (e element) fits(w token) bool {
	return w.word != 0 && slices.Contains(e.any, w.word) || slices.Contains(e.any, w.class)
}

// says returns what the first of some rules that fits says of a sentence. fits is
// false if none does.
func (m *model) says(rules string, s []token) (says int, fits bool) {
	set := m.rules[rules]
	best := len(set.rules)
	for i, w := range s {
		for _, n := range [2]uint16{w.word, w.class} {
			if int(n) >= len(set.first) {
				continue
			}
			for _, k := range set.first[n] {
				if k < best && matches(m.lexicon, set.rules[k].of[1:], s[i+1:]) {
					best = k
				}
			}
		}
	}
	if best == len(set.rules) {
		return 0, false
	}
	return set.rules[best].says, true
}

// matches reports whether a sentence goes on with what is left of a rule.
func matches(l *lexicon, of []element, s []token) bool {
	if len(of) == 0 {
		return true
	}
	if of[0].gap == 0 {
		return len(s) > 0 && of[0].fits(s[0]) && matches(l, of[1:], s[1:])
	}
	for skipped := 0; !matches(l, of[1:], s[skipped:]); skipped++ {
		if skipped == of[0].gap || skipped == len(s) ||
			of[0].gap == shortGap && (s[skipped].class == l.stop || s[skipped].word == l.and) {
			return false
		}
	}
	return true
}
