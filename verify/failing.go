package verify

// fails reports whether the clause says that tests, a build or a check fail, and
// whether it tells it in the past tense, which what follows may take back.
func (s *sentence) fails(n int) (found, past bool) {
	c := &s.clauses[n]
	if c.mark == ":" && n > 0 && (len(c.words) == 1 || len(c.words) == 2 && c.one(0, "still", "currently")) && c.is(len(c.words)-1, failing) {
		if b := &s.clauses[n-1]; b.of(tester, 0, len(b.words)) >= 0 && b.of(behaves|making|mending, 0, len(b.words)) < 0 {
			return true, false
		}
	}
	for i, w := range c.words {
		switch {
		case w.raw == "FAIL" || w.raw == "FAILED":
			if i > 0 && i == len(c.words)-1 && c.of(tester, 0, i) >= 0 && c.of(finite|negator|behaves|mending, 0, i) < 0 && !s.zero(n, i) && n == len(s.clauses)-1 {
				return true, false
			}
			if i == 0 && !s.zero(n, i) && c.mark != "(" && c.of(finite|behaves, 0, len(c.words)) < 0 {
				return true, false
			}
		case w.low == "fail" || w.low == "fails":
			if found = s.failsNow(n, i); found && c.any(0, i, "saw", "watched", "seen", "watch", "see") >= 0 {
				return true, true
			}
		case w.low == "failed":
			if s.failedTests(n, i) {
				return true, c.of(number, 0, i+3) < 0 || c.of(tester, 0, i) >= 0
			}
		case w.low == "failing":
			found = s.isFailing(n, i)
		case w.is(failure):
			if found = s.failures(n, i); found && c.of(was, 0, i) >= 0 {
				return true, true
			}
		case w.low == "broken" || w.low == "red" || w.low == "flaky" || w.low == "unstable" || w.low == "unhappy":
			found = s.isBroken(n, i)
		case w.low == "panic" || w.low == "panics" || w.low == "segfault" || w.low == "segfaults" || w.low == "deadlock" || w.low == "deadlocks":
			found = c.of(tester, 0, i) >= 0 && (c.is(i-1, tester|number) || c.one(i-1, "still", "and") || c.named(i)) && c.of(tester|number, 0, i) <= 3 && s.stated(n, i)
		case w.low == "hang" || w.low == "hangs" || w.low == "crash" || w.low == "crashes" || (w.low == "timing" || w.low == "times") && c.low(i+1) == "out" || w.low == "time" && c.low(i+1) == "out":
			found = c.of(tester, 0, i) >= 0 && (c.is(i-1, tester|number) || c.one(i-1, "still", "are", "is", "and") || c.one(0, "the", "one") && c.of(tester, 0, i) == 1 && c.of(finite|behaves|failing, 0, i) < 0) && s.stated(n, i)
		case w.low == "exits" || w.low == "exited" || w.low == "returned" || w.low == "ends" || w.low == "ended":
			found = c.of(tester, 0, i) >= 0 && c.one(i+1, "with", "non-zero", "nonzero", "1", "2") && (c.of(number, i+1, i+6) > 0 && c.any(i+1, i+5, "code", "status", "exit") > 0 || c.any(i+1, i+5, "non-zero", "nonzero") > 0 || c.one(i+2, "error", "errors") || c.one(i+3, "error", "errors")) && c.any(i, len(c.words), "on", "for", "as") < 0 && s.stated(n, i) && !(n+1 < len(s.clauses) && s.clauses[n+1].conditional())
		case w.low == "break":
			found = c.one(i-1, "changes", "still", "they", "these") && c.of(tester, i, i+5) >= 0 && c.any(i, i+4, "no", "any") < 0 && s.stated(n, i)
		case w.low == "broke":
			if c.of(tester, 0, i) >= 0 && c.of(tester, 0, i) >= i-2 && s.stated(n, i) && c.any(0, i, "that", "which") < 0 {
				return true, true
			}
		case w.low == "breaks" || w.low == "breaking":
			found = s.stated(n, i) && c.of(tester, i, i+4) >= 0 && c.of(negator, i, i+4) < 0 && c.of(behaves, 0, i) < 0 && c.one(i-1, "still", "this", "it", "change", "also")
		}
		if found || s.doesNotPass(n, i) || s.doesNotCompile(n, i) {
			return true, false
		}
	}
	return s.partlyPasses(n), false
}

