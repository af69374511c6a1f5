package pipeline

import (
	"context"
	"iter"

	"github.com/ralph-loop/ralph"
)

// Run does what was agreed, see [Pipeline.Run]. It must not be called twice at the same
// time.
func (a *Agreed) Run(ctx context.Context) (State, error) {
	s, err := a.run(ctx, nil)
	a.publish()
	return s, err
}

// publish has Tasks hold those that were added. Not while it runs: callers read it.
func (a *Agreed) publish() {
	if a.all != nil {
		a.Tasks = a.all
	}
}

// Events does what was agreed, see [Pipeline.Events]. The run has ended when the
// sequence has, also if it was broken off.
func (a *Agreed) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		// The run has a goroutine, since the caller's is in yield. An event is handed
		// over before the next thing happens, so a caller that is slow slows the run
		// down and loses nothing.
		events, ended := make(chan Event), make(chan error, 1)
		defer func() {
			cancel(ralph.ErrAbandoned)
			for range events { // also if yield has panicked
			}
		}()
		go func() {
			defer close(events)
			_, err := a.run(ctx, func(ev Event) { events <- ev })
			ended <- err
		}()
		broken := false
		for ev := range events {
			if !broken && !yield(ev, nil) {
				broken = true
				cancel(ralph.ErrAbandoned)
			}
		}
		err := <-ended
		a.publish()
		if err != nil && !broken {
			yield(Event{}, err)
		}
	}
}
