package progress

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/term"
)

const (
	maxHeading  = 100 // columns: a rule over a whole wide screen is no help
	quotedLines = 20  // of a verdict's feedback
)

// show shows an event that stays.
// What comes often (usage, answers, records of hooks) is seen in the last line instead:
// a screen on which lines of ours outnumber the agent's is not read.
func (d *Display) show(l *displayed, ev ralph.Event) {
	it := ev.Iteration
	switch ev.Kind {
	case ralph.EventLoopStarted:
		if title := l.s.Task.Title; title != "" && (l.place != "" || d.named(l) != "") {
			d.note(l, ev, styleNote, join(term.Line(l.place), title))
		}
		d.unseen(l, ev, l.s.Unseen)
	case ralph.EventIterationStarted:
		d.heading(l, ev)
	case ralph.EventIterationEnded:
		// An end that has no beginning here is that of an attempt whose process has died:
		// that servers of its agent are gone, too, is news to people. What an attempt of
		// this run leaves behind is ended as a matter of course.
		if !l.begun {
			for _, command := range it.Ended {
				d.note(l, ev, styleNote, "ended what the last run has left running: "+command)
			}
		}
		d.outcome(l, ev)
	case ralph.EventLoopStopped:
		// The end of a loop that stands alone is told by its caller, see Closing: it would
		// stand there twice.
		if l.place != "" || d.named(l) != "" {
			text, style := Closing{State: l.s}.verdict(), styleBad
			if d.named(l) == "" {
				text = join(term.Line(l.place), text)
			}
			if l.s.Stop == ralph.StopVerified {
				style = styleGood
			}
			d.note(l, ev, style, text)
		}
	default:
		text := noted(ev)
		waits := ev.Kind == ralph.EventWaiting && ev.State == nil && l.s.Wait > 0
		switch {
		case waits && l.s.RateLimits > 0:
			text = l.limited(ev.Time, d.zone())
		case waits && l.s.Retries > 0 && l.s.RateLimits == 0:
			text = l.retry(ev.Time)
		case ev.Kind == ralph.EventLimitsChanged && l.s.Asked != 0:
			text = fmt.Sprintf("asked to stop after iteration %d", l.s.Task.Limits.Iterations)
		case ev.Kind == ralph.EventLimitsChanged && l.known:
			text = strings.TrimSuffix(text+": "+limitsChanged(l.limits, l.s.Task.Limits), ": ")
		}
		if text != "" {
			d.note(l, ev, styleWaiting, text)
		}
	}
}

// noted is what is said of an event that needs no more than a line; "" = nothing.
// Kinds that are not known say nothing, for later versions add some.
// That somebody has paused or changed a loop is told although nothing failed: it may have
// been another person, in another window.
func noted(ev ralph.Event) string {
	switch ev.Kind {
	case ralph.EventWaiting:
		return cmp.Or(ev.Text, "waiting")
	case ralph.EventLearned:
		return "learned: " + ev.Text
	case ralph.EventCancelled:
		return strings.TrimSuffix("cancelled: "+ev.Text, ": ")
	case ralph.EventGuided:
		if ev.State != nil { // all advice there is: the last of it is new
			all := ev.State.Guidance
			ev.Text = strings.Join(all[len(all)-min(max(ev.State.Late, 1), len(all)):], "; ")
		}
		return strings.TrimSuffix("guided: "+ev.Text, ": ")
	case ralph.EventPaused, ralph.EventContinued, ralph.EventReopened, ralph.EventLimitsChanged:
		return strings.ReplaceAll(string(ev.Kind), "_", " ")
	}
	return ""
}

// note shows a line of our own. All that others have written goes through here, and
// becomes a part of one line.
// On a terminal it has a mark, for there it stands among what agents say; in a file the
// time at its beginning is mark enough, and what is told at once stays one line for
// those who search.
func (d *Display) note(l *displayed, ev ralph.Event, s style, text string) {
	text = join(d.named(l), term.Line(text))
	clock := d.clock(ev)
	if !d.Terminal {
		d.timed = time.Now()
		d.put([]byte(clock+" "+text+"\n"), true)
		return
	}
	var b strings.Builder
	for _, line := range wrap("── "+clock+" "+text, indent, d.columns-1) {
		b.WriteString(d.paint(s, line) + "\n")
	}
	d.put([]byte(b.String()), true)
}

