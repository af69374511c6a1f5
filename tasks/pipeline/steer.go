package pipeline

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
)

// steered is a context that is done when another process cancels the run, which is told
// as others ask for it: to pause, for other limits, to stop. The function returned ends
// that, and waits until nothing is told any more.
func (r *run) steered(ctx context.Context) (context.Context, func()) {
	if r.journal == nil {
		return context.WithCancel(ctx)
	}
	ctx, stop := r.journal.Watch(ctx)
	over := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		wake := r.journal.Wake(ctx)
		for {
			select {
			case <-wake:
				r.ask(ctx)
			case <-over:
				return
			}
		}
	})
	return ctx, func() { close(over); asking.Wait(); stop() }
}

// ask takes over what others have asked for. All goes through events, so that a run
// that was steered can be told from its record.
func (r *run) ask(ctx context.Context) {
	if r.journal == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now, err := r.journal.Ask(context.WithoutCancel(ctx))
	l := now.Task.Limits
	switch rules := (Rules{}).with(l); {
	case err != nil:
		r.err = cmp.Or(r.err, err)
	case rules.limits() != r.s.Rules.limits():
		r.noteLocked(ctx, Event{Kind: EventRules, State: &State{Rules: rules}})
	}
	if now.Stop == ralph.StopCancelled && !r.s.Done() {
		r.noteLocked(ctx, Event{Kind: EventStopped, Stop: now.Stop, Text: now.Detail})
	}
	if l.Iterations != unbounded && !now.Done() && !r.s.Done() {
		r.noteLocked(ctx, Event{Kind: EventStopped, Stop: ralph.StopIterations, Text: "somebody has stopped it"})
	}
	if now.Paused != r.s.Paused {
		r.noteLocked(ctx, Event{Kind: map[bool]Kind{true: EventPaused, false: EventContinued}[now.Paused]})
	}
}

// control lets others steer the loop, and has its iterations wait for the budget. It is
// asked before each iteration, and blocks for as long as the iteration must wait.
func (st *stage) control() func(context.Context, ralph.State) (ralph.State, error) {
	return func(ctx context.Context, s ralph.State) (ralph.State, error) {
		for {
			if st.loops != nil {
				var err error
				if s, err = st.loops.Control(ctx, s); err != nil {
					return s, err
				}
				st.ask(ctx) // what was asked of the run by now holds for this iteration
			}
			ev := st.Reserve(EventReserve, s, st.last(s))
			ev.Blind = st.blind(s)
			switch {
			case s.Done() || s.Running:
				return s, nil
			case st.halted():
				return s, errHalted
			case s.Paused || time.Until(s.NotBefore()) > 0:
				ev.Kind = EventHeld // what it had reserved is for others meanwhile
				st.reserve(ctx, st.Part, ev)
				return s, nil
			}
			now, changed := st.reserve(ctx, st.Part, ev)
			if l, granted := now.Granted(st.Task, s); granted {
				asked := s
				st.asked = &asked
				return s.Limit(l), nil
			}
			if st.halted() {
				return s, errHalted
			}
			select {
			case <-changed:
			case <-time.After(time.Second / 2): // others may have steered the loop
			case <-ctx.Done():
				return s, nil // the loop sees what has ended it
			}
		}
	}
}

// halted reports whether no iteration of the loop begins any more, however long it
// would wait: the run ends, or the task does not count. A loop that waits hours for a
// rate limit must not hold up a run that has stopped.
func (st *stage) halted() bool {
	now := st.state()
	return st.failing() || now.Done() || now.Stands[st.Part].Phase != PhaseRunning
}

// failing reports whether the run ends by an error.
func (r *run) failing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil
}

// last is what the last iteration of the loop has used, nil = none has ended here. Of
// one that ended in an earlier run the forecast is on record.
func (st *stage) last(s ralph.State) *Amount {
	if st.asked == nil || s.Completed() == st.asked.Completed() {
		return nil
	}
	return &Amount{CostUSD: s.LastCost, Tokens: tokens(s.Usage) - tokens(st.asked.Usage)}
}

// blind is why the cost of the loop's last answer is not known. Of an answer of an
// earlier run nothing is told: the run was resumed in spite of it, and the next answer
// may tell.
func (st *stage) blind(s ralph.State) string {
	if st.asked == nil {
		return ""
	}
	return s.Blind
}

// reserve asks for the next iteration of a loop, or gives back what it had for the
// last. That it still has to wait is no news, nor that it has nothing: such events are
// not told, or two loops that wait would wake each other for ever.
func (r *run) reserve(ctx context.Context, part int, ev Event) (State, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.s.Next(ev)
	i, j := r.s.running(part), next.running(part)
	if i >= 0 && j >= 0 && r.s.Running[i].Reserved == nil && next.Running[j].Reserved == nil && r.s.Running[i].Waits == next.Running[j].Waits && next.Stop == r.s.Stop {
		r.s = next
	} else {
		r.noteLocked(ctx, ev) // its error is in r.err
	}
	return r.s, r.changed
}
