package ralph

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/ralph-loop/ralph/internal/plugin"
)

// runningEvery is how often it is recorded what a running attempt has used. Each record
// is a write that is waited for, and an agent may tell its usage a hundred times a
// second. After a crash at most what came within this time is forgotten.
const runningEvery = time.Second

// runningBeat is how often it is recorded how long an attempt has run, new usage or
// not, where a limit of time counts on: of an agent that tells nothing it is what is
// known after a crash. Shorter would fill a log with records of an agent that only
// thinks.
const runningBeat = 10 * time.Second

// A midrun is what Run does while an attempt runs and is verified: it records what
// the agent has used, asks Control, and records a cancel at once. All of it is done
// by Run's own goroutine, so records stay serial: what others may keep waiting
// (agent, verifier, Control) is on goroutines of its own. A nil midrun does nothing
// of the kind.
//
// The alternative, a lock around the state and records from any goroutine, was not
// taken: a log that is slow would then hold up the agent's output, and events could
// come in an order that Next does not expect.
type midrun struct {
	*run
	caller context.Context         // Run's
	ctx    context.Context         // the attempt's
	stop   context.CancelCauseFunc // ends it
	calls  context.Context         // Control's
	hangUp context.CancelFunc

	used      *meter // nil = no agent runs
	told      chan struct{}
	recorded  Usage            // by the last running event
	mayRecord <-chan time.Time // nil = at once
	beat      <-chan time.Time // nil = nobody listens, or no agent runs
	interrupt <-chan struct{}  // the caller's; nil = seen
	mayAsk    <-chan time.Time // nil = not now
	answers   chan controlled  // nil = Control is not being asked
}

// A controlled is what Control has made of a state.
type controlled struct {
	from, to State
	late     bool // the attempt had ended when it returned
	err      error
}

// meanwhile begins an attempt or its verification. The caller ends it by close. Nothing
// is set up that nobody listens to: without a Log, a watcher or a Control an attempt
// costs no timers.
func (r *run) meanwhile(ctx context.Context) *midrun {
	m := &midrun{run: r, caller: ctx, interrupt: ctx.Done()}
	m.ctx, m.stop = context.WithCancelCause(ctx)
	if r.Log != nil || r.watch != nil || r.Control != nil {
		m.told = make(chan struct{}, 1)
	}
	if r.Control != nil {
		m.calls, m.hangUp = context.WithCancel(ctx)
		m.mayAsk = time.After(controlEvery)
	}
	m.settle() // it may be cancelled already
	return m
}

// agent calls the runner.
//
// The runner gets a goroutine of its own, so that this one stays free to record and to
// ask Control while it runs.
func (m *midrun) agent(used *meter, call func() error) error {
	if m == nil {
		return call()
	}
	m.used, used.told = used, m.told
	if m.told != nil {
		m.beat = time.After(runningBeat)
	}
	// What stands if the runner calls runtime.Goexit, and so never returns an error.
	err := errors.New("the runner ended its goroutine")
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = call()
	}()
	m.wait(done, nil)
	m.used, m.beat = nil, nil // what it has used is told by its end
	return err
}

// wait returns when one of both is closed.
//
// A nil channel is never ready: what must not happen now (a record within runningEvery
// of the last, a second question to Control) is a channel that is nil until its time
// has come.
func (m *midrun) wait(done, or <-chan struct{}) {
	if m == nil {
		select {
		case <-done:
		case <-or:
		}
		return
	}
	for {
		told := m.told
		if m.mayRecord != nil {
			told = nil // it is recorded then
		}
		select {
		case <-done:
			return
		case <-or:
			return
		case <-m.interrupt:
			m.notice()
		case <-told:
			m.running(false)
		case <-m.beat:
			m.beat = time.After(runningBeat)
			if m.mayRecord == nil && m.s.Task.Limits.Duration > 0 {
				m.running(true)
			}
		case <-m.mayRecord:
			m.mayRecord = nil
		case <-m.mayAsk:
			m.ask()
		case c := <-m.answers:
			m.take(c)
		}
	}
}

// running records what the agent has used so far. Without news it does so only if that
// is wanted anyway: for the time that passes, of which an agent that tells nothing
// gives no sign.
func (m *midrun) running(anyway bool) {
	if m.used == nil {
		return
	}
	used := Usage{}.Add(m.used.sofar())
	if !anyway && reflect.DeepEqual(used, m.recorded) {
		return
	}
	m.recorded, m.mayRecord = used, time.After(runningEvery)
	m.record(m.caller, Event{Kind: EventRunning, Iteration: Iteration{
		Number: m.s.Iteration, Attempt: m.s.Attempt, Usage: used, Elapsed: time.Since(m.used.start),
	}}) // its error is in logErr
	m.settle()
}

// notice records a cancel by the caller's context, once. It is recorded at once and not
// when the agent has ended, which may take as long as it likes: if this process is
// killed meanwhile, the cancel still holds.
func (m *midrun) notice() {
	if m.caller.Err() == nil || m.interrupt == nil {
		return
	}
	m.interrupt = nil
	m.interrupted(m.caller) // another cause is Run's error later, and a log's is in logErr
	m.settle()
}

// settle ends an attempt that was cancelled.
//
// The cause is rebuilt from the state and not handed on, for the cancel may come from
// Control or from a log that other processes write to, and have no context.
func (m *midrun) settle() {
	if m.s.Stop == StopCancelled && m.ctx.Err() == nil {
		cause := ErrCancelled
		if m.s.Detail != "" {
			cause = fmt.Errorf("%w: %s", ErrCancelled, m.s.Detail)
		}
		m.stop(cause)
	}
}

// ask asks Control.
//
// Control is the caller's, and may wait for a network. It works on a copy of the state
// as it was when it was asked; take finds out what it changed and applies just that to
// the state as it is by then.
func (m *midrun) ask() {
	from, calls, answers := m.s, m.calls, make(chan controlled, 1)
	m.mayAsk, m.answers = nil, answers
	go func() {
		c := controlled{from: from, to: from, err: errors.New("it ended its goroutine")}
		defer func() { answers <- c }()
		c.err = plugin.Call("Local.Control", func() (err error) { c.to, err = m.Control(calls, from); return })
		c.late = calls.Err() != nil
	}()
}

// take takes over what Control has changed. It is not asked again in this attempt once
// it failed: the agent is not ended for that. An error of Control says nothing about
// the agent's work, and that work is paid for: the error is Run's when the attempt is
// over.
func (m *midrun) take(c controlled) {
	m.answers = nil
	switch {
	case c.err != nil && !c.late:
		m.controlErr = &partError{"control", c.err}
	case c.err == nil:
		limits := m.s.Task.Limits
		if err := m.change(m.caller, c.from, c.to); err != m.logErr {
			m.controlErr = err
		}
		m.settle()
		if m.used != nil && m.s.Task.Limits != limits {
			// A budget that was lowered holds for the agent that runs now, not only for
			// the next one.
			m.used.limit(m.s.Task.Limits)
		}
	}
	if m.controlErr == nil && !m.s.Done() {
		m.mayAsk = time.After(controlEvery)
	}
}

// close ends it, when the attempt has ended. It waits for a Control that is still busy:
// what that has been asked to change must be recorded before the end of the attempt, or
// not at all.
func (m *midrun) close() {
	if m.hangUp != nil {
		m.hangUp()
	}
	if m.answers != nil {
		m.take(<-m.answers)
	}
	m.mayAsk = nil
	m.stop(nil)
}
