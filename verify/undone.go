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
	develops := c.is(i-1, be) && c.is(i-1, finite) && c.one(i+1, "tested", "covered", "verified", "implemented", "documented", "translated", "migrated", "deployed") && c.definite() && s.conditionFree(n)
	if who == actor && !develops && !(c.one(i-1, "does", "do", "is") && c.low(len(c.words)-1) == "yet" && c.system(i)) && !(c.one(i-1, "has", "have") && (c.one(i+1, "been", "yet") || c.any(i, len(c.words), "since", "yet") > 0) && !(i == len(c.words)-1 && n > 0)) && c.developed(i+1, i+4) < 0 {
		return false
	}
	yet := c.any(i+1, i+7, "yet") >= 0 || c.any(i-3, i, "still") >= 0
	if c.one(i+1, "only", "just", "all") {
		return c.low(i+1) == "all" && c.of(finished|passing, i+2, len(c.words)) >= 0
	}
	if c.one(i+1, "everything", "every") {
		return c.of(finished|passing, i+2, len(c.words)) >= 0 || c.any(i+2, len(c.words), "works", "work", "fits") > 0
	}
	j := i + 1
	for c.one(j, "yet", "been", "be", "fully", "completely", "entirely", "quite", "really", "properly", "actually", "even", "manually", "currently", "successfully", "being", "ever") {
		j++
	}
	switch {
	case c.one(i-1, "has", "have") && s.atThatTime(n):
		return false
	case c.one(i, "no"):
		if yet && c.one(len(c.words)-1, "yet") || c.any(i, len(c.words), "yet") > 0 && i <= 3 {
			return true
		}
		return c.is(i+1, tester) && c.any(i+2, i+6, "written", "added", "exist", "cover", "run", "executed") > 0 && c.any(i+2, len(c.words), "not", "remain", "left", "need", "needed", "had", "have") < 0 || c.is(i+1, tester) && c.any(i+2, i+4, "have", "exist") > 0 && c.any(i+2, i+6, "written", "added", "cover", "run", "executed", "exist") > 0 && c.any(i+2, len(c.words), "not", "to") < 0
	case c.one(i, "nothing", "none", "neither"):
		if k := c.of(finished, 2, 9); k > 0 && i == 0 && c.of(work|tester, 1, k) > 0 && c.is(k-1, be|was) && !c.one(k, "removed", "replaced", "moved", "added", "created", "started") {
			return true
		}
		return i == 0 && yet && c.one(1, "works", "passes", "runs", "compiles") || i == 0 && c.is(c.of(finished, 1, 6), finished) && c.of(mending, 1, 6) < 0 && yet
	case c.one(i-1, "can", "could"):
		return yet || who == self && s.didNot(n, i, j)
	case i == 0 && n > 0 && c.mark != ":" && c.low(i) == "not" && c.one(j, "tested", "benchmarked", "verified", "deployed", "run", "merged", "measured", "executed", "finished", "reviewed", "covered", "documented", "wired", "implemented"):
		b := &s.clauses[n-1]
		return b.is(len(b.words)-1, finished|making|passing)
	case i == 0 && n > 0 && c.mark == "but" && len(c.words) <= 6 && s.clauses[n-1].of(finished|making, 0, maxClause) >= 0 && (strings.HasSuffix(c.low(j), "ed") || c.one(j, "active", "live", "used")):
		return !c.one(j, "removed", "replaced", "deleted", "renamed", "changed", "required", "needed", "modified", "exported", "allowed", "affected", "moved", "altered", "stored", "logged", "shared")
	case n == 0 && len(s.clauses) == 1 && i == len(c.words)-1 && i <= 3 && c.one(i-1, "is", "are", "does", "do") && !c.one(0, "it", "that", "they", "there", "this", "i", "we", "these"):
		return i > 1 && c.of(past|was, 0, i) < 0 // "Filtering isn't."
	case c.is(j, finished) && !(c.is(j, finishing) && c.is(i-1, finite) && c.one(i-1, "do", "does", "did", "will")) && !c.is(i-1, modal):
		harmless := c.one(j, "there", "removed", "replaced", "moved", "added", "created", "met", "applied", "run", "handled") && !yet && who == 0 && (!c.one(i-1, "has", "have") || c.one(j, "removed", "replaced", "moved"))
		return !harmless && (yet || who != 0 || c.is(i-1, be|was|finite) || i == 0 && n == 0)
	case yet && c.one(i, "not") && c.low(j) != "" && !s.atThatTime(n):
		return true
	case c.one(i-1, "has", "have") && who != self && !c.one(i+1, "been") && (strings.HasSuffix(c.low(j), "ed") || c.one(j, "run", "begun", "landed", "gone", "shown")) && !c.one(j, "changed", "increased", "decreased", "needed", "regressed", "expired", "affected", "moved", "required", "modified", "grown", "broken", "triggered", "failed", "crashed", "caused", "introduced"):
		return c.one(0, "the", "this", "our", "my") || who != 0
	case c.one(i-1, "does", "do") && c.is(j, mending|finishing) && c.one(j, "fix", "solve", "resolve", "address", "cover", "handle", "include", "support", "satisfy", "meet", "implement", "eliminate") && i >= 2 && (c.one(i-2, "this", "it", "change", "fix", "patch", "pr", "implementation", "workaround", "solution", "commit", "version")):
		return c.low(i-2) != "it" || yet
	case c.one(i-1, "has", "have") && c.one(i+1, "been") && strings.HasSuffix(c.low(j), "ed") && !c.one(j, "changed", "touched", "modified", "affected", "altered", "used", "removed", "replaced", "moved", "edited", "released", "renamed"):
		return true
	case c.one(j, "meet", "satisfy", "fulfil", "fulfill") && c.one(i-1, "does", "do", "did"):
		return true
	case c.low(j) == "" && n > 0 && (c.mark == "but" || c.mark == "," || c.mark == ";" || c.mark == "and" || c.mark == "although" || c.mark == "whereas") && c.one(i-1, "does", "do", "did", "is", "are", "has", "have") && c.of(self, 0, i) < 0:
		b := &s.clauses[n-1]
		return b.of(finished|passing, 0, len(b.words)) >= 0 || b.any(0, len(b.words), "works", "work", "passed", "builds", "compiles", "runs", "loads", "starts") >= 0 // "but the printer does not"
	case c.one(j, "start", "launch", "load", "render", "respond", "terminate") && c.one(i-1, "does", "do"):
		return !c.one(j, "start") || n+1 == len(s.clauses) || s.clauses[n+1].mark != "until" && !s.clauses[n+1].conditional()
	case c.one(j, "work") && c.one(i-1, "does", "do", "did"):
		return c.any(0, i, "old", "that") < 0 && !c.one(0, "it") || yet
	case c.one(j, "working", "functional", "usable") && c.is(i-1, be):
		return true
	}
	return who == self && s.didNot(n, i, j)
}