// about reports whether the clause speaks of tests before the word at i, itself
// or by a pronoun or a count that stands for those of the clauses before: "most
// pass, but one fails".
func (s *sentence) about(n, i int) bool {
	c := &s.clauses[n]
	if c.named(i) {
		return true
	}
	if c.of(tester, 0, i) >= 0 {
		return !c.one(c.of(tester, 0, i)+1, "data", "account", "user", "server", "database", "cases")
	}
	for k := range i {
		if !c.is(k, number|finite|be|passing) && !c.one(k, "they", "it", "others", "rest", "the", "of", "them", "every", "each", "these", "those", "other", "also", "only", "again", "now", "and", "one", codeWord, "locally", "in", "which", "out", "total", "just", "all", "consistently", "sometimes", "occasionally", "intermittently") {
			return false
		}
	}
	for k := n - 1; k >= 0; k-- {
		if b := &s.clauses[k]; b.of(tester|passing, 0, len(b.words)) >= 0 || b.any(0, len(b.words), "passed") >= 0 {
			return true
		}
	}
	for k := n + 1; k < len(s.clauses); k++ {
		if b := &s.clauses[k]; b.of(passing, 0, len(b.words)) >= 0 || b.any(0, len(b.words), "passed") >= 0 {
			return c.of(number, 0, i) >= 0
		}
	}
	return false
}

// failsNow judges "fail" and "fails".
func (s *sentence) failsNow(n, i int) bool {
	c := &s.clauses[n]
	if !s.about(n, i) || !s.stated(n, i) {
		if !s.stated(n, i) || s.about(n, i) {
			return false
		}
		now := c.is(i-1, work) && c.one(0, "the", "this") && !(n+1 < len(s.clauses) && s.clauses[n+1].conditional()) && c.any(i+1, len(c.words), "expected", "designed", "intended", "error", "message", "clear") < 0 && !c.one(i+1, "fast", "loudly", "early", "for", "gracefully")
		return now || c.one(i-1, "still") && s.subject(n, i) != actor
	}
	for k := i - 1; k >= 0 && k >= i-4; k-- {
		if c.one(k, "make", "made", "makes", "to", "that", "will", "let", "lets") {
			if c.one(k, "made", "makes") && c.of(number, k, i) > 0 && c.of(mending, 0, k) < 0 {
				return true
			}
			return c.one(k-1, "continue", "continues", "started", "start", "began")
		}
	}
	if c.one(i+1, "fast", "loudly", "closed", "open", "over", "early", "the", "a", "gracefully", "without", "intentionally", "deliberately", "correctly", "unless", "before", "safe") || c.one(i+2, "expected", "intended", "designed", "purpose") {
		return false
	}
	if c.any(i+1, len(c.words), "without", "main", "master", "revert", "reverted", "unpatched", "old", "removed") >= 0 && c.any(0, i, "new") >= 0 {
		return false
	}
	if n+1 < len(s.clauses) && s.clauses[n+1].conditional() {
		return c.any(0, i, "tests", "specs") >= 0 && !s.undone(n+1) || c.named(i)
	}
	return !s.undone(n)
}

// conditional reports whether the clause is a condition of the one before.
func (c *clause) conditional() bool {
	return c.mark == "if" || c.mark == "when" || c.mark == "whenever" || c.mark == "unless"
}

// undone reports whether the clause speaks of the code without the change, where
// a good test has to fail.
func (s *sentence) undone(n int) bool {
	c := &s.clauses[n]
	return c.any(0, len(c.words), "revert", "reverted", "reverting", "undo", "undone", "removed", "without", "reintroduced", "unpatched", "disabled", "parent") >= 0 ||
		c.has("old code") || c.has("the bug") && c.mark != ""
}

// named reports whether a test is called by its name before the word at i.
func (c *clause) named(i int) bool {
	for _, w := range c.words[:min(i, len(c.words))] {
		if w.low == testCodeWord || len(w.raw) > 4 && w.raw[:4] == "Test" && w.raw[4] >= 'A' && w.raw[4] <= 'Z' {
			return true
		}
	}
	return false
}

// failedTests judges "failed": a count beside it, or tests as its subject. Other
// things that failed, such as failed jobs, are no tests.
func (s *sentence) failedTests(n, i int) bool {
	c := &s.clauses[n]
	switch {
	case s.zero(n, i):
		return false
	case i == 0 && c.of(tester, 1, 2) < 0:
		return s.positive(n, i) && s.lists(n) || c.low(1) == "to" && c.is(2, finishing) && s.stated(n, i)
	case c.low(i+1) == "to" && c.is(i-1, self):
		return s.stated(n, i)
	case c.is(i+1, tester):
		return s.attributive(n, i)
	case !s.about(n, i):
		return i == 1 && c.is(0, number) && len(c.words) == 2 && (n > 0 || len(s.clauses) > 1) && s.lists(n)
	}
	next := c.low(i + 1)
	if next != "" && !c.is(i-1, tester|number|was) && c.of(tester, i-3, i) < 0 && !c.is(i-1, finite) && !c.one(i-1, "of", "them") {
		return false
	}
	return s.stated(n, i) && !s.undone(n) && !c.one(i-1, "that")
}

