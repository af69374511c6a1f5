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

// An Amount is what an iteration uses, or may use. The zero value is unknown in both,
// or without bound, depending on where it stands.
type Amount struct {
	// CostUSD is in US dollars; nil = unknown, or without bound.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	// Tokens are input and output; 0 = unknown, or without bound.
	Tokens int64 `json:"tokens,omitempty"`
}

// Used is what the whole run has used, with all that runs. Its CostUSD is what is known
// of the cost.
func (s State) Used() ralph.Usage {
	u := s.Settled
	for _, r := range s.Running {
		u = u.Add(r.Used)
	}
	return u
}

// Granted returns the limits for the next iteration of a loop that has asked for it
// ([EventReserve]). They are the loop's own, but for money, tokens and time that
// [Rules] bound: those say how much of the run's budget the loop may have used when the
// iteration has ended. A loop that is stopped by them needed more than it was granted;
// it counts as interrupted, and goes on when there is more.
//
// It is false as long as the iteration must not begin. If others have reserved what is
// left, or the pipeline is paused, ask again when one of their iterations, or the
// pause, has ended. If the task was altered, or the pipeline has stopped, the loop is
// to end as if it was interrupted.
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

// ungranted are the limits of a loop without what it was granted earlier: each
// iteration is granted anew.
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

// use takes over what a loop has used so far. Figures replace each other and are not
// added up, so an event that comes twice changes nothing.
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

// or is what is known of a, else of b. A client that tells its cost only now and then
// has a forecast all the same.
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

// reserve has the next iteration of a loop begin, or wait. The forecast is its last one,
// which use has taken over, else the last one of its agent. s.Running is nobody else's.
//
// An iteration that others keep from its budget waits as long as one of them runs,
// since it may use less than it has reserved. If nobody runs and it is still too
// little, waiting would not help.
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
	// One of them will end, and may have used less than it has reserved.
	case slices.ContainsFunc(s.Running, func(o Live) bool { return o.Reserved != nil }):
		r.Waits = true
	default:
		return s.stop(short, s.spent(short)+"; another iteration like the last would exceed it")
	}
	return s
}

// give is what a loop may have used in all when its next iteration has ended, and which
// budget is too short for the iteration, "" = none.
//
// Everything is counted against the whole run: what is used, and what iterations that
// run have reserved. So the sum cannot exceed the budget, whatever order they end in.
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

// reserved is what the iterations that run may still use. What they have used by now is
// in Used already.
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
// reserved nothing, and of those that may begin. Otherwise the first one would reserve
// all there is.
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
// than what is expected of it, as much as that. An expensive agent may thus take more
// than its share, as long as there is something left.
func grant[T float64 | int64](left, expected, share T) (give T, enough bool) {
	give = max(left/share, min(left, expected))
	return give, give > 0 && give >= expected
}

// over stops the pipeline when its budget is spent. It is asked after every event, also
// of what came from an earlier run.
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
// money would not help: without a figure nobody knows when to stop.
func (s State) blind(ev Event) State {
	if s.Rules.CostUSD <= 0 || !s.Rules.Priced || ev.Blind == "" {
		return s
	}
	return s.stop(ralph.StopCost, ev.Task+": cost_usd is a limit, but "+ev.Blind)
}

// spent says what of a budget is spent. It is for people, in the run's own figures.
func (s State) spent(reason ralph.StopReason) string {
	switch used := s.Used(); reason {
	case ralph.StopCost:
		return fmt.Sprintf("spent %s of %s", used.Cost(), ralph.Usage{CostUSD: &s.Rules.CostUSD}.Cost())
	case ralph.StopTokens:
		return fmt.Sprintf("used %d of %d tokens", tokens(used), s.Rules.Tokens)
	}
	return fmt.Sprintf("ran for %v of %v", s.Elapsed, s.Rules.Duration)
}

// cost is what is known of a usage's cost.
func cost(u ralph.Usage) float64 { return value(ralph.Usage{}.Add(u).CostUSD) }

// tokens is what Rules.Tokens bounds, and stays at the largest number rather than
// overflow.
func tokens(u ralph.Usage) int64 {
	u = ralph.Usage{}.Add(u)
	if u.InputTokens > math.MaxInt64-u.OutputTokens {
		return math.MaxInt64
	}
	return u.InputTokens + u.OutputTokens
}

// value is an amount that is known, or nothing.
func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// cut is a text of at most n bytes, of whole characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.TrimSpace(text[:n]) + "…"
}
