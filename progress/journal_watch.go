package progress

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/ralph-loop/ralph"
)

// Wake returns a channel that has something to receive when another process has asked
// for something, within a second: for [ralph.Sleep]. A goroutine looks until ctx is
// done. It looks at the size of a file twice a second. Notifications of the file system
// were not taken: they do not work on all of them, and half a second is soon enough for
// a person.
func (j *Journal) Wake(ctx context.Context) <-chan struct{} {
	wake := make(chan struct{}, 1)
	go look(ctx, func() {
		if j.j.changed() {
			select {
			case wake <- struct{}{}:
			default:
			}
		}
	})
	return wake
}

// lookEvery is how often a driver looks for what other processes ask for. The look
// costs a call of the system and no read.
const lookEvery = 500 * time.Millisecond

// look looks, each time, until ctx is done.
func look(ctx context.Context, each func()) {
	for ctx.Err() == nil {
		each()
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
	}
}

// Watch returns a context that is done when another process cancels the loop, within a
// second and with a cause that wraps [ralph.ErrCancelled]. A driver of your own makes
// its attempts and verifications with it, and then records their ends. Call stop when
// it is no longer needed: a goroutine runs until then.
func (j *Journal) Watch(ctx context.Context) (watched context.Context, stop context.CancelFunc) {
	watched, cancel := context.WithCancelCause(ctx)
	go look(watched, func() {
		if reason := j.j.cancelled(); reason != nil {
			cancel(fmt.Errorf("%w: %w", ralph.ErrCancelled, reason))
		}
	})
	return watched, func() { cancel(nil) }
}

// cancelled says why another process has cancelled the loop, or its parent; nil = none
// has. What cannot be read is found out by who writes next. It is asked from another
// goroutine while an attempt runs, so an error must not end anything.
func (j *journal) cancelled() error {
	all := []*journal{j}
	if j.d.Parent != "" {
		all = append(all, j.d.journal(j.d.Parent))
	}
	for _, one := range all {
		if reason := one.cancelledBy(); reason != nil {
			return reason
		}
	}
	return nil
}

func (j *journal) cancelledBy() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.refresh() != nil || j.cancel == nil {
		return nil
	}
	return j.reason()
}

// changed reports whether there is something to read, or to find wrong, or was read
// with a line of this process and is not handed out yet. A file that has gone counts:
// whoever reads next says what is wrong.
func (j *journal) changed() bool {
	info, err := os.Stat(j.path)
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.own > 0 && (err != nil || info.Size() != j.end || len(j.asked) > 0)
}

// Ask takes over what other processes have asked for: it records that, applies it to
// State, and returns State. It is for a driver of your own, between two attempts; it
// does not wait, and [Journal.Wake] tells when it is worth asking. With an error State
// is what could be recorded.
func (j *Journal) Ask(ctx context.Context) (ralph.State, error) {
	to, err := j.d.Control(ctx, j.State)
	if err != nil {
		return j.State, err
	}
	for _, ev := range j.State.Changes(to) {
		if _, err := j.Record(ctx, ev); err != nil {
			return j.State, err
		}
	}
	return j.State, nil
}
