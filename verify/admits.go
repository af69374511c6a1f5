package verify

import "strings"

// owned judges statements in the present tense that own up to something: what is
// wrong, what is meant to be done, what somebody else has to do.
func (s *sentence) owned(n, i int) bool {
	return s.exhibits(n, i) || s.intends(n, i) || s.leavesOut(n, i) || s.until(n, i) || s.forNow(n, i) || s.inWork(n, i)
}

// fault reports whether the word at i names something wrong, and is no part of
// the name of a thing, as in "error message".
func (c *clause) fault(i int) bool {
	if !c.is(i, defect|failure) && !c.one(i, "bug", "bugs", "problem", "problems", "issue", "issues", "race", "races", "deadlock", "crash", "crashes", "mismatch", "hole", "holes", "flaw", "flaws", "discrepancy", "discrepancies", "shortcoming", "shortcomings", "flicker", "hiccup", "oversight", "drawback", "weakness", "weaknesses") || c.one(i, "limitation", "limitations") {
		return false
	}
	return c.low(i+1) == "" || c.is(i+1, negator|self) || c.one(i+1, "in", "with", "on", "when", "for", "of", "at", "around", "here", "after", "between", "under", "about", "if", "left", "near", "during", "as", "and", "or", "condition", "conditions", "to", "from")
}

// exhibits judges a fault that is said to be there: "there is an intermittent
// failure", "the types have gaps", "sorting gives wrong results".
func (s *sentence) exhibits(n, i int) bool {
	c := &s.clauses[n]
	switch {
	case c.fault(i):
		k := c.of(be, 0, i)
		if c.one(0, "there") && k == 1 && c.is(k, finite) || c.one(1, "there") && k == 2 && c.is(k, finite) {
			return !c.is(k, was) && s.stated(n, i) && c.of(negator, 0, i) < 0 && s.unmended(n) && c.any(0, i, "message", "template", "sort", "kind") < 0
		}
		k = c.any(0, i, "has", "have")
		return k > 0 && i-k <= 4 && (c.one(i+1, "", "in", "with", "around", "for", "when", "on") || c.one(i, "bug", "gaps")) && s.subject(n, k)&(self|actor) == 0 && c.any(k+1, i, "its", "own", "been", "to", "no", "caught", "found", "zero", "not") < 0 && s.stated(n, i) && c.any(0, k, "that", "may", "can") < 0 && s.unmended(n)
	case c.one(i, "gives", "returns", "produces", "yields", "shows", "displays", "renders", "uses", "computes", "contains", "serves", "give", "return", "produce", "show", "sends"):
		k := c.any(i+1, i+4, "wrong", "incorrect", "bogus", "garbage", "garbled", "stale", "outdated", "dummy", "fake", "mock", "hard-coded", "hardcoded", "canned", "placeholder")
		if k < 0 || i == 0 || c.low(k+1) == "" && c.low(k) != "garbage" || !s.stated(n, k) && !(c.is(i, behaves) && s.statedBeside(n, i, k)) {
			return false
		}
		return s.subject(n, i) != actor && c.one(k, "wrong", "incorrect", "bogus", "garbage", "garbled", "dummy", "fake", "canned", "hard-coded", "hardcoded", "placeholder", "stale") && c.of(tester, 0, i) < 0 && c.of(was, 0, len(c.words)) < 0 && c.one(k+1, "results", "result", "data", "values", "value", "output", "numbers", "totals", "total", "date", "dates", "order", "response", "responses", "", "price", "prices", "state", "counts", "count", "texts", "content")
	case c.low(i) == "exceeded":
		return c.is(i-1, be) && c.is(i-1, finite) && !c.is(i-1, was) && c.any(0, i, "limit", "budget", "threshold", "quota", "timeout", "target", "maximum") >= 0 && c.one(0, "the", "our", "this") && s.stated(n, i) && !(n+1 < len(s.clauses) && s.clauses[n+1].conditional())
	}
	return false
}

// statedBeside is like stated for the word at k, the object of the verb at i.
func (s *sentence) statedBeside(n, i, k int) bool {
	c := &s.clauses[n]
	return s.stated(n, i) && !c.negated(k) && !(n+1 < len(s.clauses) && s.clauses[n+1].conditional())
}

