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

// A run is one call of Local.Run: the state as it is now, and the errors that must not
// be lost because something more urgent ends the call. They are kept apart by origin,
// since each can happen beside the others, and Run returns all of them joined.
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
//
// That an attempt does not begin without its record is what makes a crash harmless: an
// agent that runs untold could neither be ended nor paid for afterwards. Once it has
// run, the opposite holds. To forget an attempt because its end could not be written
// would run it, and pay for it, a second time.
func (r *run) record(ctx context.Context, ev Event) error {
	ev = r.s.event(ev)
	var err error
	if r.Log != nil {
		// The end of a loop that was interrupted must be recorded too, so the log gets
		// a context without the cancellation.
		err = plugin.Call("Local.Log", func() error { return r.Log.Append(context.WithoutCancel(ctx), ev) })
	}
	// A cancel by another process is news and no failure. It may come joined with a
	// real error, and neither may hide the other.
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

// apply changes the state by an event that is recorded, and by nothing else: who ranges
// over Local.Events is told of it first.
func (r *run) apply(ev Event) {
	r.tell(ev)
	r.s = r.s.Apply(ev)
}

// tell hands an event to who ranges over Local.Events.
func (r *run) tell(ev Event) {
	if r.watch != nil {
		r.watch(ev)
	}
}

// interrupted says what a done context means: a cancel, which is recorded and stops
// the loop, or an error of Run's.
//
// Only ErrCancelled is a person's decision. A program that shuts down, a deadline, a
// broken connection cancel contexts too, and a loop must be able to go on after those.
func (r *run) interrupted(ctx context.Context) error {
	cause := context.Cause(ctx)
	switch {
	case !errors.Is(cause, ErrCancelled):
		return cause
	case r.s.Done():
		return nil
	}
	reason := ""
	// The cause may wrap ErrCancelled with a reason: that is recorded without the
	// sentinel's own word, which the kind of the event says already.
	if cause != ErrCancelled {
		reason = strings.TrimPrefix(cause.Error(), ErrCancelled.Error()+": ")
	}
	return r.record(ctx, Event{Kind: EventCancelled, Text: reason})
}

// begin records that the loop starts, and how an attempt ended that the state says
// is running: nobody runs it any more.
//
// The leftover process of an attempt is dealt with before the first look at the
// workspace: what still runs may still write. The event comes after both, so that it
// holds the state that they made.
func (r *run) begin(ctx context.Context) error {
	ended, pending, err := r.leftover(ctx)
	if err != nil {
		return err
	}
	// A Workspace of the caller's that fails is a mistake in the configuration, and no
	// attempt is paid for it. With git it may be the repository that is broken, which
	// the agent may have been asked to mend.
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
	// Only the rest of a wait that is still ahead is counted again; the time between
	// two processes is nobody's.
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
	// The answer is on record, so the agent is not run, and paid, again for it. What
	// was ended belongs to the same attempt, so it is told with it.
	case pending != nil:
		ev := *pending
		ev.Iteration.Ended = boundedEnded(slices.Concat(ev.Iteration.Ended, ended))
		return r.conclude(ctx, r.meanwhile(ctx), ev)
	}
	// Nothing is known of how the attempt ended: it is run again as another attempt of
	// the same iteration, with what it had told of its usage spent.
	return r.record(ctx, Event{Kind: EventIterationEnded, Iteration: Iteration{
		Number: s.Iteration, Attempt: s.Attempt, Outcome: OutcomeInterrupted, Fault: FaultInterrupted,
		Error: "the end of this attempt is not on record", Usage: s.counted(Usage{}), Elapsed: s.Ran, End: time.Now().UTC().Round(0), Ended: ended,
	}})
}

// learn takes over what earlier loops have taught.
//
// It is asked only of a loop that has not begun: limits that change under a loop that
// goes on would be a surprise, and its prompts have been sent already.
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

// lesson asks what earlier loops have taught. Limits that make no sense are refused
// here, for State.Limit would leave them out in silence.
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
//
// An attempt without a mark, or a system that cannot find processes by one, leaves
// nothing to end: the loop goes on, as documented, rather than refuse every system but
// Linux.
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
//
// A Pending or a worker that answers with another attempt's event would have the wrong
// work judged, so numbers are compared and not trusted.
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

// iterate makes one attempt and records it.
//
// The order is the protocol that Local's comment describes for drivers: the start is on
// record before the agent runs, the answer before it is verified, the verdict last. A
// crash between any two of them is found out by what is missing.
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
	// From here on the attempt exists, whatever happens: errors are kept and told at
	// its end.
	m := r.meanwhile(ctx)
	var ev Event
	ev, r.seen, r.sinkErr = r.attempt(m.ctx, s, req, r.seen, m)
	m.notice()
	r.record(ctx, ev) // its error is in logErr
	m.settle()
	return r.conclude(ctx, m, ev)
}

// conclude has an answer judged and records the end of its attempt.
//
// An interrupt that came after the verdict does not undo it: a verified claim is
// verified, and the interrupt is Run's error beside that.
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
//
// errors.Join alone would name one failed log twice, for the same error comes back from
// several events.
func also(err, more error) error {
	switch {
	case err == nil:
		return more
	case more == nil || errors.Is(err, more):
		return err
	}
	return errors.Join(err, more)
}
