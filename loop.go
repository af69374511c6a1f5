package ralph

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"reflect"
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
type Local struct {
	Runner   Runner      // required
	Verifier Verifier    // required; verify.String{} is the explicit choice to trust the agent's word
	Log      ProgressLog // nil = none

	// Prompt makes the prompt of an attempt. nil = [State.Prompt], and then the
	// task must have some text. An error ends Run before the agent is started.
	// It must be written so that the same state gives the same prompt, and
	// should end with [State.Continuation].
	Prompt func(context.Context, State) (string, error)

	// Control is called before each attempt, and each second while the loop
	// waits for one. It may return the state changed by Guide, Limit, Cancel and
	// Pause, in any combination and by nothing else, or block while the loop is
	// paused. What it changed is recorded. nil = none; a paused loop is then an
	// error.
	Control func(context.Context, State) (State, error)

	// Output returns the sinks for one attempt, see [Request]. Either may be
	// nil. What cannot be displayed is lost; if the raw stream cannot be
	// written, the attempt is still counted and recorded, and Run returns the
	// error.
	Output func(Request) (display, raw io.Writer)

	// Workspace returns a digest of the workspace, "" = unknown, and the files
	// changed, for [Limits.Stalls] and [Iteration.Files]. nil = git's view of
	// the files where dir is in a git work tree, without what loops write
	// themselves, else unknown. Run asks once when it starts and once after each
	// attempt: what it found then is what the next attempt is compared with.
	Workspace func(ctx context.Context, dir string) (digest string, files []string, err error)

	// Evidence is a folder for the full outputs of checks; every attempt of every
	// loop gets a folder of its own below it. "" = digests only.
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
// It is an error if the state makes no sense, or if there is nothing to tell the
// agent, neither by the task nor by Prompt. A verified loop whose end or raw
// output could not be written returns that error.
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
	if ctx.Err() != nil {
		return s, context.Cause(ctx)
	}
	s.Loop = cmp.Or(s.Loop, "loop-"+unique())
	r := &run{Local: l, s: s, watch: watch}
	err := r.begin(ctx)
	for err == nil && !r.s.Done() {
		if err = r.ready(ctx); err == nil && !r.s.Done() {
			err = r.iterate(ctx)
		}
	}
	if !r.s.Done() {
		return r.s, err
	}
	final := r.s
	r.record(ctx, Event{Kind: EventLoopStopped, State: &final}) // its error is in logErr
	if r.logErr == nil && r.sinkErr == nil {
		return r.s, r.s.Err()
	}
	return r.s, errors.Join(r.s.Err(), r.logErr, r.sinkErr)
}

// unique makes a part of a name that nobody else has, the same to file systems
// that ignore case.
func unique() string { return strings.ToLower(rand.Text()[:10]) }

func (l *Local) validate() error {
	switch {
	case l.Runner == nil:
		return errors.New("ralph: Local has no Runner")
	case l.Verifier == nil:
		return errors.New("ralph: Local has no Verifier; verify.String{} is the explicit choice to take the agent's word")
	}
	return nil
}

// accept refuses a state that the agent cannot be run on.
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
// has it verified and reports what happened. Agent failures are data, in
// [Iteration.Fault]; an error means that the attempt could not be made, or, with
// an Iteration that is not zero, that its raw output could not be written.
// Iterate records nothing: that is the driver's part.
func (l *Local) Iterate(ctx context.Context, s State) (Iteration, error) {
	if err := l.going(s); err != nil {
		return Iteration{}, err
	}
	if err := l.accept(s); err != nil {
		return Iteration{}, err
	}
	req, err := l.request(ctx, s)
	if err != nil {
		return Iteration{}, err
	}
	a := l.attempt(ctx, s, req, nil)
	return l.judge(ctx, s, a), a.sinkErr
}

// Observe is the second half of [Local.Iterate], for an answer that came from
// elsewhere: it looks for a claim and has it verified. Start and elapsed time
// are those of the verification.
func (l *Local) Observe(ctx context.Context, s State, answer Response) (Iteration, error) {
	if err := l.going(s); err != nil {
		return Iteration{}, err
	}
	if err := s.validate(); err != nil {
		return Iteration{}, err
	}
	req, err := l.request(ctx, s)
	if err != nil {
		return Iteration{}, err
	}
	a := &attempt{req: req, resp: answer, start: time.Now(), usage: answer.Usage}
	a.fault, a.err, a.retryAfter = classify(ctx, nil, answer, nil)
	a.after = l.view(ctx, s.Task.Dir)
	return l.judge(ctx, s, a), nil
}

// going refuses a loop that cannot be run or has stopped.
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
func (l *Local) request(ctx context.Context, s State) (Request, error) {
	req := s.Request()
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
// Breaking off cancels the loop and waits for its end, which is still recorded
// in Log. The sequence can be used once.
func (l *Local) Events(ctx context.Context, s State) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		broken := false
		_, err := l.run(ctx, s, func(ev Event) {
			if !broken && !yield(ev, nil) {
				broken = true
				cancel(ErrCancelled)
			}
		})
		if err != nil && !broken {
			yield(Event{}, err)
		}
	}
}

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
		err = errors.Join(err, r.record(ctx, Event{Kind: EventWaiting, Text: fmt.Sprintf("stopped waiting, %v early", rest.Round(time.Millisecond)),
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
	if err := r.record(ctx, Event{Kind: EventIterationStarted, Iteration: started}); err != nil {
		return err
	}
	a := r.attempt(ctx, s, req, r.seen)
	r.seen, r.sinkErr = a.after, a.sinkErr
	answer := a.resp
	r.record(ctx, Event{Kind: EventAnswered, Iteration: started, Answer: &answer}) // its error is in logErr
	r.record(ctx, Event{Kind: EventIterationEnded, Iteration: r.judge(ctx, s, a)})
	failed := errors.Join(r.logErr, r.sinkErr)
	switch {
	case r.s.Done():
		return nil
	case ctx.Err() != nil && failed == nil:
		return context.Cause(ctx)
	case ctx.Err() != nil:
		return errors.Join(context.Cause(ctx), failed)
	}
	return failed
}
