package verify

import "strings"

// open judges what is said in free words: that work is put off, is provisional,
// lacks something, misses its target, was given up, or waits for somebody.
func (s *sentence) open(n, i int) bool {
	return s.putOff(n, i) || s.advised(n, i) || s.provisional(n, i) || s.without(n, i) || s.gaveUp(n, i) ||
		s.asks(n, i) || s.offTarget(n, i) || s.persists(n, i) || s.misbehaves(n, i)
}

// occasion reports whether the words at i name another occasion to work: "a
// separate PR", "the next sprint", "separately".
func (c *clause) occasion(i int) bool {
	switch c.low(i) {
	case "separately":
		return true
	case "separate", "subsequent", "follow-up", "followup", "future", "later", "next", "another", "upcoming", "different", "dedicated":
		return c.any(i+1, i+3, "pr", "prs", "mr", "commit", "commits", "change", "changes", "iteration", "iterations", "session", "sprint", "release", "ticket", "issue", "pass", "step", "patch", "task", "story", "branch", "turn", "milestone", "phase", "week", "month", "follow-up", "effort", "cl", "pull", "change-set", "work", "date", "stage", "round", "improvement", "improvements", "day") > 0
	}
	return false
}

// putOff judges work for another occasion: "will come in a later PR", "can be
// done separately", "saved for the next sprint", "regular users come next".
func (s *sentence) putOff(n, i int) bool {
	c := &s.clauses[n]
	if s.supposed(n) || s.negated(n, i) || c.described(i) || c.before(i) || c.low(0) == "what" && c.is(1, be) {
		return false
	}
	soon := c.one(i, "soon", "shortly", "tomorrow", "eventually", "afterwards", "later", "next", "separately") && c.one(i+1, "", "today", "week", "on")
	if !soon && !c.occasion(i) {
		return false
	}
	if i <= 1 && !soon && c.any(i+1, i+5, "will") > 0 && c.of(behaves|actor, 0, len(c.words)) < 0 {
		return true // "another PR will"
	}
	if c.one(i-1, "come", "comes", "follow", "follows") || c.any(i-4, i, "come", "comes", "follow", "follows", "land", "lands", "arrive", "happen") >= 0 && c.any(0, i, "will", "comes", "follows", "lands", "should") >= 0 {
		return true
	}
	if k := c.any(0, i, "saved", "reserved", "planned", "scheduled", "slated", "earmarked", "punted", "deferred", "postponed", "pushed", "left", "parked", "material", "candidate", "moving", "leaving"); k >= 0 && c.of(was, 0, k) < 0 && (s.subject(n, k) != actor || !soon) {
		return c.any(k, i, "for", "to", "until", "in") > k && !c.one(k, "pushed", "moving") || c.one(k, "leaving", "moving")
	}
	k := c.any(0, i, "be")
	if k < 1 || soon && c.low(i) != "separately" && c.low(i) != "tomorrow" && c.low(i) != "soon" {
		return false
	}
	return c.one(k-1, "will", "should", "can", "could", "must", "to", "would", "best", "shall", "also", "then", "probably") && (c.is(k+1, finished|mending|making) || c.one(k+2, "in", "separately"))
}

