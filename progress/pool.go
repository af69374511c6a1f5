package progress

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"sync"

	"github.com/ralph-loop/ralph"
)

// errNoSlot is why a loop waits until another one ends.
var errNoSlot = errors.New("it waits, for as many run as may at the same time")

// errPaused ends the run of a loop that is paused. It is run again when it is let go on,
// and others have its slot until then.
var errPaused = errors.New("progress: the loop is paused")

// A Pool runs the loops of a [Dir] in this process: those that a process before it has
// left, and those that are started while it runs. It is what a service is built on. A
// loop that Start has returned without an error is on record, and survives the process
// however that ends: the next Pool on the folder goes on with it.
//
//	p := &progress.Pool{Dir: dir, Build: build}
//	go p.Run(ctx)
//	e, err := p.Start(ctx, ralph.Start(task), map[string]string{"agent": "claude"})
//
// The Dir's own methods see and steer its loops, from any process. Only what makes a loop
// run that nobody runs is a method of the Pool: Continue and Limit.
//
// A loop that is paused is not run: it needs no slot until it is let go on, nor does it
// keep others from it. Methods may be called concurrently, also before Run; the fields
// must not be changed then. A Pool must not be copied.
type Pool struct {
	// Dir has the records. All loops in it that belong to no session or pipeline are the
	// Pool's. Required.
	Dir *Dir
	// Build returns what runs a loop, by its state and by the Meta that it was started
	// with: it is called at the start, and each time before the loop is run again. The
	// Local's Meta, Pending and raw output are the journal's, see [Journal.Run]. An error
	// is that of Start, Continue or Limit, and the loop is not run. Required.
	Build func(s ralph.State, meta map[string]string) (*ralph.Local, error)
	// Slots is how many loops run at the same time. 0 = GOMAXPROCS, negative = all.
	Slots int
	// Alone says that a loop is run only while nobody else works in its workspace, see
	// [HoldWorkspace]. False = who shares a workspace is the caller's concern.
	Alone bool
	// Failed is told of a loop that cannot be run, and why, once each time. It stays on
	// record and can go on, by Continue or another Run. Nil = nobody is told; [Pool.Idle]
	// knows.
	Failed func(loop string, err error)

	mu    sync.Mutex
	ready []*taken // to be run
	wake  chan struct{}
	over  bool
	idle  map[string]string
}

// A taken is a loop that is held, with what runs it.
type taken struct {
	*Journal
	local *ralph.Local
	place *Hold
}

func (t *taken) Close() error { return errors.Join(t.Journal.Close(), t.place.Close()) }

