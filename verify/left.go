package verify

import "strings"

// remains reports whether the clause says that work is left.
func (s *sentence) remains(n int) bool {
	c := &s.clauses[n]
	if s.label(n, len(c.words)-1) && s.emptyAfter(n) {
		return false
	}
	if c.low(0) == "what" && c.is(1, was) && !s.label(n, len(c.words)-1) {
		return false // "what was missing yesterday is in"
	}
	for i := range c.words {
		if s.remainsAt(n, i) || s.stillNeeds(n, i) || s.lacks(n, i) || s.postponed(n, i) || s.notDone(n, i) || s.partial(n, i) || s.standIn(n, i) || s.broken(n, i) || s.open(n, i) || s.short(n, i) || s.faulty(n, i) || s.owned(n, i) || s.badly(n, i) {
			return true
		}
	}
	return s.announces(n) || s.exceptions(n)
}

// remainsAt judges remain, remaining, left, yet to.
func (s *sentence) remainsAt(n, i int) bool {
	c := &s.clauses[n]
	switch c.low(i) {
	case "remaining":
		if s.emptyAfter(n) || s.supposed(n) || s.negated(n, i) {
			return false
		}
		if i == 0 && s.label(n, i) || i <= 2 && c.is(i+1, work) && s.label(n, i+1) && !c.is(0, behaves|making|mending) {
			return true
		}
		if c.one(i+1, "time", "balance", "seconds", "attempts", "budget", "capacity", "quota", "space", "stock", "bytes", "characters", "days") || !s.stated(n, i) || c.of(making, 0, i) >= 0 {
			return false
		}
		if c.is(i-1, be) && i > 1 && c.low(0) != "the" || c.is(i-1, number) || c.one(i-2, "is", "are") {
			return c.of(passing, i, len(c.words)) < 0
		}
		if last := &s.clauses[len(s.clauses)-1]; i <= 1 && n+1 < len(s.clauses) && last.is(0, finite) && last.of(finished, 1, len(last.words)) > 0 && last.of(negator, 0, len(last.words)) < 0 {
			return false // "the remaining work, the docs, is done"
		}
		if (i <= 1 || i == 2 && c.one(1, "only", "last", "one", "main")) && c.one(i+1, "work") {
			return !c.is(len(c.words)-1, emptiness) && c.low(len(c.words)-1) != "zero" && c.of(finished|passing|behaves, i+2, len(c.words)) < 0 || c.any(i+2, len(c.words), "will", "to", "not", "should") > 0
		}
		verb := c.of(finite, i+1, len(c.words))
		return i <= 1 && c.is(i+1, work) && verb > 0 && c.of(passing|mending|behaves, verb, len(c.words)) < 0 && (c.of(finished, verb, len(c.words)) < 0 || c.any(verb, len(c.words), "not", "to") >= 0) && c.any(verb, len(c.words), "now", "also", "unchanged", "same", "pass", "done", "complete", "implemented", "migrated", "tested", "working", "cosmetic", "optional") < 0
	case "remain", "remains":
		if c.one(i+1, "unchanged", "the", "stable", "intact", "compatible", "green", "as", "untouched", "valid", "available", "private", "optional", "backward", "backwards", "fully", "unaffected", "responsive", "readable", "identical", "visible", "active", "accessible", "functional", "in", "at", "clean", "consistent", "small", "simple", "supported") {
			return c.one(i+1, "in") && c.of(number, 0, i) >= 0 && c.of(marker|work|failure|defect, 0, i) >= 0 && s.stated(n, i) || c.one(i+1, "in") && (c.is(i-1, failure|defect|marker) || c.one(i-1, "comments", "markers")) && s.stated(n, i)
		}
		if c.at(i-1, "it remains to") {
			return c.is(i+2, finishing|be) && s.stated(n, i)
		}
		return i > 0 && s.stated(n, i) && s.subject(n, i) != actor && c.of(behaves, 0, i) < 0 && (i > 1 || c.is(0, work|number) || c.one(0, "what", "some", "much")) || c.low(0) == "what" && i == 1
	case "left":
		return s.left(n, i)
	case "open":
		matter := func(k int) bool {
			return c.one(k, "step", "steps", "task", "tasks", "issue", "issues", "question", "questions", "point", "points", "criterion", "criteria", "ticket", "tickets", "todo", "todos", "problem", "problems")
		}
		if c.one(0, "there") && c.is(1, be) {
			return matter(i+1) && s.stated(n, i)
		}
		return i == len(c.words)-1 && c.is(i-1, be) && (matter(i-2) || c.is(i-2, number) && matter(i-3)) && s.stated(n, i)
	case "leave", "leaving":
		return c.of(self, 0, i) >= 0 && s.stated(n, i) && c.one(i-1, "to", "will", "i", "we") && c.any(i+1, len(c.words), "out", "later", "follow-up", "open", "todo", "now", "someone", "you", "undone", "unfinished") > 0 || c.low(i) == "leave" && c.of(self, 0, i) >= 0 && c.at(i-2, "had to") && c.is(len(c.words)-1, unfinished)
	case "yet":
		return c.one(i+1, "to") && c.is(i-1, be|finite) && s.stated(n, i) && s.subject(n, i) != actor
	case "more":
		return c.one(i+1, "work", "to", "steps") && s.stated(n, i) && (c.of(be, 0, i) >= 0 || c.any(0, i, "needs", "need", "requires") >= 0) && (c.low(i+1) != "to" || c.one(i+2, "do", "come")) && s.subject(n, i) != actor
	}
	return false
}