// advised judges what the agent recommends to do: "we should still clean up", "I
// would recommend finishing it before the release".
func (s *sentence) advised(n, i int) bool {
	c := &s.clauses[n]
	if c.subordinate() || c.any(0, i, "not", "no", "if") >= 0 || c.before(i) {
		return false
	}
	switch c.low(i) {
	case "should", "ought", "must":
		k := i + 1
		for c.one(k, "still", "also", "probably", "really", "eventually", "definitely", "ideally", "to", "then") {
			k++
		}
		if c.is(0, self) || c.one(0, "you", "someone", "somebody") && c.low(i) != "must" {
			return i <= 2 && c.is(k, finishing) && (k > i+1 || c.any(k, len(c.words), "before", "next", "later", "soon", "eventually") > 0)
		}
		return c.low(k) == "be" && c.is(k+1, finished|mending|finishing) && c.low(i) != "must" && s.subject(n, i) != actor && (c.any(k, len(c.words), "before", "eventually", "soon") > 0 || k > i+1 || c.mark == "but" && c.one(0, "it", "this", "that")) && c.of(tester, 0, i) < 0
	case "recommend", "suggest", "propose", "advise":
		return c.of(self, 0, i) >= 0 && (strings.HasSuffix(c.low(i+1), "ing") || c.one(i+1, "to", "a", "that")) && c.any(i, len(c.words), "before", "next", "first", "follow-up", "as", "afterwards", "later", "soon") > 0
	case "would":
		return c.one(i+1, "be") && c.one(i+2, "good", "nice", "better", "worthwhile", "helpful", "worth", "wise", "prudent") && (c.low(i+3) == "to" && c.is(i+4, finishing) || c.low(i+2) == "worth" && strings.HasSuffix(c.low(i+3), "ing"))
	}
	return false
}

// provisional judges what stands in for a solution: "this is a partial fix".
func (s *sentence) provisional(n, i int) bool {
	c := &s.clauses[n]
	k := c.of(be, 0, i)
	if k < 0 || !c.is(k, finite) || !s.stated(n, i) || c.any(k, i, "no") >= 0 {
		return false
	}
	switch c.low(i) {
	case "partial", "temporary", "interim", "rough", "preliminary", "stopgap", "provisional", "makeshift", "incomplete", "short-term", "half", "unfinished":
		return c.any(i+1, i+3, "fix", "solution", "implementation", "version", "workaround", "draft", "measure", "hack", "prototype", "sketch", "attempt", "answer", "state", "result") > 0 && c.one(i-1, "a", "an", "only", "just", "the", "still")
	case "first":
		if c.low(i+1) == "of" && c.any(k, i, "only", "just") > 0 {
			return c.of(number, i, i+4) > 0
		}
		return c.one(i+1, "draft", "cut", "pass", "attempt", "stab", "step", "sketch") && c.one(i-1, "a", "only", "the", "just")
	case "draft", "prototype", "workaround", "hack", "skeleton", "scaffold", "scaffolding", "sketch", "band-aid", "poc", "proof":
		return c.any(k, i, "just", "only", "still", "a") > 0 && i <= k+4 && (c.low(i) != "proof" || c.at(i+1, "of concept")) && (c.low(i+1) == "" || c.one(i+1, "for", "and", "at", "right", "of", "that")) && c.any(k, i, "for", "of", "to", "in", "saved", "as") < 0
	}
	return false
}

// without judges what something lacks: "the endpoint lacks authentication", "the
// seed script is missing an entry", "has no tests yet".
func (s *sentence) without(n, i int) bool {
	c := &s.clauses[n]
	switch c.low(i) {
	case "lacks", "lack", "misses", "lacking":
		if i == 0 && n > 0 && c.mark == "but" {
			return s.subject(n-1, maxClause) != actor
		}
		return i > 0 && s.stated(n, i) && s.subject(n, i) != actor && c.of(was, 0, i) < 0 && !c.determined(i) && c.one(0, "the", "this", "our", "it", "my", "these", "some", "two", "three", "still", "several", "most", "a", "they") && !c.one(0, "a") && (c.low(i) != "lacking" || c.is(i-1, be))
	case "failures", "failure", "errors", "warnings":
		return c.low(i-1) == "remaining" && c.is(i+1, be) && c.is(i+1, finite) && !c.one(i+2, "gone", "fixed", "expected", "harmless", "false", "all", "resolved", "now") && s.stated(n, i)
	case "missing":
		return c.is(i-1, be) && c.is(i-1, finite) && c.one(i+1, "a", "an", "the", "its", "some", "any", "proper", "several", "two", "three") && s.stated(n, i) && s.subject(n, i) != actor
	case "no":
		return c.one(i-1, "has", "have", "are", "is") && c.any(i, len(c.words), "yet", "far") > 0 && s.subject(n, i) != actor && !s.supposed(n) && !c.before(i)
	}
	return false
}

