package ralph

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/plugin"
)

// Local runs loops in this process, many at the same time if its parts allow
// that: it runs the agent, has its claims verified, waits, records, and leaves
// every decision to [State.Next]. The fields must not be changed while it runs.
//
// A panic in one of its parts does not end the program: it is an error with its
// stack, and is dealt with as that part's error is.
//
// Run is a driver. One of your own, for a queue or a workflow engine, uses the other
// methods, which wait for nothing and use neither Log, Control nor Pending, and does
// what Run does, in this order:
//
//   - It gives a loop without a name one, calls [Local.Prepare], and records
//     loop_started with the state that it got, and, of a loop that begins, learned
//     with what it has learned ([Lesson]), if anything.
//   - If the state is Running, another process died in that attempt. It ends what is
//     left of it, by State.Mark ([EndLeft]), and has its recorded answer judged
//     ([Local.Judge]), or, if there is none, records iteration_ended with
//     [FaultInterrupted].
//   - Until the state is done, in turns: it waits ([Sleep]); it asks whoever may
//     steer the loop, also while it waits, and records what they changed
//     ([State.Changes]); it records iteration_started, with the [Iteration]'s Number,
//     Attempt and Start, and a mark ([NewMark]); it calls [Local.Attempt] with the
//     state that has this event applied, and records answered, which that returns; it
//     calls [Local.Judge], and records iteration_ended.
//   - It records loop_stopped, with the state.
//
// Each event is applied when it was recorded ([State.Apply]), and the state is changed
// by nothing else: so the fold of the record is the state, whenever the process dies.
// An attempt whose iteration_started could not be recorded does not begin; anything
// else has happened, recorded or not, and is applied.
type Local struct {
	Runner   Runner      // required
	Verifier Verifier    // required; verify.String{} is the explicit choice to trust the agent's word
	Log      ProgressLog // nil = none

	// Prompt makes the prompt of an attempt. nil = [State.Prompt], and then the
	// task must have some text. An error ends Run before the agent is started.
	// It must be written so that the same state gives the same prompt, and
	// should end with [State.Continuation].
	Prompt func(context.Context, State) (string, error)

	// Control lets others steer the loop. It may return the state changed by Guide,
	// Limit, Cancel and Pause, in any combination and by nothing else. What it
	// changed is recorded. nil = none; a paused loop is then an error.
	//
	// It is asked before each attempt, and each half second while the loop waits, is
	// paused, and while an attempt runs or is verified. Then State.Running is true,
	// the call is made on another goroutine, one at a time, and its context is done
	// when the attempt has ended: Run waits until it has returned. Guidance is then
	// for the next prompt; cost, tokens and duration hold for the agent that runs at
	// once, and other limits, and those of a verification, from the next on; a pause
	// begins when the attempt has ended; and a cancel ends agent or verification: the
	// attempt is recorded as interrupted, with what it used.
	//
	// A paused loop waits until Control ends the pause, or the loop; paused time is
	// not Elapsed. An error ends Run, once the attempt that runs has ended.
	Control func(context.Context, State) (State, error)

	// Pending returns the recorded [EventAnswered] of the attempt that a state which is
	// Running was in, or nil if no answer was recorded. Run asks it once, at its start:
	// the answer is then verified, and the agent is not run again for it. A nil Pending
	// says that no record can be asked: the attempt is recorded as interrupted, with
	// what is known of its usage, and made again. An error ends Run before anything is
	// recorded.
	Pending func(context.Context, State) (*Event, error)

	// Learn says what can be learned from earlier loops for one that begins, see
	// [Lesson]. Run asks it once, when the loop begins anew, and records what it
	// changes as [EventLearned]. nil = nothing. An error ends Run before the agent is
	// started.
	Learn func(context.Context, State) (Lesson, error)

	// Output returns the sinks for one attempt, see [Request]. Either may be
	// nil. What cannot be displayed is lost; if the raw stream cannot be
	// written, the attempt is still counted and recorded, and Run returns the
	// error.
	Output func(Request) (display, raw io.Writer)

	// Live is called with what the attempt that runs has used in all so far, each time
	// that its agent tells: for a driver that passes it on in a heartbeat, say. It is
	// called from the runner's goroutines, perhaps concurrently, and must return at
	// once. nil = nobody is told.
	Live func(Request, Usage)

	// Workspace returns a digest of the workspace, "" = unknown, and the files
	// changed, for [Limits.Stalls] and [Iteration.Files]. nil = git's view of
	// the files where dir is in a git work tree, without what loops write
	// themselves, else unknown. Run asks once when it starts and once after each
	// attempt: what it found then is what the next attempt is compared with. An error
	// of it when Run starts is Run's; later ones, and git's, are told once, in
	// [State.Unseen] and [Iteration.Unseen].
	Workspace func(ctx context.Context, dir string) (digest string, files []string, err error)

	// Evidence is a folder for the full outputs of checks; every attempt of every loop
	// gets a folder of its own below it. "" = digests only. The folder must be one that
	// the agent cannot write to, or what is kept there proves nothing.
	Evidence string

	// Meta is recorded when the loop starts: what resuming needs to build the
	// runner and the verifier again.
	Meta map[string]string
}