// left judges "left", the participle: there is a TODO left, it is left for
// later; not the side, not "left unchanged".
func (s *sentence) left(n, i int) bool {
	c := &s.clauses[n]
	if !s.stated(n, i) || c.one(i-1, "the", "a", "to", "top", "bottom") || c.one(i+1, "unchanged", "untouched", "alone", "as-is", "off", "join", "side", "column", "panel", "out", "intact", "pane", "sidebar", "and", "margin", "arrow") && !(c.low(i+1) == "out" && s.subject(n, i)&self != 0) {
		return false
	}
	if c.one(i+1, "to") && c.one(i+2, "do", "be", "fix", "implement", "migrate", "convert", "write", "finish", "port", "review") || c.one(i+1, "undone", "unfinished", "unimplemented", "incomplete", "open", "unresolved", "untested", "half", "unfixed") {
		return !c.one(i+1, "to") || s.subject(n, i) != actor
	}
	if c.is(0, self) && c.low(len(c.words)-1) == "out" {
		return true
	}
	if c.is(0, self) && c.one(i-1, "i", "we", "have", "also", "only", "still", "deliberately", "but") {
		return c.any(i+1, len(c.words), "todo", "fixme", "later", "stub", "placeholder", "unimplemented", "follow-up", "now", "separate", "next", "manual", "empty", "broken", "failing") >= 0 || c.of(marker, i, len(c.words)) >= 0 || c.code(i, "skip", "TODO", "FIXME", "xit", "panic")
	}
	if c.one(i+1, "for") && c.of(be|was|finite, 0, i) >= 0 || i == 0 && c.one(1, "for", "to") {
		return c.any(i, len(c.words), "later", "follow-up", "future", "another", "next", "now", "separate", "someone", "subsequent", "you", "second", "followup") >= 0
	}
	if c.one(i+1, "", "in", "on", "over", "open", "before", "from", "now", "here") && (c.of(number, 0, i) >= 0 || c.is(i-1, be) || c.one(0, "there", "what")) {
		return c.of(be|number, 0, i) >= 0 && s.subject(n, i) != actor && c.of(was, 0, i) < 0 && c.of(past, 0, len(c.words)) < 0 && !c.one(0, "users")
	}
	return false
}

