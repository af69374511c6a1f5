package ralph

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
)

// A SessionError is an error of a session as hosts tell it, by its name. Those named
// MessageAbortedError and AbortError say that a user has broken off the answer.
//
// Message is for people. The names are those that clients use; a host whose client has
// others translates them.
type SessionError struct{ Name, Message string }

// Error is the name and the message, or the message alone if there is no name.
func (e *SessionError) Error() string {
	return strings.TrimPrefix(e.Name+": "+e.Message, ": ")
}

// Error tells of an error in a session. If the user has broken off the answer (a
// [*SessionError] that says so, [context.Canceled], [ErrCancelled]), the loop is
// cancelled, also if ctx is done. After any other the session may recover by itself: idle
// events are ignored for [Hook.Recovery], see [ErrRecovering].
func (h *Hook) Error(ctx context.Context, session string, err error) error {
	if bad := h.usable(session); bad != nil {
		return bad
	}
	if h.Disabled || err == nil {
		return nil
	}
	named, _ := errors.AsType[*SessionError](err)
	aborted := named != nil && (named.Name == "MessageAbortedError" || named.Name == "AbortError")
	if aborted || errors.Is(err, context.Canceled) || errors.Is(err, ErrCancelled) {
		_, err := h.end(ctx, session, "the user has broken off the answer")
		return err
	}
	window := orDefault(h.Recovery, hookRecovery)
	if window <= 0 {
		return nil
	}
	return h.update(ctx, session, func(x HookState) (HookState, error) {
		if x.Active() {
			x.Recovering = time.Now().UTC().Round(0).Add(window)
		}
		return x, nil
	})
}

// Deleted tells that a session is gone: its loop is cancelled and its state is cleared.
func (h *Hook) Deleted(ctx context.Context, session string) error {
	if err := h.usable(session); err != nil {
		return err
	}
	if h.Disabled {
		return nil
	}
	_, err := h.end(ctx, session, "the session was deleted")
	return err
}

// Idle tells that a session's agent has come to rest. It looks for the promise in the
// newest answer since the last prompt, and nowhere else: the conversation before that
// holds prompts with the promise in them, and promises of earlier loops. It has a claim
// verified, and then injects the next prompt, or ends the loop and clears its state. It
// returns the state as it is then, with State.Stop when the loop has ended, and the
// zero HookState if there was none. It blocks for as long as verification, delay and
// injection take.
//
// The same event may come twice, from one process or two: the second waits for the
// first, and changes nothing. An event of a paused loop is judged, and the prompt waits
// for the next one.
//
// The error is [ErrNoMessage] if there is no answer yet, and [ErrRecovering] after an error
// of the session: nothing was decided, and the host asks again. If ctx is done, the error
// is its cause, and the host may send the same event again. Any other error comes from
// Inject, Store or Log.
func (h *Hook) Idle(ctx context.Context, t Turn) (HookState, error) {
	if err := h.usable(t.Session); err != nil {
		return HookState{}, err
	}
	if h.Disabled {
		return HookState{}, nil
	}
	e := &idle{h: h, event: t, me: unique()}
	var err error
	if e.t, err = h.told(ctx, t); err != nil {
		return HookState{}, err
	}
	move, err := e.take(ctx)
	if err != nil {
		return e.x, err
	}
	switch move {
	case moveRecovering:
		return e.x, ErrRecovering
	case moveIgnore:
		if e.x.Active() {
			return e.x, nil
		}
		if !e.x.IsZero() { // its host died when it was over, or it has new limits
			err = h.clear(ctx, t.Session)
		}
		h.orphans(ctx, t.Session)
		return HookState{}, err
	case moveAsk:
		return e.x, ErrNoMessage
	case moveJudge:
		if err := e.judge(ctx); err != nil || e.lost || e.x.State.Done() || e.x.State.Paused {
			return e.x, also(err, e.logErr)
		}
	}
	err = e.inject(ctx)
	return e.x, also(err, e.logErr)
}

