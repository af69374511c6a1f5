package progress

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/ralph-loop/ralph"
)

// Begin records that a session or a pipeline begins or, if goesOn is true, goes on. The
// journal is its own, and State says what was agreed. Its loops are recorded by the Dir
// that [Dir.Under] returns for its name, and found by [Dir.Parts].
//
// The start of a single loop is recorded by its driver. A program that accepts a loop
// now and runs it later calls Begin, too: from then on the loop is on record, with its
// Meta, and can be seen, cancelled and resumed.
func (j *Journal) Begin(ctx context.Context, goesOn bool) error {
	s := j.State
	if goesOn {
		s.Attempt++
	}
	j.State = s
	_, err := j.Record(ctx, ralph.Event{Kind: ralph.EventLoopStarted, State: &s, Meta: maps.Clone(j.Meta)})
	if err == nil {
		j.j.mu.Lock()
		j.j.goesOn = true
		j.j.mu.Unlock()
	}
	return err
}

// End records how a session or a pipeline ended, by the error of its run, and closes
// the journal. With nil it is completed; with a [*ralph.StopError] it has stopped for
// that reason, or because somebody has cancelled it. If only one of a session's loops was
// cancelled, the reason is [ralph.StopStalled]: the rest can go on. With any other error
// it has not ended, nothing is recorded, and it can go on.
func (j *Journal) End(ctx context.Context, err error) error {
	stop := &ralph.StopError{Reason: ralph.StopVerified}
	if err != nil && !errors.As(err, &stop) {
		return j.Close()
	}
	ctx = context.WithoutCancel(ctx)
	s, err := j.Ask(ctx)
	if !s.Done() {
		s.Stop, s.Detail = stop.Reason, stop.Detail
		s.NextIteration, s.NextAttempt = s.Iteration, s.Attempt      // higher limits let it go on
		if s.Stop == ralph.StopCancelled && j.Kind != KindPipeline { // whose error is its own
			s.Stop = ralph.StopStalled
		}
	}
	if err == nil {
		_, err = j.Record(ctx, ralph.Event{Kind: ralph.EventLoopStopped, State: &s})
	}
	return errors.Join(err, j.Close())
}

// Reopened returns the state from which what is on record can go on after it has
// stopped. For a loop that is [ralph.State.Reopen]. A session or a pipeline can go on
// unless it is completed or cancelled; where it goes on is told by its loops. If it
// cannot go on, the state is still done.
func (e Entry) Reopened() ralph.State {
	s := e.State
	switch {
	case !e.hasParts():
		return s.Reopen()
	case s.Stop != ralph.StopVerified && s.Stop != ralph.StopCancelled:
		s.Stop, s.Detail = "", ""
	}
	return s
}

// hasParts reports whether it is not of one loop, but of several.
func (e Entry) hasParts() bool { return e.Kind == KindSession || e.Kind == KindPipeline }

// Changed returns the files that the loops of a session, or of a pipeline, have changed
// since it began, as their [ralph.State.Files] name them, each once and sorted. nil = none
// is known. Of journals that cannot be read nothing is told.
func (d *Dir) Changed(ctx context.Context, session string) []string {
	var all []string
	if e, err := d.Look(session); err == nil {
		for _, part := range d.Parts(ctx, e) {
			all = append(all, part.State.Files...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
