package verify

import "strings"

// badly judges what is not done as well as it should be: "does not apply cleanly",
// "cover only the parser", "two thirds done", "200 rows failed to import".
func (s *sentence) badly(n, i int) bool {
	c := &s.clauses[n]
	switch c.low(i) {
	case "not":
		return s.notWell(n, i)
	case "only":
		return c.one(i-1, "cover", "covers", "support", "supports", "handle", "handles", "work", "works") && s.subject(n, i)&(work|tester) != 0 && s.atStatement(n) && !c.before(i)
	case "thirds", "third", "quarters", "quarter", "majority", "fraction":
		return c.of(be, 0, i) >= 0 && c.is(c.of(be, 0, i), finite) && c.is(i+1, finished) && s.stated(n, i+1)
	case "failed":
		return i > 0 && (c.low(i+1) == "to" && (c.definite() || c.is(0, number)) || c.low(i+1) == "" && c.is(i-1, work) && i <= 3) && s.stated(n, i) && !c.subordinate() && s.unmended(n)
	case "open":
		if c.one(0, "there") && c.is(1, be) && !c.is(1, was) && c.of(negator, 0, i) < 0 {
			return c.is(i+1, work) && s.stated(n, i)
		}
		if i == 0 && len(c.words) == 1 && c.mark == ":" && n == 1 && n == len(s.clauses)-1 {
			return len(s.clauses[0].words) <= 6 && s.clauses[0].of(behaves|making|mending, 0, maxClause) < 0
		}
		return c.is(i-1, be) && c.is(i-1, finite) && c.low(i+1) == "" && s.subject(n, i)&work != 0 && s.stated(n, i) && c.of(behaves, 0, i) < 0
	case "hand", "manually", "yourself":
		k := c.any(0, i, "be")
		return k > 0 && (c.low(k-1) == "must" || c.is(k-2, finite) && c.one(k-2, "has", "have", "needs", "need")) && c.is(k+1, finished|mending|making) && (s.subject(n, k)&(actor|self) == 0 || c.any(0, k, "job", "jobs", "row", "rows") > 0) && c.definite() && !s.supposed(n) && !s.intended(n) && !c.negated(i) && s.conditionFree(n)
	case "disabled", "off":
		if n+1 >= len(s.clauses) || s.clauses[n+1].mark != "because" || !c.is(i-1, be) || !c.is(i-1, finite) || c.is(i-1, was) || s.subject(n, i) == actor {
			return false
		}
		why := &s.clauses[n+1]
		return s.stated(n, i) && (why.of(failing|unfinished|negator, 0, len(why.words)) >= 0 || why.any(0, len(why.words), "crashes", "breaks", "hangs", "leaks", "broken", "flaky") >= 0)
	case "most", "half", "parts", "part", "much":
		if i == 0 && c.low(1) == "of" && c.one(2, "the", "this", "it", "my") {
			k := c.of(be, 3, len(c.words))
			return k > 0 && c.is(k, finite) && !c.is(k, was) && c.is(k+1, finished) && !c.one(k+1, "removed", "replaced", "there", "moved") && s.subject(n, k) != actor && s.unmended(n) && !s.supposed(n)
		}
		return c.low(i+1) == "of" && c.is(0, self) && c.one(i-1, "implemented", "finished", "migrated", "converted", "ported", "covered", "translated", "completed", "written", "done", "fixed") && s.unmended(n) && !s.supposed(n) && !c.before(i)
	case "draft":
		return c.low(i-1) == "in" && c.is(i-2, be) && c.is(i-2, finite) && s.stated(n, i) && s.subject(n, i) != actor
	case "necessary":
		return c.is(i-1, be) && c.any(0, i, "manual", "more", "further", "additional", "work") >= 0 && s.stated(n, i)
	case "running", "building", "processing", "importing", "compiling":
		return c.low(i-1) == "still" && c.is(i-2, be) && c.is(i-2, finite) && s.stated(n, i) && s.subject(n, i)&(work|tester) != 0
	}
	return false
}

// notWell judges a verb that is denied in the present tense: what should work, or
// works in a way that is not good enough.
func (s *sentence) notWell(n, i int) bool {
	c := &s.clauses[n]
	if s.supposed(n) || s.intended(n) || c.described(i) || c.before(i) || i > 0 && s.subject(n, i)&(actor|self) != 0 {
		return false
	}
	if c.one(i+1, "all", "every") {
		return i == 0 && !c.is(i+2, actor) && !c.is(i+3, actor) && (strings.HasSuffix(c.low(len(c.words)-1), "ed") || c.of(finished, 2, len(c.words)) > 0 || c.one(len(c.words)-1, "work", "works", "yet")) && c.any(0, len(c.words), "need", "needs", "required", "needed") < 0
	}
	if c.mark == "but" && n == len(s.clauses)-1 && c.low(i-1) == "did" && c.one(0, "it", "that", "this") {
		return i == 2 && c.one(i+1, "work", "help", "succeed", "solve", "fix")
	}
	if c.mark == "but" && c.one(0, "the", "its") && c.one(i-1, "does", "do") && c.low(i+1) != "" && s.conditionFree(n) {
		return !c.wrong() && !c.one(i+1, "need", "change", "affect", "require", "matter", "block", "break", "use", "depend", "hurt", "exceed", "touch", "lose", "leak", "have")
	}
	if c.low(i+1) == "possible" {
		return s.subject(n, i)&(work|tester) != 0 && c.is(i-1, be|was) && !c.one(0, "it")
	}
	if !c.one(i-1, "does", "do", "is", "are") || !s.conditionFree(n) || !c.definite() {
		return false
	}
	if k := c.any(i+2, len(c.words), "correctly", "properly", "cleanly", "reliably", "fully", "everywhere", "entirely", "consistently", "smoothly", "gracefully"); k > 0 && k <= i+6 {
		return true
	}
	return c.one(i-1, "does", "do") && c.one(i+1, "handle", "support", "respect", "honour", "honor", "scale", "survive", "render", "persist", "propagate", "refresh", "validate", "escape", "recognise", "recognize", "build", "match", "reach", "meet", "satisfy", "update") && c.low(0) != "it" &&
		c.any(i, len(c.words), "more", "longer", "any", "anything") < 0 && c.any(0, i, "old", "that", "server", "plan", "browser") < 0
}