// clock is when an event was.
// An event without a time is one that a caller has made up: it is shown as of now.
// It has no date: a line has few columns, and the records have the whole.
func (d *Display) clock(ev ralph.Event) string {
	at := ev.Time
	if at.IsZero() {
		at = time.Now()
	}
	return at.In(d.zone()).Format(time.TimeOnly)
}

// join joins texts that are not empty.
// Nearly every part of a line may be unknown, and none may leave its separator behind.
func join(texts ...string) string {
	var kept []string
	for _, text := range texts {
		if text != "" {
			kept = append(kept, text)
		}
	}
	return strings.Join(kept, between)
}

// heading begins an iteration. On a terminal it is a rule, which ends before the last
// column: some terminals begin a new line there, and others do not.
// It is the one line that is looked for when scrolling back, so it has the time, the
// place and the number, and a blank line before it.
func (d *Display) heading(l *displayed, ev ralph.Event) {
	label := l.label()
	if l.attempt > 1 {
		label += fmt.Sprintf(", attempt %d", l.attempt)
	}
	if !d.Terminal {
		d.note(l, ev, styleNote, join(l.place, label, d.agent()))
		return
	}
	width := min(d.columns-1, maxHeading)
	text := "── " + d.clock(ev) + " "
	text += fit([]part{
		{text: d.named(l), cut: 8, whole: 3}, {text: l.place, rank: 2, cut: 12, whole: 3}, {text: label, rank: 1}, {text: d.agent(), rank: 4},
	}, width-term.Width(text))
	if rest := width - term.Width(text) - 1; rest > 1 {
		text += " " + strings.Repeat("─", rest)
	}
	text = d.paint(styleNote, text) + "\n"
	if d.shown {
		text = "\n" + text
	}
	d.put([]byte(text), true)
}

// outcome tells what came of an attempt.
// A cost that is not known is said to be so: a line without one would read as free.
// It is of the attempt alone, with its verification, which may have asked a model, too.
// How much the loop has used stands in the last line while it runs, and in Closing.
func (d *Display) outcome(l *displayed, ev ralph.Event) {
	it := ev.Iteration
	label := fmt.Sprintf("%s: %s%s", l.labelOf(it.Number), l.came(it), again(it, l.s))
	used := it.Usage.Add(it.Verdict.Usage)
	spent := price(used, 0, 0)
	if spent == "" && used != (ralph.Usage{}) {
		spent = "cost unknown"
	}
	took := ""
	if it.Elapsed > 0 {
		took = "took " + lasted(it.Elapsed)
	}
	d.note(l, ev, styleFor(l.s.Task, it), join(label, took, spent, tokens(used, 0)))
	d.unseen(l, ev, it.Unseen)
	for _, c := range it.Verdict.Checks {
		switch { // what is rejected has its reasons below, and a warning may be among them
		case c.Status == ralph.CheckWarning && c.Detail != "" && strings.Contains(it.Verdict.Feedback, c.Detail):
		case c.Status == ralph.CheckWarning:
			d.note(l, ev, styleNote, strings.TrimSuffix("warning: "+c.Name+": "+c.Detail, ": "))
		case it.Verdict.Passed && (c.Status == ralph.CheckUnable || c.Status == ralph.CheckTimeout):
			d.note(l, ev, styleNote, strings.TrimSuffix("not checked: "+c.Name+": "+c.Detail, ": "))
		}
	}
	d.quote(it.Verdict.Feedback)
}

// labelOf is the label of an iteration that is not the one that runs, too.
// The event's number holds, and not what was noted before: the end of an attempt may be
// the first that is seen of it.
func (l *displayed) labelOf(number int) string {
	l.number = number
	return l.label()
}

// unseen warns of a workspace that cannot be looked at.
// Nothing has failed, and the loop goes on. But that it goes round in circles cannot be
// noticed then, and a person should know that this net is missing.
func (d *Display) unseen(l *displayed, ev ralph.Event, why string) {
	if why != "" {
		d.note(l, ev, styleNote, "warning: what changes in the workspace is not seen: "+why)
	}
}