// stillNeeds judges need, have to, require: work that somebody must do.
func (s *sentence) stillNeeds(n, i int) bool {
	c := &s.clauses[n]
	if c.is(i, unfinished) && c.one(i-1, "still") {
		return s.stated(n, i) && (s.subject(n, i) != actor || c.low(i) == "missing")
	}
	still := c.any(i-3, i, "still") >= 0
	needs := c.one(i, "need", "needs", "want", "require", "requires", "needed", "required")
	has := c.one(i, "have", "has") && c.at(i+1, "to be") && c.one(i+3, "regenerated", "rebuilt", "reviewed", "reworked", "revisited", "clarified", "decided", "discussed", "adapted", "renamed", "republished", "redeployed", "rerun", "investigated", "improved", "enabled", "merged") || c.one(i, "have", "has", "must") && (c.one(i+1, "to") || c.low(i) == "must" && c.is(i+1, be)) && !c.one(i+2, "be") || c.one(i, "have", "has") && c.at(i+1, "to be") && (c.is(i+3, finished|mending) || still)
	if !needs && !has || s.supposed(n) || s.negated(n, i) || c.described(i) || c.before(i) || i == 0 && !c.one(0, "need", "needs", "requires") && !(has && c.mark == "," && n > 1) {
		return false
	}
	if c.one(i, "needed", "required") && !still || c.low(i) == "want" {
		return c.one(i, "needed", "required") && c.one(i-1, "is", "are") && c.any(0, i, "follow-up", "work", "manual", "further", "more", "additional") >= 0 && !c.negated(i)
	}
	who := s.subject(n, i)
	if i == 0 && c.one(0, "needs", "requires") {
		who = work
	} else if i == 0 && has { // "The last step, X, has to be done"
		who = s.subject(0, len(s.clauses[0].words))
	}
	switch {
	case needs && c.one(0, "someone", "somebody"), (needs || has) && c.one(0, "you") && (c.one(i+2, "finish", "complete", "implement") || c.one(len(c.words)-1, "yourself") && !c.one(i+2, "run", "install", "start", "set", "configure", "enable")):
		return c.low(i+1) == "to" && c.is(i+2, finishing)
	case who == actor:
		return c.at(i+1, "to be") && c.developed(i+3, i+4) > 0
	case still:
		return !c.one(i+1, "not") && (who != 0 || !has || c.one(i+2, "be") || c.is(i+2, finishing)) && !c.one(0, "you") || c.one(0, "you") && c.is(i+2, finishing)
	case c.low(i) == "must" || c.one(0, "you"):
		return false
	case who == self:
		return has && c.is(i+2, finishing) && c.low(i) != "must" || needs && (c.low(i+1) == "to" && c.is(i+2, finishing) || c.one(i+1, "more", "your", "access", "credentials", "help") || c.one(i+1, "another") && c.one(i+2, "iteration", "round", "session", "turn", "attempt") || c.any(i, i+5, "access", "credentials", "approval", "decision", "input", "token", "clarification", "key", "keys", "password", "answer", "feedback") >= 0)
	}
	if n+1 < len(s.clauses) && s.clauses[n+1].conditional() {
		return false
	}
	if c.any(i+1, i+6, "manual", "manually", "attention", "follow-up", "rework", "polish", "polishing", "refactoring", "testing", "further", "investigation", "improvement", "review", "hand", "someone", "cleanup", "work", "fixing", "debugging", "love", "tlc", "translation", "documentation", "refinement", "verification", "tuning", "tweaking", "optimisation", "optimization", "clarification", "improvements", "thought", "care", "iteration") >= 0 && c.any(i+1, i+3, "no") < 0 {
		return true
	}
	if (who == work || c.one(i+1, "approval", "sign-off")) && c.definite() && c.any(i+1, i+5, "approval", "sign-off", "decision", "confirmation", "permission") > 0 {
		return true
	}
	return c.at(i+1, "to be") && (c.is(i+3, finished|mending) || c.one(i+3, "reworded", "renamed", "restructured", "revised", "reviewed", "polished", "revisited", "tuned", "regenerated", "rebuilt", "redesigned", "reworked", "reimplemented", "rechecked", "investigated", "discussed", "clarified", "decided", "improved", "extended", "adjusted", "adapted", "simplified", "optimised", "optimized")) && !c.one(i+3, "done", "run", "there", "started", "met") || c.at(i+1, "to be done") && who != 0
}

