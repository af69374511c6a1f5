package progress

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/term"
)

// A phase is what a loop is about.
// The state does not say when a verification begins, for nothing depends on it but this: a
// person who waits wants to know for whom, the agent, a check or a clock.
type phase int

const (
	phaseOver      phase = iota // it does not run here: nothing is drawn
	phaseBetween                // two attempts, or before the first
	phaseRunning                // the agent runs
	phaseVerifying              // what it claims is verified
	phaseWaiting                // for a rate limit, or before a retry
)

// A displayed is what is known of a loop.
// It is made of events, of Live and of what the agent says, and asks nobody: what is drawn
// each second must not read journals. All of it is guarded by the Display's lock.
type displayed struct {
	loop, name string
	place, how string // as Place and Verifying told
	voice      *voice // of the attempt that runs; nil = none

	s        ralph.State  // by the events so far
	known    bool         // s has its task, and so its limits
	limits   ralph.Limits // before the last event
	begun    bool         // an attempt has begun here
	phase    phase
	number   int // of the iteration
	attempt  int
	since    time.Time    // when the attempt, or its verification, began
	heard    time.Time    // when its agent last said something
	activity string       // what its agent does
	live     *ralph.Usage // of the attempt that runs; nil = what s says
}

// take takes over what an event says.
// Times are those of this clock, and not of the events: a loop may run on a worker whose
// clock is another, and "since" counts up here.
func (l *displayed) take(ev ralph.Event, place, how string) {
	l.limits, l.s = l.s.Task.Limits, l.s.Apply(ev)
	switch ev.Kind {
	case ralph.EventLoopStarted:
		l.known, l.phase, l.place = ev.State != nil, phaseBetween, place
		l.number, l.attempt = l.s.Iteration, l.s.Attempt
	case ralph.EventIterationStarted:
		l.phase, l.place, l.begun = phaseRunning, place, true
		l.number, l.attempt = ev.Iteration.Number, ev.Iteration.Attempt
		// An agent that has not begun to speak is silent from now on, and not from the
		// last attempt's end.
		l.since, l.heard = time.Now(), time.Now()
		l.activity, l.live = "", nil
	case ralph.EventAnswered:
		l.how, l.live = how, nil // what was told is in the event
		if l.number = ev.Iteration.Number; l.judged(ev.Iteration) {
			l.phase, l.since = phaseVerifying, time.Now()
		}
	case ralph.EventIterationEnded:
		l.phase, l.live, l.activity = phaseBetween, nil, ""
		if ev.Iteration.Fault == ralph.FaultInterrupted {
			l.phase = phaseOver // nothing follows, or the next attempt
		}
	case ralph.EventWaiting:
		l.phase = phaseWaiting
		if ev.State != nil { // it has ended early: nothing follows, or the next attempt
			l.phase = phaseOver
		}
	case ralph.EventLoopStopped:
		l.phase = phaseOver
	}
}

// judged reports whether an answer is verified, as far as its event shows it.
// It has to guess what the driver is going to do, since no event says that a
// verification begins. A wrong guess is seen for a moment only: the end follows at once.
func (l *displayed) judged(it ralph.Iteration) bool {
	switch it.Fault {
	case ralph.FaultInterrupted, ralph.FaultRateLimit, ralph.FaultPermanent:
		return false
	}
	return it.Claimed || l.s.Task.Always && !it.Blocked
}

// used is what the loop has used, with what the attempt that runs has told.
// What an attempt tells comes twice, by Live as soon as it is known and by events once a
// second; both count from the attempt's beginning, so the later one stands.
func (l *displayed) used() ralph.Usage {
	if l.live == nil {
		return ralph.Usage{}.Add(l.s.Usage)
	}
	before := l.s.Usage
	if l.s.Settled != nil {
		before = *l.s.Settled
	}
	return before.Add(*l.live)
}

// A part is one of those that make up a status.
// The lowest rank is the most important, so that the zero value is a part that is always
// shown: to forget a rank hides nothing.
type part struct {
	text  string
	rank  int    // the part of the highest one is left out first, if there is no room; that of 0 never
	cut   int    // to how many columns the text may be cut; 0 = it may not
	whole int    // parts of a higher rank are left out before it is cut; 0 = it is cut before any is
	end   string // what stands behind it also if it is cut
}

func (p part) width() int { return term.Width(p.text) + term.Width(p.end) }

func (p part) least() int {
	if p.cut == 0 {
		return p.width()
	}
	return min(term.Width(p.text), p.cut) + term.Width(p.end)
}

const between = " · "

// A wish is one for room: of a part to be shown at all, or to be shown whole.
type wish struct {
	part, rank int
	whole      bool
}

