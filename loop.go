package ralph

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"reflect"
	"time"
)

// Local is the driver for this process: it runs the agent, has its claims
// verified, waits, records, and leaves every decision to [State.Next]. The
// fields must not be changed while it runs; one Local may run many loops at
// the same time if its parts allow that.
type Local struct {
	Runner   Runner      // required
	Verifier Verifier    // required; verify.String{} is the explicit choice to trust the agent's word
	Log      ProgressLog // nil = none

	// Prompt makes the prompt of an attempt. nil = [State.Prompt]. An error
	// ends Run before the agent is started. It must be written so that the
	// same state gives the same prompt, and should end with
	// [State.Continuation].
	Prompt func(context.Context, State) (string, error)

	// Control is called before each attempt and after each wait. It may return
	// the state changed by Guide, Limit, Cancel and Pause, in any combination
	// and by nothing else, or block while the loop is paused. What it changed
	// is recorded. nil = none; a paused loop is then an error.
	Control func(context.Context, State) (State, error)

	// Output returns the sinks for one attempt, see [Request]. Either may be
	// nil. What cannot be displayed is lost; if the raw stream cannot be
	// written, the attempt is still counted and recorded, and Run returns the
	// error.
	Output func(Request) (display, raw io.Writer)

	// Workspace returns a digest of the workspace, "" = unknown, and the files
	// changed, for [Limits.Stalls] and [Iteration.Files]. nil = git's view of
	// the files where dir is in a git work tree, without what loops write
	// themselves, else unknown.
	Workspace func(ctx context.Context, dir string) (digest string, files []string, err error)

	// Evidence is a folder for the full outputs of checks; every attempt gets
	// a folder of its own below it. "" = digests only.
	Evidence string

	// Meta is recorded when the loop starts: what resuming needs to build the
	// runner and the verifier again.
	Meta map[string]string
}

var _ Loop = (*Local)(nil)