// Run runs loops until ctx is done, and returns when all of them have ended: those that
// were interrupted go on with the next Run of a Pool. First come the loops on record that
// are not over; those that are paused wait for Continue. It may be called once, and
// returns the cause of ctx.
func (p *Pool) Run(ctx context.Context) error {
	slots := make(chan struct{}, slotsOf(p.Slots))
	var loops sync.WaitGroup
	defer loops.Wait()
	defer p.end()
	for e, err := range p.Dir.Loops(ctx) {
		switch {
		case err == nil && (e.State.Done() || e.State.Paused || e.Holder != nil || e.Parent != "" || e.Kind != KindLoop):
		case err != nil:
			p.note(e.Loop, err)
		default:
			p.give(p.take(e.Loop, false))
		}
	}
	for {
		for _, t := range p.given() {
			loops.Go(func() { p.work(ctx, slots, t) })
		}
		select {
		case <-p.waking():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// slotsOf is how many loops may run at the same time.
func slotsOf(slots int) int {
	switch {
	case slots == 0:
		return runtime.GOMAXPROCS(0)
	case slots < 0:
		return 1 << 20 // empty elements: they take no memory
	}
	return slots
}

// Start puts a loop on record and has it run. It does what can be done before: the loop
// is built and prepared ([ralph.Local.Prepare]), so a program that is not installed is an
// error here. A loop without a name gets one, which is in the Entry. A name is good for
// one loop, so that a start which may have got lost can be made again: the error wraps
// [fs.ErrExist] if one of this name is on record, also if it is over. ctx is for the start
// alone.
func (p *Pool) Start(ctx context.Context, s ralph.State, meta map[string]string) (Entry, error) {
	if err := s.Task.Validate(); err != nil {
		return Entry{}, err
	}
	if s.Loop != "" {
		if _, err := p.Dir.Look(s.Loop); err == nil {
			return Entry{}, fmt.Errorf("progress: loop %q: %w", s.Loop, fs.ErrExist)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return Entry{}, err
		}
	}
	j, err := p.Dir.Create(s, KindLoop)
	if err != nil {
		return Entry{}, err
	}
	j.Meta = maps.Clone(meta)
	t, err := p.equip(j)
	if err != nil {
		return Entry{}, err
	}
	if t.State, err = t.local.Prepare(ctx, t.State); err == nil {
		err = t.Begin(ctx, false)
	}
	if err != nil {
		return Entry{}, errors.Join(err, t.Close())
	}
	loop := t.State.Loop
	p.give(t, nil)
	return p.Dir.Look(loop)
}

// Continue lets a loop go on that is paused, was interrupted or could not be run, or has
// failed, see [ralph.State.Reopen], and has it run. The error wraps [ErrOver] if it is
// verified or cancelled, is a [*ralph.StopError] if a limit keeps it, or that of Build.
func (p *Pool) Continue(loop string) (Entry, error) {
	e, err := p.Dir.Pause(loop, false)
	if err == nil && e.Holder == nil {
		err = p.give(p.take(loop, true))
	}
	return p.after(e, err)
}

// Limit is [Dir.Limit]; a loop that goes on by it is run.
func (p *Pool) Limit(loop string, l ralph.Limits) (Entry, error) {
	e, err := p.Dir.Limit(loop, l)
	if err == nil && e.Holder == nil && !e.State.Done() && !e.State.Paused {
		err = p.give(p.take(loop, false))
	}
	return p.after(e, err)
}

// after is the loop as it is after a request.
func (p *Pool) after(e Entry, err error) (Entry, error) {
	if err != nil {
		return e, err
	}
	return p.Dir.Look(e.Loop)
}

// Idle says for people, of each loop that this Pool was to run and that is not running,
// why: as many run as may, or the error that ended its run or kept it from it. The map is
// the caller's.
func (p *Pool) Idle() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := map[string]string{}
	maps.Copy(idle, p.idle)
	return idle
}

// note keeps why a loop is not running, nil = it is.
func (p *Pool) note(loop string, why error) {
	p.mu.Lock()
	delete(p.idle, loop)
	if why != nil {
		set(&p.idle, loop, why.Error())
	}
	p.mu.Unlock()
	if p.Failed != nil && why != nil && !errors.Is(why, errNoSlot) {
		p.Failed(loop, why)
	}
}

// work runs a loop, and again if it was let go on, or its limits were raised, at the moment
// at which it ended: whoever asked for that has found it held.
func (p *Pool) work(ctx context.Context, slots chan struct{}, t *taken) {
	for t != nil {
		loop := t.State.Loop
		err := p.once(ctx, slots, t)
		t = nil
		_, stopped := errors.AsType[*ralph.StopError](err)
		switch e, unread := p.Dir.Look(loop); {
		case ctx.Err() != nil:
			p.note(loop, nil)
			return
		case err != nil && !stopped && !errors.Is(err, errPaused):
			p.note(loop, err)
			return
		case unread == nil && !e.State.Done() && !e.State.Paused && e.Holder == nil:
			t, _ = p.take(loop, false)
		}
	}
}

// once runs a loop when there is a slot for it, and lets go of it.
func (p *Pool) once(ctx context.Context, slots chan struct{}, t *taken) (err error) {
	defer func() { err = errors.Join(err, t.Close()) }()
	p.note(t.State.Loop, errNoSlot)
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-slots }()
	p.note(t.State.Loop, nil)
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
		return nil, err // who holds it runs it
	}
	if err != nil {
		p.note(loop, err)
		return nil, err
	}
	if again {
		j.State = j.State.Reopen()
	}
	if j.State.Done() {
		return nil, errors.Join(j.State.Err(), j.Close())
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
	select {
	case p.waker() <- struct{}{}:
	default: // told already
	}
	return nil
}

// given are the loops that were given since it was last called.
func (p *Pool) given() []*taken {
	p.mu.Lock()
	defer p.mu.Unlock()
	given := p.ready
	p.ready = nil
	return given
}

func (p *Pool) waking() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waker()
}

// waker is the channel, which holds one: who is woken takes all that were given.
func (p *Pool) waker() chan struct{} {
	if p.wake == nil {
		p.wake = make(chan struct{}, 1)
	}
	return p.wake
}

// end lets go of what was given too late.
func (p *Pool) end() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	for _, t := range p.given() {
		t.Close() // it stays on record
	}
}