// lists reports whether another clause of the sentence counts tests.
func (s *sentence) lists(n int) bool {
	for k := range s.clauses {
		if c := &s.clauses[k]; k != n && (c.any(0, len(c.words), "passed", "skipped", "total", "ok") >= 0 || c.of(passing|tester, 0, len(c.words)) >= 0) {
			return true
		}
	}
	return false
}

// zero reports whether a count of none follows the word at i, or stands before it.
func (s *sentence) zero(n, i int) bool {
	c := &s.clauses[n]
	if c.one(i-1, "0", "no", "zero") || c.one(i-2, "0", "no", "zero") && c.is(i-1, tester) {
		return true
	}
	if i+1 < len(c.words) {
		return c.one(i+1, "0", "none", "zero")
	}
	return n+1 < len(s.clauses) && s.clauses[n+1].mark == ":" && s.clauses[n+1].nothing()
}

// positive reports whether a count above zero follows as the value of a label:
// "failures: 2", "failed=2".
func (s *sentence) positive(n, i int) bool {
	c := &s.clauses[n]
	if i+1 < len(c.words) {
		return i+2 == len(c.words) && c.is(i+1, number)
	}
	return n+1 < len(s.clauses) && s.clauses[n+1].mark == ":" && s.clauses[n+1].is(0, number)
}

// isFailing judges "failing".
func (s *sentence) isFailing(n, i int) bool {
	c := &s.clauses[n]
	switch {
	case s.zero(n, i):
		return false
	case s.positive(n, i) && i <= 1, i == 0 && s.label(n, i) && !s.emptyAfter(n) && s.clauses[n+1].mark == ":" && n == 0:
		return true
	case c.of(tester, i+1, i+3) >= 0 && !c.is(i-1, be|was) && !c.one(i+1, "on", "in"):
		return s.attributive(n, i)
	case !s.about(n, i):
		return false
	}
	if c.of(was, i-3, i) >= 0 && c.any(0, i, "still") < 0 {
		return false
	}
	predicate := c.is(i-1, be|number|tester) || c.one(i-1, "still", "now", "currently", "them", "which", "remains", "also", "not", "keeps", "keep", "left") || c.of(be, i-3, i) >= 0
	return predicate && !c.one(i+1, "logins", "requests") && s.stated(n, i)
}

// attributive judges failing tests, failed tests: whether the clause says that
// there are some.
func (s *sentence) attributive(n, i int) bool {
	c := &s.clauses[n]
	if s.zero(n, i) || s.supposed(n) || s.negated(n, i) || c.supposed(i) || c.described(i) {
		return false
	}
	if s.label(n, len(c.words)-1) && i <= 3 && !s.emptyAfter(n) && !c.mended(i) && c.of(behaves|making, 0, i) < 0 {
		return true
	}
	if k := c.of(mending, 0, len(c.words)); k >= 0 && !c.mends(k) && (c.negated(k) || k > i) {
		return true
	}
	if c.any(0, i, "disabled", "skipped", "commented", "muted", "ignored", "excluded", "quarantined", "deselected", "skipping", "ignoring", "disabling", "disable", "skip") >= 0 {
		return true
	}
	if c.mended(i) || c.before(i) || c.of(making, 0, i) >= 0 || c.any(0, i, "with", "from", "for", "about", "started", "after") >= 0 || c.one(0, "the", "that", "this") && c.of(passing, i, len(c.words)) >= 0 {
		return false
	}
	if c.of(passing, i+1, len(c.words)) >= 0 || c.any(i, len(c.words), "passed", "works") >= 0 {
		return false
	}
	if c.any(0, len(c.words), "still", "remain", "remains", "remaining", "left") >= 0 || c.one(0, "there") && c.of(be, 0, i) >= 0 {
		return true
	}
	if c.of(was, 0, len(c.words)) >= 0 {
		return false
	}
	return c.of(number, 0, i) >= 0 || c.any(0, i, "has", "have", "leaves", "leaving", "shows", "reports", "is", "are", "a") >= 0
}