// Run runs the loop until it stops or cannot go on, see [Loop]. Calling it with
// a state that it returned goes on from there. A state that is done is returned
// as it is: nothing runs and nothing is recorded.
//
// A verified loop whose end or raw output could not be written returns that error.
func (l *Local) Run(ctx context.Context, s State) (State, error) {
	if err := l.validate(); err != nil {
		return s, err
	}
	if s.Done() {
		return s, s.Err()
	}
	r := &run{Local: l, s: s}
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

func (l *Local) validate() error {
	switch {
	case l.Runner == nil:
		return errors.New("ralph: Local has no Runner")
	case l.Verifier == nil:
		return errors.New("ralph: Local has no Verifier; verify.String{} is the explicit choice to take the agent's word")
	}
	return nil
}

// Iterate runs the agent once on a state that is not done, looks for a claim,
// has it verified and reports what happened. Agent failures are data, in
// [Iteration.Fault]; an error means that the attempt could not be made, or, with
// an Iteration that is not zero, that its raw output could not be written.
// Iterate records nothing: that is the driver's part.
func (l *Local) Iterate(ctx context.Context, s State) (Iteration, error) {
	req, err := l.request(ctx, s)
	if err != nil {
		return Iteration{}, err
	}
	a := l.attempt(ctx, s, req)
	return l.judge(ctx, s, a), a.sinkErr
}

// Observe is the second half of [Local.Iterate], for an answer that came from
// elsewhere: it looks for a claim and has it verified. Start and elapsed time
// are those of the verification.
func (l *Local) Observe(ctx context.Context, s State, answer Response) (Iteration, error) {
	req, err := l.request(ctx, s)
	if err != nil {
		return Iteration{}, err
	}
	a := &attempt{req: req, resp: answer, start: time.Now(), usage: answer.Usage}
	a.fault, a.err, a.after = classify(ctx, nil, answer, nil)
	after, _ := l.look(ctx, s.Task.Dir)
	a.workspace = after.digest
	return l.judge(ctx, s, a), nil
}

// request returns the request for the next attempt, without its sinks.
func (l *Local) request(ctx context.Context, s State) (Request, error) {
	if err := l.validate(); err != nil {
		return Request{}, err
	}
	if s.Done() {
		return Request{}, fmt.Errorf("ralph: the loop has stopped: %s", s.Stop)
	}
	req := s.Request()
	if l.Prompt != nil {
		prompt, err := l.Prompt(ctx, s)
		if err != nil {
			return Request{}, fmt.Errorf("prompt: %w", err)
		}
		req.Prompt = prompt
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
		tee := *l
		tee.Log = ProgressLogFunc(func(ctx context.Context, ev Event) error {
			var err error
			if l.Log != nil {
				err = l.Log.Append(ctx, ev)
			}
			if !broken && !yield(ev, nil) {
				broken = true
				cancel(ErrCancelled)
			}
			return err
		})
		if _, err := tee.Run(ctx, s); err != nil && !broken {
			yield(Event{}, err)
		}
	}
}

// A run is one call of Local.Run.
type run struct {
	*Local
	s       State
	logErr  error // the last
	sinkErr error // of the last attempt's raw output
}

// record appends an event and applies it: what is recorded and what is decided
// cannot come apart. An attempt that cannot be recorded does not begin; anything
// else has happened, recorded or not.
func (r *run) record(ctx context.Context, ev Event) error {
	ev.V, ev.Time = Version, time.Now().UTC().Round(0)
	ev.Loop, ev.Task, ev.Agent = r.s.Loop, r.s.Task.ID, r.s.Task.Agent
	if r.Log != nil {
		if err := r.Log.Append(context.WithoutCancel(ctx), ev); err != nil {
			r.logErr = fmt.Errorf("progress log: %w", err)
			if ev.Kind == EventIterationStarted {
				return r.logErr
			}
		}
	}
	r.s = r.s.Apply(ev)
	return r.logErr
}

func (r *run) begin(ctx context.Context) error {
	if r.s.Workspace == "" {
		view, err := r.look(ctx, r.s.Task.Dir)
		if err != nil {
			return fmt.Errorf("workspace: %w", err)
		}
		r.s.Workspace = short(view.digest)
	}
	s := r.s
	if err := r.record(ctx, Event{Kind: EventLoopStarted, State: &s, Meta: maps.Clone(r.Meta)}); err != nil || !s.Running {
		return err
	}
	return r.record(ctx, Event{Kind: EventIterationEnded, Iteration: Iteration{
		Number: s.Iteration, Attempt: s.Attempt, Outcome: OutcomeInterrupted, Fault: FaultInterrupted,
		Error: "the process that ran this attempt ended before the attempt did", End: time.Now().UTC().Round(0),
	}})
}

// ready waits until the next attempt may start, or the loop has stopped.
func (r *run) ready(ctx context.Context) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.control(ctx); err != nil || r.s.Done() {
			return err
		}
		wait := min(time.Until(r.s.NotBefore()), r.s.Wait)
		if wait <= 0 {
			break
		}
		why := "before the next retry"
		if r.s.RateLimits > 0 {
			why = "for the rate limit"
		}
		if err := r.record(ctx, Event{Kind: EventWaiting, Text: fmt.Sprintf("waiting %v %s", wait.Round(time.Millisecond), why)}); err != nil {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	if r.s.Paused {
		return fmt.Errorf("ralph: loop %q is paused; State.Pause(false) lets it go on", r.s.Loop)
	}
	return nil
}

// control lets Control change the state, and records what it changed.
func (r *run) control(ctx context.Context) error {
	if r.Control == nil {
		return nil
	}
	to, err := r.Control(ctx, r.s)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("control: %w", err)
	}
	from := r.s
	var changes []Event
	if !reflect.DeepEqual(from.Guidance, to.Guidance) {
		changes = append(changes, Event{Kind: EventGuided, State: &State{Guidance: to.Guidance}})
	}
	if from.Task.Limits != to.Task.Limits {
		changes = append(changes, Event{Kind: EventLimitsChanged, State: &State{Task: Task{Limits: to.Task.Limits}}})
	}
	if from.Paused != to.Paused {
		kind := EventContinued
		if to.Paused {
			kind = EventPaused
		}
		changes = append(changes, Event{Kind: kind})
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
		return errors.New("control: the state was changed by something else than Guide, Limit, Pause and Cancel")
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
	a := r.attempt(ctx, s, req)
	r.sinkErr = a.sinkErr
	answer := a.resp
	answered := r.record(ctx, Event{Kind: EventAnswered, Iteration: started, Answer: &answer})
	it := r.judge(ctx, s, a)
	ended := r.record(ctx, Event{Kind: EventIterationEnded, Iteration: it})
	switch {
	case r.s.Done():
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return errors.Join(answered, ended, a.sinkErr)
}
