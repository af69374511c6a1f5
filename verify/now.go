package verify

import "strings"

// short judges what falls short now, in the words of one who knows it: "nothing
// consumes the event so far", "this is a known gap", "I have no fix for that".
func (s *sentence) short(n, i int) bool {
	return s.soFar(n, i) || s.pretends(n, i) || s.admits(n, i) || s.goesTo(n, i) || s.muted(n, i) || s.stale(n, i)
}

// present reports whether an adverb at i says that it is so for the time being.
func (c *clause) present(i int) bool {
	switch c.low(i) {
	case "currently", "presently", "yet":
		return true
	case "so", "thus":
		return c.low(i+1) == "far"
	case "at":
		return c.one(i+1, "present") || c.at(i+1, "the moment") || c.at(i+1, "this point") || c.at(i+1, "this time")
	case "for":
		return c.one(i+1, "now") || c.at(i+1, "the time being") || c.at(i+1, "the moment")
	case "as":
		return c.at(i+1, "of now") || c.at(i+1, "of today") || c.at(i+1, "of yet") || c.at(i+1, "it stands")
	case "right":
		return c.low(i+1) == "now"
	case "to":
		return c.low(i+1) == "date" && !c.one(i-1, "up")
	}
	return false
}

// wrong reports whether the clause has a word for something that is better not
// there, so that "no" before it is good news.
func (c *clause) wrong() bool {
	for k := range c.words {
		if c.is(k, mending) && c.low(k) != "address" {
			return true
		}
	}
	return c.of(failing|failure|defect|marker|unfinished|making, 0, len(c.words)) >= 0 ||
		c.any(0, len(c.words), "issue", "issues", "bug", "bugs", "problem", "problems", "todo", "todos", "blocker", "blockers", "question", "questions", "blocked", "broken", "flaky", "red", "open", "left", "need", "needs", "crash", "crashes", "complaint", "complaints", "known", "work", "reason", "plan", "plans", "risk", "more", "longer", "vulnerabilities", "conflict", "change", "changes", "downtime") >= 0
}

// soFar judges what is not there, or is there only in part, for the time being.
func (s *sentence) soFar(n, i int) bool {
	c := &s.clauses[n]
	if !c.present(i) && !(i == 0 && n == 1 && len(s.clauses[0].words) <= 5 && s.clauses[0].present(0)) {
		return false
	}
	if s.supposed(n) || c.of(was, 0, len(c.words)) >= 0 || c.of(behaves, 0, len(c.words)) >= 0 && c.of(negator, 0, len(c.words)) < 0 && c.any(0, len(c.words), "skips", "ignores", "drops", "mocks") < 0 || s.intended(n) {
		return false
	}
	if k := c.any(0, len(c.words), "skips", "ignores", "drops", "assumes", "swallows", "hardcodes", "hard-codes", "fakes", "mocks"); k > 0 && c.low(i) != "yet" {
		return c.definite() && !c.negated(k)
	}
	if k := c.any(0, len(c.words), "ignored", "simulated", "faked", "unsupported", "disabled", "unused", "manual", "hardcoded", "hard-coded", "limited", "guesswork", "approximate", "missing", "restricted", "duplicated", "blank"); k >= 0 {
		return (k == 0 || c.of(be, 0, k) >= 0 || c.mark == "but") && !c.negated(k) && s.subject(n, k) != actor
	}
	if k := c.any(0, len(c.words), "only"); k >= 0 && c.of(passing, 0, len(c.words)) < 0 {
		return k == 0 && c.of(finite|finishing|behaves, 1, len(c.words)) > 0 || c.of(be|finite, 0, k) >= 0 && s.subject(n, k) != actor
	}
	k := c.of(negator, 0, len(c.words))
	return k >= 0 && !c.wrong() && (s.subject(n, k) != actor || k == 0 || n > 0 && s.clauses[n].mark == "though") && c.of(passing, 0, k) < 0 && !c.one(k, "instead", "without", "0", "zero") && c.of(finite|finished|finishing, 0, len(c.words)) >= 0 || k >= 0 && c.one(k, "nothing", "nobody") && !c.wrong()
}

// pretends judges what is done only in appearance, or on one side only.
func (s *sentence) pretends(n, i int) bool {
	c := &s.clauses[n]
	if c.low(i) != "only" || !s.stated(n, i) || s.subject(n, i) == actor && !c.one(i+1, "simulated", "mocked", "stubbed", "faked") {
		return false
	}
	if c.is(i-1, be) && c.one(i+1, "simulated", "mocked", "stubbed", "faked", "emulated", "hard-coded", "hardcoded", "approximated", "sketched", "scaffolded", "half", "partial", "partially", "partly", "a") {
		return c.low(i+1) != "a" || c.any(i+2, i+4, "stub", "sketch", "draft", "start", "mock", "mockup", "placeholder", "partial", "workaround", "skeleton", "prototype", "first") > 0
	}
	return i == len(c.words)-1 && c.is(c.of(be, 0, i)+1, finished) && c.of(be, 0, i) > 0 && c.one(c.of(be, 0, i)+1, "implemented", "done", "tested", "verified", "converted", "migrated", "ported", "covered", "wired")
}

