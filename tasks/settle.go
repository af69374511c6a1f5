package tasks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// settled reports whether an iteration that ended so is not run again. An interrupt, or
// the provider's limit of requests, says nothing about the item: such an attempt is
// neither a miss nor a success, and costs no iteration.
func settled(f ralph.Fault) bool {
	return f != ralph.FaultInterrupted && f != ralph.FaultRateLimit
}

// settle says what follows for the session when the item's loop has ended. The error
// ends the session.
//
// The cases are in this order: why the session itself has ended the loop, that ctx is
// done, errors of the driver, and last how the loop stopped. A loop that is blocked or
// has no iterations left ends its item only; each other reason to stop, such as money,
// would end the next item's loop too, and so it ends the session.
func (r *session) settle(ctx context.Context, s ralph.State, err error) error {
	stopped, ok := errors.AsType[*ralph.StopError](err)
	switch {
	// The loop goes on no further: without a Verifier its box, which was ticked before the
	// next attempt, is all there is to know. Else it stays as it is until the Verifier has
	// been asked.
	case r.ended == errLeft && err != nil && !s.Done() && r.done():
		return r.finish(ctx, s)
	case r.ended == errLeft && err != nil && !s.Done():
		return nil
	case r.ended != nil && r.ended != errLeft:
		return r.ended
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case !ok:
		return err // or nil: the item is done
	case stopped.Reason == ralph.StopBlocked, stopped.Reason == ralph.StopIterations:
		return r.giveUp(ctx, s)
	}
	return err
}

// finish records that an item is done whose loop waits for an attempt. Without that
// record a resume would find a loop that is not over, and have the agent work on what
// is done.
func (r *session) finish(ctx context.Context, s ralph.State) error {
	s.NextIteration, s.NextAttempt = s.Iteration, s.Attempt // it has not been run
	s.Stop, s.Detail, s.Wait, s.Unwaited = ralph.StopVerified, "its box is ticked", 0, 0
	r.loops[s.Task.ID] = s
	return r.tell(ctx, s)
}

// tell records a loop's end that its driver does not know of. It is recorded although
// ctx is done, for what has happened has happened.
func (r *session) tell(ctx context.Context, s ralph.State) error {
	ev := ralph.Event{V: ralph.Version, Kind: ralph.EventLoopStopped, Time: time.Now().UTC().Round(0), Loop: s.Loop, Task: s.Task.ID, State: &s}
	err := plugin.Call("Session.Log", func() error { return r.append(context.WithoutCancel(ctx), ev) })
	if _, err = plugin.Apart(err, ralph.ErrCancelled); err != nil { // a cancel comes too late
		return fmt.Errorf("tasks: progress log: %w", err)
	}
	return nil
}

// giveUp skips the item, unless it is done all the same: a box outranks what the answer
// says. Before that, a box that nobody has judged is verified: the agent may tick it
// and say in the same answer that it is blocked.
func (r *session) giveUp(ctx context.Context, s ralph.State) error {
	if r.seen.err != nil {
		return r.seen.err
	}
	if it, _ := find(r.items, r.item.Key); r.unasked(it) {
		if err := r.ask(ctx, it); err != nil {
			return err
		}
	}
	switch {
	case r.done():
		return nil
	case r.Verifier != nil && s.Verdict.Undecided():
		return r.undecided(r.item.Key, s.Verdict)
	case len(r.waitsFor(r.item.Key)) > 0:
		return nil // it has got parts: what it is without them is not what was asked for
	}
	r.skip(r.item.Key)
	return nil
}

// skip notes once that an item is given up. Report.Skipped is in the order in which it
// happened.
func (r *session) skip(key string) {
	if !r.skipped[key] {
		r.skipped[key] = true
		r.report.Skipped = append(r.report.Skipped, key)
	}
}

