package tasks

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
)

// count adds what a loop has used.
func (r *session) count(s ralph.State) {
	r.elapsed += s.Elapsed
	r.waited += s.Waited
	r.unknown += s.Unpriced
	if s.LastCost != nil {
		r.last = s.LastCost
	}
	u := &r.report.Usage
	u.Requests += s.Usage.Requests
	u.Messages += s.Usage.Messages
	u.InputTokens += s.Usage.InputTokens
	u.OutputTokens += s.Usage.OutputTokens
	if s.Usage.CostUSD != nil {
		cost := *s.Usage.CostUSD
		if u.CostUSD != nil {
			cost += *u.CostUSD
		}
		u.CostUSD = &cost
	}
}

// left is what the next item's loop may use of the session's limits, or the
// error that they are reached.
func (r *session) left() (ralph.Limits, error) {
	l := r.Limits
	stop := func(reason ralph.StopReason, format string, args ...any) (ralph.Limits, error) {
		return l, &ralph.StopError{Task: r.report.FeatureBranch, Reason: reason, Detail: fmt.Sprintf(format, args...)}
	}
	u := r.report.Usage
	used, most := r.report.IterationsRun, r.report.MaxIterations
	l.Iterations = r.misses()
	if most > 0 {
		if used >= most {
			return stop(ralph.StopIterations, "the limit of iterations, %d, is reached, and tasks are open", most)
		}
		if l.Iterations < 0 || most-used < l.Iterations {
			l.Iterations = most - used
		}
	}
	if l.Tokens > 0 {
		if l.Tokens -= u.InputTokens + u.OutputTokens; l.Tokens <= 0 {
			return stop(ralph.StopTokens, "used %d of %d tokens", u.InputTokens+u.OutputTokens, r.Limits.Tokens)
		}
	}
	if l.Duration > 0 {
		if l.Duration -= r.elapsed; l.Duration <= 0 {
			return stop(ralph.StopDuration, "used %v of %v", r.elapsed, r.Limits.Duration)
		}
	}
	if l.CostUSD > 0 {
		if u.CostUSD != nil {
			if l.CostUSD -= *u.CostUSD; l.CostUSD <= 0 || r.last != nil && *r.last > l.CostUSD {
				return stop(ralph.StopCost, "spent $%.4f of $%.4f", *u.CostUSD, r.Limits.CostUSD)
			}
		}
		if r.unknown > 0 && most < 0 && l.Duration <= 0 && l.Tokens <= 0 {
			return stop(ralph.StopCost, "cost_usd is the only limit, and the agent does not say what it costs")
		}
	}
	if l.Wait = cmp.Or(l.Wait, 24*time.Hour); l.Wait > 0 {
		l.Wait = max(l.Wait-r.waited, 1)
	}
	l.Retries, l.Failures, l.Stalls = -1, -1, 0
	return l, nil
}
