package ralph

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/plugin"
)

// A HookState is the state of one session whose loop a [Hook] drives. It is a plain
// value, which a [Store] keeps. The zero HookState is that of a session without a
// loop.
type HookState struct {
	Session string `json:"session"` // never "" in a store
	// State is the loop. It is Running from when a prompt is given to the session
	// until its answer is judged, and not Running while the next prompt is still to be
	// injected.
	State State `json:"state,omitzero"`
	// Last is what came of the last answer: its claim, and the verdict on it.
	Last Iteration `json:"last,omitzero"`
	// Asked is when the session got the prompt of the iteration that runs.
	Asked time.Time `json:"asked,omitzero"`
	// Injecting says that the process named by Busy is injecting the prompt. If Until
	// has passed, that process died while it did so, and nobody knows whether the
	// session has the prompt.
	Injecting bool `json:"injecting,omitempty"`
	// Failed is why the last prompt could not be injected. "" = it was.
	Failed string `json:"failed,omitempty"`

	// Seen is how many messages the session had when its last turn was judged, or when
	// the loop started, and SeenSum is a digest of the last of them; "" = its host has
	// not said. Turn is the ID of that turn.
	Seen    int    `json:"seen,omitempty"`
	SeenSum string `json:"seen_sum,omitempty"`
	Turn    string `json:"turn,omitempty"`
	// Busy names the process that deals with an event of the session; "" = none. Others
	// wait for it until Until, which it puts off as long as it lives.
	Busy  string    `json:"busy,omitempty"`
	Until time.Time `json:"until,omitzero"`
	// Mark is that of the client's processes which a [Relay] has launched, see [EndLeft].
	Mark string `json:"mark,omitempty"`
	// Recovering is until when the session recovers from an error.
	Recovering time.Time `json:"recovering,omitzero"`
}

// IsZero reports whether there is no loop.
func (x HookState) IsZero() bool { return reflect.ValueOf(x).IsZero() }

// Active reports whether there is a loop that goes on.
func (x HookState) Active() bool { return x.Session != "" && !x.State.Done() }

func (x HookState) clone() HookState {
	x.State, x.Last = x.State.clone(), x.Last.clone()
	return x
}

// A Store keeps the states of a [Hook]'s sessions, for as long as their hosts live or
// longer. Its methods may be called concurrently, also by several processes where
// these share it. [MemoryStore] is one for a single process, progress.Dir one on disk.
type Store interface {
	// Update replaces the state of a session by what change makes of it, in one step
	// that nobody else can come between. change is given the zero HookState if the
	// session has none, and removes the state by returning the zero HookState. If it
	// returns an error, nothing is changed, and Update returns that error as it is. The
	// state is as durable as the store makes it when Update returns. change must not
	// block nor call the store; it may be called more than once, and the last call
	// counts.
	Update(ctx context.Context, session string, change func(HookState) (HookState, error)) error
	// All yields the states that there are, in any order. A state that cannot be read
	// is yielded as an error, and the next ones follow.
	All(ctx context.Context) iter.Seq2[HookState, error]
}

// A MemoryStore is a [Store] in the memory of this process, for hosts that live as long
// as their sessions, and for tests. Its zero value is ready.
type MemoryStore struct {
	mu     sync.Mutex
	states map[string]HookState
}

var _ Store = (*MemoryStore)(nil)

// Update implements [Store].
func (m *MemoryStore) Update(ctx context.Context, session string, change func(HookState) (HookState, error)) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if session == "" {
		return ErrNoSession
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	to, err := change(m.states[session].clone())
	switch {
	case err != nil:
		return err
	case to.IsZero():
		delete(m.states, session)
		return nil
	case m.states == nil:
		m.states = map[string]HookState{}
	}
	to.Session = session
	m.states[session] = to.clone()
	return nil
}

// All implements [Store].
func (m *MemoryStore) All(ctx context.Context) iter.Seq2[HookState, error] {
	return func(yield func(HookState, error) bool) {
		m.mu.Lock()
		all := slices.Collect(maps.Values(m.states))
		m.mu.Unlock()
		for _, s := range all {
			if err := context.Cause(ctx); err != nil {
				yield(HookState{}, err)
				return
			}
			if !yield(s.clone(), nil) {
				return
			}
		}
	}
}

// update is the store's, whose plug-in may panic.
func (h *Hook) update(ctx context.Context, session string, change func(HookState) (HookState, error)) error {
	return plugin.Call("Hook.Store", func() error { return h.Store.Update(ctx, session, change) })
}

// enter puts a new loop into the store.
func (h *Hook) enter(ctx context.Context, fresh HookState) error {
	err := h.update(ctx, fresh.Session, func(x HookState) (HookState, error) {
		if x.Active() {
			return x, fmt.Errorf("ralph: session %q: %w: iteration %d of %s; cancel it first", fresh.Session, ErrActive, x.State.Iteration, x.State.maximum())
		}
		return fresh, nil
	})
	if err != nil {
		return err
	}
	var kept HookState
	err = h.update(ctx, fresh.Session, func(x HookState) (HookState, error) { kept = x; return x, nil })
	if err != nil || !kept.Active() || !kept.Asked.Equal(fresh.Asked) || kept.State.Task.Prompt == fresh.State.Task.Prompt {
		return nil // it is kept, or over already; what cannot be read now its first event tells
	}
	_, err = h.end(ctx, fresh.Session, "its prompt is not kept as it is")
	return also(fmt.Errorf("ralph: session %q: the Store does not keep the Prompt as it is, by which the session's answers are found", fresh.Session), err)
}

// all goes through the states of the store. One that cannot be read does not hide
// the others.
func (h *Hook) all(ctx context.Context, do func(HookState)) (failed error) {
	err := plugin.Call("Hook.Store", func() error {
		for x, err := range h.Store.All(ctx) {
			if failed = also(failed, err); err == nil {
				do(x)
			}
		}
		return nil
	})
	return also(failed, err)
}

var (
	// ErrNoSession says that an event or a command does not name its session. It is never
	// taken for another one.
	ErrNoSession = errors.New("ralph: a session needs an ID")
	// ErrNoMessage says that a session has no answer yet to its last prompt: the host
	// asks again when it has. Nothing was decided.
	ErrNoMessage = errors.New("ralph: the session has no answer yet to its last prompt")
	// ErrRecovering says that an idle event was ignored, for the session recovers from an
	// error: its host asks again after [HookState.Recovering].
	ErrRecovering = errors.New("ralph: the session recovers from an error")
	// ErrNoLoop says that a session has no loop that goes on.
	ErrNoLoop = errors.New("ralph: the session has no active loop")
	// ErrActive says that a session's loop goes on, so that none can be started.
	ErrActive = errors.New("the session has an active loop")
)
