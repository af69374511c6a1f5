package verify

import "strings"

// faulty judges what the agent says is wrong with the work as it stands: "the
// chart is misaligned", "this is not a complete solution", "to no avail".
func (s *sentence) faulty(n, i int) bool {
	return s.defective(n, i) || s.notYetGood(n, i) || s.inVain(n, i) || s.uncertain(n, i) || s.bare(n, i) || s.sided(n, i) || s.condition(n, i)
}

// definite reports whether the clause speaks of one thing that is there: "the
// chart", "this".
func (c *clause) definite() bool {
	return c.one(0, "the", "this", "that", "it", "its", "our", "my", "some", "these", "those", "they", "two", "three", "four", "five", "several", "currently", "all", "sadly", "unfortunately", codeWord, testCodeWord)
}

// defective judges an adjective or a participle that blames the work.
func (s *sentence) defective(n, i int) bool {
	c := &s.clauses[n]
	k := i - 1
	for c.one(k, "still", "now", "also", "simply", "just", "completely", "currently", "slightly", "a", "bit", "often", "sometimes", "quite", "very", "too") {
		k--
	}
	if !c.is(k, be) || !c.is(k, finite) || k == 0 || c.is(k, was) {
		return false
	}
	switch c.low(i) {
	case "wrong", "incorrect", "buggy", "inaccurate", "misaligned", "garbled", "unreliable", "inconsistent", "unusable", "laggy", "racy", "leaky", "nondeterministic", "brittle", "suboptimal", "unknown", "unclear":
		if c.low(i+1) != "" && !c.one(i+1, "on", "in", "for", "at", "when", "and", "with", "after", "under") {
			return false
		}
	case "slow", "slower", "large", "long", "high", "big", "low", "small":
		if c.low(i-1) != "too" && c.any(k, i, "still") < 0 {
			return false
		}
	default:
		return false
	}
	return c.definite() && s.stated(n, i) && s.subject(n, i) != actor && c.of(behaves, 0, i) < 0 && (c.low(i) != "wrong" || c.low(0) != "that")
}

// notYetGood judges what is denied to be good enough.
func (s *sentence) notYetGood(n, i int) bool {
	c := &s.clauses[n]
	if c.low(i) != "not" || !c.is(i-1, be) || !c.is(i-1, finite) || c.is(i-1, was) || s.supposed(n) || c.described(i) || c.before(i) || s.intended(n) || s.subject(n, i) == actor {
		return false
	}
	j := i + 1
	for c.one(j, "yet", "a", "an", "the", "really", "quite", "fully", "entirely", "exactly", "completely", "very") {
		j++
	}
	switch c.low(j) {
	case "complete", "full", "proper", "real", "finished", "robust", "general", "permanent", "clean":
		return c.one(j+1, "solution", "fix", "implementation", "version", "answer", "picture") && c.definite()
	case "final", "settled", "production-ready", "perfect", "ideal", "polished", "stable", "feature-complete", "correct", "right", "pretty", "optimal", "great", "bulletproof", "reliable", "usable", "up", "finalised", "finalized":
		return c.definite() && (c.low(j) != "up" || c.at(j+1, "to date")) && (c.low(j+1) == "" || c.one(j+1, "on", "in", "for", "at", "with", "to", "enough", "and", "under"))
	}
	return false
}

// inVain judges what was tried without success.
func (s *sentence) inVain(n, i int) bool {
	c := &s.clauses[n]
	switch c.low(i) {
	case "to":
		return c.at(i+1, "no avail")
	case "in":
		return c.at(i+1, "vain")
	case "without", "no":
		return (c.low(i) == "without" && c.low(i+1) == "success" || c.at(i, "no luck")) && !s.supposed(n) && s.subject(n, i) != actor
	case "falls", "fell", "fall":
		return c.low(i+1) == "short" && s.stated(n, i)
	case "make", "made":
		return c.at(i+1, "it into") && c.any(0, i, "not", "never") >= 0 && s.subject(n, i) != actor && !s.supposed(n)
	case "failing", "broken", "red":
		return c.low(i-1) == "been" && c.one(i-2, "has", "have") && (c.of(tester, 0, i) >= 0 || c.any(0, i, "job", "workflow", "run", "action") >= 0) && c.of(past, 0, len(c.words)) < 0 && s.stated(n, i)
	case "up":
		return c.one(i-1, "ended", "wound") && c.low(i+1) == "not" && strings.HasSuffix(c.low(i+2), "ing") && s.subject(n, i) == self
	case "given", "granted", "allowed", "permitted":
		return c.low(i-1) == "not" && c.is(i-2, be|was) && c.is(i-3, self) && !s.supposed(n) && !c.before(i)
	case "nobody":
		return i == 0 && c.one(1, "has", "have") && c.is(2, finished) || i == 0 && c.one(1, "tested", "reviewed", "checked", "verified")
	case "keeps", "keep":
		return i > 0 && c.one(i+1, "failing", "crashing", "timing", "hanging", "breaking", "complaining", "throwing", "erroring", "disconnecting", "restarting", "flickering", "leaking") && s.stated(n, i) && s.subject(n, i) != actor
	case "breaks":
		return c.is(i-1, tester) && s.stated(n, i) && c.any(i, len(c.words), "that", "expected") < 0 && !(n+1 < len(s.clauses) && s.clauses[n+1].conditional())
	}
	return false
}

