package pipeline

import (
	"cmp"
	"context"

	"github.com/ralph-loop/ralph"
)

// steered is a context that is done when another process cancels the run, which is told
// as others ask for it: to pause, for other limits, to stop.
func (r *run) steered(ctx context.Context) (context.Context, func()) {
	if r.journal == nil {
		return context.WithCancel(ctx)
	}
	ctx, stop := r.journal.Watch(ctx)
	over := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		wake := r.journal.Wake(ctx)
		for {
			select {
			case <-wake:
				r.ask(ctx)
			case <-over:
				return
			}
		}
	}()
	return ctx, func() { close(over); <-ended; stop() }
}

// ask takes over what others have asked for.
func (r *run) ask(ctx context.Context) {
	if r.journal == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rules := r.s.Rules
	now, err := r.journal.Ask(context.WithoutCancel(ctx))
	l := now.Task.Limits
	switch {
	case err != nil:
		r.err = cmp.Or(r.err, err)
	case l.CostUSD != rules.CostUSD || l.Tokens != rules.Tokens || l.Duration != rules.Duration:
		r.noteLocked(ctx, Event{Kind: EventRules, State: &State{Rules: Rules{CostUSD: l.CostUSD, Tokens: l.Tokens, Duration: l.Duration}}})
	}
	if l.Iterations != unbounded && !now.Done() && !r.s.Done() {
		r.noteLocked(ctx, Event{Kind: EventStopped, Stop: ralph.StopIterations, Text: "somebody has stopped it"})
	}
	if now.Paused != r.s.Paused {
		r.noteLocked(ctx, Event{Kind: map[bool]Kind{true: EventPaused, false: EventContinued}[now.Paused]})
	}
}