// unmended reports whether nothing after the clause says that it was dealt with.
func (s *sentence) unmended(n int) bool {
	for m := n + 1; m < len(s.clauses); m++ {
		if c := &s.clauses[m]; c.mended(len(c.words)) || s.good(m, false) {
			return false
		}
	}
	return true
}

// intends judges what the agent means to do, or asks the reader to do.
func (s *sentence) intends(n, i int) bool {
	c := &s.clauses[n]
	switch c.low(i) {
	case "intend", "aim", "hope", "want", "plan", "planning", "hoping", "expect":
		return c.of(self, max(i-3, 0), i) >= 0 && c.low(i+1) == "to" && c.is(i+2, finishing) && s.stated(n, i)
	case "would":
		return c.is(i-1, self) && c.is(i+1, finishing) && (c.any(0, len(c.words), "next", "then", "first", "start", "now") >= 0) && !s.supposed(n)
	case "have", "need":
		return c.one(0, "you", "users", "reviewers", "maintainers", "ops") && c.one(i-1, "will") && c.low(0) == "you" && c.low(i+1) == "to" && c.is(i+2, finishing) && !s.supposed(n) && s.conditionFree(n)
	case "you":
		return i == 1 && s.question && c.one(0, "could", "can", "would") && c.any(2, 4, "provide", "grant", "share", "confirm", "clarify", "tell", "advise", "give", "review", "check", "decide", "send", "please", "approve") > 0
	}
	return false
}

func (s *sentence) conditionFree(n int) bool {
	return !(n+1 < len(s.clauses) && s.clauses[n+1].conditional()) && !(n > 0 && s.clauses[n-1].conditional())
}

// leavesOut judges what a change does not contain.
func (s *sentence) leavesOut(n, i int) bool {
	c := &s.clauses[n]
	switch c.low(i) {
	case "leaves", "omits", "excludes":
		return (c.low(i) != "leaves" || c.any(i+1, len(c.words), "out", "open", "undone") > 0) && c.any(0, i, "this", "pr", "change", "patch", "commit", "implementation", "version") >= 0 && s.stated(n, i)
	case "only":
		return c.one(i+1, "addresses", "fixes", "solves", "covers", "applies", "contains", "includes", "does", "implements") && c.any(0, i, "this", "fix", "pr", "change", "patch", "commit", "implementation", "version", "solution") >= 0 && s.atStatement(n)
	case "to":
		return c.low(i-1) == "had" && c.low(i+1) == "be" && c.one(i+2, "skipped", "left", "disabled", "omitted", "mocked", "postponed", "stubbed", "deferred", "dropped", "excluded", "reverted") && !c.one(i+3, "to") && s.stated(n, i) && s.subject(n, i) != actor
	case "not":
		if c.mark == "which" && c.is(0, self) && i == 2 {
			return c.one(i+1, "make", "do", "fix", "implement", "address", "handle", "cover", "finish", "resolve", "test", "made", "done", "fixed", "addressed", "have")
		}
		return c.low(i-1) == "have" && c.of(self, 0, i) >= 0 && !s.supposed(n) && !c.before(i) && strings.HasSuffix(c.low(i+1), "ed") && !c.one(i+1, "changed", "touched", "modified", "altered", "removed", "renamed", "moved", "needed", "noticed", "edited", "used", "introduced", "added", "deleted", "replaced", "observed", "encountered", "disabled", "skipped", "deviated", "missed", "weakened", "encountered", "failed", "experienced", "refactored", "created", "committed", "pushed") && c.any(i+2, len(c.words), "any", "anything", "other", "more", "single") < 0
	case "half":
		return c.one(i-1, "easy", "first", "simple", "easier", "backend", "other") && c.low(i-1) != "other" && c.any(0, i, "did", "finished", "completed", "have", "only") >= 0 && c.of(self, 0, i) >= 0 && s.unmended(n) && !s.supposed(n)
	}
	return false
}

// atStatement reports whether the clause states something: it is not subordinate.
func (s *sentence) atStatement(n int) bool {
	return !s.supposed(n) && !s.intended(n)
}

