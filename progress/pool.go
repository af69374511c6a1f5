package progress

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"runtime"
	"slices"
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

	mu      sync.Mutex
	ready   []*taken // to be run, in the order in which they were given
	running int
	mine    map[string]int  // how often a loop is ready or runs here
	again   map[string]bool // those to have another try once they have been let go of
	wake    chan struct{}
	over    bool
	idle    map[string]string
}

// A heldError is that of a loop that is held: who holds it runs it.
type heldError struct{ error }

func (e heldError) Unwrap() error { return e.error }

// A taken is a loop that is held, with what runs it.
type taken struct {
	*Journal
	local *ralph.Local
	place *Hold
}

func (t *taken) Close() error { return errors.Join(t.Journal.Close(), t.place.Close()) }

// Run runs loops until ctx is done, and returns when all of them have ended: those that
// were interrupted go on with the next Run of a Pool. First come the loops on record that
// are not over: those that ran when their process died, then the others in the order in
// which they were started. Those that are paused wait for Continue. It may be called once,
// and returns the cause of ctx.
func (p *Pool) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	defer loops.Wait()
	defer p.end()
	for _, loop := range p.left(ctx) {
		p.give(p.take(loop, false))
	}
	for {
		for t := p.next(ctx); t != nil; t = p.next(ctx) {
			loops.Go(func() { p.work(ctx, t) })
		}
		select {
		case <-p.waking():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// left are the loops on record that are to go on. What was being worked at goes first: it
// had its slot, and its workspace, before others wanted them.
func (p *Pool) left(ctx context.Context) (loops []string) {
	var left []Entry
	for e, err := range p.Dir.Loops(ctx) {
		switch {
		case err != nil:
			p.note(e.Loop, err)
		case !e.State.Done() && !e.State.Paused && e.Holder == nil && e.Parent == "" && e.Kind == KindLoop:
			left = append(left, e)
		}
	}
	slices.SortStableFunc(left, func(a, b Entry) int {
		if a.State.Running != b.State.Running {
			if a.State.Running {
				return -1
			}
			return 1
		}
		return a.Started.Compare(b.Started)
	})
	for _, e := range left {
		loops = append(loops, e.Loop)
	}
	return loops
}

// slotsOf is how many loops may run at the same time.
func slotsOf(slots int) int {
	switch {
	case slots == 0:
		return runtime.GOMAXPROCS(0)
	case slots < 0:
		return math.MaxInt
	}
	return slots
}

// Start puts a loop on record and has it run. It does what can be done before: the loop
// is built and prepared ([ralph.Local.Prepare]), so a program that is not installed is an
// error here. A loop without a name gets one, which is in the Entry. A name is good for
// one loop, so that a start which may have got lost can be made again: the error wraps
// [fs.ErrExist] if one of this name is on record, also if it is over, or is being started
// at this moment. ctx is for the start alone.
func (p *Pool) Start(ctx context.Context, s ralph.State, meta map[string]string) (Entry, error) {
	if err := s.Task.Validate(); err != nil {
		return Entry{}, err
	}
	if err := p.unknown(s.Loop); err != nil {
		return Entry{}, err
	}
	j, err := p.Dir.Create(s, KindLoop)
	if held, is := errors.AsType[*HeldError](err); is {
		return Entry{}, fmt.Errorf("progress: loop %q: %w: %w", s.Loop, fs.ErrExist, held)
	}
	if err != nil {
		return Entry{}, err
	}
	if err := p.unknown(s.Loop); err != nil { // one that has begun, and ended, since the look before
		return Entry{}, errors.Join(err, j.Close())
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

// unknown refuses the name of a loop that is on record; "" is none.
func (p *Pool) unknown(loop string) error {
	if loop == "" {
		return nil
	}
	_, err := p.Dir.Look(loop)
	switch {
	case err == nil:
		return fmt.Errorf("progress: loop %q: %w", loop, fs.ErrExist)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// Continue lets a loop go on that is paused, was interrupted or could not be run, or has
// failed, see [ralph.State.Reopen], and has it run. The error wraps [ErrOver] if it is
// verified or cancelled, is a [*ralph.StopError] if a limit keeps it, a [*HeldError] if
// somebody else works in its workspace, or that of Build. With an error the loop is on
// record as before.
func (p *Pool) Continue(loop string) (Entry, error) {
	for tried := false; ; tried = true {
		t, err := p.take(loop, true)
		held, is := errors.AsType[heldError](err)
		if !is {
			return p.goOn(loop, t, err)
		}
		e, err := p.Dir.Pause(loop, false)
		if err == nil && e.State.Done() { // it has ended, and is about to be let go of
			s := e.State.Reopen()
			switch {
			case s.Done():
				err = s.Err()
			case p.want(loop):
			case tried:
				err = held.error
			default:
				continue // it was let go of meanwhile
			}
		}
		return p.after(e, err)
	}
}

// goOn has a loop run that Continue has taken. That it is no longer paused is recorded
// here, where nothing else can refuse it.
func (p *Pool) goOn(loop string, t *taken, err error) (Entry, error) {
	e := Entry{Loop: loop}
	if err == nil && t.State.Paused {
		if e, err = p.Dir.Pause(loop, false); err != nil {
			err = errors.Join(err, t.Close())
		}
	}
	return p.after(e, p.give(t, err))
}

// want has a loop that is held here run again, once it has been let go of. It is false if
// it is not held here.
func (p *Pool) want(loop string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mine[loop] > 0 {
		set(&p.again, loop, true)
	}
	return p.mine[loop] > 0
}

// Limit is [Dir.Limit]; a loop that goes on by it is run. If it cannot be run, see
// Continue, the limits are on record all the same.
func (p *Pool) Limit(loop string, l ralph.Limits) (Entry, error) {
	e, err := p.Dir.Limit(loop, l)
	if err == nil && e.Holder == nil && !e.State.Done() && !e.State.Paused {
		err = p.give(p.take(loop, false))
	}
	if errors.As(err, new(heldError)) {
		err = nil // who holds it takes the limits over
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
	if p.Failed != nil && why != nil {
		p.Failed(loop, why)
	}
}
