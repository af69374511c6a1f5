package verify

// marked reports whether the clause says that a mark of open work is in the code,
// or is such a mark itself: "TODO: rate limiting", "I left a FIXME".
func (s *sentence) marked(n int) bool {
	c := &s.clauses[n]
	if n > 0 && c.mark == "," && c.is(0, marker) && s.clauses[n-1].of(marker, 0, maxClause) > 0 && !s.marked(n-1) && c.any(0, len(c.words), "left", "remain", "still") < 0 {
		return false // goes on with a list of marks
	}
	for i, w := range c.words {
		if c.any(0, len(c.words), "implemented", "did") >= 0 && !s.negated(n, c.any(0, len(c.words), "implemented", "did")) {
			return false
		}
		lower := w.low == "todo" || w.low == "todos" || w.low == "fixme"
		switch {
		case w.is(marker):
		case lower && i == 0 && (n == 0 || s.clauses[n].mark == ":") && s.label(n, i):
		case lower && c.any(0, i, "left", "leaves", "remaining", "put") >= 0 && c.low(i+1) == "":
		default:
			continue
		}
		if w.is(marker) && i == 0 && len(c.words) == 1 && c.mark == ":" && n == 1 && !s.clauses[0].words[0].is(mending|making) {
			return true // as a value: "rate limiting: TODO"
		}
		if s.label(n, i) && i <= 1 {
			return !s.emptyAfter(n) && c.any(0, i, "no", "old", "every", "removed", "the") < 0 && !s.supposed(n)
		}
		if !s.stated(n, i) || c.any(0, i, "every", "each", "all", "for", "counts", "any", "about", "grep", "grepped", "searched", "previous", "both", "forbids", "of", "word", "string") >= 0 && c.any(0, len(c.words), "still", "remain", "left", "remains") < 0 {
			continue
		}
		if c.one(i+1, "comments", "comment", "markers", "marker", "tags", "list", "app", "items", "entries", "parser", "branch", "commit", "commits", "prefix", "label", "limit", "scanner", "count", "counter") && c.any(0, len(c.words), "left", "still", "remain", "remains", "remaining", "leaves", "added", "contains") < 0 {
			continue
		}
		if k := c.of(behaves, i+1, len(c.words)); k > 0 && c.is(k+1, emptiness) {
			continue // "grep TODO finds nothing"
		}
		if w.raw == "WIP" && !(c.of(be, 0, i) >= 0 || i == 0 || c.one(i-1, "as")) {
			continue
		}
		return i == 0 && (w.raw == "WIP" || c.one(1, "in", "left", "remain", "remains", "still", "to") || len(c.words) > 1 && c.of(finite, 1, 3) < 0) || i > 0 && !c.passed(i)
	}
	return false
}

// passed reports whether a mark is only the subject of something that is past.
func (c *clause) passed(i int) bool {
	return (c.of(was, i, len(c.words)) >= 0 || c.one(0, "there") && c.is(1, was)) && c.any(0, len(c.words), "still", "left") < 0
}

// label reports whether a colon follows the word at i.
func (s *sentence) label(n, i int) bool {
	return i+1 == len(s.clauses[n].words) && n+1 < len(s.clauses) && (s.clauses[n+1].mark == ":" || s.clauses[n+1].mark == "—" || s.clauses[n+1].mark == "–" || s.clauses[n+1].mark == "-")
}

// emptyAfter reports whether what follows a label is "none" or another word for
// it.
func (s *sentence) emptyAfter(n int) bool {
	return n+1 < len(s.clauses) && s.clauses[n+1].nothing()
}

// nothing reports whether the clause is a word for an empty list.
func (c *clause) nothing() bool {
	if len(c.words) == 0 || len(c.words) > 6 {
		return len(c.words) == 0
	}
	if c.one(0, "none", "nothing", "0", "zero", "n/a", "nil") {
		return c.any(1, len(c.words), "but", "except", "besides") < 0
	}
	return c.one(0, "empty", "no", "not") && c.of(finite, 0, len(c.words)) < 0 && c.one(len(c.words)-1, "empty", "hits", "more", "items", "matches", "left", "open", "remaining", "applicable", "issues", "work", "tasks", "blockers", "known") ||
		c.of(mending, 0, len(c.words)) == 0 && len(c.words) == 1 || c.at(0, "all done") || c.one(0, "no") && len(c.words) == 1
}