// uncertain judges what the agent does not know of its work.
func (s *sentence) uncertain(n, i int) bool {
	c := &s.clauses[n]
	switch c.low(i) {
	case "unsure", "uncertain", "doubt", "unconvinced":
		return s.subject(n, i) == self && s.stated(n, i)
	case "know":
		return c.at(i-2, "do not") && c.of(self, 0, i) >= 0 && !s.supposed(n) && n+1 < len(s.clauses) && (s.clauses[n+1].mark == "if" || s.clauses[n+1].mark == "whether")
	case "find", "found", "identify", "pinpoint", "determine", "identified":
		return c.any(max(i-3, 0), i, "not", "never") >= 0 && c.of(self, 0, i) >= 0 && c.any(i+1, i+5, "cause", "reason", "source", "explanation", "way", "solution", "fix", "culprit", "workaround") > 0 && !s.supposed(n) && !c.before(i)
	case "may", "might", "could":
		return c.low(i+1) == "still" && s.subject(n, i) != actor && !c.subordinate() && c.definite() || c.one(0, "there") && i == 1 && c.low(i+1) == "be" && c.one(i+2, "more", "other", "further", "additional", "bugs", "issues", "edge", "some", "cases") && !s.supposed(n)
	}
	return false
}

// bare judges what has no tests, no docs, no validation.
func (s *sentence) bare(n, i int) bool {
	c := &s.clauses[n]
	if c.low(i) == "no" && (c.one(0, "there") && c.is(i-1, be) && c.is(i-1, finite) || c.one(i-1, "has", "have") && i > 1 && s.subject(n, i)&(self|actor) == 0) {
		j := i + 1
		for c.one(j, "unit", "integration", "automated", "real", "proper", "regression", "error", "input", "end-to-end", "e2e") {
			j++
		}
		return c.one(j, "test", "tests", "documentation", "docs", "coverage", "validation", "handling", "support", "rollback", "pagination", "authentication", "authorization", "implementation", "monitoring", "sanitization") && !c.wrong() &&
			(c.low(j+1) == "" || c.one(j+1, "for", "of", "in", "yet", "around", "on", "at", "so")) && s.stated(n, i-1) && !(n+1 < len(s.clauses) && s.clauses[n+1].subordinate()) && c.any(0, i, "old") < 0
	}
	if i == 0 && c.low(0) == "only" && c.one(len(c.words)-1, "exists", "exist") {
		return !s.supposed(n)
	}
	if i == 0 && c.low(0) == "only" && c.one(len(c.words)-1, "place", "there") && c.of(be, 1, len(c.words)) > 0 {
		return !s.supposed(n) && c.of(was, 0, len(c.words)) < 0
	}
	if c.low(i) == "only" && c.one(i+1, "works", "supports", "covers", "handles", "work", "support", "cover") {
		return c.one(0, "this", "that", "it", "currently") && i <= 2 && c.any(0, len(c.words), "now") < 0 && s.stated(n, i) || s.subject(n, i)&work != 0 && s.stated(n, i)
	}
	if c.low(i) == "only" && i >= 1 && i <= 2 && c.is(0, self) && c.one(i+1, "tested", "checked", "verified", "looked", "tried", "covered", "handled", "ported", "converted", "migrated", "finished", "completed", "implemented", "did", "got", "managed", "reached") {
		return s.stated(n, i) || c.mended(i) && !s.supposed(n) && !c.before(i) && c.one(i+1, "finished", "handled", "ported", "converted", "migrated", "completed")
	}
	return false
}

