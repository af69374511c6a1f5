package ralph

import (
	"context"
	"sync"
)

// A Remote lets other goroutines steer a loop and look at it: a user interface, an
// HTTP handler. Its method Control is for [Local.Control], or for a driver that asks
// it before each attempt. The zero value is ready to use; a Remote is for one loop
// and must not be copied.
//
// All methods return at once and may be called concurrently, also before the loop
// begins. What is asked for is kept, in its order, until Control is called; what is
// asked for once the loop has ended is for its next run.
type Remote struct {
	mu      sync.Mutex
	changes []func(State) State // not taken over yet
	seen    State
	wake    chan struct{}
}

// Control returns the state with what was asked for since the last call. When ctx is
// done it leaves that for the next. It returns no error.
func (r *Remote) Control(ctx context.Context, s State) (State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() == nil {
		for _, change := range r.changes {
			s = change(s)
		}
		r.changes = nil
	}
	r.seen = s
	return s, nil
}

// State is the state as Control returned it last; the zero State before that. It
// shows whether the loop is paused, but not whether it has ended: that is what Run
// returns.
func (r *Remote) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// Wake returns a channel that has something to receive when something was asked for,
// for [Sleep]. It is always the same one, and never closed.
func (r *Remote) Wake() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waking()
}

// waking is the channel, which holds one: who is woken takes over all changes.
func (r *Remote) waking() chan struct{} {
	if r.wake == nil {
		r.wake = make(chan struct{}, 1)
	}
	return r.wake
}

// Guide adds advice to the next prompt, see [State.Guide].
func (r *Remote) Guide(text string) { r.ask(func(s State) State { return s.Guide(text) }) }

// Pause pauses the loop before its next attempt, or lets it go on.
func (r *Remote) Pause(paused bool) { r.ask(func(s State) State { return s.Pause(paused) }) }

// Stop ends the loop after the iteration that has begun, see [State.Finish].
func (r *Remote) Stop() { r.ask(State.Finish) }

// Cancel stops the loop for good, and a run of the agent that is in progress with
// it. See [State.Cancel].
func (r *Remote) Cancel(reason string) { r.ask(func(s State) State { return s.Cancel(reason) }) }

// Limit replaces the limits, see [State.Limit]. It returns an error, and nothing is
// asked for, if they are not valid.
func (r *Remote) Limit(l Limits) error {
	if err := l.Validate(); err != nil {
		return err
	}
	r.ask(func(s State) State { return s.Limit(l) })
	return nil
}

func (r *Remote) ask(change func(State) State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = append(r.changes, change)
	select {
	case r.waking() <- struct{}{}:
	default: // told already
	}
}