// admits judges what the agent says of itself: that it has no fix, has come only
// so far, would like to go on, has filed the rest as an issue.
func (s *sentence) admits(n, i int) bool {
	c := &s.clauses[n]
	if !c.is(i, self) || s.supposed(n) || c.before(i) && c.low(i+1) != "would" {
		return false
	}
	k := i + 1
	for c.one(k, "have", "am", "also", "just", "only", "still", "then", "therefore", "now", "simply", "already", "instead", "currently", "did", "do", "unfortunately") && !(c.low(k) == "have" && c.low(k+1) == "no") {
		k++
	}
	if c.at(i-3, "as far as") && c.one(i+1, "got", "came", "made") {
		return true
	}
	if c.low(k-1) == "have" && c.low(k-2) == "still" || c.low(k) == "have" && c.low(k-1) == "still" {
		if j := c.any(k, len(c.words), "to"); j > 0 && c.is(j+1, finishing) {
			return true
		}
	}
	if (c.mark == "that" || c.mark == "which") && i == 0 && c.at(1, "do not have") && len(c.words) <= 5 {
		return true // "requires a key | that I do not have"
	}
	if c.low(k) == "had" && c.low(k-1) == "only" && c.one(k+1, "time", "budget", "enough") {
		return true
	}
	switch c.low(k) {
	case "have", "had", "see":
		return c.low(k+1) == "no" && c.one(k+2, "fix", "solution", "way", "idea", "explanation", "time", "means", "access", "answer", "workaround", "permission", "budget", "clue", "chance") && !c.mended(k)
	case "got", "made", "managed":
		return c.at(k+1, "as far as") || c.at(k+1, "it as far") || c.at(k+1, "about half") || c.at(k+1, "partway") || c.at(k+1, "halfway") || c.at(k+1, "stuck")
	case "halfway", "midway", "partway":
		return c.one(k+1, "through", "into", "done", "there", "in")
	case "stopping", "pausing", "quitting":
		return c.one(k+1, "here", "now", "at", "before", "")
	case "would":
		if c.one(k+1, "still", "also", "really") {
			k++
		}
		return c.at(k+1, "like to") && c.is(k+3, finishing) && !c.at(k+3, "add that") && !c.one(k+3, "confirm") || c.low(k+1) == "need" && c.one(k+2, "another", "more", "a", "the", "some") || c.one(k+1, "want", "need", "prefer", "have") && c.low(k+2) == "to" && c.is(k+3, finishing)
	case "opened", "filed", "raised", "logged", "created":
		j := c.any(k+1, k+5, "issue", "ticket", "bug", "task", "follow-up", "followup", "issues", "tickets", "tasks")
		return j > 0 && c.one(j+1, "", "for", "to", "about", "on", "covering", "so", "issue", "ticket", "in") && !c.mended(j) && c.any(j, len(c.words), "list", "page", "type", "form", "command") < 0
	case "not":
		return c.low(k+1) == "have" && c.one(k+2, "enough", "the", "any", "sufficient", "time", "access", "a", "permission", "permissions", "credentials") && !c.at(k+2, "the need") && !c.one(k+3, "further", "more", "other", "need", "reason") && (c.any(k+3, len(c.words), "to", "for", "left") > 0 || c.answers(k+2, k+5))
	case "assume", "assumed", "guess", "guessed":
		return c.any(k, len(c.words), "verify", "verified", "check", "checked", "correct", "right") > 0
	}
	return false
}

