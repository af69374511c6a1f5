package ralph

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// hookLease is how long who deals with an event is waited for when he does not say
	// that he still does; he says so each hookBeat.
	hookLease = 10 * time.Second
	hookBeat  = time.Second
	// hookLook is how often is looked whether he has done.
	hookLook = 50 * time.Millisecond
)

func lease(now time.Time) time.Time { return now.UTC().Round(0).Add(hookLease) }

// A watch is on who deals with an event.
type watch struct {
	busy         string
	until, since time.Time // since is when it was first seen, by a clock that nobody sets
}

// dead reports whether he has not said for the time of a lease that he still does,
// whatever his clock and ours say: they may be set, and differ.
func (w *watch) dead(x HookState) bool {
	if x.Busy != w.busy || !x.Until.Equal(w.until) {
		*w = watch{x.Busy, x.Until, time.Now()}
	}
	return time.Since(w.since) >= hookLease
}

// pause waits, and reports whether ctx has let it.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// mine changes the state as long as it is this one's part and the loop goes on.
func (e *idle) mine(ctx context.Context, change func(HookState) HookState) error {
	return e.h.update(context.WithoutCancel(ctx), e.t.Session, func(x HookState) (HookState, error) {
		if e.lost = x.Busy != e.me || !x.Active(); e.lost {
			e.x = x
			return x, nil
		}
		e.x = change(x)
		return e.x, nil
	})
}

// letGo leaves the event to whom it comes to next. What a verification has used that
// did not come to its end counts.
func (e *idle) letGo(ctx context.Context, used Usage) error {
	return e.mine(ctx, func(x HookState) HookState {
		x.Busy, x.Until = "", time.Time{}
		x.State.Usage, x.State.Verifying = x.State.Usage.Add(used), x.State.Verifying.Add(used)
		return x
	})
}

// keep says that this one still deals with the event, until stop is called, also when ctx
// is done. The context is also done when somebody has cancelled the loop, or has taken
// the event over.
func (e *idle) keep(ctx context.Context) (kept context.Context, stop func()) {
	kept, cancel := context.WithCancelCause(ctx)
	live, end := context.WithCancel(context.WithoutCancel(ctx))
	e.h.wait(e.me, cancel)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for pause(live, hookBeat) {
			err := e.h.update(live, e.t.Session, func(x HookState) (HookState, error) {
				if x.Busy != e.me || !x.Active() {
					return x, errLost
				}
				x.Until = lease(time.Now())
				return x, nil
			})
			if errors.Is(err, errLost) {
				cancel(fmt.Errorf("%w: by another process", ErrCancelled))
				return
			}
		}
	}()
	return kept, func() {
		e.h.wait(e.me, nil)
		end()
		cancel(nil)
		<-ended
	}
}

var errLost = errors.New("it is somebody else's part")

// wait notes how to interrupt who deals with an event; nil = no longer.
func (h *Hook) wait(who string, cancel context.CancelCauseFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case cancel == nil:
		delete(h.waits, who)
		return
	case h.waits == nil:
		h.waits = map[string]context.CancelCauseFunc{}
	}
	h.waits[who] = cancel
}

// interrupt interrupts who deals with an event, if he is in this process.
func (h *Hook) interrupt(who string, cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cancel := h.waits[who]; cancel != nil {
		cancel(cause)
	}
}
