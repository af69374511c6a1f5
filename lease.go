package ralph

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// hookLease is how long a process that deals with an event is waited for when
	// nothing is heard of it; a living one renews its claim each hookBeat.
	hookLease = 10 * time.Second
	hookBeat  = time.Second
	// hookLook is how often those who wait look whether it has done.
	hookLook = 50 * time.Millisecond
)

// lease is until when who deals with an event is waited for, if nothing more is heard
// of it.
func lease(now time.Time) time.Time { return now.UTC().Round(0).Add(hookLease) }

// A watch is on who deals with an event.
//
// The time that is in the store is only compared with itself: it was written by another
// machine's clock perhaps. That it stays the same for the length of a lease, by our own
// clock, is the sign of death.
type watch struct {
	busy         string
	until, since time.Time // since is when it was first seen, by a clock that nobody sets
}

// dead reports whether the claim was not renewed for the time of a lease, whatever the
// other's clock and ours say: they may be set, and differ.
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
//
// Every change after the first goes through here, so that a process that was too slow,
// and was given up, cannot overwrite what its successor has decided. The context's end
// does not stop it: a change that is half made helps nobody.
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
// did not come to its end counts. The claim is given up and not left to expire, so that
// the next event need not wait ten seconds.
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
//
// An error of the store is no reason to stop: it may be back at the next beat, and if
// it is not, the lease runs out and another one takes over.
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

// errLost says that the claim is not this process's any more; it never leaves this
// file.
var errLost = errors.New("it is somebody else's part")

// wait notes how to interrupt who deals with an event; nil = no longer. Those of other
// processes are reached through the store alone.
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