// goesTo judges short announcements: "the UI is to follow", "two comments are
// left to address", "need regenerating", "of which two are complete".
func (s *sentence) goesTo(n, i int) bool {
	c := &s.clauses[n]
	switch c.low(i) {
	case "to":
		return (c.is(i-1, be) || i == 1 && c.is(0, work|tester) && i+2 == len(c.words)) && c.one(i+1, "follow", "come") && s.stated(n, i) ||
			c.low(i+1) == "go" && i+2 == len(c.words) && c.of(number, 0, i) >= 0 && c.of(behaves|was, 0, i) < 0 && !s.supposed(n) && !s.negated(n, i) && c.any(0, i, "ready", "good", "time") < 0
	case "left":
		if c.is(i-1, be) && c.is(i-1, finite) && c.low(i+1) == "to" && c.any(i+2, i+6, "team", "ops", "maintainer", "maintainers", "you", "reviewer", "someone") > 0 {
			return s.stated(n, i)
		}
		return c.low(i+1) == "to" && i > 1 && (c.is(i-1, be) && c.is(i-1, finite) || c.is(i-1, work) && c.of(be|number, 0, i) >= 0) && c.low(i+2) != "" && c.low(i+2) != "the" && s.stated(n, i) && s.subject(n, i) != actor
	case "need", "needs":
		return strings.HasSuffix(c.low(i+1), "ing") && !c.one(i+1, "nothing", "something", "anything", "being", "string") && i > 0 && s.stated(n, i) && s.subject(n, i) != actor && c.of(behaves|self, 0, i) < 0 && !c.one(0, "you")
	case "which":
		k := c.of(finished|passing, i+1, len(c.words))
		return c.low(i-1) == "of" && (c.is(i+1, number) && !c.one(i+1, "both") || c.one(i+1, "only")) && k > 0 && !s.supposed(n)
	case "known":
		return c.of(be, 0, i) >= 0 && c.is(c.of(be, 0, i), finite) && c.one(i-1, "a", "one", "another", "two", "still") && (c.is(i+1, defect) || c.one(i+1, "issue", "problem", "bug", "flaw", "shortcoming", "issues", "problems", "bugs", "weakness")) && s.stated(n, i)
	case "guess", "speculative", "tentative":
		return c.of(be, 0, i) >= 0 && s.stated(n, i) && (c.low(i) != "guess" || c.one(i-1, "a", "only", "just", "educated"))
	case "work":
		return c.at(i+1, "in progress") && c.of(be, 0, i) > 0 && c.is(c.of(be, 0, i), finite) && (c.one(i-1, "a", "still") || c.is(i-1, be)) && s.stated(n, i)
	case "in":
		return c.low(i-1) == "not" && c.is(i-2, be) && (c.low(i+1) == "place" || c.one(i+1, "this", "the") && c.one(i+2, "change", "pr", "commit", "patch", "diff")) && !s.supposed(n) && s.subject(n, i) != actor
	case "yet":
		return n == 0 && i == 1 && c.low(0) == "not" && s.label(0, 1) && !s.emptyAfter(0)
	}
	return false
}

// muted judges tests that are switched off, whoever did it.
func (s *sentence) muted(n, i int) bool {
	c := &s.clauses[n]
	if !c.one(i, "skipped", "xfail", "disabled", "ignored", "quarantined", "commented", "muted", "excluded") || !s.stated(n, i) || c.of(tester, 0, i) < 0 && !(n > 0 && c.has("of them") && s.clauses[n-1].of(tester, 0, maxClause) >= 0) || c.of(behaves, 0, i) >= 0 {
		return false
	}
	k := c.of(be, 0, i)
	if k < 1 || !c.is(k, finite) || i > k+4 || c.any(i+1, i+3, "in", "on", "with", "by", "unless", "for", "automatically", "when") > 0 && !c.at(i+1, "for now") || n+1 < len(s.clauses) && s.clauses[n+1].conditional() {
		return false
	}
	return c.one(0, "the", "some", "these", "those", "my", "our", "several", "currently") || c.at(0, "a number") || c.at(0, "a few") || c.at(0, "a couple") || c.is(0, number) || c.any(0, len(c.words), "currently", "still") >= 0
}

// stale judges what is said to be out of date, and a tool that reports something.
func (s *sentence) stale(n, i int) bool {
	c := &s.clauses[n]
	switch c.low(i) {
	case "out":
		return (c.at(i+1, "of date") || c.at(i+1, "of sync")) && (c.is(i-1, be) && c.is(i-1, finite) || c.one(i-1, "now", "still")) && s.stated(n, i) && s.subject(n, i) != actor && c.of(was, 0, i) < 0
	case "outdated", "stale":
		return (c.is(i-1, be) && c.is(i-1, finite) || c.one(i-1, "still", "now")) && c.one(i+1, "", "now", "and", "in") && s.stated(n, i) && s.subject(n, i)&(work|tester) != 0
	case "reports", "finds", "shows", "flags", "detects", "lists", "emits", "complains":
		if c.of(tester, 0, i) < 0 && c.any(0, i, "detector", "sanitizer", "analyzer", "analyser", "valgrind", "audit", "scan", "sonar", "lighthouse", "profiler") < 0 {
			return false
		}
		bad := c.of(defect|failure, i, len(c.words)) > 0 || c.any(i, len(c.words), "race", "races", "vulnerability", "vulnerabilities", "issues", "problems", "mismatch", "deadlock", "complaints", "drift", "diff", "differences") > 0
		bad = bad || c.low(i) == "complains" && c.low(i+1) == "about" && c.low(i+2) != "nothing" && c.of(tester, 0, i) >= 0
		return bad && (c.is(i+1, number) || c.one(i+1, "a", "an", "new", "many", "about", "another", "still")) && c.any(0, len(c.words), "now", "correctly", "that", "which") < 0 && s.stated(n, i) && !(n+1 < len(s.clauses) && (s.clauses[n+1].conditional() || s.clauses[n+1].subordinate() && s.clauses[n+1].any(0, maxClause, "remain", "remains", "still", "not") < 0))
	}
	return false
}