// lacks judges incomplete, missing, unfinished: as what something is said to be,
// not as an attribute of what was dealt with.
func (s *sentence) lacks(n, i int) bool {
	c := &s.clauses[n]
	if !c.is(i, unfinished) || c.one(i, "todo", "wip") || !s.stated(n, i) {
		return false
	}
	if i == 0 && (s.label(n, i) || len(c.words) == 1 && n == 0) {
		return !s.emptyAfter(n)
	}
	if i == 0 && (c.mark == "but" || c.mark == "although" || c.mark == "though") && len(c.words) <= 4 && s.subject(n-1, maxClause) != actor {
		return true // "it is in place | but untested"
	}
	if i == 0 && c.mark == ":" && s.label(n-1, len(s.clauses[n-1].words)-1) && len(c.words) <= 2 {
		return true
	}
	if c.is(i+1, be) && c.any(0, i, "only", "thing", "what") >= 0 {
		return true
	}
	who := s.subject(n, i)
	if who == actor || c.of(behaves, 0, i) >= 0 || c.of(making, 0, i) >= 0 {
		return false
	}
	if c.low(i) == "missing" && c.is(i-1, be) && who&(work|tester) != 0 && c.low(i+1) != "" {
		return !c.one(i+1, "if", "when")
	}
	if c.is(i+1, work|tester) || c.low(i+1) != "" && !c.is(i+1, negator|self|finite) && !c.one(i+1, "in", "on", "for", "from", "because", "at", "and", "as", "because", "until", "right", "here", "or", "with", "against", "under", "beyond", "above", "on", "so", "due", "review", "a", "since") && !strings.HasSuffix(c.low(i+1), "ly") {
		return c.one(0, "there") && c.of(be, 0, i) >= 0 || c.of(number, 0, i) >= 0 && c.of(be, i, len(c.words)) < 0 && n == 0 && c.is(i-1, number)
	}
	k := c.of(be, max(i-4, 0), i)
	return k >= 0 || c.one(i-1, "still", "left", "feels", "currently") || c.of(was, i-2, i) >= 0 && c.any(0, i, "still") >= 0
}

// exceptions reports whether the clause says of everything that it is done, and
// takes something out of it.
func (s *sentence) exceptions(n int) bool {
	c := &s.clauses[n]
	if (c.has("apart from") || c.has("aside from") || c.has("with the exception of") || c.has("save for") || c.has("not counting") || c.has("leaving out") || c.has("minus") || c.has("excluding")) && !s.supposed(n) && c.any(0, len(c.words), "nothing", "no", "none") < 0 {
		return c.of(finished|passing, 0, len(c.words)) >= 0 || n > 0 && s.clauses[n-1].of(finished|passing, 0, maxClause) >= 0
	}
	if n+1 < len(s.clauses) && s.clauses[n+1].excepts() && s.clauses[n+1].mark == "except" && (c.is(len(c.words)-1, finished|passing) || c.one(len(c.words)-1, "works", "done", "ready", "place")) && c.of(was|negator, 0, len(c.words)) < 0 && !s.supposed(n) {
		return true
	}
	if c.any(0, len(c.words), "all", "everything", "every") < 0 || s.supposed(n) || c.one(0, "nothing", "no", "none") {
		return false
	}
	k := c.of(finished|passing, 1, len(c.words))
	if k < 0 {
		k = c.any(1, len(c.words), "works", "place", "implemented", "did")
	}
	if k < 0 || c.of(was, 0, k) >= 0 {
		return false
	}
	return n+1 < len(s.clauses) && s.clauses[n+1].excepts() || c.has("other than") || c.has("besides")
}
