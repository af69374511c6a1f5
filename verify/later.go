package verify

import "strings"

// postponed judges skipped, deferred, later, for now, follow-up.
func (s *sentence) postponed(n, i int) bool {
	c := &s.clauses[n]
	switch c.low(i) {
	case "skip", "defer", "postpone":
		return c.of(self, 0, i) >= 0 && c.one(i-1, "to") && c.one(i-2, "had", "chose", "decided", "have") && s.stated(n, i)
	case "skipped", "deferred", "postponed", "omitted", "skipping", "deferring", "postponing", "parked", "punted", "neglected":
		if !s.stated(n, i) || c.low(i+1) == "for" && c.is(i+2, actor) {
			return false
		}
		who := s.subject(n, i)
		if i == 0 {
			return c.one(1, "for", "the", "writing", "adding", "all", "some") || s.label(n, i) && !s.emptyAfter(n) && !s.positive(n, i) || c.is(1, work|tester) && (s.label(n, 1) || len(c.words) == 2)
		}
		if c.is(0, self) && i <= 4 || c.is(i-1, self) && c.one(0, "due", "given", "because", "for", "in", "with", "to") {
			return !c.one(i+1, "over", "to") || c.low(i+1) == "to"
		}
		return who&(work|tester) != 0 && (c.any(i, len(c.words), "now", "later", "follow-up", "moment", "next", "time") >= 0 || s.reasoned(n) || who == work && c.of(number, 0, i) < 0 && c.low(i) != "skipped" || who == work && c.is(i-1, was|be) && c.of(number, 0, i) < 0 && !c.one(i+1, "on", "in", "by", "with"))
	case "now", "moment":
		if c.low(i-1) != "for" && !c.at(i-2, "for the") || !s.stated(n, i) {
			return false
		}
		return !c.one(i-2, "all", "that", "done", "it", "is") && c.any(0, len(c.words), "disable", "stub", "stubbed", "skip", "skipped", "left", "placeholder", "hard-coded", "hardcoded", "disabled", "commented", "mock", "mocked", "fake", "dummy", "only", "out", "ignored", "just", "empty", "temporary", "manual", "returns", "blank") >= 0
	case "later":
		return c.any(0, i, "will", "left", "add", "done", "implement", "it", "be", "revisit") >= 0 && s.planned(n, i)
	case "follow-up", "followup":
		return (c.one(i-1, "a", "separate", "the", "another", "need", "needs", "as", "next", "for", "to") || c.low(i-1) == "as") && s.stated(n, i) && c.any(0, i, "will", "left", "leave", "needs", "need", "for", "in", "as", "requires", "deferred", "to", "planned") >= 0
	}
	return false
}

// planned reports whether the clause speaks of work that is to come: "will be
// done later", "will add it later", and not of what a program will do.
func (s *sentence) planned(n, i int) bool {
	c := &s.clauses[n]
	if !s.stated(n, i) {
		return false
	}
	if c.of(self, 0, i) >= 0 {
		return c.any(0, i, "will", "would", "leave", "plan", "can") >= 0
	}
	k := max(c.phrase("will be"), c.phrase("should be"))
	if s.subject(n, i) == actor && !c.one(k+2, "done", "implemented", "finished", "completed") {
		return false
	}
	return k >= 0 && c.is(k+2, finished|mending) || c.one(0, "to") && c.low(1) == "be" && c.is(2, finished|mending)
}

// announces judges what comes next: "the next step is to", "I will".
func (s *sentence) announces(n int) bool {
	c := &s.clauses[n]
	if s.supposed(n) || len(c.words) == 0 {
		return false
	}
	if n == 0 && c.one(0, "shall", "should") && c.is(1, self) && c.is(2, finishing) {
		return true // a question whether to go on
	}
	if n == 0 && s.label(0, len(c.words)-1) && !s.emptyAfter(0) && s.opens() && !s.positive(0, len(c.words)-1) {
		return true
	}
	for i := range c.words {
		switch {
		case c.low(i) == "next" && c.one(i+1, "step", "steps", "up", "task", "thing"):
			k := i + 2
			if c.at(k, "to do") {
				k += 2
			}
			if i > 0 && i <= 2 && c.one(0, "as") {
				return true
			}
			if c.low(i+1) == "up" && i == 0 && s.label(n, 1) {
				return true
			}
			return i <= 2 && !s.negated(n, i) && (c.one(k, "is", "are", "would", "will") && !c.one(k+1, "disabled", "enabled", "shown", "hidden", "not", "now") || s.label(n, i+1) && !s.emptyAfter(n))
		case c.one(i, "will", "going", "plan") && (c.of(self, max(i-3, 0), i) >= 0 || i == 0 && n == 0 && c.low(0) == "will"):
			k := i + 1
			for c.one(k, "to", "now", "next", "then", "also", "still") {
				k++
			}
			return c.is(k, finishing) && !c.one(k, "make") && s.stated(n, i) && c.any(i, len(c.words), "not") < 0 && !c.one(k+1, "here")
		case c.at(i, "ran out of"), c.at(i, "running out of"), c.at(i, "run out of"):
			return c.of(actor, 0, i) < 0 && s.stated(n, i) && c.one(i+3, "time", "budget", "tokens", "context", "turns", "ideas", "options", "steps", "memory", "quota")
		case c.at(i, "to be") && c.is(i-1, be) && c.is(i+2, finished), c.at(i, "will follow") && s.subject(n, i)&(work|tester) != 0:
			return s.stated(n, i)
		case c.low(i) == "next" && i == len(c.words)-1 && i > 1 && c.is(i-1, be):
			return s.stated(n, i)
		case c.low(i) == "please":
			return c.one(i+1, "provide", "grant", "confirm", "clarify", "advise", "decide", "tell", "give", "send", "share")
		case c.at(i, "stop") && c.at(i-2, "had to") && c.of(self, 0, i) >= 0:
			return c.one(i+1, "", "before", "here", "at", "there", "working") && s.subject(n, i) == self
		case c.at(i, "loose ends"), c.at(i, "rough edges"):
			return s.stated(n, i) && (c.low(i) == "loose" || c.of(be, 0, i) > 0 || c.one(0, "still", "some", "known")) && c.of(making, 0, i) < 0
		case c.one(i, "tbd", "tbc"), c.at(i, "to be continued"), c.at(i, "on hold"), c.at(i, "in the next iteration"):
			return s.stated(n, i) && s.subject(n, i) != actor
		case c.at(i, "still"):
			if c.of(self, 0, i) >= 0 && c.of(be, 0, i) >= 0 && (strings.HasSuffix(c.low(i+1), "ing") || c.one(i+1, "on", "in")) {
				return s.stated(n, i)
			}
		case c.one(i, "time", "chance", "opportunity"):
			if c.any(0, i, "not", "no") >= 0 && c.of(self, 0, i) >= 0 && c.one(i+1, "to", "for", "left") || c.at(i-1, "no time") && c.one(i+1, "to", "left", "for") {
				return !c.supposed(i) && !c.described(i)
			}
		case c.low(i) == "in" && c.low(i+1) == "progress":
			return s.stated(n, i) && (i == 0 && len(c.words) == 2 || c.is(i-1, be) || i == 1 && c.one(0, "still"))
		case c.one(i, "gave") && c.low(i+1) == "up", c.low(i) == "stuck" && c.one(i+1, "on", "with", "at", ""):
			return s.subject(n, i) == self && s.stated(n, i)
		}
	}
	return false
}
