package ralph

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// judge takes over the verdict on a claim.
func (s State) judge(it Iteration) State {
	if it.Fault != FaultRateLimit && it.Fault != FaultInterrupted {
		s.RateLimits = 0
	}
	if it.Fault == FaultInterrupted || it.Blocked || !it.Claimed && !s.Task.Always {
		return s
	}
	before := s.Verdict
	s.Verdict = it.Verdict.bounded()
	if it.Verdict.Passed {
		s.Feedback, s.Repeated = "", 0
		return s
	}
	s.Repeated = s.repeated(before, it)
	s.Feedback = it.Verdict.Feedback
	if it.Verdict.Undecided() {
		s.Feedback = undecidedNote + s.Feedback
	}
	s.Feedback = bound(s.Feedback, maxFeedback)
	return s
}

const undecidedNote = "The checks could not be run, so this says nothing about your work: "

// repeated is how often in a row a rejection has come, with that of it, where the last
// one came with before. An iteration that changed nothing gives no new one: that is a
// stall, and one whose checks could not run says nothing.
func (s State) repeated(before Verdict, it Iteration) int {
	now := s.Verdict
	switch {
	case now.Undecided() || now.Feedback == "" && len(now.Checks) == 0:
		return s.Repeated
	case s.Repeated == 0 || !now.sameAs(before):
		return 1
	case s.unchanged(it):
		return s.Repeated
	}
	return s.Repeated + 1
}

// sameAs reports whether two rejections say the same, but for what differs each time.
func (v Verdict) sameAs(w Verdict) bool {
	return steady(v.Feedback) == steady(w.Feedback) && slices.EqualFunc(v.Checks, w.Checks, func(a, b Check) bool {
		return a.Name == b.Name && a.Status == b.Status
	})
}

// units are what follows the number of a duration.
func units() []string {
	return []string{"ns", "us", "µs", "ms", "s", "m", "h", "sec", "secs", "second", "seconds", "min", "mins", "minutes"}
}

// steady is a text without what differs each time that a check says the same:
// durations, clock times and hexadecimal numbers are left out. Other numbers stay, for 3
// tests that failed are not 17.
func steady(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		n := 0
		for n < len(text) && partOfWord(text[n:]) {
			_, size := utf8.DecodeRuneInString(text[n:])
			n += size
		}
		if n == 0 {
			_, n = utf8.DecodeRuneInString(text)
			b.WriteString(text[:n])
			text = text[n:]
			continue
		}
		word := text[:n]
		text = text[n:]
		if next, found := strings.CutPrefix(text, " "); found && isNumber(word) && slices.Contains(units(), firstWord(next)) {
			text = next[len(firstWord(next)):] // as in 1.2 s
			continue
		}
		if !fleeting(word) {
			b.WriteString(word)
		}
	}
	return b.String()
}

func partOfWord(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	if r == '.' || r == ':' { // between digits alone, as in 0.5 and 12:30
		return len(text) > 1 && text[1] >= '0' && text[1] <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func firstWord(text string) string {
	n := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	if n < 0 {
		return text
	}
	return text[:n]
}

func isNumber(word string) bool { return word != "" && strings.Trim(word, "0123456789.") == "" }

// fleeting reports whether a word is a duration, a clock time or an address: 0.53s,
// 1m2.5s, 12:30:05, 0xc000012345.
func fleeting(word string) bool {
	if strings.HasPrefix(word, "0x") || strings.Contains(word, ":") && strings.Trim(word, "0123456789.:") == "" {
		return true
	}
	rest, some := word, false
	for rest != "" {
		number := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789."))]
		unit := firstWord(rest[len(number):])
		if number == "" || !slices.Contains(units(), unit) {
			return false
		}
		rest, some = rest[len(number)+len(unit):], true
	}
	return some
}
