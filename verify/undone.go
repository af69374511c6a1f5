package verify

import (
	"strconv"
	"strings"
)

// notDone judges what is said not to be done, and what the agent did not do.
func (s *sentence) notDone(n, i int) bool {
	c := &s.clauses[n]
	if !c.one(i, "not", "never", "nothing", "none", "neither", "no") || c.low(0) == "what" && c.of(was, 0, len(c.words)) >= 0 || s.supposed(n) || c.described(i) || c.before(i) || c.any(max(i-2, 0), i, "should", "would", "could", "must", "may", "might") >= 0 && c.low(i-1) != "could" {
		return false
	}
	who := s.subject(n, i)
	if who == actor && !(c.one(i-1, "has", "have") && c.one(i+1, "been", "yet")) && c.developed(i+1, i+4) < 0 {
		return false
	}
	yet := c.any(i+1, i+7, "yet") >= 0 || c.any(i-3, i, "still") >= 0
	if c.one(i+1, "only", "just", "all") {
		return c.low(i+1) == "all" && c.of(finished|passing, i+2, len(c.words)) >= 0
	}
	if c.one(i+1, "everything", "every") {
		return c.of(finished|passing, i+2, len(c.words)) >= 0
	}
	j := i + 1
	for c.one(j, "yet", "been", "be", "fully", "completely", "entirely", "quite", "really", "properly", "actually", "even", "manually", "currently", "successfully", "being", "ever") {
		j++
	}
	switch {
	case c.one(i, "no"):
		if yet && c.one(len(c.words)-1, "yet") || c.any(i, len(c.words), "yet") > 0 && i <= 3 {
			return true
		}
		return c.is(i+1, tester) && c.any(i+2, i+6, "written", "added", "exist", "cover", "run", "executed") > 0 && c.any(i+2, len(c.words), "not") < 0
	case c.one(i, "nothing", "none", "neither"):
		return i == 0 && yet && c.one(1, "works", "passes", "runs", "compiles") || i == 0 && c.is(c.of(finished, 1, 6), finished) && c.of(mending, 1, 6) < 0 && yet
	case c.one(i-1, "can", "could"):
		return yet || who == self && s.didNot(n, i, j)
	case c.is(j, finished) && !(c.is(j, finishing) && c.is(i-1, finite) && c.one(i-1, "do", "does", "did", "will")) && !c.is(i-1, modal):
		harmless := c.one(j, "there", "removed", "replaced", "moved", "added", "created", "met", "applied", "run", "handled") && !yet && who == 0 && (!c.one(i-1, "has", "have") || c.one(j, "removed", "replaced", "moved"))
		return !harmless && (yet || who != 0 || c.is(i-1, be|was|finite) || i == 0 && n == 0)
	case yet && c.one(i, "not") && c.low(j) != "":
		return true
	case c.one(i-1, "has", "have") && c.one(i+1, "been") && strings.HasSuffix(c.low(j), "ed") && !c.one(j, "changed", "touched", "modified", "affected", "altered", "used", "removed", "replaced", "moved", "edited", "released", "renamed"):
		return true
	case c.one(j, "meet", "satisfy", "fulfil", "fulfill") && c.one(i-1, "does", "do", "did"):
		return true
	case c.low(j) == "" && (c.mark == "but" || c.mark == "," || c.mark == "and") && n > 0 && i > 1 && c.one(i-1, "does", "do", "did", "is", "are", "has", "have") && c.of(self, 0, i) < 0:
		b := &s.clauses[n-1]
		return b.of(finished|passing, 0, len(b.words)) >= 0 || b.any(0, len(b.words), "works", "work", "passed") >= 0 // "but the printer does not"
	case c.low(j) == "" && n == 0 && len(s.clauses) == 1 && i > 1 && c.one(i-1, "does", "do") && !c.one(i-2, "it", "this", "that", "they", "these", "those"):
		return true // "Sorting does not."
	case c.one(j, "start", "launch", "load", "render", "respond", "terminate") && c.one(i-1, "does", "do"):
		return !c.one(j, "start") || n+1 == len(s.clauses) || s.clauses[n+1].mark != "until" && !s.clauses[n+1].conditional()
	case c.one(j, "work") && c.one(i-1, "does", "do", "did"):
		return c.any(0, i, "old", "that") < 0 && !c.one(0, "it") || yet
	case c.one(j, "working", "functional", "usable") && c.is(i-1, be):
		return true
	}
	return who == self && s.didNot(n, i, j)
}

