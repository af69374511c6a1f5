package progress

import (
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/steady"
)

// A past is what the record of one loop tells for its history. It is filled event by
// event, for what was rejected on the way is not in the state at the end.
type past struct {
	state     ralph.State // as it is after the last event
	usage     ralph.Usage
	estimated float64
	unpriced  bool
	reasons   map[string]string // why claims were rejected, by what of it does not differ each time
}

// endedBefore reports whether an event begins another loop of the same name. A start in
// the middle is the same loop, which goes on.
func (l *past) endedBefore(ev ralph.Event) bool {
	return l.state.Done() && ev.Kind == ralph.EventLoopStarted && ev.State != nil && !ev.State.Begun()
}

// apply takes note of an event, after which the loop stands at s. What was used is taken
// from its attempts: the state of an item's loop counts what those before it used, too.
//
// A rejection counts once for a loop, however often it came there: one agent that is
// stuck must not outvote ten that were not.
func (l *past) apply(ev ralph.Event, s ralph.State, hide eventRedactor) {
	unpriced := l.state.Unpriced
	if l.state = s; ev.Kind != ralph.EventIterationEnded {
		return
	}
	it := ev.Iteration
	l.unpriced = l.unpriced || s.Unpriced > unpriced
	for _, u := range []ralph.Usage{it.Usage, it.Verdict.Usage} {
		u = ralph.Usage{}.Add(u)
		l.usage = l.usage.Add(u)
		if u.Estimated && u.CostUSD != nil {
			l.estimated += *u.CostUSD
		}
	}
	rejected := it.Claimed && !it.Blocked && !it.Verdict.Passed && !it.Verdict.Undecided() && it.Fault != ralph.FaultInterrupted
	if text := reason(it.Verdict, hide); rejected && text != "" && len(l.reasons) < maxReasons {
		key := steady.Text(text)
		if was, known := l.reasons[key]; !known || text < was {
			set(&l.reasons, key, text)
		}
	}
}

// isCheck reports whether a loop of a session is that of a box that was ticked before.
// The session gives such loops this name.
func isCheck(loop string) bool { return strings.HasSuffix(loop, " (check)") }

// sensible reports whether what is counted of the loop can be. A number that was edited
// would shift a percentile for everybody.
func (l *past) sensible() bool {
	return l.state.Iteration >= 1 && max(l.state.Iteration, l.state.Completed(), len(l.state.Task.Acceptance)) <= maxTook
}

// reason is why a claim was rejected: the line that says what is wrong. What programs have
// printed follows it, and is another one each time.
//
// Secrets are hidden before it is cut, since half of one would not be known any more.
func reason(v ralph.Verdict, hide eventRedactor) string {
	text := v.Feedback
	for _, c := range v.Checks {
		if text == "" && c.Status == ralph.CheckFailed {
			text = c.Name + ": " + c.Detail
		}
	}
	text = Printable(hide.Text(cut(text, maxReasonRead)))
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if strings.HasSuffix(strings.TrimSpace(first), ":") {
		next, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		first += " " + next
	}
	return cut(PrintableLine(first), maxReason)
}

// cut is the beginning of a text, without the half of a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
