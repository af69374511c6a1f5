package verify

import (
	"slices"
	"strings"
)

// low is a word, "" beyond the ends.
func (c *clause) low(i int) string {
	if i < 0 || i >= len(c.words) {
		return ""
	}
	return c.words[i].low
}

// is reports whether the word at i is of a class.
func (c *clause) is(i int, want class) bool {
	return i >= 0 && i < len(c.words) && c.words[i].class.is(want)
}

// one reports whether the word at i is one of these; "" is beyond the ends.
func (c *clause) one(i int, lows ...string) bool { return slices.Contains(lows, c.low(i)) }

// any is where the first of the words stands in [from, to), -1 = nowhere.
func (c *clause) any(from, to int, lows ...string) int {
	for i := max(from, 0); i < min(to, len(c.words)); i++ {
		if slices.Contains(lows, c.words[i].low) {
			return i
		}
	}
	return -1
}

// of is where the first word of a class stands in [from, to), -1 = nowhere.
func (c *clause) of(want class, from, to int) int {
	for i := max(from, 0); i < min(to, len(c.words)); i++ {
		if c.words[i].class.is(want) {
			return i
		}
	}
	return -1
}

// phrase is where words, given in one text, stand one after the other, -1 =
// nowhere.
func (c *clause) phrase(text string) int {
	first, rest, _ := strings.Cut(text, " ")
	for i := range c.words {
		if c.words[i].low == first && c.at(i+1, rest) {
			return i
		}
	}
	return -1
}

// at reports whether the words, given in one text, begin at i.
func (c *clause) at(i int, text string) bool {
	for text != "" {
		var want string
		want, text, _ = strings.Cut(text, " ")
		if c.low(i) != want {
			return false
		}
		i++
	}
	return true
}

func (c *clause) has(text string) bool { return c.phrase(text) >= 0 }

// stated reports whether what the word at i says is stated of the work as it is
// now: it is not denied, supposed, a thing of the past, mended, or what a program
// does.
func (s *sentence) stated(n, i int) bool {
	c := &s.clauses[n]
	if last := len(c.words) - 1; s.label(n, last) && s.emptyAfter(n) {
		return false
	}
	if s.intended(n) {
		return false
	}
	if n > 0 && (c.mark == "and" || c.mark == ",") && c.of(finite|self|failing, 0, len(c.words)) < 0 && s.clauses[n-1].mended(len(s.clauses[n-1].words)) {
		return false // "I removed the hack | and the TODO next to it"
	}
	return !s.supposed(n) && !s.negated(n, i) && !c.supposed(i) && !c.described(i) && !c.before(i) && !c.mended(i)
}

// intended reports whether the sentence says that it is meant to be so: "as
// specified".
func (s *sentence) intended(n int) bool {
	for k := n; k < len(s.clauses); k++ {
		c := &s.clauses[k]
		if j := c.any(0, len(c.words), "as"); j >= 0 && c.one(j+1, "specified", "designed", "intended", "requested", "required", "documented", "asked", "agreed", "desired", "expected") || j >= 0 && c.one(j+1, "they", "it") && c.low(j+2) == "should" || c.has("by design") || c.has("on purpose") {
			return true
		}
	}
	return false
}

// supposed reports whether the clause holds only under a condition, or describes
// a thing. "When I run the suite, 2 tests fail" is no condition.
func (s *sentence) supposed(n int) bool {
	if c := &s.clauses[n]; c.subordinate() {
		// "an error that I cannot resolve" speaks of the work all the same.
		return c.mark != "that" || !c.is(0, self) && !s.exists(n-1)
	} else if c.mark == "which" && c.of(was, 0, 2) >= 0 && c.any(0, len(c.words), "still") < 0 {
		return true // "the checks, which were not implemented"
	}
	if n+1 < len(s.clauses) && s.clauses[n+1].mark == "until" && s.clauses[n+1].one(0, "now", "recently", "today") {
		return true // it was so "until now"
	}
	if n+1 < len(s.clauses) && s.clauses[n+1].mark == "until" && s.clauses[n].of(was, 0, maxClause) >= 0 && s.clauses[n+1].mended(maxClause) {
		return true // "was blocked | until I replaced it"
	}
	if n > 1 && s.clauses[n].mark == "because" && s.clauses[n-1].mark == "that" && s.clauses[n-1].subordinate() {
		return true // why something was that is only described
	}
	if c := &s.clauses[n]; c.mark == "and" && c.is(0, self) && c.any(1, 3, "did", "have") > 0 {
		return false // "and I did not fix that"
	}
	for k := n - 1; k >= 0; k-- {
		switch next := s.clauses[k+1].mark; next {
		case ",", "then", "and", "which", "that", "(", ")", "resume":
		default:
			return false
		}
		c := &s.clauses[k]
		switch c.mark {
		case "if", "when", "whenever", "unless", "once", "wherever":
			return c.of(self, 0, len(c.words)) < 0 && !strings.HasSuffix(c.low(0), "ing") && !c.one(0, "run", "called")
		}
	}
	return false
}