// gaveUp judges what the agent says it broke off, or took out of the tests.
func (s *sentence) gaveUp(n, i int) bool {
	c := &s.clauses[n]
	switch c.low(i) {
	case "limit":
		return c.is(0, self) && c.any(1, i, "ran", "hit", "reached", "exceeded") > 0 && !s.supposed(n) && !c.negated(i) && s.unmended(n)
	case "stopped", "quit", "paused", "halted", "bailed", "abandoned":
		return c.of(self, 0, i) >= 0 && i <= 3 && c.one(i+1, "", "after", "at", "before", "here", "halfway", "there", "short", "out", "midway", "work") && s.stated(n, i) || c.low(i) == "paused" && c.is(0, self) && c.any(i+1, i+3, "work", "working") > 0 && !c.before(i)
	case "interrupted", "cut":
		return (c.is(0, self) || c.one(0, "the", "my") && c.is(1, work) && c.low(i) == "interrupted") && c.is(i-1, was|be) && s.stated(n, i)
	case "commented", "disabled", "excluded", "muted", "silenced", "quarantined", "suppressed", "bypassed", "ignored", "marked", "xfailed", "deactivated", "relaxed", "loosened":
		if c.of(self, 0, i) < 0 && i > 0 || !s.stated(n, i) || c.of(was, 0, i) >= 0 {
			return false
		}
		if c.low(i) == "marked" {
			return c.any(i, len(c.words), "skip", "skipped", "xfail", "todo", "wip", "pending", "ignored", "flaky") > 0 && c.of(tester, i, len(c.words)) > 0
		}
		k := c.of(tester, i+1, i+6)
		return k > 0 && c.any(i, k, "in", "for", "during", "by", "on") < 0
	case "constraints", "pressure", "limits":
		return c.one(i-1, "time") && c.any(0, i, "due", "given", "because", "under") >= 0 && !c.before(i) && !s.supposed(n)
	case "lack":
		return c.one(i+1, "of") && c.one(i+2, "time", "access", "credentials", "permissions") && c.any(0, i, "for", "due") >= 0 && !s.supposed(n)
	}
	return false
}

// answers reports whether a word names what somebody else has to give.
func (c *clause) answers(from, to int) bool {
	return c.any(from, to, "approval", "sign-off", "signoff", "review", "decision", "feedback", "confirmation", "go-ahead", "clarification", "input", "answer", "reply", "maintainer", "maintainers", "you", "your", "team", "ops", "admin", "legal", "credentials", "reviewer", "reviewers", "access", "discussion", "verification", "permission") >= 0
}

// asks judges what somebody else has to do or to decide.
func (s *sentence) asks(n, i int) bool {
	c := &s.clauses[n]
	switch c.low(i) {
	case "someone", "somebody":
		if s.supposed(n) || c.before(i) || c.of(negator, 0, len(c.words)) >= 0 {
			return false
		}
		return i == 0 && c.any(1, len(c.words), "has", "must", "needs", "should", "will", "ought") > 0 || i > 0 && c.one(i-1, "need", "needs", "requires", "require") && c.any(i, len(c.words), "to", "who", "with") > 0
	case "need":
		if c.is(i-1, self) && c.one(i+1, "the", "a", "an", "your") && s.stated(n, i) {
			if k := c.any(i+2, len(c.words), "to"); k > 0 && c.one(k+1, "go", "continue", "proceed", "finish", "complete", "verify", "test", "move") {
				return true
			}
		}
		return c.is(i-1, self) && c.one(i+1, "you", "a", "an", "the") && c.any(i+1, i+6, "to") > 0 && c.answers(i+1, i+5) && s.stated(n, i)
	case "pending":
		return c.answers(i+1, i+5) && s.stated(n, i) && c.of(be, 0, i) >= 0 && s.subject(n, i) != actor && c.of(behaves, 0, i) < 0
	case "waiting", "waits", "awaits", "awaiting":
		if c.of(behaves, 0, i) >= 0 || c.of(was, 0, i) >= 0 || s.subject(n, i) == actor || !c.answers(i+1, i+6) {
			return false
		}
		return c.one(0, "the", "this", "it", "everything", "that", "still", "now", "currently") && (c.one(i-1, "is", "still", "currently", "now") || strings.HasSuffix(c.low(i), "s")) && s.stated(n, i)
	case "unclear", "undecided":
		return c.is(i-1, be) && c.is(i-1, finite) && s.stated(n, i) || c.one(i-1, "still", "remains")
	case "question", "questions":
		return c.one(i-1, "open") && i <= 3 && (c.is(i+1, be) && c.is(i+1, finite) || c.one(i-2, "one", "an")) && !s.negated(n, i) && c.of(was, 0, len(c.words)) < 0 && !s.supposed(n) && !c.mended(len(c.words))
	}
	return false
}