// developed is where a word for what is done to code stands in [from, to): who
// or what passes through a product is not implemented, but its part of the code.
func (c *clause) developed(from, to int) int {
	return c.any(from, to, "implemented", "tested", "wired", "ported", "written", "documented", "integrated", "hooked", "refactored", "supported")
}

// didNot judges what the agent says it did not do: work, but not "I did not
// change the API".
func (s *sentence) didNot(n, i, j int) bool {
	c := &s.clauses[n]
	switch {
	case c.one(i-1, "could", "can"):
		return !c.one(j, "find", "see", "think", "reproduce", "spot", "detect", "resist", "help", "imagine", "notice", "be", "fault")
	case c.one(i-1, "do") && c.one(j, "know"):
		return c.one(j+1, "why", "how", "what", "whether") || n+1 < len(s.clauses) && s.clauses[n+1].mark == "that"
	case c.one(i-1, "did", "have", "had", "am", "was") || c.one(i-2, "did", "have", "am", "was"):
		if c.one(j, "able", "sure", "done", "finished", "certain", "confident") {
			return !c.one(j, "able") || !c.one(j+2, "find", "see", "reproduce", "spot")
		}
		if c.any(j, j+6, "any", "anything", "other", "more", "new") >= 0 && !c.one(j, "write", "written", "add", "test", "tested", "run", "implement", "implemented") {
			return false
		}
		return c.is(j, finishing|finished) && !c.one(j, "add", "added", "remove", "removed", "rename", "move", "moved", "delete", "replace", "create", "check", "make", "go", "set", "drop", "replaced", "refactor", "split", "rewrite", "rewritten", "created", "disable", "try", "handle", "need", "start", "support", "work", "commit", "push") || c.one(j, "get", "got", "gotten", "found", "find", "succeed", "know") || c.one(j, "add", "added", "check", "try", "handle", "create", "support", "start", "commit", "push") && (c.any(j, len(c.words), "yet", "tests", "test", "documentation", "docs") >= 0)
	}
	return false
}

// partial judges what is done in part: "partially done", "3 of 5 criteria are met".
func (s *sentence) partial(n, i int) bool {
	c := &s.clauses[n]
	switch c.low(i) {
	case "partially", "partly", "half":
		return (c.is(i+1, finished|work) && c.low(i+1) != "there" || c.one(i+1, "works", "working", "of", "way", "the") && c.of(finished, i, len(c.words)) >= 0 || c.one(i+1, "works", "through")) && c.one(i-1, "is", "are", "was", "only", "been", "still", "remains", "", "about", "than", "have", "has") && s.stated(n, i) && c.any(0, i, "were") < 0
	case "partial":
		return c.of(be, 0, i) >= 0 && c.is(i+1, work) && s.stated(n, i)
	case "only":
		if (c.is(i+1, finishing) && c.one(i-1, "could", "can") || c.at(i+1, "able to")) && c.of(self, 0, i) >= 0 {
			return s.stated(n, i) || !s.supposed(n)
		}
		k := c.of(finished, i+1, i+8)
		return k > 0 && s.stated(n, i) && s.subject(n, i) != actor && (i == 0 && c.is(k-1, be|finite) || c.is(i-1, self|finite) && c.of(self, 0, i) >= 0 && c.of(was, 0, i) < 0 && k <= i+2) && !c.one(k, "added", "removed", "updated", "moved", "run", "fixed", "replaced", "created", "there")
	case "below", "under":
		if i == 0 && n > 0 {
			b := &s.clauses[n-1]
			return b.one(1, "coverage") && b.of(be, 0, len(b.words)) >= 0 && s.stated(n-1, 1)
		}
		return c.any(0, i, "coverage") >= 0 && c.of(be, 0, i) >= 0 && s.stated(n, i)
	case "most":
		return c.low(i+1) == "of" && c.is(i-1, finished) && c.is(i-2, self|finite) && s.stated(n, i)
	case "far":
		return c.low(i-1) == "so" && c.any(0, len(c.words), "all", "everything", "no", "nothing") < 0 && !s.supposed(n) &&
			(c.any(0, i+3, "only") >= 0 || c.of(finished|passing, 0, i) >= 0 && c.of(number, 0, i) >= 0 || c.of(finished|mending, 0, len(c.words)) >= 0 && c.of(self, 0, len(c.words)) >= 0)
	case "almost", "nearly", "mostly":
		return c.is(i+1, finished) && c.is(i-1, be) && c.one(i+1, "done", "finished", "complete", "working", "ready", "implemented", "there") && s.stated(n, i)
	}
	if share, cut := strings.CutSuffix(c.low(i), "%"); cut {
		return share != "100" && c.is(i+1, finished) && s.stated(n, i)
	}
	if i == 0 && (c.at(0, "all but") || c.at(0, "everything but")) {
		return c.of(finished|passing, 2, len(c.words)) >= 0 && !s.supposed(n)
	}
	part, whole, ok := c.ratio(i)
	if !ok || part == whole || s.supposed(n) || s.negated(n, i) || c.described(i) || c.before(i) {
		return false
	}
	k := c.of(finished|passing, i+1, len(c.words))
	return (k > 0 || c.any(0, i, "implemented", "completed", "finished", "migrated", "converted", "done") >= 0) && c.any(0, len(c.words), "fixed", "found") < 0
}