// quote shows what a verdict says, the beginning of it.
// It goes to the agent whole; a person needs the first lines, and has the records. A line
// that is wider than a terminal goes on behind the same mark, or it would read as somebody
// else's.
func (d *Display) quote(text string) {
	const mark = "   | "
	var lines []string
	for i, line := range strings.Split(Printable(strings.TrimSpace(text)), "\n") {
		switch {
		case line == "" && i == 0:
		case d.Terminal:
			lines = append(lines, fill(term.FoldTabs(line), max(d.columns-1-len(mark), 8))...)
		default:
			lines = append(lines, line)
		}
		if len(lines) > quotedLines {
			lines = append(lines[:quotedLines], "…")
			break
		}
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(mark+line, " ") + "\n")
	}
	if b.Len() > 0 {
		d.put([]byte(b.String()), true)
	}
}

// came says what came of an attempt, in the fewest words: whether there was a claim, and
// what became of it.
// A fault does not hide a claim that came with it, for a claim that was verified is
// verified however the run ended. One that could not be verified is not held against the
// agent, and must not read as if it were.
// Of a promise that is none it says what one is, if the task is known: that is what to
// look for in the prompt.
func (l *displayed) came(it ralph.Iteration) string {
	t := l.s.Task
	fault := wentWrong(it.Fault)
	if why := once(fault, it.Error); fault != "" && why != "" && it.Fault != ralph.FaultBudget { // whose error says that alone
		fault += " (" + why + ")"
	}
	switch {
	case it.Verdict.Passed && (it.Claimed || t.Always):
		return strings.TrimPrefix(fault+", verified", ", ")
	case it.Claimed && it.Verdict.Undecided():
		return strings.TrimPrefix(fault+", claims to be done, could not be verified", ", ")
	case it.Claimed:
		return strings.TrimPrefix(fault+", claims to be done, rejected", ", ")
	case it.Blocked:
		return "says that it is blocked"
	case fault != "":
		return fault
	case t.Always:
		return "not verified yet"
	case it.NearMiss != "":
		expected := ""
		if l.known {
			expected = "; expected <promise>" + cmp.Or(t.Promise, ralph.DefaultPromise) + "</promise>"
		}
		return fmt.Sprintf("no claim (the promise was %s%s)", strings.ReplaceAll(it.NearMiss, "_", " "), expected)
	}
	return "no claim"
}

// wentWrong is a fault in words; "" = there was none.
// The constants are for programs; "permanent" says nothing to a person.
func wentWrong(f ralph.Fault) string {
	switch f {
	case ralph.FaultIncomplete:
		return "the answer broke off"
	case ralph.FaultEmpty:
		return "no answer"
	case ralph.FaultPermanent:
		return "failed for good"
	case ralph.FaultRateLimit:
		return "rate limited"
	case ralph.FaultTimeout:
		return "timed out"
	case ralph.FaultBudget:
		return "ended by its budget"
	}
	return strings.ReplaceAll(string(f), "_", " ") // error, interrupted, and what later versions add
}

// styleFor colours what came of an attempt. No claim is usual, and has no colour.
// Red is for what a person may want to look at, and never for what the loop mends by
// itself, as a wait.
// Colour never says what the words do not: some people see no difference between red and
// green, and NO_COLOR takes both away.
func styleFor(t ralph.Task, it ralph.Iteration) style {
	switch {
	case it.Verdict.Passed && (it.Claimed || t.Always):
		return styleGood
	case it.Fault == ralph.FaultInterrupted || it.Fault == ralph.FaultRateLimit:
		return styleWaiting
	case it.Fault != "" || it.Claimed || it.Blocked:
		return styleBad
	}
	return styleNote
}

// again is the how manieth iteration in a row says that it is blocked, where one is not
// enough to stop the loop.
// Without a limit the first one is not counted aloud: "1 times in a row" says nothing.
func again(it ralph.Iteration, s ralph.State) string {
	switch most := cmp.Or(s.Task.Limits.Blocked, 1); {
	case it.Blocked && most > 1:
		return fmt.Sprintf(", %d of %d", s.Blocked, most)
	case it.Blocked && most < 0 && s.Blocked > 1:
		return fmt.Sprintf(", %d times in a row", s.Blocked)
	}
	return ""
}