// exists reports whether the clause says that there is something, so that what
// describes it is stated with it: "there are tests | that still fail".
func (s *sentence) exists(n int) bool {
	c := &s.clauses[n]
	return c.one(0, "there") && c.is(1, be) && c.of(negator, 0, len(c.words)) < 0
}

// supposed reports whether the word at i is what could be or should be.
func (c *clause) supposed(i int) bool {
	return c.any(i-3, i, "would", "should", "could", "might", "may", "can", "must") >= 0
}

// negated reports whether a "no" governs the word at i, in its clause or, in a
// list, in the one before: "no TODOs, stubs or failing tests".
func (s *sentence) negated(n, i int) bool {
	if s.clauses[n].negated(i) {
		return true
	}
	if n > 0 && s.clauses[n].mark == "," && s.clauses[n].of(self|number, 0, i) < 0 {
		// "no TODO, FIXME or XXX is left"
		if b := &s.clauses[n-1]; b.one(0, "no", "neither") && len(b.words) <= 3 && b.of(finite, 0, len(b.words)) < 0 {
			return true
		}
	}
	for k := n; k > 0 && (s.clauses[k].mark == "," || s.clauses[k].mark == "and") && s.clauses[k].of(finite|self|number, 0, len(s.clauses[k].words)) < 0; k-- {
		before := &s.clauses[k-1]
		if j := before.any(0, len(before.words), "no", "without", "zero", "any"); j >= 0 && len(before.words)-j <= 6 && (before.low(j) != "any" || before.negated(j)) {
			return true
		}
	}
	return false
}

func (c *clause) negated(i int) bool {
	for k := i - 1; k >= 0; k-- {
		if !c.is(k, negator) {
			continue
		}
		gap := i - k
		switch c.low(k) {
		case "not":
			if c.one(k+1, "only", "just", "all", "every", "everything") {
				return false
			}
			return gap <= 4 || c.any(k+1, i, "any", "single", "a") >= 0 && gap <= 10
		case "no":
			if c.one(k+1, "longer", "more") {
				return gap <= 6
			}
			return gap <= 7
		case "instead":
			return gap <= 4
		case "without":
			return gap <= 6
		}
		return gap <= 9
	}
	return false
}

// described reports whether the word at i is the object of what a program does.
func (c *clause) described(i int) bool {
	for k := range i {
		if !c.is(k, behaves) || c.determined(k) || c.is(k+1, finite|negator) {
			continue
		}
		if c.of(tester|self, 0, k) >= 0 && c.one(k, "shows", "show", "says", "prints", "reports", "lists", "finds", "returns", "exits", "raises", "throws", "logs", "stops", "flags", "marks", "gets") {
			continue
		}
		return true
	}
	return false
}

// determined reports whether the word at k is a noun by what stands before it.
func (c *clause) determined(k int) bool {
	return c.one(k-1, "the", "a", "an", "these", "those", "some", "all", "no", "of", "for", "to", "in", "my", "its", "more", "new", "two", "three", "other", "remaining") || c.is(k-1, number)
}

// before reports whether the clause speaks of how it was: "previously", "at
// first", "used to", "before the fix".
func (c *clause) before(i int) bool {
	for k, w := range c.words {
		switch {
		case w.low == "still":
			return false
		case w.low == "used" && c.low(k+1) == "to":
			return true
		case w.low == "before" && (k > i || k == 0):
			if k == len(c.words)-1 || c.one(k+1, "the", "this", "my", "that", "i", "now", "these", "we", "it") {
				return c.any(0, i+1, "is", "are", "am", "has", "have", "need", "needs", "can", "will", "ran") < 0 && c.any(k, len(c.words), "can") < 0
			}
		case w.is(past) && !c.one(k+1, "passing", "working", "green"):
			return true
		case w.low == "last" || w.low == "previous":
			if c.one(k-1, "the") && c.one(k-2, "in", "from", "of") && c.one(k+1, "version", "iteration", "attempt", "review", "round") {
				return true
			}
		case w.low == "first" && (c.one(k-1, "at", "the", "my") && c.one(k+1, "", "run", "attempt", "try", "time", "version")):
			return true
		case w.low == "old" && c.any(k, len(c.words), "still", "yet", "must") < 0 && (k < i && k <= 2 || c.one(k+1, "code", "version", "implementation")), w.low == "existing" && k < i && c.of(was, 0, i) >= 0:
			return true
		}
	}
	return false
}

