package ralph

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/ralph-loop/ralph/internal/plugin"
)

// begin is the state in which the prompt of the iteration that is next is injected. It
// goes to the store before the prompt goes to the session. The other way round, a crash
// in between would give the session the same prompt twice.
func (e *idle) begin(x HookState) HookState {
	e.begun = Iteration{Number: x.State.Iteration, Attempt: x.State.Attempt, Start: time.Now().UTC().Round(0)}
	x.State = x.State.Apply(Event{Kind: EventIterationStarted, Iteration: e.begun})
	x.Asked, x.Injecting, x.Until = e.begun.Start, true, lease(time.Now())
	return x
}

// delay is how long it is until a prompt is injected: the moment in which a person can
// still cancel.
func (h *Hook) delay() time.Duration { return cmp.Or(h.Delay, hookDelay) }

// inject gives the session the prompt of the iteration that is next, after the delay.
//
// Whether the loop still goes on is asked once more right before the injection: a host
// may cancel in what it does on a notice or a log entry, and its session must not get a
// prompt after that.
func (e *idle) inject(ctx context.Context) error {
	kept, stop := e.keep(ctx)
	defer stop()
	if e.begun.Number == 0 {
		pause(kept, e.h.delay())
		if ctx.Err() != nil {
			return also(context.Cause(ctx), e.letGo(ctx, Usage{}))
		}
		err := e.mine(ctx, func(x HookState) HookState {
			if x.State.Paused {
				x.Busy, x.Until = "", time.Time{}
				return x
			}
			return e.begin(x)
		})
		if err != nil || e.lost || e.x.State.Paused {
			return err
		}
	} else if err := e.mine(ctx, func(x HookState) HookState { return x }); err != nil || e.lost {
		return err // else it is known what the store has kept, of which the prompt is made, also by those who look for it
	}
	e.log(ctx, e.x.State, Event{Kind: EventIterationStarted, Iteration: e.begun})
	err := e.mine(ctx, func(x HookState) HookState { return x })
	if e.lost { // cancelled since, be it by what was just called
		return err
	}
	prompt, bad := e.h.prompt(e.x.State)
	if err = cmp.Or(err, bad, context.Cause(ctx)); err == nil {
		by := context.WithValue(ctx, injecting{}, e.me)
		err = plugin.Call("Hook.Inject", func() error { return e.h.Inject(by, e.t.Session, prompt) })
	}
	failed := err
	err = e.mine(ctx, func(x HookState) HookState {
		x.Busy, x.Until, x.Injecting, x.Failed = "", time.Time{}, false, ""
		if failed != nil {
			x.State.Running, x.Asked, x.Failed = false, time.Time{}, clip(plugin.Brief(failed), maxDetail)
		}
		return x
	})
	if failed != nil {
		return also(&partError{fmt.Sprintf("the prompt for session %q", e.t.Session), failed}, err)
	}
	return err
}
