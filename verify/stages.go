package verify

import "strings"

// commits reports whether the sentence says that something was committed: the
// verb in the past or the perfect, a commit that was made, or a hash beside the
// word.
func (s *sentence) commits() bool {
	for n := range s.clauses {
		c := &s.clauses[n]
		if s.supposed(n) || c.any(0, len(c.words), "uncommitted") >= 0 {
			continue
		}
		for i, w := range c.words {
			switch {
			case w.low != "commit" && w.low != "commits" && w.low != "committed" && w.low != "committing":
				continue
			case s.negated(n, i) || c.supposed(i) || c.described(i) || s.toBeDone(n, i):
			case w.low == "committed":
				if !c.one(i-1, "be", "being", "already-", "get", "last", "previously") && !c.one(i+1, "offset", "offsets", "transaction", "transactions") && (c.low(i+1) != "to" || c.one(i+2, "the", "git", "main", "master", "branch", codeWord)) && s.subject(n, i) != actor {
					return true
				}
			case s.hash(n, i):
				return true
			case w.low == "committing":
			case made(c, i):
				return true
			}
		}
	}
	return false
}

// toBeDone reports whether the word at i is still to come: "will commit", "need to
// commit", "before committing".
func (s *sentence) toBeDone(n, i int) bool {
	c := &s.clauses[n]
	if k := c.any(i-4, i, "will", "to", "need", "needs", "going", "must", "please", "let", "before", "yet", "should", "ready", "can", "failed", "tried", "unable", "about"); k >= 0 {
		return !(c.low(k) == "to" && c.any(max(k-2, 0), k, "committed", "pushed", "managed") >= 0)
	}
	return c.before(i) || c.any(i+1, i+3, "yet", "later", "failed", "hook", "message", "template", "hooks", "guidelines", "history", "rejected", "fails") >= 0 && c.of(finite|mending, 0, i) < 0 && !s.hash(n, i)
}

// made reports whether the commit at i was made: "created a commit", "pushed two
// commits", "all changes are in commit".
func made(c *clause, i int) bool {
	if c.any(max(i-6, 0), i, "created", "made", "pushed", "added", "in", "as", "with", "wrote", "did", "one", "is", "amended", "squashed", "split", "into", "final", "latest", "new", "landed", "saved", "recorded") >= 0 {
		return !c.one(i+1, "hook", "hooks", "message", "messages", "template", "convention", "button", "endpoint", "parser", "command", "history")
	}
	return c.any(i+1, i+4, "made", "created", "pushed") >= 0
}

// hash reports whether a hash stands near the word at i: 7 to 40 hexadecimal
// digits, one of them at least a number.
func (s *sentence) hash(n, i int) bool {
	c := &s.clauses[n]
	for k := max(i-2, 0); k < min(i+4, len(c.words)); k++ {
		if isHash(c.words[k].raw) {
			return true
		}
	}
	return i == len(c.words)-1 && n+1 < len(s.clauses) && isHash(s.clauses[n+1].words[0].raw)
}

func isHash(text string) bool {
	text = strings.Trim(text, "`\"'")
	return len(text) >= 7 && len(text) <= 40 && strings.Trim(text, "0123456789abcdef") == "" && strings.ContainsAny(text, "0123456789")
}

// testsPass reports whether the sentence says that tests pass.
func (s *sentence) testsPass() bool {
	for n := range s.clauses {
		c := &s.clauses[n]
		if s.supposed(n) {
			continue
		}
		for i, w := range c.words {
			good := w.is(passing) || w.low == "passed" || w.low == "ok"
			if !good || s.negated(n, i) || c.supposed(i) || c.any(max(i-4, 0), i, "should", "will", "make", "to", "until", "must", "would", "expect", "hopefully", "getting", "get") >= 0 || c.of(behaves, 0, i) >= 0 && c.of(tester, 0, i) < 0 {
				continue
			}
			if w.low == "ok" && i == 0 && len(c.words) > 1 && n == 0 && !c.is(1, number) {
				return !c.one(1, "i", "so", "the", "let", "now") // "ok  example.com/pkg 0.3s"
			}
			counted := c.is(i-1, number) || c.is(i+1, number) && c.low(i) == "passed" || i+1 == len(c.words) && s.positive(n, i)
			if counted && w.low != "passing" || c.of(tester, 0, i) >= 0 && !c.one(i-1, "for") && !c.one(i+1, "the", "a", "arguments") || c.of(tester, i+1, i+4) >= 0 && c.one(i, "passed", "passing", "green") || s.about(n, i) && i > 0 && c.of(number, 0, i) >= 0 {
				return true
			}
		}
		if c.of(tester, 0, len(c.words)) >= 0 && c.of(failing|failure, 0, len(c.words)) >= 0 && c.one(0, "no", "0", "zero", "none") {
			return true
		}
		if c.mark == ":" && n > 0 && len(c.words) <= 2 && (c.is(0, passing) || c.one(0, "passed", "ok", "green")) && s.clauses[n-1].of(tester, 0, maxClause) >= 0 {
			return true
		}
	}
	return false
}

