package tasks

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ralph-loop/ralph"
)

// IterationsRun returns how many iterations the loops of a session's items have run, as
// [Report.IterationsRun] counts them. The states are those on record; one without a
// [ralph.Task.Blocked], which every item's loop has, counts nothing. Three kinds of
// attempts do not count: one that was broken off and one that a budget ended while it
// ran, since both are made again and counted then, and a verification without an
// attempt, since no agent was run.
func IterationsRun(loops ...ralph.State) int {
	n := 0
	for _, s := range loops {
		if s.Task.Blocked != "" { // else it is a check, or nothing at all
			n += s.Completed()
		}
	}
	return n
}

// takeOver takes over the loops of the session's earlier runs. It returns the items in
// the middle of whose attempts the process died.
//
// Each loop has on record what the session had used until it ended, so the sums are
// those of the last one, and nothing is added up. What a check cost last is no forecast
// of what an attempt costs, so that is taken from the last loop with an agent.
func (r *session) takeOver() (running []Item) {
	r.report = Report{StartTime: r.Since.UTC(), Status: SessionRunning, MaxIterations: cmp.Or(r.Limits.Iterations, 10)}
	if r.Since.IsZero() {
		r.report.StartTime = time.Now().UTC().Round(0)
	}
	for _, it := range r.items {
		r.before[it.Key] = r.DoneBefore == nil && r.isDone(it)
	}
	for _, key := range r.DoneBefore {
		r.before[key] = true
	}
	var lastCost *float64
	for _, s := range r.begun() {
		if r.spent = s; s.Task.Blocked == "" { // of a check nothing else is of use
			r.spent.LastCost = lastCost
		}
		lastCost = r.spent.LastCost
		if r.DoneBefore == nil {
			r.before[s.Task.ID] = false
		}
		if s.Task.Blocked != "" && s.Task.ID != "" && r.remember(s) {
			running = append(running, r.known(s))
		}
	}
	r.report.Usage, r.spent.Blind = r.spent.Usage, ""  // its next answer may tell what it costs, as by State.Reopen
	r.spent.Paused = r.spent.Paused && !r.spent.Done() // nobody can let a loop go on that is over
	return running
}

// begun lists the loops of earlier runs, each with what those before it have used: the
// sums only grow, so the order is that in which they ran. Times do not tell it: the
// clock may have been set back, and a loop that was resumed has times before and after
// those of others. A loop that is running was the last, whatever it has used.
func (r *session) begun() []ralph.State {
	return slices.SortedFunc(maps.Values(r.Begun), func(a, b ralph.State) int {
		last := func(s ralph.State) int {
			if s.Running {
				return 1
			}
			return 0
		}
		cost := func(s ralph.State) float64 { return *s.Usage.Add(ralph.Usage{CostUSD: new(0.0)}).CostUSD }
		return cmp.Or(cmp.Compare(last(a), last(b)),
			cmp.Compare(a.Usage.Requests, b.Usage.Requests), cmp.Compare(a.Usage.Messages, b.Usage.Messages),
			cmp.Compare(a.Usage.InputTokens, b.Usage.InputTokens), cmp.Compare(a.Usage.OutputTokens, b.Usage.OutputTokens),
			cmp.Compare(cost(a), cost(b)), a.Updated.Compare(b.Updated), cmp.Compare(a.Elapsed, b.Elapsed),
			cmp.Compare(a.Task.ID, b.Task.ID))
	})
}

// remember takes over the loop of an item, and reports whether its attempt is running.
//
// What was given up stays so; to try it again in each run would let a loop of restarts
// spend what Misses is there to save. But an item that is done now, or waits for parts
// that it has got since, is no longer what was given up.
func (r *session) remember(s ralph.State) bool {
	key := s.Task.ID
	r.loops[key] = s
	r.report.IterationsRun += IterationsRun(s)
	it, there := find(r.items, key)
	switch broken := s.Running || !s.Done() && s.Attempt > 1; {
	case there && gaveUp(s) && !r.isDone(it) && len(r.waitsFor(key)) == 0:
		r.skip(key)
	case broken && r.removed(key, s.Task.Title):
		r.last[key] = r.known(s)
	case !broken && !s.Done() && r.pending[key] != "":
		r.asked[key] = r.attempts // after its last attempt
	}
	return s.Running
}

// gaveUp reports whether a loop ended so that its item was skipped. Where the last
// check could not tell, the session ended and did not skip it, so a resume asks again.
func gaveUp(s ralph.State) bool {
	return s.Stop == ralph.StopBlocked || s.Stop == ralph.StopIterations && !s.Verdict.Undecided()
}

// known is the item of a loop, as it is in the list, or was. Of what is gone its loop's
// task has kept enough to verify and report it.
func (r *session) known(s ralph.State) Item {
	if it, there := find(r.items, s.Task.ID); there {
		return it
	}
	it := Item{Key: s.Task.ID, Text: s.Task.Title, Acceptance: s.Task.Acceptance}
	if hasID(it.Key, it.Text) {
		it.ID = it.Key
	}
	return it
}

// hasID reports whether a key is an item's ID, rather than its text, which may be "". A
// loop's record has the key and the text, but not which of the two it was made from.
func hasID(key, text string) bool {
	if text == "" {
		return !strings.ContainsFunc(key, unicode.IsSpace)
	}
	_, same := strings.CutPrefix(key, text+"#")
	return key != text && !same
}

// agreed gives the first loop of this run what was agreed when the session began: the
// files that must stay as they were, and the commit that changes are counted from. To
// look at them anew would take for granted what the agent has changed since.
func (r *session) agreed(s ralph.State) ralph.State {
	if list := r.begun(); len(list) > 0 {
		s.Task.Guarded, s.Base, s.Prepared = maps.Clone(list[0].Task.Guarded), list[0].Base, true
	}
	return s
}

// resume goes on with the items in the middle of whose attempts the process died, so
// that nothing of those is left when the session goes on.
func (r *session) resume(ctx context.Context) error {
	for _, it := range r.running {
		if err := r.relimit(ctx); err != nil {
			return err
		}
		if err := r.work(ctx, it); err != nil {
			return err
		}
	}
	return nil
}
