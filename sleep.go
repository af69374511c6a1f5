package ralph

import (
	"context"
	"time"
)

// Sleep is what a driver does before an attempt: it blocks until the loop may go on,
// at [State.NotBefore], and returns nil. It also returns nil as soon as it receives
// from wake: somebody wants something, so the driver asks its control, applies what
// that changed, and calls Sleep again. With a nil wake nobody does.
//
// For a loop that has stopped Sleep returns nil at once. For one that is paused no
// time ever comes: only wake, or the end of ctx, ends the wait. When ctx is done,
// Sleep returns context.Cause(ctx); it never returns another error.
//
// The wait is counted from [State.Updated], the end of the last attempt, so the
// iterations given to [State.Next] must have their End. It is never longer than
// [State.Wait], however the clock is set.
func Sleep(ctx context.Context, s State, wake <-chan struct{}) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	wait := min(time.Until(s.NotBefore()), s.Wait)
	var due <-chan time.Time // nil = never
	switch {
	case s.Done():
		return nil
	case s.Paused:
	case wait <= 0:
		return nil
	default:
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-wake:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