// fit joins the parts that have room. Empty ones do not count. Each gets its room by its
// rank, and what has none makes way for what is less important and shorter: columns that
// stay empty tell nobody anything.
// The ranks are the whole policy of what a narrow terminal shows. A fixed layout for each
// of a few widths was not taken: names, costs and places are of any length.
func fit(parts []part, width int) string {
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.text == "" })
	var wishes []wish
	for i, p := range parts {
		wishes = append(wishes, wish{i, p.rank, false}, wish{i, cmp.Or(p.whole, math.MaxInt), true})
	}
	slices.SortStableFunc(wishes, func(a, b wish) int { return cmp.Compare(a.rank, b.rank) })
	room := make([]int, len(parts)) // 0 = it is left out
	spare := width + term.Width(between)
	for i, w := range wishes {
		p := parts[w.part]
		need := p.least() + term.Width(between)
		switch {
		case w.whole && room[w.part] > 0:
			more := min(max(spare, 0), p.width()-p.least())
			room[w.part] += more
			spare -= more
		case !w.whole && (need <= spare || w.rank == 0 || i == 0): // something is always shown
			room[w.part] = p.least()
			spare -= need
		}
	}
	var texts []string
	for i, p := range parts {
		if room[i] > 0 {
			texts = append(texts, term.Cut(p.text, room[i]-term.Width(p.end))+p.end)
		}
	}
	return term.Cut(strings.Join(texts, between), width)
}

// status is how the loop stands, in one line.
// Rank 0 is the reason why somebody looks: what is waited for, what verifies.
func (l *displayed) status(d *Display, width int) string {
	parts := []part{{text: d.named(l), cut: 8, whole: 7}, {text: l.place, rank: 4, cut: 12, whole: 7}}
	switch now := time.Now(); l.phase {
	case phaseRunning:
		parts = append(parts, l.running(d, now)...)
	case phaseVerifying:
		how := "verifying"
		if l.how != "" {
			how += ": " + l.how
		}
		// A third of the line is enough to know a command again, and leaves room for the rest;
		// what is left of the line is for it, too.
		parts = append(append(parts, l.told(d)...), part{text: how, cut: max(width/3, 14), end: " " + clock(now.Sub(l.since))})
	case phaseWaiting:
		parts = append(append(parts, l.told(d)...), part{text: l.waiting(now.In(d.zone()))})
	default:
		parts = append(parts, part{text: l.label(), rank: 1}, part{text: d.agent(), rank: 8})
	}
	if l.s.Paused && l.phase == phaseRunning {
		parts = append(parts, part{text: "pauses after this", rank: 5})
	} else if l.s.Paused {
		parts = append(parts, part{text: "paused"})
	}
	return fit(parts, width)
}

// told is what stays in the line while nothing runs but a check or a clock: how far, who,
// and how much.
func (l *displayed) told(d *Display) []part {
	used, limits := l.used(), l.s.Task.Limits
	return []part{
		{text: l.label(), rank: 2}, {text: d.agent(), rank: 8},
		{text: price(used, limits.CostUSD, l.s.Unpriced), rank: 3}, {text: tokens(used, limits.Tokens), rank: 9},
	}
}

// silentSince is how long an agent may say nothing before that is told: models think.
// A shorter time would be seen at every longer thought, and teach people to overlook it.
const silentSince = 30 * time.Second

// running is what is shown of an agent that runs.
// Each of them answers a question that people have: how far, who, how long, how much, is
// it alive, what is it about.
func (l *displayed) running(d *Display, now time.Time) []part {
	used, limits := l.used(), l.s.Task.Limits
	parts := []part{
		{text: l.label(), rank: 1},
		{text: d.agent(), rank: 8},
		{text: clock(now.Sub(l.since)), rank: 2},
		{text: price(used, limits.CostUSD, l.s.Unpriced), rank: 3},
		{text: tokens(used, limits.Tokens), rank: 9},
	}
	// The time above is that of this attempt, and the limit is for all of them together: as
	// one number, the third attempt would seem to have all of it before itself.
	if limits.Duration > 0 {
		spent := l.s.Elapsed + now.Sub(l.since)
		parts = append(parts, part{text: clock(spent) + " of " + clock(limits.Duration) + " in all", rank: 11})
	}
	if silent := now.Sub(l.heard); silent >= silentSince {
		parts = append(parts, part{text: "silent for " + clock(silent), rank: 10})
	}
	return append(parts, part{text: l.activity, rank: 6, cut: 12})
}

// agent is the client's name.
func (d *Display) agent() string { return term.Line(d.Agent) }

// label is the number of the iteration, and of how many, if that is known and bounded.
// A loop without a limit has no "of": "2/-1" would puzzle everybody.
func (l *displayed) label() string {
	most := cmp.Or(l.s.Asked, l.s.Task.Limits.Iterations) // who asked it to stop has not made it shorter
	if l.number == 0 {                                    // a verification alone
		return ""
	}
	if !l.known || most < 0 {
		return fmt.Sprintf("iteration %d", l.number)
	}
	return fmt.Sprintf("iteration %d/%d", l.number, cmp.Or(most, 10))
}