// told reads what the turn does not say itself, if there is a loop that it is for.
//
// Reading a transcript is the expensive part of an event, and most sessions have no
// loop: so the store is asked first.
func (h *Hook) told(ctx context.Context, t Turn) (Turn, error) {
	if t.Text != "" || t.Messages != nil || t.Transcript == "" && h.Messages == nil {
		return t, nil
	}
	active, err := h.Active(ctx, t.Session)
	switch {
	case !active:
		t.Messages = []Message{} // nothing is told of a loop that begins meanwhile
	case t.Transcript != "":
		t.Messages, err = t.read()
	default:
		t.Messages, err = h.messages(ctx, t.Session)
	}
	return t, err
}

// An idle is the work on one idle event, by one of perhaps several processes that were
// told of it. Who does it says so in the store (Busy), under the name me.
type idle struct {
	h     *Hook
	event Turn
	t     Turn // the event, with what was read of the conversation
	me    string
	x     HookState // as it was last seen
	said  said
	lost  bool // somebody else deals with the session now, or its loop is over

	begun Iteration // whose prompt this one injects, zero = none yet

	logErr error
}

// A move is what an idle event leads to. It is decided once, from the state and the
// turn alone, so that the rules stand in one table and can be tested without a host.
type move int

const (
	moveIgnore move = iota
	moveWait        // somebody deals with the session
	moveAsk         // there is no answer yet
	moveRecovering
	moveJudge
	moveInject
)

// takes reports whether who makes the move deals with the session.
func (m move) takes() bool { return m == moveJudge || m == moveInject }

// weigh decides what an idle event leads to; known = its answer was judged already.
//
// The order matters. A loop that recovers is left alone even if an answer is there, for
// the client may be about to send its prompt again; and an answer to a prompt that is
// still being injected goes before waiting for the injector, which may have died right
// after it.
func (x HookState) weigh(t Turn, s said, known bool, now time.Time) move {
	busy := x.Busy != "" && now.Before(x.Until)
	answered := !known && t.over(s)
	// Who has died while he injected the prompt may have done it.
	wanted := !x.State.Running || x.Injecting && !s.asked && !answered
	switch {
	case !x.Active():
		return moveIgnore
	case now.Before(x.Recovering):
		return moveRecovering
	case busy && !(x.Injecting && answered):
		return moveWait
	case wanted:
		return moveInject
	case answered:
		return moveJudge
	case known && !x.Injecting:
		return moveIgnore
	}
	return moveAsk
}

// point is what changes when an event was dealt with.
type point struct {
	iteration, attempt int
	running, injecting bool
	updated            time.Time
}

func (x HookState) point() point {
	return point{x.State.Iteration, x.State.Attempt, x.State.Running, x.Injecting, x.State.Updated}
}

// take makes it this one's part to deal with the event, and waits if it is somebody
// else's: what he has dealt with meanwhile was this event, if nothing says otherwise.
//
// The claim on the event is a compare-and-swap in the store, with a lease: a lock file
// would outlive a process that is killed, and the store is the one thing that all of
// them share. Who finds it taken waits and looks again, since the other one may die and
// leave the answer unjudged.
func (e *idle) take(ctx context.Context) (m move, err error) {
	var first *HookState
	var held watch
	for fresh := true; ; {
		err = e.h.update(ctx, e.t.Session, func(x HookState) (HookState, error) {
			prompt, err := e.h.prompt(x.State)
			if err != nil {
				return x, err
			}
			e.x, e.said = x, e.t.said(prompt, x)
			if held.dead(x) {
				e.x.Until = time.Time{}
			}
			if m = e.part(first); m.takes() && fresh {
				x.Busy, x.Until = e.me, lease(time.Now())
				x.Injecting = x.Injecting && m == moveInject
				e.x = x
			}
			return x, nil
		})
		switch {
		case err != nil || m != moveWait && (fresh || !m.takes()):
			return m, err
		case m != moveWait: // who was waited for may have done it before he died
			if e.t, err = e.h.told(ctx, e.event); err != nil {
				return m, err
			}
			fresh = true
			continue
		case ctx.Value(injecting{}) == e.x.Busy: // he waits for us
			return moveAsk, nil
		case first == nil:
			first = new(e.x)
		}
		if fresh = false; !pause(ctx, hookLook) {
			return m, context.Cause(ctx)
		}
	}
}

