package ralph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/plugin"
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
// verified, and the interrupt is Run's error beside that. One that came before it leaves
// what a crash leaves, an answer on record that has no verdict: the agent's work is paid
// for, and is verified when the loop goes on.
func (r *run) conclude(ctx context.Context, m *midrun, ev Event) error {
	it := r.judge(m.ctx, r.s, ev, m)
	if r.limit = ""; it.Fault == FaultRateLimit {
		r.limit = it.Error
	}
	if it.Fault == FaultInterrupted { // what was verified is verified
		m.notice()
	}
	m.close()
	if r.awaited(ev, it) {
		ev.Iteration.Elapsed, ev.Text = it.Elapsed, it.Error
		r.record(ctx, ev)
	}
	if !r.awaited(ev, it) { // perhaps by then: it was cancelled meanwhile
		r.record(ctx, Event{Kind: EventIterationEnded, Iteration: it})
	}
	var err error
	if ctx.Err() != nil && !r.s.Done() {
		err = r.interrupted(ctx)
	}
	if r.s.Done() {
		return nil // Run reports what failed
	}
	return also(also(also(err, r.logErr), r.controlErr), r.sinkErr)
}

// awaited reports whether an answer whose verification was interrupted is found again
// when the loop goes on. Of a loop that is over, nobody looks for it.
//
// A verification that has told what it used is counted, and that ends the attempt:
// money that is spent must be in the state that Run returns.
func (r *run) awaited(ev Event, it Iteration) bool {
	return it.Fault == FaultInterrupted && ev.Iteration.Fault != FaultInterrupted && it.Verdict.Usage == (Usage{}) &&
		r.Pending != nil && r.logErr == nil && !r.s.Done()
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
