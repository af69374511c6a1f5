package ralph

import (
	"context"
	"reflect"
	"sync"
)

// An OwnStore is a [Store] that does not believe what others have written into the
// Store below it, where agents can write, as any program with the user's rights can. It
// is for a process that handles all events of its sessions by itself. Once it has seen
// a session it believes its own memory on everything that matters: that there is a
// loop, what its task is, that it was verified. From the Store below it takes only what
// others may ask for: that the loop is over, paused, guided, or has other limits.
//
// It may be used concurrently. Its memory grows with the sessions that it has seen, by
// one state each.
type OwnStore struct {
	Store // required

	mu   sync.Mutex
	mine map[string]ownState
}

// An ownState is a session's state as this process has left it.
type ownState struct {
	left HookState
	lost bool // others have ended its loop: what they begin is not this process's
}

// Update implements [Store]. A loop that another process has begun in one of this
// process's sessions counts for nothing here, and what others have changed in a state
// is overwritten by the next change.
func (o *OwnStore) Update(ctx context.Context, session string, change func(HookState) (HookState, error)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var next ownState
	err := o.Store.Update(ctx, session, func(x HookState) (HookState, error) {
		next = o.mine[session]
		is := next.as(x)
		next.lost = next.left.Active() && is.IsZero()
		to, err := change(is.clone())
		if !to.IsZero() { // else it is kept how the loop has ended
			next = ownState{left: to.clone()}
		}
		if err == nil && reflect.DeepEqual(to, is) && (x.Active() || !is.IsZero()) {
			return x, nil
		}
		return to, err
	})
	if err == nil {
		if o.mine == nil {
			o.mine = map[string]ownState{}
		}
		o.mine[session] = next
	}
	return err
}

// as is what this process makes of a stored state. What others may ask for is taken
// over; a forged verdict, task or counter is not.
func (o ownState) as(x HookState) HookState {
	switch is := o.left.clone(); {
	case is.IsZero():
		return x
	case o.lost || !is.Active() || !x.Active():
		return HookState{}
	default:
		is.State.Paused, is.State.Guidance, is.State.Late, is.State.Task.Limits = x.State.Paused, x.State.Guidance, x.State.Late, x.State.Task.Limits
		return is
	}
}

// Left returns a session's state as this process last wrote it, also when the loop
// is over; the zero HookState = this process has not seen the session. What others
// have changed since is not in it.
func (o *OwnStore) Left(session string) HookState {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mine[session].left.clone()
}