// approves is 1 if the sentence says that the work is approved or the review
// passed, -1 if it says the contrary, 0 if it says neither.
func (s *sentence) approves() int {
	yes := 0
	for n := range s.clauses {
		c := &s.clauses[n]
		for i, w := range c.words {
			switch {
			case w.low == "rejected" || w.low == "rejecting" || w.low == "rejects" && c.of(self, 0, i) >= 0 || w.low == "reject" && c.of(self, 0, i) >= 0:
				if s.ours(n, i) && c.any(i, len(c.words), "first", "earlier", "previous") < 0 && !s.supposed(n) && !s.negated(n, i) && !c.described(i) {
					return -1
				}
			case (w.low == "requested" || w.low == "required" || w.low == "requesting" || w.low == "request") && c.any(max(i-3, 0), i+3, "changes", "modifications") >= 0:
				if !s.supposed(n) && !s.negated(n, i) && !c.before(i) && !c.mended(i) && !c.any3(i, "no", "made", "addressed", "earlier", "all") && !(c.low(i) == "requested" && c.of(was, 0, i) >= 0) && c.low(i-1) != "the" && !c.one(i+1, "changes") || w.low == "requesting" || w.low == "request" && c.of(self, 0, i) >= 0 && !s.supposed(n) && !s.negated(n, i) {
					return -1
				}
			case w.low == "withheld" || w.low == "withhold" || w.low == "withholding" || w.low == "denied" && c.any(0, i, "approval") >= 0 || w.low == "refused" || w.low == "declined":
				if !s.supposed(n) && !s.negated(n, i) {
					return -1
				}
			case w.low == "approved" || w.low == "approve" || w.low == "approval" || w.low == "approving" || w.low == "lgtm" || w.low == "approves":
				switch v := s.approval(n, i); {
				case v < 0:
					return -1
				case v > 0:
					yes = 1
				}
			case w.is(passing) || w.low == "passed" || w.is(failing):
				if k := c.any(0, i, "review", "reviews"); k < 0 && !(i == 0 && n > 0 && c.mark == ":" && s.clauses[n-1].any(0, maxClause, "review") >= 0) || s.supposed(n) || c.described(i) {
					break
				}
				switch {
				case w.is(failing) && !s.negated(n, i) && !c.before(i) && !c.one(i+1, "tests"), !w.is(failing) && s.negated(n, i):
					return -1
				case !w.is(failing) && !c.supposed(i) && c.any(max(i-3, 0), i, "will", "to", "can", "cannot", "should") < 0:
					yes = 1
				}
			}
		}
	}
	return yes
}

// any3 reports whether one of the words stands near the word at i.
func (c *clause) any3(i int, lows ...string) bool { return c.any(max(i-4, 0), i+4, lows...) >= 0 }

// ours reports whether what is spoken of is the work under review.
func (s *sentence) ours(n, i int) bool {
	c := &s.clauses[n]
	return i == 0 || c.of(self, 0, i) >= 0 || c.of(work, 0, i) >= 0 || c.any(0, i, "verdict", "decision", "status", "change", "pull", "patch", "implementation", "result") >= 0 || c.mark == ":"
}

// approval judges a word for approval.
func (s *sentence) approval(n, i int) int {
	c := &s.clauses[n]
	if c.described(i) {
		return 0
	}
	conditional := n+1 < len(s.clauses) && (s.clauses[n+1].conditional() || s.clauses[n+1].mark == "once" || s.clauses[n+1].mark == "until" || s.clauses[n+1].mark == "except")
	denied := s.negated(n, i)
	if and := c.any(0, i, "and"); and >= 0 {
		denied = c.of(negator, and, i) >= 0 // "found no problems and approve"
	}
	switch {
	case denied || c.any(max(i-4, 0), i, "pending", "awaiting", "unable", "before", "cannot", "refuse") >= 0 || c.any(i+1, i+4, "withheld", "denied", "refused", "pending") >= 0 || c.any(i+1, i+5, "not") >= 0 && c.low(i) == "approval":
		if c.one(i-1, "un") || s.supposed(n) && c.of(self, 0, i) < 0 {
			return 0
		}
		return -1
	case s.supposed(n) || c.before(i):
		return 0
	case conditional || c.any(max(i-4, 0), i, "would", "could", "will", "should", "might", "need", "needs", "waiting", "require", "requires") >= 0:
		return -1
	case c.low(i) == "approval":
		if c.any(0, len(c.words), "granted", "given", "recommend", "grant", "has", "my") >= 0 {
			return 1
		}
		return 0
	case c.one(i+1, "users", "user", "orders", "requests", "flow", "button", "endpoint", "state", "status", "list", "accounts", "vendors"), s.subject(n, i) == actor:
		return 0
	}
	return 1
}