// part is what there is to do for this one. first is the state when it began to wait,
// nil = it has not: if that has moved on since, the event that it came with was dealt
// with by the other.
func (e *idle) part(first *HookState) move {
	dealt := first != nil && first.point() != e.x.point()
	known := e.t.ID != "" && e.t.ID == e.x.Turn || e.t.ID == "" && !e.said.told && dealt
	now := time.Now()
	if e.x.Recovering.After(now.Add(orDefault(e.h.Recovery, hookRecovery))) { // the clock was set back
		e.x.Recovering = time.Time{}
	}
	m := e.x.weigh(e.t, e.said, known, now)
	switch {
	case known && dealt && e.x.Busy != first.Busy: // who was waited for is through, or another event has come
		return moveIgnore
	case m == moveInject && e.x.State.Paused:
		return moveIgnore
	}
	return m
}

// injecting is the key of a context that [Hook.Inject] is given: by whom. A host whose
// Inject runs the model and reports its answer before it returns would otherwise wait
// for itself.
type injecting struct{}

// judge has the answer judged, and decides what follows.
//
// The verification may take minutes. Meanwhile keep renews the lease, and ends the
// verification if somebody cancels the loop. What follows is one change of the store,
// which holds only if the session is still this one's.
func (e *idle) judge(ctx context.Context) error {
	begun, asked := time.Now(), e.x.Asked
	kept, stop := e.keep(ctx)
	s := e.x.State
	s.Guidance, s.Late = s.Guidance[:max(len(s.Guidance)-s.Late, 0)], 0
	it, err := e.h.local(s).Observe(kept, s, Response{Output: e.said.text, Session: e.t.Session, Usage: e.t.Usage})
	cause := context.Cause(kept)
	stop()
	if err == nil && it.Fault == FaultInterrupted {
		err = cmp.Or(context.Cause(ctx), cause)
	}
	if err != nil {
		kept := e.letGo(ctx, it.Verdict.Usage)
		if e.lost {
			return nil
		}
		return also(err, kept)
	}
	if it.Start = asked; !asked.IsZero() {
		it.Elapsed = addSat(it.Elapsed, max(begun.Sub(asked), 0))
	}
	err = e.mine(ctx, func(x HookState) HookState {
		x.State, x.Last, x.Turn, x.Until = x.State.Next(it), it, e.t.ID, lease(time.Now())
		x.Seen, x.SeenSum = 0, ""
		if e.said.told {
			x.Seen, x.SeenSum = seen(e.t.Messages)
		}
		switch {
		case x.State.Done() || x.State.Paused:
			x.Busy, x.Until = "", time.Time{}
		case e.h.delay() <= 0: // in one step, for each is a write that is waited for
			x = e.begin(x)
		}
		return x
	})
	if err != nil || e.lost {
		return err
	}
	return e.decided(ctx, s, it)
}

// decided tells what was decided. The state is cleared last: a process that dies before
// that leaves one that says it is over, which the next event removes.
func (e *idle) decided(ctx context.Context, s State, it Iteration) error {
	e.log(ctx, s, Event{Kind: EventIterationEnded, Iteration: it})
	if !e.x.State.Done() {
		e.h.notify(ctx, e.x, noticeIteration)
		return nil
	}
	final := e.x.State
	e.log(ctx, final, Event{Kind: EventLoopStopped, State: &final})
	e.h.notify(ctx, e.x, noticeOver)
	return e.h.clear(ctx, e.t.Session)
}

// log records an event. That it cannot be recorded does not hold up the loop, whose
// truth is in the store.
func (e *idle) log(ctx context.Context, s State, ev Event) {
	e.logErr = also(e.logErr, e.h.log(ctx, s, ev))
}
