package ralph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/plugin"
)

// A Hook drives loops in the sessions of a host that owns the agent: an editor, a
// terminal, a chat program. The host starts a loop in a session, tells what happens to
// it ([Hook.Idle], [Hook.Error], [Hook.Deleted]), and is asked to inject prompts. It is
// the same loop as that of [Local], with the session's context in place of a fresh
// one: an answer is a claim or none, a claim is verified, and [State.Next] decides.
//
// Its methods may be called concurrently, and by many processes that share a Store: for
// each event a new one may be started. What an event changes is in the store before
// anything follows from it, so that a host that dies loses nothing: the next event goes
// on from there. The fields must not be changed once a method was called. Its functions
// are called on the goroutines of the methods that need them; Idle takes as long as a
// verification, so cancels come from another goroutine.
//
// Two things are the host's: to end an iteration that takes too long, and to wait for
// rate limits. The time of an iteration, for [Limits.Duration], is that from its prompt
// to its verdict, even if the host was not running in between.
type Hook struct {
	Store    Store    // required; [MemoryStore], progress.Dir or your own
	Verifier Verifier // required; verify.String{} is the explicit choice to trust the agent's word

	// Inject gives a session its next prompt, as if its user had typed it. It may
	// return at once, or when the session is idle again, and may call the Hook's methods
	// with the context that it is given.
	// An error is kept ([HookState.Failed]), spends no iteration, and the same prompt is
	// injected at the next idle event. Required.
	Inject func(ctx context.Context, session, prompt string) error
	// Messages returns a session's conversation. It is asked for turns that do not hold
	// it, and by Start, which notes how long the conversation is: what was said before
	// counts for nothing, even if it was an answer to the same prompt. nil = every turn
	// tells what was said.
	Messages func(ctx context.Context, session string) ([]Message, error)
	// Notify shows a person what has happened. nil = nobody is told.
	Notify func(ctx context.Context, n Notice)
	// Exists reports whether a session still exists. It is asked about the others when a
	// session without a loop is idle, and before a loop starts: the loops of those that
	// have vanished are cleared. nil = all exist that were not told to be deleted.
	Exists func(ctx context.Context, session string) (bool, error)
	// Log records what happens, beside the Store. nil = none.
	Log ProgressLog

	// Task holds the defaults of Start: what the task leaves zero. What is zero here
	// too is 100 iterations, the promise DONE, and [MatchFold]; Match("last_line") is
	// [MatchLastLine]. There are no retries: a session goes on.
	Task Task
	// Template is the prompt from the second iteration on: a [Template] with the names
	// ITERATION, MAX (∞ = unlimited), PROMISE, PROMPT (the task's) and FEEDBACK (why the
	// last answer was not the end of it). "" = [HookTemplate].
	Template string
	// Delay is the time between a session's answer and the next prompt, in which a cancel
	// comes in time. 0 = 500 ms; negative = none.
	Delay time.Duration
	// Recovery is how long idle events are ignored after an error of the session, which
	// others recover meanwhile. 0 = 5 s; negative = none.
	Recovery time.Duration
	// Disabled makes Start an error, and ignores events.
	Disabled bool

	// Workspace and Evidence are as in [Local]. A Workspace of nil is git's view only
	// for tasks with [Limits.Stalls].
	Workspace func(ctx context.Context, dir string) (digest string, files []string, err error)
	Evidence  string

	mu    sync.Mutex
	waits map[string]context.CancelCauseFunc // by who deals with an event
}

const (
	hookIterations = 100
	hookPromise    = "DONE"
	hookDelay      = 500 * time.Millisecond
	hookRecovery   = 5 * time.Second
)

