package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
)

// An Amount is what an iteration uses, or may use. Cost and tokens are apart because
// many clients tell only one of them. The zero value is unknown, or without bound.
type Amount struct {
	// CostUSD in US dollars. nil = unknown, or without bound, and never 0: an iteration
	// of unknown cost is not a free one.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	// Tokens of input and output. 0 = unknown, or without bound.
	Tokens int64 `json:"tokens,omitempty"`
}

// Used is what the whole run has used, with all that runs, summed over resumes.
func (s State) Used() ralph.Usage {
	u := s.Settled
	for _, r := range s.Running {
		u = u.Add(r.Used)
	}
	return u
}

// Granted returns the limits of a loop that has asked for its next iteration
// ([EventReserve]): its own, but with a CostUSD, Tokens and Duration, where [Rules] bound
// them, that say how much the loop may have used in all when this iteration ends. A loop
// that one of these three stops needs more than it was granted: it is interrupted, and
// goes on when it is granted more.
//
// It is false as long as the iteration must not begin: others have reserved what is left,
// or the pipeline is paused, and it is to ask again when one of their iterations, or the
// pause, has ended; or its task was altered, or the pipeline has stopped: then the loop is
// to end, as if it was interrupted.
//
// What is granted is a promise to this loop that others cannot break: the sum of what
// is used and what is granted is never more than the budget, however many loops ask at
// once.
func (s State) Granted(task string, loop ralph.State) (ralph.Limits, bool) {
	l := ungranted(loop.Task.Limits)
	part := s.Find(task)
	run := s.running(part)
	if run < 0 || s.Done() || s.phase(part) != PhaseRunning || s.Running[run].Reserved == nil {
		return l, false
	}
	a := s.Running[run].Reserved
	if s.Rules.CostUSD > 0 && a.CostUSD != nil {
		l.CostUSD, l.Priced = *a.CostUSD, s.Rules.Priced
	}
	if s.Rules.Tokens > 0 && a.Tokens > 0 {
		l.Tokens = a.Tokens
	}
	if s.Rules.Duration > 0 { // Unwaited is still to come, and counted in advance
		l.Duration = loop.Elapsed + loop.Unwaited + s.Rules.Duration - s.Elapsed
	}
	return l, true
}

// ungranted are the limits of a loop without what it was granted earlier. Nothing of
// its own is lost: a pipeline gives loops no cost, tokens or duration but what is
// granted.
func ungranted(l ralph.Limits) ralph.Limits {
	l.CostUSD, l.Tokens, l.Duration, l.Priced = 0, 0, 0, false
	return l
}

// bound reports whether a loop that has stopped so was stopped by what it was granted
// of the run's budget, and not by limits of its own. Such a loop is not over: it goes
// on when there is more.
func (r Rules) bound(reason ralph.StopReason) bool {
	switch reason {
	case ralph.StopCost:
		return r.CostUSD > 0
	case ralph.StopTokens:
		return r.Tokens > 0
	case ralph.StopDuration:
		return r.Duration > 0
	}
	return false
}

// use takes over what a loop has used so far. The figures are totals and not
// differences, so an event that is told twice, or lost before the next, makes no
// difference.
func (s State) use(run int, ev Event) State {
	s.Running = slices.Clone(s.Running)
	r := &s.Running[run]
	r.Used = ralph.Usage{}.Add(ev.Usage)
	if ev.Kind != EventUsed { // no iteration runs
		r.Reserved, r.Waits = nil, false
	}
	if agent, _ := s.Agent(r.Part); ev.Last != nil {
		last := ev.Last.or(s.Last[agent])
		s.Last = maps.Clone(s.Last)
		if s.Last == nil {
			s.Last = map[string]Amount{}
		}
		s.Last[agent] = last
	}
	return s
}

// or is what is known of a, else of b. What makes no sense (negative, not a number)
// counts as unknown.
func (a *Amount) or(b Amount) Amount {
	if a == nil {
		a = &Amount{}
	}
	known := ralph.Usage{}.Add(ralph.Usage{CostUSD: a.CostUSD}).CostUSD
	if known == nil {
		known = ralph.Usage{}.Add(ralph.Usage{CostUSD: b.CostUSD}).CostUSD
	}
	return Amount{CostUSD: known, Tokens: cmp.Or(max(a.Tokens, 0), max(b.Tokens, 0))}
}

// reserve has the next iteration of a loop begin, or wait. The forecast is its last
// one, which use has taken over, else the last one of its agent. s.Running is nobody
// else's.
//
// A loop that gets too little waits as long as others have something reserved, as much
// of that usually comes back. If nobody has, nothing will, and the run has spent its
// budget.
func (s State) reserve(run int) State {
	r := &s.Running[run]
	if s.Done() || s.Paused {
		r.Waits = true
		return s
	}
	agent, _ := s.Agent(r.Part)
	reserved, short := s.give(run, s.Last[agent])
	switch {
	case short == "":
		r.Reserved = &reserved
	case slices.ContainsFunc(s.Running, func(o Live) bool { return o.Reserved != nil }):
		r.Waits = true
	default:
		return s.stop(short, s.spent(short)+"; another iteration like the last would exceed it")
	}
	return s
}

