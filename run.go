package ralph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/internal/stream"
)

// A run is one call of Local.Run.
type run struct {
	*Local
	s          State
	watch      func(Event) // nil = nobody
	seen       *view       // of the workspace before the next attempt; nil = not known
	logErr     error       // the last
	controlErr error       // of Control while an attempt ran
	sinkErr    error       // of the last attempt's raw output
	limit      string      // the words of the last rate limit; "" = the last attempt met none
}

// record appends an event and applies it: what is recorded and what is decided
// cannot come apart. An attempt that cannot be recorded does not begin; anything
// else has happened, recorded or not.
func (r *run) record(ctx context.Context, ev Event) error {
	ev = r.s.event(ev)
	var err error
	if r.Log != nil {
		err = plugin.Call("Local.Log", func() error { return r.Log.Append(context.WithoutCancel(ctx), ev) })
	}
	cancel, err := plugin.Apart(err, ErrCancelled)
	if cancel != nil { // recorded before ev
		r.apply(r.s.event(Event{Kind: EventCancelled, Text: cancel.Error()}))
	}
	if err != nil {
		r.logErr = &partError{"progress log", err}
		if ev.Kind == EventIterationStarted {
			r.tell(ev)
			return r.logErr
		}
	}
	r.apply(ev)
	return r.logErr
}

func (r *run) apply(ev Event) {
	r.tell(ev)
	r.s = r.s.Apply(ev)
}

func (r *run) tell(ev Event) {
	if r.watch != nil {
		r.watch(ev)
	}
}

// interrupted says what a done context means: a cancel, which is recorded and stops
// the loop, or an error of Run's.
func (r *run) interrupted(ctx context.Context) error {
	cause := context.Cause(ctx)
	switch {
	case !errors.Is(cause, ErrCancelled):
		return cause
	case r.s.Done():
		return nil
	}
	reason := ""
	if cause != ErrCancelled {
		reason = strings.TrimPrefix(cause.Error(), ErrCancelled.Error()+": ")
	}
	return r.record(ctx, Event{Kind: EventCancelled, Text: reason})
}

// begin records that the loop starts, and how an attempt ended that the state says
// is running: nobody runs it any more.
func (r *run) begin(ctx context.Context) error {
	ended, pending, err := r.leftover(ctx)
	if err != nil {
		return err
	}
	seen, err := r.look(ctx, r.s.Task.Dir)
	switch {
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrCancelled):
		return context.Cause(ctx)
	case ctx.Err() != nil: // the cancel is recorded
	case err != nil && r.Workspace != nil:
		return &partError{"workspace", err}
	case err != nil: // git cannot read it: the agent may mend that
		r.s.Unseen = unseen(err)
	default:
		r.s.Unseen = ""
		r.seen = &seen
		r.s.Workspace = cmp.Or(r.s.Workspace, short(seen.digest))
	}
	r.s = r.s.resumeWait(min(time.Until(r.s.NotBefore()), r.s.Wait))
	s := r.s
	err = r.record(ctx, Event{Kind: EventLoopStarted, State: &s, Meta: maps.Clone(r.Meta)})
	if ctx.Err() != nil {
		err = also(r.interrupted(ctx), err)
	}
	switch {
	case err != nil:
		return err
	case !s.Running:
		return r.learn(ctx)
	case pending != nil:
		ev := *pending
		ev.Iteration.Ended = boundedEnded(slices.Concat(ev.Iteration.Ended, ended))
		return r.conclude(ctx, r.meanwhile(ctx), ev)
	}
	return r.record(ctx, Event{Kind: EventIterationEnded, Iteration: Iteration{
		Number: s.Iteration, Attempt: s.Attempt, Outcome: OutcomeInterrupted, Fault: FaultInterrupted,
		Error: "the end of this attempt is not on record", Usage: s.counted(Usage{}), Elapsed: s.Ran, End: time.Now().UTC().Round(0), Ended: ended,
	}})
}

// learn takes over what earlier loops have taught.
func (r *run) learn(ctx context.Context) error {
	if r.Learn == nil || r.s.Begun() || r.s.Done() {
		return nil
	}
	lesson, err := r.lesson(ctx, r.s)
	switch {
	case err != nil && ctx.Err() != nil:
		return r.interrupted(ctx)
	case err != nil:
		return err
	case lesson.Why == "":
		return nil
	}
	return r.record(ctx, lesson.Event(r.s))
}

