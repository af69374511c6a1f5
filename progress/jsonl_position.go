package progress

import (
	"cmp"
	"math"

	"github.com/ralph-loop/ralph"
)

// A position is where a loop stands, as far as its events tell: what a log must
// know to say whether an attempt was the last one of its iteration. It asks
// [ralph.State.Apply], so that there is no second copy of the rules.
type position struct {
	known bool
	s     ralph.State
}

// apply takes note of an event. It keeps nothing of the event's State but values, and
// leaves out what does not matter for where the loop stands. Feedback and verdicts can
// be long, and a service may have thousands of loops.
func (p *position) apply(ev ralph.Event) {
	if ev.Kind == ralph.EventLoopStarted && ev.State != nil {
		s, t := *plainEvent(ev).State, ev.State.Task
		s.Task = ralph.Task{ID: t.ID, Agent: t.Agent, Always: t.Always, Limits: t.Limits}
		s.Verdict, s.Guidance, s.Lessons, s.Feedback, s.Detail = ralph.Verdict{}, nil, nil, "", ""
		p.known, p.s = true, s
		return
	}
	if p.known {
		p.s = p.s.Apply(ev)
	}
}

// settled reports whether an attempt that has been applied will not be followed
// by another one at the same iteration.
func (p *position) settled(it ralph.Iteration) bool {
	return p.known && (p.s.Done() || p.s.Iteration > it.Number)
}

// amount copies an amount of money. What is no amount is unknown, and no JSON.
func amount(f *float64) *float64 {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) || *f < 0 {
		return nil
	}
	return new(*f)
}

// iterations is the effective limit of iterations: -1 = unlimited, 0 = not
// known.
func (p *position) iterations() int {
	switch n := p.s.Task.Limits.Iterations; {
	case !p.known:
		return 0
	case n < 0:
		return -1
	default:
		return cmp.Or(n, 10) // as ralph.Limits has it
	}
}

// continuing reports whether the loop goes on after an attempt that has been applied.
// Where the loop's state is not known, it goes by the attempt alone. That is a guess
// which errs to going on.
func (p *position) continuing(it ralph.Iteration) bool {
	if p.known {
		return !p.s.Done()
	}
	return !it.Verdict.Passed && !it.Blocked && it.Fault != ralph.FaultPermanent && it.Fault != ralph.FaultBudget
}
