package ralph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/ralph-loop/ralph/internal/plugin"
)

// A run is one call of Local.Run.
type run struct {
	*Local
	s       State
	watch   func(Event) // nil = nobody
	seen    *view       // of the workspace before the next attempt; nil = not known
	logErr  error       // the last
	sinkErr error       // of the last attempt's raw output
}

// record appends an event and applies it: what is recorded and what is decided
// cannot come apart. An attempt that cannot be recorded does not begin; anything
// else has happened, recorded or not.
func (r *run) record(ctx context.Context, ev Event) error {
	ev.V, ev.Time = Version, time.Now().UTC().Round(0)
	ev.Loop, ev.Task, ev.Agent = r.s.Loop, r.s.Task.ID, r.s.Task.Agent
	var err error
	if r.Log != nil {
		err = plugin.Call("Local.Log", func() error { return r.Log.Append(context.WithoutCancel(ctx), ev) })
	}
	if r.watch != nil {
		r.watch(ev)
	}
	if err != nil {
		r.logErr = &partError{"progress log", err}
		if ev.Kind == EventIterationStarted {
			return r.logErr
		}
	}
	r.s = r.s.Apply(ev)
	return r.logErr
}

func (r *run) begin(ctx context.Context) error {
	seen, err := r.look(ctx, r.s.Task.Dir)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &partError{"workspace", err}
	}
	r.seen = &seen
	r.s.Workspace = cmp.Or(r.s.Workspace, short(seen.digest))
	r.s = r.s.resumeWait(min(time.Until(r.s.NotBefore()), r.s.Wait))
	s := r.s
	if err := r.record(ctx, Event{Kind: EventLoopStarted, State: &s, Meta: maps.Clone(r.Meta)}); err != nil || !s.Running {
		return err
	}
	return r.record(ctx, Event{Kind: EventIterationEnded, Iteration: Iteration{
		Number: s.Iteration, Attempt: s.Attempt, Outcome: OutcomeInterrupted, Fault: FaultInterrupted,
		Error: "the process that ran this attempt ended before the attempt did", End: time.Now().UTC().Round(0),
	}})
}

// controlEvery is how often Control is asked while the loop waits.
const controlEvery = time.Second

// ready waits until the next attempt may start, or the loop has stopped. Of a
// wait that ends early only what has passed is counted.
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
	if err == nil && r.s.Paused && !r.s.Done() {
		return fmt.Errorf("ralph: loop %q is paused; State.Pause(false) lets it go on", r.s.Loop)
	}
	return err
}

// await asks Control, and again until no time is left to wait.
func (r *run) await(ctx context.Context, left func() time.Duration) error {
	for told := false; ; told = true {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.control(ctx); err != nil || r.s.Done() {
			return err
		}
		wait := left()
		if wait <= 0 {
			return nil
		}
		if !told {
			why := "before the next retry"
			if r.s.RateLimits > 0 {
				why = "for the rate limit"
			}
			if err := r.record(ctx, Event{Kind: EventWaiting, Text: fmt.Sprintf("waiting %v %s", wait.Round(time.Millisecond), why)}); err != nil {
				return err
			}
		}
		select {
		case <-time.After(min(wait, controlEvery)):
		case <-ctx.Done():
		}
	}
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
			return context.Cause(ctx)
		}
		return &partError{"control", err}
	}
	var changes []Event
	if !reflect.DeepEqual(from.Guidance, to.Guidance) {
		changes = append(changes, Event{Kind: EventGuided, State: &State{Guidance: to.Guidance}})
	}
	if from.Paused != to.Paused {
		kind := EventContinued
		if to.Paused {
			kind = EventPaused
		}
		changes = append(changes, Event{Kind: kind})
	}
	if from.Task.Limits != to.Task.Limits { // after the others, for it may stop the loop
		changes = append(changes, Event{Kind: EventLimitsChanged, State: &State{Task: Task{Limits: to.Task.Limits}}})
	}
	if to.Stop == StopCancelled {
		changes = append(changes, Event{Kind: EventCancelled, Text: to.Detail})
	}
	for _, ev := range changes {
		if err := r.record(ctx, ev); err != nil {
			return err
		}
	}
	if !reflect.DeepEqual(r.s, to) {
		return errors.New("ralph: control: the state was changed by something else than Guide, Limit, Pause and Cancel")
	}
	return nil
}

// iterate makes one attempt and records it.
func (r *run) iterate(ctx context.Context) error {
	s := r.s
	req, err := r.request(ctx, s)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	started := Iteration{Number: s.Iteration, Attempt: s.Attempt, Start: time.Now().UTC().Round(0)}
	if err := r.record(ctx, Event{Kind: EventIterationStarted, Iteration: started, Meta: map[string]string{metaMark: req.Mark}}); err != nil {
		return err
	}
	a := r.attempt(ctx, s, req, r.seen)
	r.seen, r.sinkErr = a.after, a.sinkErr
	answer := a.resp
	r.record(ctx, Event{Kind: EventAnswered, Iteration: started, Answer: &answer}) // its error is in logErr
	r.record(ctx, Event{Kind: EventIterationEnded, Iteration: r.judge(ctx, s, a)})
	if r.s.Done() {
		return nil // Run reports what failed
	}
	return also(also(context.Cause(ctx), r.logErr), r.sinkErr)
}

// also adds an error to another, if it is not in it already.
func also(err, more error) error {
	switch {
	case err == nil:
		return more
	case more == nil || errors.Is(err, more):
		return err
	}
	return errors.Join(err, more)
}