var _ Loop = (*Local)(nil)

// Run runs the loop until it stops or cannot go on, see [Loop]. Calling it with
// a state that it returned goes on from there. A state that is done is returned
// as it is: nothing runs and nothing is recorded. A loop without a name gets one:
// "loop-" and random letters and digits.
//
// It is an error if the state makes no sense, if there is nothing to tell the
// agent, neither by the task nor by Prompt, or if the verifier or the runner says
// that it cannot work on the task: then nothing runs and nothing is recorded. A
// verified loop whose end or raw output could not be written returns that error.
//
// If ctx is done, agent or verification is ended and the attempt is recorded as
// interrupted; with a Pending, an answer that was being verified stays on record as it
// is, and the state that is returned is Running, unless the verifier has told that it
// used something. With [ErrCancelled] as its cause, or one that wraps it, the loop is
// cancelled: that is recorded at once, and it stops for good. With any other the
// state that is returned goes on.
//
// A state that is Running is of an attempt that an earlier Run, perhaps in another
// process, which died, had begun; Run must not be called while one still runs it. What
// is left of it on this machine is ended, and told in [Iteration.Ended] (an error of
// [EndLeft] is Run's, but for a system that cannot do it), and its answer is judged if
// Pending has it. Else it was interrupted: what it had told of its usage is spent, and
// the iteration begins again.
func (l *Local) Run(ctx context.Context, s State) (State, error) { return l.run(ctx, s, nil) }

// run is Run, with somebody who watches what happens.
func (l *Local) run(ctx context.Context, s State, watch func(Event)) (State, error) {
	if err := l.validate(); err != nil {
		return s, err
	}
	if s.Done() {
		return s, s.Err()
	}
	if err := l.accept(s); err != nil {
		return s, err
	}
	err := context.Cause(ctx)
	if err == nil {
		s, err = l.prepare(ctx, s)
	}
	switch {
	case ctx.Err() == nil && err != nil:
		return s, err
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrCancelled): // a cancel is recorded
		return s, context.Cause(ctx)
	}
	// Two loops without a name in one log would be one loop to whoever reads it.
	s.Loop = cmp.Or(s.Loop, "loop-"+unique())
	r := &run{Local: l, s: s, watch: watch}
	err = r.begin(ctx)
	for err == nil && !r.s.Done() {
		if err = r.ready(ctx); err == nil && !r.s.Done() {
			err = r.iterate(ctx)
		}
	}
	if !r.s.Done() {
		return r.s, err
	}
	// The state at the end is recorded whole, as the completion record: whoever wants
	// only the result need not fold the log.
	final := r.s
	r.record(ctx, Event{Kind: EventLoopStopped, State: &final}) // its error is in logErr
	return r.s, also(also(also(r.s.Err(), r.logErr), r.controlErr), r.sinkErr)
}

// unique makes a part of a name that nobody else has: ten letters and digits of a
// random text, in lower case, so that file systems that ignore case keep two of them
// apart.
func unique() string { return strings.ToLower(rand.Text()[:10]) }

// validate refuses a Local without its parts. No Verifier is an error and not the
// agent's word taken as proof: a gate that was forgotten would look like one that
// passes.
func (l *Local) validate() error {
	switch {
	case l.Runner == nil:
		return errors.New("ralph: Local has no Runner")
	case l.Verifier == nil:
		return errors.New("ralph: Local has no Verifier; verify.String{} is the explicit choice to take the agent's word")
	}
	return nil
}

// accept refuses a state that the agent cannot be run on. It is asked before anything
// is recorded, and so costs nothing.
func (l *Local) accept(s State) error {
	if err := s.validate(); err != nil {
		return err
	}
	if l.Prompt == nil && !s.Task.hasText() {
		return errors.New("ralph: there is nothing to tell the agent: set the task's Prompt (or its Title, Outcome, Acceptance or Success), or Local.Prompt")
	}
	return nil
}

// A partError is an error of one of a driver's parts. It begins with this
// package's name, once.
type partError struct {
	part string
	err  error
}

func (e *partError) Error() string {
	return "ralph: " + e.part + ": " + strings.TrimPrefix(e.err.Error(), "ralph: ")
}
func (e *partError) Unwrap() error { return e.err }

// Iterate runs the agent once on a state that is not done, looks for a claim,
// has it verified and reports what happened: [Local.Attempt] and then
// [Local.Judge]. Agent failures are data, in [Iteration.Fault]; an error means that
// the attempt could not be made, or, with an Iteration that is not zero, that its
// raw output could not be written. Iterate records nothing: that is the driver's
// part, see [Local].
func (l *Local) Iterate(ctx context.Context, s State) (Iteration, error) {
	ev, err := l.Attempt(ctx, s)
	if ev.Kind == "" {
		return Iteration{}, err
	}
	return l.judge(ctx, s, ev, nil), err
}

