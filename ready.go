package ralph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/internal/stream"
)

// controlEvery is how often Control is asked while the loop waits or is paused, and
// while an attempt runs. Often enough that a person who cancels does not wonder, and
// rare enough that a Control that asks a database is no load.
const controlEvery = time.Second / 2

// ready waits until the next attempt may start, or the loop has stopped. Of a
// wait that ends early only what has passed is counted.
//
// A wait is counted in full when it is decided on (State.Next has no clock), so the
// part that was not waited is taken back by an event of its own. Otherwise a loop that
// is interrupted in a wait of five hours would lose five hours of its Duration.
func (r *run) ready(ctx context.Context) error {
	due := r.s.NotBefore()
	until := time.Now().Add(min(time.Until(due), r.s.Wait)) // not longer, however the clock is set
	left := func() time.Duration { return min(time.Until(due), time.Until(until)) }
	err := r.await(ctx, left)
	if rest := left(); rest > 0 {
		s := r.s.breakWait(rest)
		err = also(err, r.record(ctx, Event{Kind: EventWaiting, Text: fmt.Sprintf("stopped waiting, %v early", rest.Round(time.Millisecond)),
			State: &State{Elapsed: s.Elapsed, Waited: s.Waited, Unwaited: s.Unwaited}}))
	}
	// Without a Control nobody in this process could end the pause: an error is better
	// than a wait for ever.
	if err == nil && r.s.Paused && !r.s.Done() {
		return fmt.Errorf("ralph: loop %q is paused; State.Pause(false) lets it go on", r.s.Loop)
	}
	return err
}

// await asks Control, and again until no time is left to wait and the loop is not
// paused.
//
// Control is asked before the first look at the clock, so that a cancel or new limits
// which came between two attempts hold before the next one is paid for.
func (r *run) await(ctx context.Context, left func() time.Duration) error {
	for told := false; ; {
		if ctx.Err() != nil {
			return r.interrupted(ctx)
		}
		if err := r.control(ctx); err != nil || r.s.Done() {
			return err
		}
		wait := left()
		held := r.s.Paused && r.Control != nil
		if wait <= 0 && !held {
			return nil
		}
		if wait > 0 && !told {
			told = true
			if err := r.waits(ctx, wait); err != nil || r.s.Done() {
				return err
			}
		}
		// Without a Control there is nobody to ask: one long sleep will do.
		if r.Control != nil {
			wait = min(cmp.Or(max(wait, 0), controlEvery), controlEvery)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// waits records, once for each wait, why the loop is silent and until when: hours
// without a word look like a hang.
func (r *run) waits(ctx context.Context, wait time.Duration) error {
	text := fmt.Sprintf("waiting %v before the next retry", wait.Round(time.Millisecond))
	if r.s.RateLimits > 0 {
		until := time.Now().Add(wait).In(r.zone()).Format("2006-01-02 15:04:05 MST")
		text = fmt.Sprintf("waiting %v for the rate limit, until %s", wait.Round(time.Millisecond), until)
	}
	return r.record(ctx, Event{Kind: EventWaiting, Text: text})
}

// zone is the one in which the provider told when the limit is over, else UTC: the
// words are those of this run, for an engine that resumes one knows none.
//
// People compare the time with the provider's own message, so it is shown in that zone.
func (r *run) zone() *time.Location {
	if at := stream.ResetTime(r.limit, time.Now(), time.Local); !at.IsZero() {
		return at.Location()
	}
	return time.UTC
}

// control lets Control change the state, and records what it changed.
func (r *run) control(ctx context.Context) error {
	if r.Control == nil {
		return nil
	}
	from, to := r.s, r.s
	err := plugin.Call("Local.Control", func() (err error) { to, err = r.Control(ctx, from); return })
	if err != nil {
		if ctx.Err() != nil {
			return r.interrupted(ctx)
		}
		return &partError{"control", err}
	}
	return r.change(ctx, from, to)
}

// change records what Control has made of a state, which may have gone on since.
//
// What Control returns is not taken as it is: it is told as events, those are applied,
// and the result is compared. So a Control cannot change what no event can say, and a
// log never lacks a change that happened.
func (r *run) change(ctx context.Context, from, to State) error {
	changed := from
	var err error
	for _, ev := range from.Changes(to) {
		changed = changed.Apply(ev)
		err = r.record(ctx, ev)
	}
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(changed, to) {
		return errors.New("ralph: control: the state was changed by something else than Guide, Limit, Pause and Cancel")
	}
	return nil
}