// offTarget judges a measure that is not where it has to be: coverage below the
// threshold, latency above the limit.
func (s *sentence) offTarget(n, i int) bool {
	c := &s.clauses[n]
	over := c.one(i, "above", "over", "exceeds", "beyond", "exceed")
	if strings.HasSuffix(c.low(i), "%") && c.low(i-1) == "only" {
		return c.is(i-2, be) && c.is(i-2, finite) && !c.is(i-2, was) && c.any(0, i, "coverage", "score", "accuracy", "recall", "precision") >= 0 && s.stated(n, i)
	}
	if !over && !c.one(i, "below", "under", "short") || s.supposed(n) || s.negated(n, i) || c.before(i) {
		return false
	}
	if c.any(i+1, i+6, "target", "threshold", "requirement", "required", "limit", "goal", "budget", "minimum", "maximum", "allowed", "requested", "desired", "sla", "bar", "mark", "quota", "criterion", "agreed") < 0 {
		return false
	}
	if c.one(i-1, "well", "comfortably", "safely", "now") {
		return false
	}
	from := n
	for from > 0 && s.clauses[from].of(finite&^was, 0, i) < 0 && s.clauses[from].mark != ";" {
		from--
	}
	value, high, low := false, false, false
	for m := from; m <= n; m++ {
		b := &s.clauses[m]
		if b.of(was, 0, len(b.words)) >= 0 || b.of(behaves, 0, len(b.words)) >= 0 || b.mark == "that" && m < n {
			return false
		}
		end := len(b.words)
		if m == n {
			end = i
		}
		value = value || b.of(be, 0, end) >= 0 || over && strings.HasPrefix(c.low(i), "exceed") || b.any(0, end, "sits", "stands", "remains", "still", "falls", "takes", "stays", "comes", "only", "fell", "dropped", "dips", "drops") >= 0
		high = high || b.any(0, len(b.words), "coverage", "score", "accuracy", "throughput", "precision", "recall", "hit", "success", "uptime", "lighthouse") >= 0
		low = low || b.any(0, len(b.words), "latency", "p95", "p99", "p50", "time", "memory", "size", "bundle", "duration", "usage", "runtime", "cost", "cpu", "startup", "build") >= 0
	}
	if c.any(0, i, "still") >= 0 {
		return value
	}
	if over {
		return value && !high && (low || c.any(i, len(c.words), "limit", "budget", "maximum", "allowed") > 0)
	}
	return value && !low
}

