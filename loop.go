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
// It is an error if the state makes no sense, if there is nothing to tell the
// agent, neither by the task nor by Prompt, or if the verifier or the runner says
// that it cannot work on the task: then nothing runs and nothing is recorded. A verified loop whose end or raw
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
	s, err := l.prepare(ctx, s)
	if err != nil {
		return s, err
	}
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
	if err := l.ableTo(s.Task); err != nil {
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
	if err := able("verifier", l.Verifier, s.Task); err != nil {
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