// end makes the report. The list is read once more, since the last look may be long ago
// where the session waited.
//
// Whether the session is completed is asked of the list before the error is looked at:
// a session whose last item is done in its last iteration, or as it is interrupted, is
// done. Only errors that put the list or the record in doubt stay errors.
func (r *session) end(ctx context.Context, err error) (Report, error) {
	r.look(ctx)
	if err == nil {
		err = r.seen.err
	}
	if kept := r.keep(); err == nil {
		err = kept
	}
	p := &r.report
	p.EndTime = time.Now().UTC().Round(0)
	p.Elapsed, p.Unpriced = r.spent.Elapsed, r.spent.Unpriced
	r.reportTicks(p)
	left := r.remaining()
	p.TasksRemaining = len(left)
	for _, it := range r.held() {
		p.Waiting = append(p.Waiting, it.Key)
	}
	_, stopped := errors.AsType[*ralph.StopError](err)
	switch {
	case len(left) == 0 && (err == nil || stopped || ctx.Err() != nil):
		p.Status, err = SessionCompleted, nil
	case ctx.Err() != nil && err != nil:
		p.Status, err = SessionInterrupted, context.Cause(ctx)
	default:
		p.Status = SessionFailed
		if err == nil {
			why := "given up, or no longer in the list: "
			if len(p.Rejected) > 0 {
				why = "given up, rejected, or no longer in the list: "
			}
			stuck, waiting := r.stuck()
			err = &ralph.StopError{Task: p.FeatureBranch, Reason: ralph.StopStalled, Detail: why + told(stuck) + waiting}
		}
	}
	if err != nil {
		p.Detail = err.Error()
	}
	return *p, err
}

// remaining lists what is open, and what was open when it was last in the list:
// a task is not done by removing it.
func (r *session) remaining() []Item {
	left := slices.DeleteFunc(slices.Clone(r.items), r.isDone)
	for _, it := range r.lost() {
		if !r.isDone(it) {
			left = append(left, it)
		}
	}
	return left
}

// held lists the items that are not worked on because of others that were given up or
// are rejected. It goes through the list once, since each item stands behind what it
// waits for; what is held so holds others in turn.
func (r *session) held() (list []Item) {
	if r.waits == nil {
		return nil
	}
	held := map[string]bool{}
	for _, it := range r.lost() {
		held[it.Key] = true
	}
	for _, it := range r.items { // what an item waits for comes before it
		for _, on := range r.waitsFor(it.Key) {
			if held[on.Key] || r.skipped[on.Key] || on.Done && !r.unjudged(on) {
				held[it.Key] = !r.isDone(it)
			}
		}
		if held[it.Key] {
			list = append(list, it)
		}
	}
	return list
}

// stuck lists what is open for other reasons than that it waits, and says what waits
// for whom: "; 1 waits for 1.2, which was skipped". The two are apart, for a person has
// to do something about the first only.
func (r *session) stuck() (left []Item, waiting string) {
	held := r.held()
	left = slices.DeleteFunc(r.remaining(), func(it Item) bool {
		_, is := find(held, it.Key)
		return is
	})
	for i, it := range held {
		if i == maxListed {
			waiting += fmt.Sprintf(" and %d more wait", len(held)-i)
			break
		}
		on := r.waitsFor(it.Key)
		waiting += "; " + it.Key + " waits for " + listed(on)
		if len(on) == 1 && r.skipped[on[0].Key] {
			waiting += ", which was skipped"
		}
	}
	return left, waiting
}

// reportTicks sorts the boxes by what is known of them. Items that are gone are among
// them, as they were when they were last seen.
func (r *session) reportTicks(p *Report) {
	for _, it := range append(slices.Clone(r.items), r.lost()...) {
		done := r.isDone(it)
		newly := done && !r.before[it.Key]
		switch {
		case it.Done && !done && !r.unjudged(it):
			p.Rejected = append(p.Rejected, it.Key)
		case r.unjudged(it), newly && r.Verifier == nil:
			p.Unverified = append(p.Unverified, it.Key)
		}
		if newly {
			p.TasksCompleted++
		}
	}
	if len(r.pending) > 0 {
		p.Pending = maps.Clone(r.pending)
	}
}