// failures judges failures and errors, of tests or of a tool that checks.
func (s *sentence) failures(n, i int) bool {
	c := &s.clauses[n]
	tests := c.of(tester, 0, i) >= 0 || c.one(0, "there") && c.of(number, 1, i) > 0 && c.of(tester, i, i+6) > 0 || i == 1 && c.is(0, number) && c.of(tester, i, i+6) > 0 || c.one(0, "there") && c.is(i-1, number) && i == len(c.words)-1 || c.any(0, i, "compile") >= 0 && c.is(i-1, number) || c.one(i-1, "type", "compile", "compiler", "lint", "typescript", "syntax") && c.of(number, 0, i) >= 0 || n > 0 && s.lists(n) && i <= 1 || c.any(0, i, "run", "runs") > 0 && c.of(number, 0, i) > 0
	if !tests || s.zero(n, i) || !s.stated(n, i) || c.of(making, 0, i) >= 0 {
		return s.positive(n, i) && i == 0 && s.lists(n)
	}
	if s.positive(n, i) {
		return true
	}
	if c.of(was, 0, i) >= 0 && c.of(number, i-3, i) < 0 {
		return false
	}
	return c.of(number, i-3, i) >= 0 && !c.one(i+1, "case", "cases", "path", "paths", "message", "messages") ||
		c.any(0, i, "still", "remaining") >= 0 && c.any(i-4, i, "has", "have", "reports", "shows", "are", "is") >= 0 ||
		c.any(0, i, "there") == 0 && c.of(be, 0, i) >= 0
}

// isBroken judges words for a state: the build is broken, the suite is still red.
func (s *sentence) isBroken(n, i int) bool {
	c := &s.clauses[n]
	if c.is(i+1, tester) && c.low(i) != "red" {
		return s.attributive(n, i)
	}
	if c.low(i-1) == "in" {
		return false // "printed in red"
	}
	k := c.of(be|was, 0, i)
	still := c.any(0, len(c.words), "still") >= 0
	if k < 0 && !still || c.is(k, was) && !still || !s.stated(n, i) {
		return false
	}
	return c.of(tester, 0, i) >= 0 || (still || c.low(i) == "broken") && i == k+1 && s.subject(n, i) != actor && c.low(i) == "broken" || still && c.low(i) == "broken"
}

// doesNotPass judges what is said not to pass.
func (s *sentence) doesNotPass(n, i int) bool {
	c := &s.clauses[n]
	if !c.is(i, passing) && !c.one(i, "passed") || s.supposed(n) || c.described(i) || c.before(i) {
		return false
	}
	tests := c.of(tester, 0, i)
	switch k := c.any(0, i, "not", "never", "cannot"); {
	case k >= 0 && (tests >= 0 || c.one(k+1, "all", "everything")):
		return i-k <= 6 && c.of(mending|behaves, k, i) < 0 && c.any(k, i, "break", "broke", "affect", "only", "change") < 0
	case c.any(0, i, "no", "none", "neither") == 0 && tests >= 0 && c.low(1) != "longer":
		return true
	case c.has("no longer"):
		return tests >= 0 && i-c.phrase("no longer") <= 3
	}
	return false
}

// doesNotCompile judges a build that does not come about.
func (s *sentence) doesNotCompile(n, i int) bool {
	c := &s.clauses[n]
	if !c.one(i, "compile", "compiles", "build", "builds", "type-check", "typecheck", "link", "run") || !c.one(i-1, "not", "longer") || c.any(i-3, i, "should", "would", "must", "may") >= 0 {
		return false
	}
	if s.supposed(n) || c.described(i) || c.before(i) {
		return false
	}
	if c.low(i) == "run" && c.of(tester, 0, i) < 0 {
		return false
	}
	return c.any(i-3, i, "does", "do", "no", "still", "did", "can", "will") >= 0
}

// partlyPasses judges tests of which only a part passes: 8 of 10, most, all but
// one, all except.
func (s *sentence) partlyPasses(n int) bool {
	c := &s.clauses[n]
	i := c.of(passing, 0, len(c.words))
	if i < 0 {
		i = c.any(0, len(c.words), "passed")
	}
	if i < 0 || !s.stated(n, i) || c.of(was, 0, i) >= 0 && c.low(i) != "passed" {
		return false
	}
	for k := range i + 3 {
		if part, whole, ok := c.ratio(k); ok {
			return part != whole
		}
	}
	if c.of(tester, 0, len(c.words)) < 0 {
		return false
	}
	return c.one(0, "only") && c.of(tester, 1, i) > 0 && !c.is(i-1, negator) || c.one(0, "most", "some") && c.of(self, 0, i) < 0 || c.has("all but") || c.has("only some") || n+1 < len(s.clauses) && s.clauses[n+1].excepts() && c.of(tester, 0, len(c.words)) >= 0
}

// excepts reports whether the clause takes something out of what was said.
func (c *clause) excepts() bool {
	return c.low(0) == "except" && !c.is(1, negator) || c.mark == "but" && len(c.words) <= 2 && c.is(0, number)
}