// lesson asks what earlier loops have taught.
func (l *Local) lesson(ctx context.Context, s State) (lesson Lesson, err error) {
	err = plugin.Call("Local.Learn", func() (err error) { lesson, err = l.Learn(ctx, s); return })
	if err == nil && lesson.Why != "" {
		err = lesson.Limits.Validate()
	}
	if err != nil {
		return Lesson{}, &partError{"learn", err}
	}
	return lesson, nil
}

// leftover ends what is left of an attempt that the state says is running, and asks
// for its answer.
func (r *run) leftover(ctx context.Context) (ended []string, pending *Event, err error) {
	if !r.s.Running {
		return nil, nil, nil
	}
	if r.s.Mark != "" {
		if ended, err = EndLeft(r.s.Mark); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return ended, nil, err
		}
	}
	if r.Pending == nil || ctx.Err() != nil {
		return ended, nil, nil
	}
	err = plugin.Call("Local.Pending", func() (err error) { pending, err = r.Pending(ctx, r.s); return })
	if err == nil && pending != nil {
		err = r.s.awaits(*pending)
	}
	switch {
	case err == nil:
		return ended, pending, nil
	case ctx.Err() != nil: // begin says what follows: a cancel is recorded after the loop's start
		return ended, nil, nil
	}
	return ended, nil, &partError{"pending", err}
}

// awaits refuses an event that is not the answer of the state's attempt.
func (s State) awaits(ev Event) error {
	switch it := ev.Iteration; {
	case ev.Kind != EventAnswered:
		return fmt.Errorf("ralph: the event is %q, not %q", ev.Kind, EventAnswered)
	case ev.Answer == nil:
		return fmt.Errorf("ralph: the event %q has no Answer", ev.Kind)
	case it.Number != s.Iteration || it.Attempt != s.Attempt:
		return fmt.Errorf("ralph: the answer is of iteration %d, attempt %d; the state's attempt is iteration %d, attempt %d",
			it.Number, it.Attempt, s.Iteration, s.Attempt)
	}
	return nil
}

// controlEvery is how often Control is asked while the loop waits or is paused, and
// while an attempt runs.
const controlEvery = time.Second / 2

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

// await asks Control, and again until no time is left to wait and the loop is not
// paused.
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
		if r.Control != nil {
			wait = min(cmp.Or(max(wait, 0), controlEvery), controlEvery)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

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

// iterate makes one attempt and records it.
func (r *run) iterate(ctx context.Context) error {
	s := r.s
	req, err := r.request(ctx, s)
	if err != nil {
		if ctx.Err() != nil {
			return r.interrupted(ctx)
		}
		return err
	}
	started := Iteration{Number: s.Iteration, Attempt: s.Attempt, Start: time.Now().UTC().Round(0)}
	if err := r.record(ctx, Event{Kind: EventIterationStarted, Iteration: started, Meta: map[string]string{metaMark: req.Mark}}); err != nil || r.s.Done() {
		return err
	}
	m := r.meanwhile(ctx)
	var ev Event
	ev, r.seen, r.sinkErr = r.attempt(m.ctx, s, req, r.seen, m)
	m.notice()
	r.record(ctx, ev) // its error is in logErr
	m.settle()
	return r.conclude(ctx, m, ev)
}

// conclude has an answer judged and records the end of its attempt.
func (r *run) conclude(ctx context.Context, m *midrun, ev Event) error {
	it := r.judge(m.ctx, r.s, ev, m)
	if r.limit = ""; it.Fault == FaultRateLimit {
		r.limit = it.Error
	}
	if it.Fault == FaultInterrupted { // what was verified is verified
		m.notice()
	}
	m.close()
	r.record(ctx, Event{Kind: EventIterationEnded, Iteration: it})
	var err error
	if ctx.Err() != nil && !r.s.Done() {
		err = r.interrupted(ctx)
	}
	if r.s.Done() {
		return nil // Run reports what failed
	}
	return also(also(also(err, r.logErr), r.controlErr), r.sinkErr)
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