// ratio reads "3 of 5", "three out of five" and "3/5" at i.
func (c *clause) ratio(i int) (part, whole int, ok bool) {
	if a, b, cut := strings.Cut(c.low(i), "/"); cut {
		part, whole = count(a), count(b)
		return part, whole, part >= 0 && whole > 0 && part <= whole
	}
	k := i + 1
	if c.low(k) == "out" {
		k++
	}
	if c.low(k) != "of" {
		return 0, 0, false
	}
	k++
	for c.one(k, "the", "all", "these", "our") {
		k++
	}
	part, whole = count(c.low(i)), count(c.low(k))
	return part, whole, part >= 0 && whole > 0 && part <= whole
}

// count reads a small number, -1 = none.
func count(low string) int {
	for n, name := range []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"} {
		if low == name {
			return n
		}
	}
	if n, err := strconv.Atoi(low); err == nil {
		return n
	}
	return -1
}

// standIn judges stubs and placeholders that stand where work should be.
func (s *sentence) standIn(n, i int) bool {
	c := &s.clauses[n]
	if !c.one(i, "stub", "stubs", "placeholder", "placeholders", "stubbed", "hard-coded", "hardcoded", "mocked", "skeleton", "no-op", "dummy", "unimplemented!") {
		return false
	}
	if now := c.any(0, i, "currently", "still"); !s.stated(n, i) && (now < 0 || !c.is(now+1, behaves) || s.supposed(n) || s.negated(n, i) || c.mended(i)) {
		return false // but "it currently returns a hard-coded list"
	}
	after := c.any(i+1, len(c.words), "now", "moment", "currently", "yet", "until") >= 0 || c.any(0, i, "currently", "still") >= 0
	linked := c.of(be, max(i-5, 0), i) >= 0 && c.of(be, 0, i) > 0
	return after && !c.one(i+1, "until") || linked && c.any(0, i, "only", "just", "still", "a") >= 0 && c.one(i, "stub", "stubs", "placeholder", "skeleton", "stubbed", "placeholders", "no-op") && c.of(making, 0, i) < 0
}

// broken judges what still goes wrong in the product.
func (s *sentence) broken(n, i int) bool {
	c := &s.clauses[n]
	if c.low(i) != "still" || !s.stated(n, i) || s.subject(n, i) == actor || s.subject(n, i) == self && i > 0 {
		return false
	}
	if c.any(i+1, len(c.words), "mock", "fake", "dummy", "hard-coded", "hardcoded", "placeholder", "stub", "stubbed", "mocked", "stubs", "placeholders") > 0 {
		return true
	}
	if c.one(0, "there") && c.is(i-1, be) && !c.one(i+1, "no") {
		return c.of(work|tester|number|failing|failure|marker, i+1, len(c.words)) > 0 || c.has("to do")
	}
	return c.one(i+1, "crashes", "breaks", "leaks", "hangs", "broken", "fails", "errors", "panics", "throws", "crash", "leak", "lacks", "complaining", "complains", "uses", "using", "use", "relies", "assumes", "contains", "slow", "too", "empty", "failing", "a", "incorrect", "wrong", "flickers", "red", "flaky", "buggy", "open", "unclear") || c.one(i+1, "does", "is") && c.one(i+2, "not") || c.at(i+1, "to do") || c.at(i+1, "to be") || c.at(i+1, "on the") || c.at(i+1, "in progress") || c.at(i+1, "to come")
}