// system reports whether the clause speaks of a part of the product, and not of
// somebody who uses it.
func (c *clause) system(i int) bool {
	return c.one(0, "the", "this") && c.any(0, i, "job", "jobs", "worker", "queue", "button", "form", "dialog", "loop", "reader", "writer", "editor", "client", "consumer", "producer") > 0
}

// atThatTime reports whether the clause says how it is when something happens in
// the product: "has not been committed yet | when the hook runs".
func (s *sentence) atThatTime(n int) bool {
	return n+1 < len(s.clauses) && (s.clauses[n+1].mark == "when" || s.clauses[n+1].mark == "while")
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
		if c.one(i-1, "have") && c.one(j, "checked", "tried", "started", "handled", "looked", "investigated", "reviewed", "confirmed", "dealt", "considered", "gone", "begun", "optimised", "optimized", "supported") {
			return true
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
		return k > 0 && s.stated(n, k) && s.subject(n, i) != actor && (i == 0 && c.is(k-1, be|finite) || c.is(i-1, self|finite) && c.of(self, 0, i) >= 0 && c.of(was, 0, i) < 0 && k <= i+2) && !c.one(k, "added", "removed", "updated", "moved", "fixed", "replaced", "created", "there") && (c.low(k) != "run" || c.of(tester, 0, k) > 0)
	case "far":
		return c.low(i-1) == "so" && c.any(0, len(c.words), "all", "everything", "no", "nothing") < 0 && !s.supposed(n) &&
			(c.any(0, i+3, "only") >= 0 || c.of(finished|passing, 0, i) >= 0 && c.of(number, 0, i) >= 0 || c.of(finished|mending, 0, len(c.words)) >= 0 && c.of(self, 0, len(c.words)) >= 0)
	case "almost", "nearly", "mostly":
		return c.is(i+1, finished) && c.is(i-1, be) && c.one(i+1, "done", "finished", "complete", "working", "ready", "implemented", "there") && s.stated(n, i)
	}
	if share, cut := strings.CutSuffix(c.low(i), "%"); cut {
		share = strings.TrimSpace(share)
		return share != "100" && (c.is(i+1, finished) || c.one(i+1, "through", "of") && c.is(i-1, be) || c.one(i+1, "through") && c.one(i-1, "about", "roughly", "around", "only")) && s.stated(n, i+1)
	}
	if i == 0 && (c.at(0, "all but") || c.at(0, "everything but")) {
		return c.of(finished|passing, 2, len(c.words)) >= 0 && !s.supposed(n)
	}
	part, whole, ok := c.ratio(i)
	if !ok || part == whole || s.supposed(n) || s.negated(n, i) || c.described(i) || c.before(i) {
		return false
	}
	k := c.of(finished|passing, i+1, len(c.words))
	return (k > 0 || c.is(0, self) && c.is(i-1, finishing) && c.any(0, i, "able", "could", "managed") > 0 || c.any(0, i, "implemented", "completed", "finished", "migrated", "converted", "done", "fixed", "resolved", "ported", "translated", "updated") >= 0) && (c.any(0, len(c.words), "fixed", "found") < 0 || c.any(i, len(c.words), "are", "is") > 0 && n == len(s.clauses)-1 && c.any(0, len(c.words), "found", "already", "now") < 0 || c.is(0, self) && (c.one(i-1, "fixed", "resolved") || c.is(i-1, finishing)) && n == len(s.clauses)-1)
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
	if i == len(c.words)-1 && c.one(0, "some", "most") && c.is(i-1, be) && c.is(i-1, finite) {
		return true
	}
	if i == len(c.words)-1 && c.is(i-1, be) && c.is(i-1, finite) && !c.is(i-1, was) && s.subject(n, i) == work && c.one(i, "stubbed", "mocked", "hard-coded", "hardcoded") {
		return true
	}
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

// developed is where a word for what is done to code stands in [from, to): who
// or what passes through a product is not implemented, but its part of the code.
func (c *clause) developed(from, to int) int {
	return c.any(from, to, "implemented", "tested", "wired", "ported", "written", "documented", "integrated", "hooked", "refactored", "supported")
}