// Start starts a loop in a session, whose first prompt its caller injects: that is not
// done here. What the task leaves zero is [Hook.Task]'s. It is an error if the session
// has a loop that is active (the error wraps [ErrActive]), if the hook is disabled, if
// the task is not valid, if the verifier cannot work on it, or if the Store does not
// keep the prompt as it is, for instance because it hides a secret in it: answers are
// found by the prompt that they follow. Then there is no new loop, and the state is
// zero. An error that comes with a state is that of Log: the loop has begun.
func (h *Hook) Start(ctx context.Context, session string, t Task) (HookState, error) {
	if err := h.usable(session); err != nil {
		return HookState{}, err
	}
	if h.Disabled {
		return HookState{}, errors.New("ralph: the hook is disabled: no loop is started")
	}
	s := Start(t.or(h.Task))
	if err := s.Err(); err != nil {
		return HookState{}, err
	}
	if strings.TrimSpace(s.Task.Prompt) == "" {
		return HookState{}, errors.New("ralph: the task has no Prompt, which a session is told again and again")
	}
	s.Loop = session
	if _, err := h.template(s); err != nil {
		return HookState{}, err
	}
	s, err := h.local(s).Prepare(ctx, s)
	if err != nil {
		return HookState{}, err
	}
	now := time.Now().UTC().Round(0)
	begun := Iteration{Number: s.Iteration, Attempt: s.Attempt, Start: now}
	fresh := HookState{Session: session, State: s.Apply(Event{Kind: EventIterationStarted, Iteration: begun}), Asked: now}
	if h.Messages != nil {
		messages, err := h.messages(ctx, session)
		if err != nil {
			return HookState{}, err
		}
		fresh.Seen, fresh.SeenSum = seen(messages)
	}
	h.orphans(ctx, session)
	if err := h.enter(ctx, fresh); err != nil {
		return HookState{}, err
	}
	h.notify(ctx, fresh, noticeStarted)
	err = h.log(ctx, s, Event{Kind: EventLoopStarted, State: &s})
	return fresh, also(err, h.log(ctx, s, Event{Kind: EventIterationStarted, Iteration: begun}))
}

// or fills what a task leaves zero. Retries are not taken over: a session's
// conversation goes on, so the next prompt is the retry.
func (t Task) or(from Task) Task {
	t = t.clone()
	from = from.clone()
	for _, f := range []struct{ to, from *string }{
		{&t.ID, &from.ID}, {&t.Agent, &from.Agent}, {&t.Title, &from.Title}, {&t.Prompt, &from.Prompt}, {&t.Dir, &from.Dir}, {&t.Outcome, &from.Outcome},
		{&t.Promise, &from.Promise}, {&t.Success, &from.Success}, {&t.HowVerified, &from.HowVerified}, {&t.Blocked, &from.Blocked},
	} {
		*f.to = cmp.Or(*f.to, *f.from)
	}
	if t.Acceptance == nil {
		t.Acceptance = from.Acceptance
	}
	if t.Spec == nil {
		t.Spec = from.Spec
	}
	if t.Guarded == nil {
		t.Guarded = from.Guarded
	}
	t.Promise, t.Match, t.Always = cmp.Or(t.Promise, hookPromise), cmp.Or(t.Match, from.Match, MatchFold), t.Always || from.Always
	l := t.Limits
	t.Limits = Limits{
		Iterations: cmp.Or(l.Iterations, from.Limits.Iterations, hookIterations), Retries: -1,
		Failures: cmp.Or(l.Failures, from.Limits.Failures), Stalls: cmp.Or(l.Stalls, from.Limits.Stalls), Blocked: cmp.Or(l.Blocked, from.Limits.Blocked),
		IterationTimeout: cmp.Or(l.IterationTimeout, from.Limits.IterationTimeout), VerifyTimeout: cmp.Or(l.VerifyTimeout, from.Limits.VerifyTimeout),
		Duration: cmp.Or(l.Duration, from.Limits.Duration), Wait: cmp.Or(l.Wait, from.Limits.Wait),
		CostUSD: cmp.Or(l.CostUSD, from.Limits.CostUSD), Tokens: cmp.Or(l.Tokens, from.Limits.Tokens),
	}
	return t
}

// Cancel stops a session's loop, and reports whether there was one. It gets no further
// prompt: one that waits for its delay is not injected, and a verification is broken
// off, also one of another process, within a second. A prompt whose injection has begun
// still reaches the session. Cancelling twice is harmless.
func (h *Hook) Cancel(ctx context.Context, session string) (bool, error) {
	if err := h.usable(session); err != nil {
		return false, err
	}
	was, err := h.end(ctx, session, "cancelled")
	if err == nil && !was.Active() {
		h.notify(ctx, HookState{Session: session}, noticeNone)
		return false, nil
	}
	if was.Active() {
		h.notify(ctx, was, noticeCancelled)
	}
	return was.Active(), err
}

// end cancels a session's loop and clears its state. It returns what that was. The
// state is stopped first, which every process sees, and removed last: one that is about
// to inject finds a cancelled loop and not an empty place in which it could start
// again.
func (h *Hook) end(ctx context.Context, session, reason string) (was HookState, err error) {
	ctx = context.WithoutCancel(ctx) // what ends a session's context may be what ends its loop
	err = h.update(ctx, session, func(x HookState) (HookState, error) {
		if was = x; !x.Active() {
			return x, nil
		}
		x.State, x.Busy, x.Until = x.State.Cancel(reason), "", time.Time{}
		return x, nil
	})
	if err != nil {
		return HookState{}, err
	}
	h.interrupt(was.Busy, fmt.Errorf("%w: %s", ErrCancelled, reason))
	if !was.Active() {
		return was, nil
	}
	stopped := was.State.Cancel(reason)
	err = h.log(ctx, stopped, Event{Kind: EventCancelled, Text: reason})
	err = also(err, h.log(ctx, stopped, Event{Kind: EventLoopStopped, State: &stopped}))
	return was, also(err, h.clear(ctx, session))
}

