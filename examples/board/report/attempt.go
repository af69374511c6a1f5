package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/board"
)

// A result is how an attempt ended, as the page shows it: its mark and its shape differ
// as well as its colour.
type result struct {
	Class string
	Mark  string
	Word  string
	Tall  int // of a bar, in pixels
}

// results are all of them, in the order of the legend. The first that fits an attempt is
// its result, see resultOf.
func results() []result {
	return []result{
		{"working", "…", "at work", 16},
		{"interrupted", "⏸", "interrupted", 10},
		{"fault", "!", "fault", 10},
		{"verified", "✓", "verified", 16},
		{"undecided", "?", "not decided", 16},
		{"rejected", "✗", "rejected", 16},
		{"blocked", "■", "blocked", 13},
		{"unclaimed", "–", "no promise", 6},
	}
}

// Top is where its bar begins, in pixels from the top of its row.
func (r result) Top() int { return 16 - r.Tall }

// resultOf is how an attempt ended. Live says that a process works on it.
func resultOf(a board.Attempt, live bool) result {
	v := a.Verdict
	judged := v.Passed || v.Feedback != "" || len(v.Checks) > 0
	is := map[string]bool{
		"working":     !a.Ended && live,
		"interrupted": !a.Ended || a.Fault == ralph.FaultInterrupted,
		"fault":       a.Fault != "",
		"verified":    v.Passed,
		"undecided":   judged && v.Undecided(),
		"rejected":    judged,
		"blocked":     a.Blocked,
		"unclaimed":   true,
	}
	for _, r := range results() {
		if is[r.Class] {
			return r
		}
	}
	return result{}
}

// An attempt is a row of the table of a loop.
type attempt struct {
	Anchor  string
	Name    string
	Sort    int
	Result  result
	Start   moment
	Took    string
	TookMS  int64
	Cost    cost
	In, Out int64
	Model   text
	// Brief is the first line of the reason, and Parts all there is to read; nil = nothing
	// more than Brief.
	Brief text
	Parts []part
	Files []text
	// Changed is how many files changed.
	Changed int
}

// A part is a paragraph of what there is to read of an attempt.
type part struct {
	Name  string
	Text  text
	Items []text
}

// InText and OutText are the tokens.
func (a attempt) InText() string  { return amount(a.In) }
func (a attempt) OutText() string { return amount(a.Out) }

// Summary stands for an attempt of which there is more to read, and nothing brief to say.
func (a attempt) Summary() string {
	var all []string
	for _, p := range a.Parts {
		switch {
		case p.Name == namedChecks:
			all = append(all, count(len(p.Items), "check"))
		default:
			all = append(all, strings.ToLower(p.Name[:1])+p.Name[1:])
		}
	}
	if a.Changed > 0 {
		all = append(all, count(a.Changed, "file"))
	}
	return strings.Join(all, ", ")
}

// span is when an attempt ran; zero = that is not known.
func span(a board.Attempt, until time.Time) (from, to time.Time) {
	from, to = a.Start, a.End
	if to.IsZero() && a.Ended {
		to = from.Add(a.Elapsed)
	} else if to.IsZero() {
		to = until
	}
	if from.IsZero() {
		from = to.Add(-a.Elapsed)
	}
	if to.Before(from) || a.Start.IsZero() && a.End.IsZero() {
		to = from
	}
	if a.Start.IsZero() && a.End.IsZero() {
		return time.Time{}, time.Time{}
	}
	return from, to
}

// attempt is the row of one.
func (p *page) attempt(a board.Attempt, live bool, anchor string) attempt {
	used := a.Usage.Add(a.Verdict.Usage)
	row := attempt{
		Anchor: anchor, Name: fmt.Sprint(a.Number), Sort: a.Number*1000 + a.Attempt, Result: resultOf(a, live), Start: p.at(a.Start), Took: took(a.Elapsed), TookMS: a.Elapsed.Milliseconds(),
		Cost: costOf(used, 1, unpriced(a)), In: max(used.InputTokens, 0), Out: max(used.OutputTokens, 0), Model: line(a.Model), Changed: len(a.Files),
	}
	if a.Attempt > 1 {
		row.Name += fmt.Sprintf(" (attempt %d)", a.Attempt)
	}
	room := &purse{p.each}
	reason := p.reason(a)
	row.Brief = brief(reason)
	if room.take(row.Brief); row.Brief != reason {
		row.add(room, "Reason", reason)
	}
	row.items(room, namedChecks, checks(a.Verdict))
	for _, name := range a.Files {
		if room.left == 0 {
			row.Files = append(row.Files, text(fmt.Sprintf("and %d more", len(a.Files)-len(row.Files))))
			break
		}
		row.Files = append(row.Files, room.take(line(name)))
	}
	row.items(room, "Ended, since the agent had left it running", lines(a.Iteration.Ended))
	row.items(room, "Learned", lines(a.Learnings))
	row.add(room, "Not looked at", said(a.Unseen))
	row.add(room, "Last words", said(a.Words))
	return row
}

func (row *attempt) add(room *purse, name string, t text) {
	if t != "" {
		row.Parts = append(row.Parts, part{Name: name, Text: room.take(t)})
	}
}

func (row *attempt) items(room *purse, name string, all []text) {
	if len(all) == 0 {
		return
	}
	part := part{Name: name}
	for i, t := range all {
		if room.left == 0 {
			part.Items = append(part.Items, text(fmt.Sprintf("and %d more", len(all)-i)))
			break
		}
		part.Items = append(part.Items, room.take(t))
	}
	row.Parts = append(row.Parts, part)
}

// reason is why an attempt ended as it did; "" = there is nothing to say.
func (p *page) reason(a board.Attempt) text {
	switch {
	case a.Fault != "":
		why := join(": ", text(words(string(a.Fault))), said(a.Error))
		if a.RetryAfter > 0 {
			why = join("; ", why, text("again after "+took(a.RetryAfter)))
		}
		return why
	case a.Verdict.Feedback != "":
		return said(a.Verdict.Feedback)
	case a.Blocked:
		return said(a.Obstacle)
	case a.NearMiss != "" && a.NearMiss != ralph.WhyNone:
		return text("what looked like a promise was none: " + words(a.NearMiss))
	}
	return ""
}

// words are those of a name for programs.
func words(name string) string {
	return strings.ReplaceAll(string(line(name)), "_", " ")
}

// mostBrief is how long a reason is that stands in the table, in characters.
const mostBrief = 140

// brief is the beginning of a reason.
func brief(reason text) text {
	first, _, more := strings.Cut(string(reason), "\n")
	if all := []rune(first); len(all) > mostBrief {
		return text(all[:mostBrief]) + " …"
	}
	if more {
		return text(first) + " …"
	}
	return text(first)
}

// namedChecks is the name of the part that tells them.
const namedChecks = "Checks"

// checks are the evidence of a verdict.
func checks(v ralph.Verdict) (all []text) {
	for _, c := range v.Checks {
		t := line(c.Name) + " " + line(string(c.Status))
		if c.ExitCode != nil {
			t += text(fmt.Sprintf(" (exit %d)", *c.ExitCode))
		}
		if c.Duration > 0 {
			t += text(" in " + c.Duration.Round(time.Millisecond).String())
		}
		all = append(all, join(": ", t, line(c.Detail)))
	}
	return all
}
