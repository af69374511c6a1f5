package verify

import (
	"cmp"
	"strings"

	"github.com/ralph-loop/ralph"
)

// A reading is an answer as its statements, in order.
type reading struct {
	said  []statement
	found [kinds]string // the first sentence of each kind, "" = none
}

// A statement is a sentence and where it stands.
type statement struct {
	sentence
	text string
	mend bool // ticked, or in a list of what was fixed: it contradicts nothing
}

// read cuts an answer into statements and finds what its layout says: open check
// boxes, and lists of remaining work.
func read(text string) *reading {
	var (
		r       reading
		heading string // of a list of open work that nothing was found in yet
		mend    bool
		level   int
	)
	for _, b := range blocks(text) {
		if b.other {
			heading = ""
			continue
		}
		if b.done {
			heading = ""
			r.say(b, sentences(b.text), true)
			continue
		}
		if b.open {
			r.find(leftKind, cmp.Or(b.text, "[ ]"))
			continue
		}
		all := sentences(b.text)
		if len(all) == 0 {
			continue
		}
		title := b.level > 0 || !b.item && strings.HasSuffix(b.text, ":") && len(all) == 1
		if heading != "" && !title {
			if !settled(all) {
				r.find(leftKind, strings.TrimSuffix(heading, ":")+": "+b.text)
			}
			heading = ""
			if settled(all) {
				continue
			}
		}
		switch {
		case title:
			mend, level = all[0].mends(), b.level
			heading = ""
			if all[0].opens() {
				heading = b.text
				continue
			}
			if b.level > 0 && b.level < 7 {
				continue
			}
		case !b.item:
			mend = mend && level > 0 && level < 7
		}
		r.say(b, all, mend)
	}
	return &r
}

func (r *reading) say(b block, all []sentence, mend bool) {
	for _, s := range all {
		r.said = append(r.said, statement{sentence: s, text: b.text[s.start:s.end], mend: mend})
	}
}

func (r *reading) find(k kind, text string) {
	if r.found[k] == "" {
		r.found[k] = text
	}
}

// checks returns a failed check for each kind of contradiction.
func (r *reading) checks(patterns [][]token) []ralph.Check {
	for i := range r.said {
		r.judge(i, patterns)
	}
	var out []ralph.Check
	for k, text := range r.found {
		if text != "" {
			out = append(out, kind(k).check(text))
		}
	}
	return out
}

func (r *reading) judge(i int, patterns [][]token) {
	s := &r.said[i]
	if s.mend {
		return
	}
	if s.question && !s.clauses[0].one(0, "shall", "should", "how", "open", "could", "can", "todo") && !s.label(0, len(s.clauses[0].words)-1) {
		return // it says nothing
	}
	for n := range s.clauses {
		if s.marked(n) {
			r.find(markKind, s.text)
		}
		if fails, past := s.fails(n); fails && !(past && r.better(i, n, true)) {
			r.find(testKind, s.text)
		}
		if s.remains(n) && !(s.told(n) && r.better(i, n, false)) {
			r.find(leftKind, s.text)
		}
		if s.stopped(n) && !(s.told(n) && r.better(i, n, false)) {
			r.find(blockedKind, s.text)
		}
		for _, p := range patterns {
			if s.contains(n, p) {
				r.find(patternKind, s.text)
			}
		}
	}
}

// told reports whether the clause is in the past tense.
func (s *sentence) told(n int) bool {
	c := &s.clauses[n]
	return (c.of(was, 0, len(c.words)) >= 0 || c.any(0, len(c.words), "could", "did", "failed", "broke", "fell", "dropped") >= 0) && c.any(0, len(c.words), "still", "yet") < 0
}

// better reports whether what follows in the answer, not far away, says that it
// is well now. That tests pass takes back that they failed, and nothing else.
func (r *reading) better(i, n int, tests bool) bool {
	for k := i; k < min(i+4, len(r.said)); k++ {
		s := &r.said[k]
		for m := range s.clauses {
			if (k > i || m > n) && s.good(m, tests) {
				return true
			}
		}
	}
	return false
}

// contains reports whether a clause states the words of a pattern.
func (s *sentence) contains(n int, pattern []token) bool {
	c := &s.clauses[n]
	for i := range c.words {
		k := 0
		for k < len(pattern) && c.low(i+k) == pattern[k].low {
			k++
		}
		if k == len(pattern) && s.stated(n, i) && !(s.label(n, i+k-1) && s.emptyAfter(n)) {
			return true
		}
	}
	return false
}

// opens reports whether the sentence is the title of a list of open work.
func (s *sentence) opens() bool {
	c := &s.clauses[0]
	if c.any(0, len(c.words), "no", "nothing", "none", "zero", "without", "never") >= 0 || len(s.clauses) > 1 && s.clauses[1].nothing() || len(c.words) > 8 || c.subordinate() {
		return false
	}
	if len(s.clauses) > 1 && s.clauses[1].mark != ":" && s.clauses[1].mark != "(" {
		return false
	}
	if last := len(c.words) - 1; c.is(last, mending) && c.is(last-1, be|was) && c.low(last-1) != "be" {
		return false
	}
	text := " " + joined(c.words)
	for _, title := range []string{" remaining ", " next steps ", " next step ", " not done ", " not yet done ", " still to do ", " still open ", " left to do ", " still missing ", " still to be done ", " to do ", " todo ", " todos ", " to-do ", " to-dos ", " blockers ", " blocked ", " outstanding ", " unfinished ", " incomplete ", " open issues ", " open items ", " open points ", " open tasks ", " pending ", " known failures ", " failing tests ", " tests failing ", " failed tests ", " work remaining ", " tbd ", " next ", " open questions ", " open question ", " open issue ", " open item ", " open point ", " open task ", " known gap ", " known limitation ", " known limitations ", " not tested ", " untested ", " left out ", " on my list ", " not included ", " not covered ", " still to come ", " for later ", " could not do ", " not supported ", " outstanding work ", " still left ", " further work ", " future work ", " more work ", " yet to do ", " known gaps ", " to be done ", " known issue ", " known issues ", " known bug ", " known bugs ", " failures ", " what is left ", " what remains ", " not implemented ", " not yet implemented ", " missing ", " deferred ", " skipped ", " work left ", " follow-ups ", " follow-up ", " still need ", " still needs ", " still needed ", " in progress ", " wip "} {
		if strings.Contains(text, title) {
			return !c.mended(len(c.words)) && c.of(making, 0, len(c.words)) < 0 && c.of(behaves, 0, len(c.words)) < 0
		}
	}
	return false
}

// mends reports whether the sentence is the title of a list of what was fixed or
// of how it was.
func (s *sentence) mends() bool {
	c := &s.clauses[0]
	if len(c.words) > 6 {
		return false
	}
	for k := range c.words {
		if c.mends(k) && !c.one(k, "done", "completed", "finished", "merged") || c.one(k, "before", "previously") {
			return true
		}
	}
	return false
}

// settled reports whether a list of open work is empty: "None.", "Nothing, all
// is done".
func settled(all []sentence) bool {
	s := &all[0]
	c := &s.clauses[0]
	if c.nothing() || c.is(0, emptiness) && c.any(0, len(c.words), "except", "but") < 0 {
		return true
	}
	if c.one(0, "there", "all", "everything", "nothing") {
		return c.of(negator, 0, 4) >= 0 || c.of(finished|mending, 0, len(c.words)) >= 0
	}
	return false
}