// sided judges what holds on one side only: "works in Chrome, not in Safari", "all
// screens but the settings page are ported".
func (s *sentence) sided(n, i int) bool {
	c := &s.clauses[n]
	if i != 0 || n == 0 {
		return false
	}
	b := &s.clauses[n-1]
	if c.mark == "but" && b.one(0, "all", "every", "everything", "each") && len(b.words) <= 4 && b.of(finite, 0, len(b.words)) < 0 {
		return c.of(finished|passing, 1, len(c.words)) > 0 && c.of(be|finite, 1, len(c.words)) > 0
	}
	if c.low(0) == "not" && c.mark == "but" && c.of(tester, 1, len(c.words)) > 0 && b.of(passing, 0, len(b.words)) > 0 {
		return !s.supposed(n - 1)
	}
	if c.low(0) == "not" && c.one(1, "in", "on", "with", "for", "under", "against") && (c.mark == "," || c.mark == "but" || c.mark == "(") && len(c.words) <= 6 {
		return c.mark == "but" && b.of(finished, 0, len(b.words)) > 0 && s.subject(n-1, maxClause) != actor || b.any(0, len(b.words), "works", "work", "passes", "pass", "builds", "tested", "runs", "verified") > 0 && b.of(was, 0, len(b.words)) < 0 && b.of(negator, 0, len(b.words)) < 0 && !s.supposed(n-1)
	}
	// "Caveat: the cache is never invalidated"
	if c.mark == ":" && n == 1 && b.one(0, "caveat", "caveats", "limitation", "limitations", "drawback", "downside", "shortcoming", "one", "known") && b.one(len(b.words)-1, "caveat", "caveats", "limitation", "limitations", "drawback", "downside", "shortcoming") {
		return c.of(negator, 0, len(c.words)) >= 0 && c.of(finite, 0, len(c.words)) > 0 && !c.wrong() || c.any(0, len(c.words), "only", "still") >= 0
	}
	return false
}

// condition judges what has to happen "before this can be merged".
func (s *sentence) condition(n, i int) bool {
	c := &s.clauses[n]
	switch c.low(i) {
	case "before":
		if !c.one(i+1, "this", "it", "we", "the", "i", "that") || c.of(was, 0, len(c.words)) >= 0 || s.supposed(n) || c.mended(i) || c.any(0, i, "must") >= 0 {
			return false
		}
		k := c.any(i+1, i+4, "can", "is", "gets", "goes")
		return k > 0 && (c.of(self, i, k) >= 0 || c.any(i, k, "this", "pr", "feature", "release", "branch", "change") > 0) && c.any(k, len(c.words), "merge", "merged", "ship", "shipped", "released", "release", "deploy", "deployed", "live", "closed", "done", "finish", "finished", "usable", "continue", "complete", "completed", "enable", "production") > 0
	case "will":
		if c.is(i-1, self) && (c.one(i+1, "need", "require", "have") && !c.one(i+2, "no") || c.one(i+1, "continue", "resume", "proceed", "follow", "return")) {
			return s.stated(n, i) && c.any(i, len(c.words), "not") < 0
		}
	case "list", "plate", "backlog":
		return c.one(i-1, "my", "todo", "to-do", "the", "our") && (c.any(0, i, "my") >= 0 || c.low(i) == "backlog") && c.of(be, 0, i) >= 0 && c.any(0, i, "on", "in") > 0 && s.stated(n, i) && s.subject(n, i) != actor
	case "needs", "need":
		if c.is(i-1, self) && (c.at(i+1, "to come back") || c.at(i+1, "to get back") || c.at(i+1, "to return to")) {
			return s.stated(n, i)
		}
		return i <= 4 && (c.at(i+1, "the same") || c.at(i+1, "a second") || c.at(i+1, "another") || c.at(i+1, "a closer") || c.at(i+1, "a proper") || c.at(i+1, "a better")) && (i == 0 || s.stated(n, i) && s.subject(n, i)&(actor|self) == 0) && !s.supposed(n) &&
			c.any(i+2, len(c.words), "change", "fix", "treatment", "look", "pair", "update", "pass", "test", "solution", "review", "round", "iteration", "name") > 0 ||
			c.at(i+1, "to be") && (strings.HasSuffix(c.low(i+3), "ed") || c.one(i+3, "rerun", "redone", "rethought")) && s.subject(n, i) == work && !c.one(0, "it") && s.stated(n, i) && !(n+1 < len(s.clauses) && s.clauses[n+1].conditional())
	case "please":
		return c.is(i+1, finishing) && c.any(i, len(c.words), "manually", "hand", "before", "after", "yourself") > 0
	case "up":
		return c.is(i-1, be) && c.low(i+1) == "to" && c.one(i+2, "you", "the", "someone") && c.any(i, i+6, "you", "team", "maintainer", "maintainers", "reviewer", "someone") > 0 && s.stated(n, i)
	case "to":
		return c.is(i-1, be) && c.low(i+1) == "be" && c.one(i+2, "decided", "determined", "clarified", "discussed", "confirmed", "defined", "agreed", "announced") && s.stated(n, i)
	}
	return false
}