// mended reports whether the clause says of the word at i that it was dealt with.
func (c *clause) mended(i int) bool {
	for k := range c.words {
		if k != i && c.mends(k) {
			return true
		}
	}
	return false
}

// mends reports whether the word at k says that something is done with. "to
// fix" does not, nor does "not fixed".
func (c *clause) mends(k int) bool {
	if !c.is(k, mending) || c.negated(k) && !c.one(k, "without") {
		return false
	}
	if c.one(k, "fix", "remove", "resolve", "replace", "address", "clear", "delete", "eliminate", "solve") && k > 0 {
		return c.one(k-1, "to") && c.one(k-2, "managed", "able", "changes", "had") && c.any(0, k-1, "not", "still") < 0
	}
	if c.one(k-1, "before", "without") && strings.HasSuffix(c.low(k), "ing") {
		return false
	}
	if h := c.any(0, k, "half"); h >= 0 && !c.one(h-1, "other", "second", "remaining", "latter") {
		return false
	}
	for j := max(k-5, 0); j < k; j++ {
		if share, cut := strings.CutSuffix(c.low(j), "%"); cut && share != "100" {
			return false
		}
		switch c.low(j) {
		case "need", "needs", "must", "will", "going", "plan", "want", "remains", "remain", "remaining", "yet", "try", "trying", "tried", "attempt", "attempted", "hope", "should", "unable", "still", "partially", "partly", "half", "almost", "nearly", "mostly", "can", "could", "would", "waiting", "being", "someone", "only":
			if c.low(j) == "only" && !c.is(j-1, finite|self) {
				continue
			}
			if c.low(j) == "remaining" && j < k && c.one(j-1, "the", "all", "both", "every", "last") && c.any(j+1, k, "to") < 0 {
				continue
			}
			return false
		case "to":
			if !c.one(j-1, "managed", "able", "went", "led", "due") {
				return j+1 != k && c.any(j+1, k, "be") < 0
			}
		}
	}
	return true
}

// good reports whether the clause says that things are well now: what a failure
// that was told in the past tense is followed by.
func (s *sentence) good(n int, tests bool) bool {
	c := &s.clauses[n]
	if s.supposed(n) || c.mark == "that" {
		return false
	}
	for k := range c.words {
		if c.low(k) == "passed" && (c.of(number, 0, k) >= 0 || s.positive(n, k)) {
			continue // a count beside the count of failures
		}
		if c.mends(k) || (tests && (c.is(k, passing) || c.one(k, "passed", "stable")) || c.one(k, "works", "worked", "through", "succeeded")) && !c.negated(k) && !c.supposed(k) && c.of(failing, 0, len(c.words)) < 0 {
			return true
		}
	}
	return false
}

// subject is the class of what the clause speaks of before the word at i: self,
// tester, work, actor, or 0 when it is something else. A clause that begins with
// the word speaks of what the one before did, or else of the agent.
func (s *sentence) subject(n, i int) class {
	c := &s.clauses[n]
	for k := range min(i, len(c.words)) {
		switch {
		case c.is(k, self):
			return self
		case c.is(k, tester) && !c.one(k, "check"):
			return tester
		case c.is(k, work), k == 0 && c.one(0, "this", "it", "that") && c.is(1, finite):
			return work
		case c.is(k, actor) && c.any(0, k, "of", "for", "in", "with", "from", "to") < 0 && (k+1 >= i || c.is(k+1, finite|negator|behaves|finishing) || c.one(k+1, "in", "with", "from", "of", "on", "without", "to", "also", "by", "over", "and")):
			return actor
		}
	}
	for k := range min(i, len(c.words)) {
		if !c.is(k, finite|negator|be|modal) && !c.one(k, "also", "just", "only", "now", "so", "sadly", "unfortunately", "currently", "simply", "therefore", "and", "then", "yet", "been", "to") {
			return 0
		}
	}
	if n > 0 && c.one(0, "is", "are", "was", "were", "has", "have", "does", "do", "still", "will", "can", "not", "did", "cannot") && (c.mark == "and" || c.mark == "but" || c.mark == ",") {
		before := &s.clauses[n-1]
		if who := s.subject(n-1, len(before.words)); who != 0 || len(before.words) > 0 {
			return who
		}
	}
	return self
}