// waiting is what is waited for, and how long.
// The clock time is for people who go away, the rest of it for those who stay. On another
// day the hour alone would mislead.
// Seconds are rounded up: a countdown that says 0 and still waits looks as if it hung. A
// wait without rate limits is a retry, which is short, so it needs no clock time.
func (l *displayed) waiting(now time.Time) string {
	due := l.s.NotBefore().In(now.Location())
	left := max(due.Sub(now), 0)
	if l.s.RateLimits == 0 {
		return fmt.Sprintf("%s in %d s", l.retrial(), int((left+time.Second-1)/time.Second))
	}
	return fmt.Sprintf("rate limit until %s (%s left)", moment(due, now, "15:04"), clock(left))
}

// moment is a clock time, with the day if it is another than today.
func moment(at, now time.Time, form string) string {
	if y, m, d := at.Date(); y != now.Year() || m != now.Month() || d != now.Day() {
		form = "Mon 15:04"
	}
	return at.Format(form)
}

// limited announces the wait for a rate limit. The event says it too, for records: to the
// millisecond, and in the time of who runs the loop.
func (l *displayed) limited(at time.Time, zone *time.Location) string {
	due := l.s.NotBefore()
	if at.IsZero() || l.s.Updated.IsZero() {
		at = due.Add(-l.s.Wait)
	}
	left := lasted(max(due.Sub(at), 0).Round(time.Second))
	for _, none := range []string{"0s", "0m"} { // of 42m0s, and of 24h0m
		if rest := strings.TrimSuffix(left, none); strings.HasSuffix(rest, "m") || strings.HasSuffix(rest, "h") {
			left = rest
		}
	}
	return fmt.Sprintf("waiting %s for the rate limit, until %s", left, moment(due.In(zone), at.In(zone), time.TimeOnly))
}

// retrial is the number of the retry that is next, and of how many.
func (l *displayed) retrial() string {
	return fmt.Sprintf("retry %d/%d", l.s.Retries, max(cmp.Or(l.s.Task.Limits.Retries, 3), l.s.Retries))
}

// retry announces a retry, with how long it is to it from a time on. The first ones come
// within a second, so it tells tenths.
func (l *displayed) retry(at time.Time) string {
	left := l.s.Wait
	if !at.IsZero() && !l.s.Updated.IsZero() {
		left = l.s.NotBefore().Sub(at)
	}
	if left >= 10*time.Second {
		return l.retrial() + " in " + lasted(left)
	}
	return fmt.Sprintf("%s in %.1f s", l.retrial(), max(left.Seconds(), 0.1))
}

// clock is a time as clocks show it: 03:12, or 1:03:12.
// Minutes and seconds always have two figures, so that what stands behind them does not
// move to and fro. Less than nothing is 00:00.
func clock(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// lasted is how long something took, as exactly as people care for.
// Milliseconds of what took minutes are noise, and minutes of what took milliseconds are
// nothing.
func lasted(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

// price is a cost, with its limit; attempts of unknown cost make it the least that was
// spent. "" = nothing was told.
// A known part must never look like the whole: people decide by it whether to go on.
// Less than a cent is told with all its figures, because $0.00 would read as free.
func price(u ralph.Usage, limit float64, unknown int) string {
	text := ""
	switch c := u.CostUSD; {
	case c == nil && (limit > 0 && u != ralph.Usage{}):
		text = "cost unknown"
	case c == nil:
		return ""
	case *c == 0:
		text = "$0" // it was told, or counted: what is not known has no amount
	case *c < 0.00995 || u.Estimated:
		text = u.Cost()
	default:
		text = "$" + strconv.FormatFloat(*c, 'f', 2, 64)
	}
	if unknown > 0 && u.CostUSD != nil {
		text = "at least " + text
	}
	if limit > 0 {
		text += " of $" + strings.TrimSuffix(strconv.FormatFloat(limit, 'f', 2, 64), ".00")
	}
	return text
}

// tokens is how many were used, in and out, with their limit. "" = nothing was told.
// Both are together, as [ralph.Limits.Tokens] bounds them.
// Clients tell what they like. Where two of their numbers have no sum the larger one is
// shown, for a negative amount would be taken for a fault of ours.
func tokens(u ralph.Usage, limit int64) string {
	n := max(u.InputTokens, 0)
	if n += max(u.OutputTokens, 0); n < 0 {
		n = max(u.InputTokens, u.OutputTokens)
	}
	switch {
	case n == 0:
		return ""
	case limit > 0:
		return amountOf(n) + " of " + amountOf(limit) + " tokens"
	case n == 1:
		return "1 token"
	}
	return amountOf(n) + " tokens"
}

// amountOf is a number in three figures or so.
// It is rounded, unlike bytes left out: people compare it. What would be rounded to 1000k
// is a million already.
func amountOf(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 999_500:
		return fmt.Sprintf("%dk", (n+500)/1000)
	}
	return strings.Replace(fmt.Sprintf("%.1fM", float64(n)/1e6), ".0M", "M", 1)
}
