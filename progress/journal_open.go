package progress

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"strings"

	"github.com/ralph-loop/ralph"
)

// A Journal is a loop that this process holds: nobody else can run it until Close, or
// until the process ends, however that happens. [Journal.Run] runs it by a
// [ralph.Local]; a driver of your own uses [Journal.Ask], [Journal.Wake] and
// [Journal.Record] in turns. It is made by [Dir.Create] and [Dir.Open], and its methods
// must not be called concurrently.
type Journal struct {
	// State is where the loop stands; give it to a driver to go on. If it is
	// Running, the process that ran the attempt has died.
	State ralph.State
	// Untold is how many attempts were interrupted before it was opened, see [Entry].
	Untold int
	// Meta is what the loop was last started with: see [ralph.Local.Meta]. Nil =
	// nothing.
	Meta map[string]string
	// Pending is the event with the answer that was given in the attempt that is
	// Running: it is still to be verified, and the agent need not be run again for it.
	// Nil = the agent had not answered.
	Pending *ralph.Event
	// Kind is what the journal is of, and Parent the name of the session or pipeline that
	// it belongs to; "" = none.
	Kind   Kind
	Parent string
	// Unlocked says why nobody is kept from running the loop as well: the file
	// system has no locks. nil = it is locked.
	Unlocked error

	d *Dir
	j *journal
}

// Create holds a new loop, which has not run yet. Nothing is on record of it until its
// driver records the first event; to put it on record before that, call
// [Journal.Begin]. A loop without a name gets one, which is in the Journal's State:
// "loop-" and ten random letters and digits. The error wraps [fs.ErrExist] if a loop of
// this name is not finished: open it, or have it set aside; it is a [*HeldError] if
// another process holds it.
func (d *Dir) Create(s ralph.State, kind Kind) (*Journal, error) {
	if s.Loop == "" {
		s.Loop = "loop-" + strings.ToLower(rand.Text()[:10])
	}
	j, err := d.hold(s.Loop)
	if err != nil {
		return nil, err
	}
	if err := d.finished(s.Loop); err != nil {
		return nil, errors.Join(err, j.letGo())
	}
	j.kind, j.fresh = kind, true
	return &Journal{State: s, Kind: kind, Parent: d.Parent, Unlocked: j.unlocked, d: d, j: j}, nil
}

// finished refuses to begin a loop anew that can go on. To begin it anew would throw
// away what was paid for, and is usually a mistake in a name. A loop on record that has
// not begun its first attempt is no loss.
func (d *Dir) finished(loop string) error {
	t, err := d.tell(loop)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && !t.fold.s.Done() && t.fold.s.Begun():
		return fmt.Errorf("progress: loop %q is not finished, it is at iteration %d: go on with it, or have it set aside: %w", loop, t.fold.s.Iteration, fs.ErrExist)
	}
	return err
}

// Open holds a loop that is on record, and returns where it stands, to be run again. It
// also opens a loop that is done, for limits may have been raised since. What other
// processes have asked for is in the state already. The error wraps [fs.ErrNotExist] if
// nothing is on record of it, is a [*HeldError] if it is held, by another process or
// this one, and a [*CorruptError] if its journal cannot be read.
func (d *Dir) Open(loop string) (*Journal, error) {
	if _, err := os.Lstat(d.File(loop)); err != nil {
		return nil, fmt.Errorf("progress: loop %q: %w", loop, notThere(err))
	}
	j, err := d.hold(loop)
	if err != nil {
		return nil, err
	}
	t, err := d.tell(loop)
	if err == nil && d.Parent == "" && t.about.Parent != "" {
		if h := d.holder(j.path, t.about.Parent, t.active); h != nil {
			err = &HeldError{What: j.name(), Holder: *h}
		}
	}
	if err == nil {
		j.known(t)
		j.goesOn, j.asked = true, t.waits // the others are in the state
		err = j.repair()
	}
	if err != nil {
		return nil, errors.Join(err, j.letGo())
	}
	s := t.fold.s
	if t.pending != nil && (t.pending.Iteration.Number != s.Iteration || t.pending.Iteration.Attempt != s.Attempt || !s.Running) {
		t.pending = nil
	}
	return &Journal{
		State: s, Untold: t.fold.untold, Meta: t.fold.meta, Pending: t.pending, Kind: t.about.Kind, Parent: t.about.Parent, Unlocked: j.unlocked, d: d, j: j,
	}, nil
}

// hold locks a loop for a Journal. What was known of the journal is forgotten before:
// while this process did not hold the loop, another one may have run it to its end.
func (d *Dir) hold(loop string) (*journal, error) {
	d.forgetUnheld(loop)
	j := d.journal(loop)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lock != nil || j.open {
		return nil, &HeldError{What: j.name(), Holder: us()}
	}
	if err := j.take("running"); err != nil {
		return nil, j.failed(err)
	}
	j.open = true
	return j, nil
}

// forgetUnheld forgets what is known of a journal that is opened anew. One whose lock
// is taken at this moment is in use, so it is left alone.
func (d *Dir) forgetUnheld(loop string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if j := d.journals[loop]; j != nil && j.mu.TryLock() {
		if j.lock == nil && !j.open {
			j.shut() // each of its lines was flushed
			delete(d.journals, loop)
		}
		j.mu.Unlock()
	}
}

