package progress

import (
	"context"
	"errors"
	"maps"

	"github.com/ralph-loop/ralph"
)

// work runs a loop, and has it run again if it was let go on, or its limits were raised,
// at the moment at which it ended: whoever asked for that has found it held.
func (p *Pool) work(ctx context.Context, t *taken) {
	loop := t.State.Loop
	err := p.once(ctx, t)
	again := p.ended(loop)
	_, stopped := errors.AsType[*ralph.StopError](err)
	switch e, unread := p.Dir.Look(loop); {
	case ctx.Err() != nil:
	case again:
		p.give(p.take(loop, true))
	case err != nil && !stopped && !errors.Is(err, errPaused):
		p.note(loop, err)
	case unread == nil && !e.State.Done() && !e.State.Paused && e.Holder == nil:
		p.give(p.take(loop, false))
	}
}

// ended gives the slot of a loop to the next, and reports whether it is to have another try.
func (p *Pool) ended(loop string) (again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	again = p.again[loop]
	delete(p.again, loop)
	if p.mine[loop]--; p.mine[loop] == 0 {
		delete(p.mine, loop)
	}
	p.running--
	p.tell()
	return again
}

// once runs a loop and lets go of it.
func (p *Pool) once(ctx context.Context, t *taken) (err error) {
	defer func() { err = errors.Join(err, t.Close()) }()
	local, own := *t.local, t.local.Control
	local.Control = func(ctx context.Context, s ralph.State) (_ ralph.State, err error) {
		if own != nil {
			s, err = own(ctx, s)
		}
		if err == nil && s.Paused && !s.Running {
			err = errPaused
		}
		return s, err
	}
	_, err = t.Journal.Run(ctx, &local)
	return err
}

// take takes a loop on record, to be run; one that has failed only if it shall have
// another try.
func (p *Pool) take(loop string, again bool) (*taken, error) {
	j, err := p.Dir.Open(loop)
	if _, held := errors.AsType[*HeldError](err); held {
		return nil, heldError{err}
	}
	if err != nil {
		p.note(loop, err)
		return nil, err
	}
	if again {
		j.State = j.State.Reopen()
	}
	if j.State.Done() {
		err := j.State.Err()
		if j.State.Stop == ralph.StopVerified || j.State.Stop == ralph.StopCancelled {
			err = going(j.State)
		}
		return nil, errors.Join(err, j.Close())
	}
	t, err := p.equip(j)
	if err != nil {
		p.note(loop, err)
	}
	return t, err
}

// equip gets what runs a loop. With an error it lets go of it.
func (p *Pool) equip(j *Journal) (*taken, error) {
	t, err := &taken{Journal: j}, error(nil)
	if t.local, err = p.Build(j.State, maps.Clone(j.Meta)); err == nil && p.Alone {
		t.place, err = HoldWorkspace(j.State.Task.Dir, "loop "+j.State.Loop)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// give has a loop run that was taken. After the end of Run it stays on record.
func (p *Pool) give(t *taken, err error) error {
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return t.Close()
	}
	p.ready = append(p.ready, t)
	set(&p.mine, t.State.Loop, p.mine[t.State.Loop]+1)
	p.tell()
	return nil
}

// tell wakes Run. The caller has locked mu.
func (p *Pool) tell() {
	select {
	case p.waker() <- struct{}{}:
	default: // told already
	}
}

// next is the loop that has waited longest, if there is a slot for it; nil = none.
func (p *Pool) next(ctx context.Context) *taken {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ready) == 0 || ctx.Err() != nil {
		return nil
	}
	if p.running >= slotsOf(p.Slots) {
		for _, t := range p.ready {
			set(&p.idle, t.State.Loop, errNoSlot.Error())
		}
		return nil
	}
	t := p.ready[0]
	p.ready = p.ready[1:]
	p.running++
	delete(p.idle, t.State.Loop)
	delete(p.again, t.State.Loop) // it was asked for before this try
	return t
}

func (p *Pool) waking() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waker()
}

// waker is the channel, which holds one: who is woken takes all that there is.
func (p *Pool) waker() chan struct{} {
	if p.wake == nil {
		p.wake = make(chan struct{}, 1)
	}
	return p.wake
}

// end lets go of what was given too late, or had no slot: it stays on record.
func (p *Pool) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	for _, t := range p.ready {
		delete(p.idle, t.State.Loop)
		t.Close()
	}
	p.ready = nil
}