// persists judges "still" with what should be over by now.
func (s *sentence) persists(n, i int) bool {
	c := &s.clauses[n]
	if c.low(i) == "still" && (c.one(0, "some", "a") || c.is(0, number) || c.system(i)) && (c.at(i+1, "time out") || c.at(i+1, "times out") || c.one(i+1, "crashes", "hangs", "leaks", "deadlocks", "fail", "crash", "hang", "leak", "deadlock")) {
		return s.stated(n, i)
	}
	if c.low(i) != "still" || !s.stated(n, i) || s.subject(n, i) == actor && !c.one(i+1, "referenced", "duplicated") || c.of(self, 0, i) >= 0 {
		return false
	}
	if c.is(i-1, be) && c.one(i+1, "there", "present", "reproducible", "around") {
		return s.subject(n, i)&work != 0 || c.of(defect|failure, 0, i) >= 0 || c.any(0, i, "crash", "deadlock", "flicker", "race") >= 0
	}
	if c.is(i-1, be) && strings.HasSuffix(c.low(i+1), "ed") {
		return !c.one(i+1, "supported", "accepted", "allowed", "used", "exported", "documented", "covered", "cached", "required", "needed", "called", "shared", "respected", "recognised", "recognized", "honoured", "honored", "permitted", "displayed", "preserved", "included", "tested", "enforced", "validated", "checked", "parsed", "served", "logged", "granted", "returned", "owned", "handled", "sorted", "escaped", "encrypted", "rejected", "applied", "executed") || c.one(i+1, "used") && c.any(i, len(c.words), "places", "files") > 0
	}
	if c.is(i-1, be) && c.one(i+1, "above", "over", "being", "using", "wrong", "slow", "slower", "off", "outdated", "out", "unstable", "noisy", "high", "rough", "ugly", "unused", "commented", "behind", "some", "several", "two", "three", "one", "many", "unknown") {
		return c.low(i+1) != "out" || c.at(i+2, "of date") || c.at(i+2, "of sync")
	}
	if c.one(i+1, "mentions", "describes", "documents", "mention", "describe", "shows", "points", "refers", "references", "calls", "depends", "imports", "links", "show", "point", "refer", "call", "depend", "import") {
		return c.any(i+2, len(c.words), "old", "stale", "wrong", "outdated", "legacy", "deprecated", "previous", "incorrect", "removed", "mock", "v1") > 0
	}
	return c.one(i+1, "exceeds", "misses", "happens", "occurs", "deadlocks", "stalls", "freezes", "overflows", "flashes", "takes", "differs", "duplicates", "warns", "differ", "diverge", "disagree", "conflict", "collide", "exceed", "miss", "happen", "occur", "flash", "overlap", "contain", "overlaps", "collides", "diverges") && !(n+1 < len(s.clauses) && s.clauses[n+1].conditional())
}

// misbehaves judges what goes wrong in the product now, as what contradicts a
// success or as what happens at times: "it builds, but the container hangs".
func (s *sentence) misbehaves(n, i int) bool {
	c := &s.clauses[n]
	if i == 0 && c.mark == "but" && c.one(0, "fails", "crashes", "hangs", "breaks", "panics", "leaks", "deadlocks") && n > 0 {
		b := &s.clauses[n-1]
		return b.of(was, 0, len(b.words)) < 0 && b.any(0, len(b.words), "works", "builds", "compiles", "runs", "passes", "starts") > 0 && s.conditionFree(n) && !s.supposed(n) && !s.intended(n) && s.subject(n-1, maxClause) != actor
	}
	if i == 0 || !c.one(i, "exits", "crashes", "segfaults", "hangs", "freezes", "panics", "leaks", "flickers", "stalls", "deadlocks", "breaks", "errors", "overflows", "times", "timeouts", "fails", "loops", "blows") || c.low(i) == "times" && c.low(i+1) != "out" {
		return false
	}
	if !s.stated(n, i) || s.subject(n, i) == actor || c.determined(i) || c.of(was, 0, i) >= 0 {
		return false
	}
	if n+1 < len(s.clauses) && s.clauses[n+1].conditional() {
		return c.one(0, "currently") || c.at(0, "right now") || c.at(0, "at the moment")
	}
	if c.one(i+1, "cleanly", "gracefully", "early", "fast", "with") && !c.at(i+1, "with code 1") || c.any(i, len(c.words), "without", "expected", "0", "zero", "before") > 0 {
		return false
	}
	return c.mark == "but" && n > 0 && s.clauses[n-1].of(was, 0, maxClause) < 0 || c.any(0, len(c.words), "sometimes", "occasionally", "randomly", "intermittently", "immediately", "currently", "constantly", "frequently", "often", "sporadically", "startup", "start-up", "load") >= 0 && c.low(i) != "exits" || c.has("now and") || c.has("at random") || c.has("from time to time") && c.low(i) != "exits"
}
