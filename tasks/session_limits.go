package tasks

import (
	"fmt"

	"github.com/ralph-loop/ralph"
)

// begin returns the state in which an item's loop starts. It has used what the
// session has used so far, so that [ralph.State] itself keeps the session to its
// limits of money, tokens and time; it is done if they are reached already.
func (r *session) begin(task ralph.Task) ralph.State {
	s := ralph.Start(task)
	s.Usage, s.LastCost, s.Unpriced = r.spent.Usage, r.spent.LastCost, r.spent.Unpriced
	s.Elapsed, s.Waited = r.spent.Elapsed, r.spent.Waited
	s.Feedback = r.note
	return s.Limit(task.Limits)
}

// limits are those of the next item's loop: the session's, but for the number of
// iterations, which is over all items. The error says that it is reached.
func (r *session) limits() (ralph.Limits, error) {
	l := r.Limits
	stop := func(reason ralph.StopReason, detail string) (ralph.Limits, error) {
		return l, &ralph.StopError{Task: r.report.FeatureBranch, Reason: reason, Detail: detail}
	}
	used, most := r.report.IterationsRun, r.report.MaxIterations
	l.Iterations = r.misses()
	switch {
	case most > 0 && used >= most:
		return stop(ralph.StopIterations, fmt.Sprintf("the limit of iterations, %d, is reached, and tasks are open", most))
	case most > 0 && (l.Iterations < 0 || most-used < l.Iterations):
		l.Iterations = most - used
	case most < 0 && r.spent.Unpriced > 0 && l.CostUSD > 0 && l.Duration <= 0 && l.Tokens <= 0:
		// A loop of few iterations does not need this; all of them together do.
		return stop(ralph.StopCost, "cost_usd is the only limit, and the agent does not say what it costs")
	}
	l.Retries, l.Failures, l.Stalls = -1, -1, 0
	return l, nil
}
