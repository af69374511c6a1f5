package verify

import "strings"

// stopped reports whether the clause says that something keeps the agent from
// going on.
func (s *sentence) stopped(n int) bool {
	c := &s.clauses[n]
	for i := range c.words {
		switch c.low(i) {
		case "blocked":
			if s.isBlocked(n, i) {
				return true
			}
		case "blocker", "blockers":
			if s.label(n, i) && i <= 2 && !s.emptyAfter(n) && !s.negated(n, i) || c.of(be, 0, len(c.words)) >= 0 && s.stated(n, i) && (c.one(0, "there") || c.one(i-1, "a", "main", "only", "one", "real") && c.of(was, 0, len(c.words)) < 0) {
				return true
			}
		case "blocks", "blocking", "prevents", "stops":
			if s.stated(n, i) && (c.one(i+1, "me", "us", "this", "progress", "further", "completion") || c.of(work, i+1, i+4) >= 0 && c.low(i) == "blocks") {
				return true
			}
		case "waiting", "awaiting":
			if s.isWaiting(n, i) {
				return true
			}
		case "access", "permission", "permissions", "credentials", "rights":
			if c.of(self, 0, i) >= 0 && c.any(0, i, "not", "no", "lack", "without") >= 0 && c.any(0, i, "have", "had", "got", "lack") >= 0 && !s.supposed(n) && !c.before(i) {
				return true
			}
		case "stuck":
			if s.stated(n, i) && c.of(be|was, 0, i) > 0 && c.one(i+1, "on", "at", "with", "in", "behind", "") && s.subject(n, i) != actor {
				return true
			}
		case "not", "unable":
			if s.cannot(n, i) {
				return true
			}
		case "failed":
			if c.low(i+1) == "to" && c.is(i+2, finishing) && s.subject(n, i) == self && s.stated(n, i) {
				return true
			}
		}
	}
	return false
}

func (s *sentence) isBlocked(n, i int) bool {
	c := &s.clauses[n]
	next := c.low(i + 1)
	who := s.subject(n, i)
	switch {
	case !s.stated(n, i) || who == actor:
		return false
	case next != "" && !c.one(i+1, "by", "on", "until", "at", "from", "pending", "here", "waiting", "right", "currently", "because", "and", "again", "in", "for", "there", "as", "with"):
		return false
	case i == 0:
		return next == "by" || next == "on" || next == "until" || s.label(n, i) && !s.emptyAfter(n) || len(c.words) == 1 && (n == 0 || c.mark == ":")
	case who != 0:
		return true
	}
	verb := c.of(be|was, 0, i)
	return verb > 0 && !strings.HasSuffix(c.low(verb-1), "s") && !c.one(verb-1, "range", "page", "port", "address", "url", "domain", "host", "path", "script", "thread", "input") && (!c.one(verb, "be") || c.any(0, verb, "will", "can") < 0) && c.any(i, len(c.words), "firewall", "middleware", "rule", "filter", "rate-limiter", "limiter") < 0
}

func (s *sentence) isWaiting(n, i int) bool {
	c := &s.clauses[n]
	if !s.stated(n, i) || c.low(i) == "waiting" && !c.one(i+1, "for", "on", "until") {
		return false
	}
	if c.of(behaves, 0, i) >= 0 || c.of(mending, 0, i) >= 0 {
		return false
	}
	if i == 0 {
		return c.any(1, len(c.words), "is", "are", "was", "takes", "works") < 0 && (n == 0 || c.mark != ",") && c.any(0, len(c.words), "lock", "timeout", "goroutines", "goroutine") < 0
	}
	who := s.subject(n, i)
	return (who == self || who == work || who == tester) && c.of(be, max(i-4, 0), i) >= 0
}

// cannot judges "cannot", "could not" and "unable to" of the agent or the work.
func (s *sentence) cannot(n, i int) bool {
	c := &s.clauses[n]
	if s.supposed(n) || c.described(i) || c.before(i) {
		return false
	}
	who := s.subject(n, i)
	k := i + 1
	if c.low(i) == "unable" {
		if k++; !c.one(i+1, "to") || s.negated(n, i) {
			return false
		}
	} else if !c.one(i-1, "can", "could") {
		return false
	}
	for c.one(k, "be", "yet", "fully", "currently", "get") && k < len(c.words)-1 {
		k++
	}
	if c.one(k, "find", "see", "reproduce", "think", "spot", "happen") || c.one(k, "longer") || c.any(k, len(c.words), "twice", "anymore") >= k {
		return false
	}
	switch who {
	case self:
		return true
	case work, tester:
		return (c.is(k, finishing|finished) || c.one(k, "deployed", "merged", "released", "done")) && !c.one(0, "a", "an")
	case actor:
		return false
	}
	if c.low(i-1) == "could" && c.low(i+1) == "be" && strings.HasSuffix(c.low(k), "ed") && (c.one(0, "the", "this", "some", "a") && !c.one(0, "a") || c.is(0, number)) {
		return c.any(k, len(c.words), "any", "found") < 0
	}
	strong := c.one(k, "complete", "finish", "proceed", "completed", "finished", "tested", "verified", "implemented", "done")
	return strong && !c.one(0, "a", "an", "you") && (c.of(be, i, k) < 0 || c.any(k, len(c.words), "without", "until", "here", "yet", "because") >= 0 || s.reasoned(n)) && !s.ruled(n)
}

// reasoned reports whether a reason follows.
func (s *sentence) reasoned(n int) bool {
	return n+1 < len(s.clauses) && (s.clauses[n+1].mark == "because" || s.clauses[n+1].mark == "until")
}

// ruled reports whether the clause is a rule of the product: a condition follows.
func (s *sentence) ruled(n int) bool {
	return n+1 < len(s.clauses) && (s.clauses[n+1].conditional() || s.clauses[n+1].mark == "while")
}