// Attempt is the first half of [Local.Iterate]: it runs the agent once on a state
// that is not done, looks for a claim, and returns the [EventAnswered] of it, with
// the whole attempt before its verdict. A driver that records it before it calls
// [Local.Judge] loses no answer to a crash in a verification. The agent is ended when
// ctx is done, by the time limits, and by [State.Over] as far as it tells what it uses.
//
// An error means that the attempt could not be made, or, with an Event that is not
// zero, that its raw output could not be written: the attempt still counts.
func (l *Local) Attempt(ctx context.Context, s State) (Event, error) {
	if err := cmp.Or(l.going(s), l.accept(s)); err != nil {
		return Event{}, err
	}
	if err := l.ableTo(s.Task); err != nil {
		return Event{}, err
	}
	req, err := l.request(ctx, s)
	if err != nil {
		return Event{}, err
	}
	ev, _, err := l.attempt(ctx, s, req, nil, nil)
	return ev, err
}

// Judge is the second half of [Local.Iterate]: it has what was claimed in an answer
// verified and returns the whole attempt, for [EventIterationEnded]. The event is what
// [Local.Attempt] has returned for the state's iteration and attempt, in this process
// or in one that has died since. Whether the promise was made is taken from the event,
// so Judge needs no prompt. Of a Verdict in the event only the Usage counts: that of an
// earlier verification which was cut off.
//
// An error means that there is nothing to judge: the state is done or makes no
// sense, the event is of another attempt or another kind, or the verifier says that
// it cannot work on the task.
func (l *Local) Judge(ctx context.Context, s State, answered Event) (Iteration, error) {
	if err := l.judges(s); err != nil {
		return Iteration{}, err
	}
	if err := s.awaits(answered); err != nil {
		return Iteration{}, err
	}
	return l.judge(ctx, s, answered, nil), nil
}

// Observe is [Local.Judge] for an answer that came from elsewhere: it looks for a
// claim and has it verified. Start and elapsed time are those of the verification.
func (l *Local) Observe(ctx context.Context, s State, answer Response) (Iteration, error) {
	if err := l.judges(s); err != nil {
		return Iteration{}, err
	}
	req, err := l.request(ctx, s)
	if err != nil {
		return Iteration{}, err
	}
	start := time.Now()
	it := answered(s, req, answer, start)
	it.Fault, it.Error, it.RetryAfter = classify(ctx, nil, answer, nil)
	if after, _ := l.view(ctx, s.Task.Dir); after != nil {
		it.Workspace = after.digest
	}
	it.findClaim(s.Task, req, answer)
	it.Elapsed = time.Since(start)
	return l.judge(ctx, s, it.answer(s, answer), nil), nil
}

// judges refuses a state on which nothing can be verified.
func (l *Local) judges(s State) error {
	if err := cmp.Or(l.going(s), s.validate()); err != nil {
		return err
	}
	return able("verifier", l.Verifier, s.Task)
}

// going refuses a loop that cannot be run or has stopped. To run a stopped loop again
// would begin an attempt that no event of its record announces.
func (l *Local) going(s State) error {
	if err := l.validate(); err != nil {
		return err
	}
	if s.Done() {
		return fmt.Errorf("ralph: the loop has stopped: %s", s.Stop)
	}
	return nil
}

// request returns the request for the next attempt, without its sinks.
//
// A driver that recorded a mark gets that one. Without it the attempt still gets a mark
// of its own, by which its processes are found when it ends, though not after a crash.
func (l *Local) request(ctx context.Context, s State) (Request, error) {
	req := s.Request()
	req.Mark = cmp.Or(req.Mark, NewMark())
	if l.Prompt == nil {
		return req, nil
	}
	err := plugin.Call("Local.Prompt", func() (err error) { req.Prompt, err = l.Prompt(ctx, s); return })
	if err != nil {
		return Request{}, &partError{"prompt", err}
	}
	return req, nil
}

// Events runs the loop and yields what happens as it happens; the last pair is
// what Run would have returned as error, if it is not nil, with a zero Event.
// Breaking off interrupts the loop, with [ErrAbandoned] as the cause, and waits for
// its end, which is still recorded in Log: it can go on. The sequence can be used
// once.
func (l *Local) Events(ctx context.Context, s State) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		// A yield that returned false must not be called again, but the events until
		// the loop's end still go to the log.
		broken := false
		_, err := l.run(ctx, s, func(ev Event) {
			if !broken && !yield(ev, nil) {
				broken = true
				cancel(ErrAbandoned)
			}
		})
		if err != nil && !broken {
			yield(Event{}, err)
		}
	}
}
