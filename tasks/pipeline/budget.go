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

// An Amount is what an iteration uses, or may use.
type Amount struct {
	CostUSD *float64 `json:"cost_usd,omitempty"` // nil = unknown, or without bound
	Tokens  int64    `json:"tokens,omitempty"`   // input and output; 0 = unknown, or without bound
}

// Used is what the whole run has used, with all that runs.
func (s State) Used() ralph.Usage {
	u := s.Settled
	for _, r := range s.Running {
		u = u.Add(r.Used)
	}
	return u
}

// Granted returns the limits of a loop that has asked for its next iteration
// ([EventReserve]): its own, but for cost, tokens and duration, which are what the
// iteration may use of the run's budget. It is
// false as long as the iteration must not begin: others have reserved what is left, and
// it is to ask again when one of their iterations has ended; or the pipeline has
// stopped.
func (s State) Granted(task string, loop ralph.State) (ralph.Limits, bool) {
	l := loop.Task.Limits
	l.CostUSD, l.Tokens, l.Duration = 0, 0, 0 // of an earlier grant
	run := s.running(s.Find(task))
	if run < 0 || s.Done() || s.Running[run].Waits {
		return l, false
	}
	if a := s.Running[run].Reserved; a != nil && s.Rules.CostUSD > 0 && a.CostUSD != nil {
		l.CostUSD = cost(loop.Usage) + *a.CostUSD
	}
	if a := s.Running[run].Reserved; a != nil && s.Rules.Tokens > 0 {
		l.Tokens = tokens(loop.Usage) + a.Tokens
	}
	if s.Rules.Duration > 0 {
		l.Duration = loop.Elapsed + s.Rules.Duration - s.Elapsed
	}
	return l, true
}

// use takes over what a loop has used so far, and reserves its next iteration.
func (s State) use(run int, ev Event) State {
	s.Running = slices.Clone(s.Running)
	r := &s.Running[run]
	r.Used, r.Reserved, r.Waits = ev.Usage, nil, false
	agent, _ := s.Agent(r.Part)
	if ev.Last != nil {
		s.Last = maps.Clone(s.Last)
		if s.Last == nil {
			s.Last = map[string]Amount{}
		}
		s.Last[agent] = *ev.Last
	}
	if ev.Kind != EventReserve || s.Done() {
		return s
	}
	others, reserving := Amount{CostUSD: new(float64)}, 0
	for i, o := range s.Running {
		if a := o.Reserved; i != run && a != nil {
			others.Tokens += a.Tokens
			*others.CostUSD += value(a.CostUSD)
			reserving++
		}
	}
	share := max(s.Rules.slots()-reserving, 1)
	reserved, short := Amount{}, ralph.StopReason("")
	if all := s.Rules.CostUSD; all > 0 {
		give, enough := grant(all-cost(s.Used())-*others.CostUSD, value(s.Last[agent].CostUSD), share)
		if reserved.CostUSD = &give; !enough {
			short = ralph.StopCost
		}
	}
	if all := s.Rules.Tokens; all > 0 {
		give, enough := grant(float64(all-tokens(s.Used())-others.Tokens), float64(s.Last[agent].Tokens), share)
		if reserved.Tokens = int64(give); !enough || give < 1 {
			short = cmp.Or(short, ralph.StopTokens)
		}
	}
	switch {
	case short == "":
		r.Reserved = &reserved
	case reserving > 0:
		r.Waits = true
	default:
		return s.stop(short, s.spent(short)+"; another iteration like the last would exceed it")
	}
	return s
}

// grant is what an iteration gets of what is left: an even share for each slot that has
// reserved nothing, or, if that is less than what the last one like it has used, as much
// as that.
func grant(left, last float64, share int) (float64, bool) {
	give := max(left/float64(share), min(left, last))
	return give, give > 0 && give >= last
}

// over stops the pipeline when its budget is spent.
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

// spent says what of a budget is spent.
func (s State) spent(reason ralph.StopReason) string {
	switch used := s.Used(); reason {
	case ralph.StopCost:
		return fmt.Sprintf("spent $%.4f of $%.4f", cost(used), s.Rules.CostUSD)
	case ralph.StopTokens:
		return fmt.Sprintf("used %d of %d tokens", tokens(used), s.Rules.Tokens)
	}
	return fmt.Sprintf("ran for %v of %v", s.Elapsed, s.Rules.Duration)
}

// cost is what is known of a usage's cost.
func cost(u ralph.Usage) float64 { return value(ralph.Usage{}.Add(u).CostUSD) }

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
