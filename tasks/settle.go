package tasks

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
)

// settled reports whether an iteration that ended so is not run again.
func settled(f ralph.Fault) bool {
	return f != ralph.FaultInterrupted && f != ralph.FaultRateLimit
}

// settle says what follows for the session when the item's loop has ended. The
// error ends the session.
func (r *session) settle(ctx context.Context, s ralph.State, err error) error {
	stopped, ok := errors.AsType[*ralph.StopError](err)
	switch {
	case r.keepErr != nil:
		return r.keepErr
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case !ok:
		return err // or nil: the item is done
	case stopped.Reason == ralph.StopCancelled && r.boxed: // by control
		return nil
	case stopped.Reason == ralph.StopBlocked, stopped.Reason == ralph.StopIterations && s.Iteration == r.misses():
		return r.giveUp(ctx, s)
	case stopped.Reason == ralph.StopIterations:
		_, err = r.limits()
	}
	return err
}

// giveUp skips the item, unless it is done all the same: a box outranks what the
// answer says.
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
	}
	if !r.skipped[r.item.Key] {
		r.skipped[r.item.Key] = true
		r.report.Skipped = append(r.report.Skipped, r.item.Key)
	}
	return nil
}

// end makes the report.
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
	r.reportTicks(p)
	left := r.remaining()
	p.TasksRemaining = len(left)
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
			err = &ralph.StopError{Task: p.FeatureBranch, Reason: ralph.StopStalled, Detail: why + listed(left)}
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
		if it.ID != "" && !r.isDone(it) {
			left = append(left, it)
		}
	}
	return left
}

// lost lists what was in the list and is no longer.
func (r *session) lost() (list []Item) {
	lost := maps.Clone(r.last)
	for _, it := range r.items {
		delete(lost, it.Key)
	}
	for _, key := range slices.Sorted(maps.Keys(lost)) {
		list = append(list, lost[key])
	}
	return list
}

// reportTicks sorts the boxes by what is known of them.
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