// repair puts aside what a crash has torn, and makes durable what is left: who wrote it
// may have died before that. A driver decides by what it reads, so that must not vanish
// with the power afterwards.
func (j *journal) repair() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	f, err := j.writing()
	if err == nil {
		if !j.d.NoSync {
			err = f.Sync()
		}
		err = errors.Join(err, f.Unlock(), f.Close())
	}
	if err == nil {
		err = j.fixName()
	}
	return j.failed(err)
}

// letGo is the end of a Journal. The raw output is closed too, for the attempt that it
// is of may not have come to its end.
func (j *journal) letGo() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := errors.Join(j.closeRaw(), j.release())
	j.d.forget(j.loop)
	return err
}

// Close lets go of the loop, so that others can run it. What is on record stays. It may
// be called again.
func (j *Journal) Close() error { return j.j.letGo() }

// Run runs the loop by a driver, from State on, and sets State to what came of it. It
// is l.Run with the journal as the first of its logs, and with its Control, Pending
// and Output, beside those that l has; without Meta of its own l gets that of the
// journal.
//
// It blocks as [ralph.Local.Run] does, and returns its errors; l itself is not changed.
// The journal comes first among the logs, so that no other log tells of what is not on
// record.
func (j *Journal) Run(ctx context.Context, l *ralph.Local) (ralph.State, error) {
	if j.State.Done() {
		if err := j.stop(ctx); err != nil {
			return j.State, err
		}
	}
	// A copy: the caller may run other loops by l at the same time.
	local := *l
	local.Log = j.d
	if l.Log != nil {
		local.Log = Multi(j.d, l.Log)
	}
	local.Control = func(ctx context.Context, s ralph.State) (ralph.State, error) {
		s, err := j.d.Control(ctx, s) // first: what it hands out is kept until it is on record
		if err == nil && l.Control != nil {
			s, err = l.Control(ctx, s)
		}
		return s, err
	}
	local.Pending = j.d.Pending
	local.Output = func(req ralph.Request) (display, raw io.Writer) {
		own := j.d.Output(req)
		if l.Output == nil {
			return nil, own
		}
		if display, raw = l.Output(req); raw != nil {
			return display, io.MultiWriter(own, raw)
		}
		return display, own
	}
	if local.Meta == nil {
		local.Meta = maps.Clone(j.Meta)
	}
	s, err := local.Run(ctx, j.State)
	j.State = s
	return s, err
}

// stop records the end of a loop that its caller has stopped before it ran, as by
// limits that are reached already. Without that the record would say that the loop goes
// on, and everybody who looks would wait for it.
func (j *Journal) stop(ctx context.Context) error {
	on, err := j.d.Look(j.State.Loop)
	if err != nil || on.State.Done() {
		return err
	}
	// What the caller has changed is recorded as the events that it would have been,
	// and by nothing else.
	changes := on.State.Changes(j.State)
	j.State = on.State
	for _, ev := range changes {
		if _, err := j.Record(ctx, ev); err != nil {
			return err
		}
	}
	final := j.State
	_, err = j.Record(ctx, ralph.Event{Kind: ralph.EventLoopStopped, State: &final})
	return err
}

// Append is [Dir.Append] of the loop's Dir, for a driver that takes the journal as its
// log, such as [ralph.Local.Events]. It also sets State, which must not be read until
// the driver has ended. Give that driver the Dir's Control, Pending and Output.
func (j *Journal) Append(ctx context.Context, ev ralph.Event) error {
	err := j.d.Append(ctx, ev)
	cancelled, isCancelled := errors.AsType[cancelledError](err)
	if ev.Loop != j.j.loop || err != nil && !isCancelled {
		return err
	}
	if isCancelled {
		j.State = j.State.Cancel(cancelled.reason)
	}
	j.State = j.State.Apply(ev)
	return err
}

// Record appends an event and applies it to State, for a driver of your own, in the
// order that [ralph.Local] describes: so what is recorded and what is decided cannot
// come apart. The event's version, loop, task and agent are filled in. An event that
// could not be recorded is not applied, and the error says why. If another process has
// cancelled the loop meanwhile, that is no error: the state is done.
//
// It blocks until the event is durable. Between two calls nothing happens to the loop
// but what others ask for, which [Journal.Ask] takes over.
func (j *Journal) Record(ctx context.Context, ev ralph.Event) (ralph.State, error) {
	s := j.State
	ev.V, ev.Loop, ev.Task, ev.Agent = ralph.Version, s.Loop, s.Task.ID, s.Task.Agent
	err := j.Append(ctx, ev)
	if _, ok := errors.AsType[cancelledError](err); ok {
		err = nil
	}
	return j.State, err
}

// earlier reports whether an earlier loop of this name has left a journal. What stands
// there instead is said by who opens it; a start that was torn is put aside, and then
// the journal before it stays the last one.
func (j *journal) earlier() (bool, error) {
	info, err := os.Lstat(j.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.Size() == 0 || !info.Mode().IsRegular():
		return false, nil
	}
	f, err := j.d.on().Open(j.path)
	if err != nil {
		return false, err
	}
	end, err := lastLine(f, info.Size())
	return end > 0, errors.Join(err, f.Close())
}