// clear removes the state of a loop that is over.
func (h *Hook) clear(ctx context.Context, session string) error {
	return h.update(context.WithoutCancel(ctx), session, func(x HookState) (HookState, error) {
		if x.Active() { // started anew meanwhile
			return x, nil
		}
		return HookState{}, nil
	})
}

// State returns where a session's loop stands: the zero HookState if it has none, which
// is also so when it is over. Without an ID it is that of the loop that was last
// active of all.
func (h *Hook) State(ctx context.Context, session string) (HookState, error) {
	if h.Store == nil {
		return HookState{}, errors.New("ralph: Hook has no Store")
	}
	if session == "" {
		return h.newest(ctx)
	}
	var found HookState
	err := h.update(ctx, session, func(x HookState) (HookState, error) {
		found = x
		return x, nil
	})
	if !found.Active() {
		found = HookState{}
	}
	return found, err
}

// newest is the loop in which something happened last, for commands that name no
// session.
func (h *Hook) newest(ctx context.Context) (HookState, error) {
	var found HookState
	err := h.all(ctx, func(x HookState) {
		if x.Active() && !x.last().Before(found.last()) {
			found = x
		}
	})
	return found, err
}

// last is when something happened in a session's loop.
func (x HookState) last() time.Time {
	return slices.MaxFunc([]time.Time{x.Asked, x.State.Updated}, time.Time.Compare)
}

// Active reports whether a session has a loop that goes on.
func (h *Hook) Active(ctx context.Context, session string) (bool, error) {
	if session == "" {
		return false, ErrNoSession
	}
	x, err := h.State(ctx, session)
	return x.Active(), err
}

// usable refuses what cannot work. An empty session is never taken for the newest one:
// it would be a stranger's loop that is cancelled.
func (h *Hook) usable(session string) error {
	switch {
	case h.Store == nil:
		return errors.New("ralph: Hook has no Store; a MemoryStore serves one process")
	case h.Verifier == nil:
		return errors.New("ralph: Hook has no Verifier; verify.String{} is the explicit choice to take the agent's word")
	case h.Inject == nil:
		return errors.New("ralph: Hook has no Inject")
	case session == "":
		return ErrNoSession
	}
	return nil
}

// messages asks the host for a session's conversation.
func (h *Hook) messages(ctx context.Context, session string) (m []Message, err error) {
	err = plugin.Call("Hook.Messages", func() (err error) { m, err = h.Messages(ctx, session); return })
	if err != nil {
		return nil, &partError{"the messages of session " + strconv.Quote(session), err}
	}
	return append([]Message{}, m...), nil
}

// local judges the answers of a loop. It has no agent: a Hook never runs one, and a
// Runner that fails says so if that ever changes.
func (h *Hook) local(s State) *Local {
	l := &Local{
		Verifier: h.Verifier, Workspace: h.Workspace, Evidence: h.Evidence,
		Runner: RunnerFunc(func(context.Context, Request) (Response, error) {
			return Response{}, errors.New("the agent is the host's")
		}),
		Prompt: func(_ context.Context, s State) (string, error) {
			if s.first() {
				return s.Opening(), nil // which begins with what h.prompt says
			}
			return h.prompt(s)
		},
	}
	if l.Workspace == nil && s.Task.Limits.Stalls == 0 {
		l.Workspace = func(context.Context, string) (string, []string, error) { return "", nil, errors.New("nobody asks") }
	}
	return l
}

// log records an event beside the store.
func (h *Hook) log(ctx context.Context, s State, ev Event) error {
	if h.Log == nil {
		return nil
	}
	return plugin.Call("Hook.Log", func() error { return h.Log.Append(context.WithoutCancel(ctx), s.event(ev)) })
}

// orphans clears the loops of sessions that exist no longer. What cannot be found out
// is left for the next time. Hosts do not tell of every session that they drop, and a
// state that nobody clears would be somebody's active loop for ever.
func (h *Hook) orphans(ctx context.Context, but string) {
	if h.Exists == nil {
		return
	}
	_ = h.all(ctx, func(x HookState) {
		if x.Session == but || !x.Active() {
			return
		}
		there := true
		err := plugin.Call("Hook.Exists", func() (err error) { there, err = h.Exists(ctx, x.Session); return })
		if err == nil && !there {
			_, _ = h.end(ctx, x.Session, "the session has vanished")
		}
	})
}