// give is what a loop may have used in all when its next iteration has ended, and which
// budget is too short for the iteration, "" = none. It is a total, as loops' limits
// are.
func (s State) give(run int, forecast Amount) (to Amount, short ralph.StopReason) {
	if s.Rules.CostUSD <= 0 && s.Rules.Tokens <= 0 {
		return to, ""
	}
	used, own, others, share := s.Used(), s.Running[run].Used, s.reserved(), s.share()
	if all := s.Rules.CostUSD; all > 0 {
		give, enough := grant(all-cost(used)-value(others.CostUSD), value(forecast.CostUSD), float64(share))
		if give += cost(own); !enough || give <= cost(own) { // or too little to count
			short = ralph.StopCost
		}
		to.CostUSD = &give
	}
	if all := s.Rules.Tokens; all > 0 {
		give, enough := grant(max(all-tokens(used), 0)-min(others.Tokens, all), max(forecast.Tokens, 1), int64(share))
		if !enough {
			short = cmp.Or(short, ralph.StopTokens)
		}
		to.Tokens = tokens(own) + give
	}
	return to, short
}

// reserved is what the iterations that run may still use. Until they have ended it is
// nobody else's, used or not.
func (s State) reserved() Amount {
	var u ralph.Usage
	for _, r := range s.Running {
		if a := r.Reserved; a != nil {
			more := max(value(a.CostUSD)-cost(r.Used), 0)
			u = u.Add(ralph.Usage{CostUSD: &more, InputTokens: max(a.Tokens, 0) - min(tokens(r.Used), max(a.Tokens, 0))})
		}
	}
	return Amount{CostUSD: u.CostUSD, Tokens: u.InputTokens}
}

// share is how many iterations share what nobody has reserved: of the loops that have
// reserved nothing, and of those that may begin. Counting them lets the first loop that
// asks leave something to the others, which begin a moment later.
func (s State) share() int {
	n := 0
	for _, r := range s.Running {
		if r.Reserved == nil && s.phase(r.Part) == PhaseRunning {
			n++
		}
	}
	return max(n+len(s.begins(s.Rules.slots()-s.working())), 1)
}

// grant is what an iteration gets of what is left: an even share or, if that is less
// than what is expected of it, as much as that. An iteration that is known to need more
// than its share would be cut off with less, and what it had done by then paid for in
// vain.
func grant[T float64 | int64](left, expected, share T) (give T, enough bool) {
	give = max(left/share, min(left, expected))
	return give, give > 0 && give >= expected
}

// over stops the pipeline when its budget is spent. What runs keeps what it was
// granted.
func (s State) over() State {
	switch used := s.Used(); {
	case s.Rules.CostUSD > 0 && cost(used) >= s.Rules.CostUSD:
		return s.stop(ralph.StopCost, s.spent(ralph.StopCost))
	case s.Rules.Tokens > 0 && tokens(used) >= s.Rules.Tokens:
		return s.stop(ralph.StopTokens, s.spent(ralph.StopTokens))
	case s.Rules.Duration > 0 && s.Elapsed >= s.Rules.Duration:
		return s.stop(ralph.StopDuration, s.spent(ralph.StopDuration))
	}
	return s
}

// blind stops the pipeline if its costs must be known, and those of an answer are not:
// the loop itself was stopped by what it was granted, and would be granted more. More
// money does not help where nobody knows what was spent.
func (s State) blind(ev Event) State {
	if s.Rules.CostUSD <= 0 || !s.Rules.Priced || ev.Blind == "" {
		return s
	}
	return s.stop(ralph.StopCost, ev.Task+": cost_usd is a limit, but "+ev.Blind)
}

// spent says what of a budget is spent.
func (s State) spent(reason ralph.StopReason) string {
	switch used := s.Used(); reason {
	case ralph.StopCost:
		return fmt.Sprintf("spent %s of %s", used.Cost(), ralph.Usage{CostUSD: &s.Rules.CostUSD}.Cost())
	case ralph.StopTokens:
		return fmt.Sprintf("used %d of %d tokens", tokens(used), s.Rules.Tokens)
	}
	return fmt.Sprintf("ran for %v of %v", s.Elapsed, s.Rules.Duration)
}

// cost is what is known of a usage's cost, in US dollars: what is unknown adds nothing
// here. Whether that may be is decided by blind.
func cost(u ralph.Usage) float64 { return value(ralph.Usage{}.Add(u).CostUSD) }

// tokens are input and output, as [Rules] bound them. Their sum does not wrap around.
func tokens(u ralph.Usage) int64 {
	u = ralph.Usage{}.Add(u)
	if u.InputTokens > math.MaxInt64-u.OutputTokens {
		return math.MaxInt64
	}
	return u.InputTokens + u.OutputTokens
}

func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// cut is a text of at most n bytes, of whole characters: half of one would become
// another one when it is written as JSON.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.TrimSpace(text[:n]) + "…"
}