// until judges what stands until something is done: "skipped until the fixture is
// repaired", "will be updated once the API is stable".
func (s *sentence) until(n, i int) bool {
	c := &s.clauses[n]
	if n+1 >= len(s.clauses) || s.supposed(n) || c.of(was, 0, len(c.words)) >= 0 {
		return false
	}
	next := &s.clauses[n+1]
	switch {
	case next.mark == "until" && c.one(i, "dummy", "mock", "fake", "stub", "placeholder", "hard-coded", "hardcoded"):
		return c.of(making, 0, i) < 0 && s.subject(n, i) != actor
	case next.mark == "until" && c.one(i, "skipped", "disabled", "off", "ignored", "quarantined"):
		return c.is(i-1, be) && (c.of(tester, 0, i) >= 0 || c.named(i)) && c.of(behaves, 0, i) < 0
	case (next.mark == "once" || next.mark == "when") && c.low(i) == "be" && c.low(i-1) == "will":
		about := s.subject(n, i)&(work|tester) != 0 || n > 0 && s.clauses[n-1].at(0, "as for") && c.one(0, "they", "it", "that")
		return about && c.is(i+1, finished) && !c.negated(i+1) && c.one(i+1, "updated", "implemented", "done", "finished", "written", "completed", "translated", "migrated", "documented", "ported", "converted", "tested", "verified", "refactored", "rewritten")
	}
	return false
}

// forNow judges a state that is said to be provisional: "the sync is one-way so
// far".
func (s *sentence) forNow(n, i int) bool {
	c := &s.clauses[n]
	far := c.one(i, "so") && c.low(i+1) == "far"
	if !far && !(c.low(i) == "for" && (c.one(i+1, "now") || c.at(i+1, "the time being") || c.at(i+1, "the moment"))) {
		return false
	}
	k := c.of(be, 0, i)
	if k < 1 || !c.is(k, finite) || c.is(k, was) || k+1 >= i || !s.stated(n, k) || s.subject(n, k)&(actor|self) != 0 {
		return false
	}
	if c.of(passing|negator|number|making, 0, i) >= 0 || c.any(0, i, "stable", "fine", "good", "clean", "enough", "sufficient", "fast", "happy", "all", "everything", "kept", "private", "internal", "optional", "same", "well", "that", "ok", "okay") >= 0 {
		return false
	}
	return c.definite()
}

// inWork judges work that goes on: "is ongoing", "is under way".
func (s *sentence) inWork(n, i int) bool {
	c := &s.clauses[n]
	switch {
	case c.one(i, "ongoing", "underway") || c.at(i, "under way") || c.at(i, "in the works") || c.at(i, "in flight"):
		return c.is(i-1, be) && c.is(i-1, finite) && !c.is(i-1, was) && s.stated(n, i) && s.subject(n, i)&work != 0
	case c.low(i) == "work" && i == 0:
		return c.any(1, len(c.words), "continues", "goes") > 0 && !s.supposed(n)
	case c.is(i, marker) && i == 0 && c.one(1, "comments", "comment", "markers", "marker"):
		return c.one(2, "mark", "marks", "indicate", "indicates", "point", "show") && !s.supposed(n)
	case c.low(i) == "not" && c.is(i-1, be) && c.is(i-1, finite) && !c.is(i-1, was) && strings.HasSuffix(c.low(i+1), "ing"):
		return !c.one(i+1, "failing", "blocking", "using", "leaking", "crashing", "hanging", "missing", "changing", "going", "waiting", "breaking", "throwing", "complaining", "expecting", "being", "doing", "adding", "anything", "touching", "removing", "relying", "surprising", "nothing", "growing") && s.subject(n, i)&(actor|self) == 0 && (c.definite() || n > 0 && c.mark == "but") && !s.supposed(n) && !c.before(i) && !c.described(i) && s.conditionFree(n) && c.any(i, len(c.words), "more", "longer") < 0
	case c.low(i) == "broke" && i > 0 && c.one(i+1, "the", "a", "two", "three", "several", "some", "one", "my"):
		return s.stated(n, i) && !c.subordinate() && c.any(0, i, "that", "previous", "last", "old", "which") < 0 && s.subject(n, i) != actor && s.unmended(n)
	}
	return false
}
