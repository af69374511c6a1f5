package progress

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// ErrOver is wrapped by the error of a request to a loop that is over: nothing was
// changed. Two people who cancel the same loop need it, to tell "it is done already"
// from a failure.
var ErrOver = errors.New("it is over")

// Cancel cancels a loop for good, whichever process runs it, also none. A process that
// runs it notices within a second, also in the middle of an iteration, a verification
// or a wait, and ends the agent. The cancel is durable when Cancel returns, and nothing
// that is recorded later brings the loop back: a file that is removed, or a signal,
// would be undone by the next write of a process that had not heard of it. If the
// process that ran it has died, what is left of its attempt is ended now, see
// [ralph.EndLeft], and named in Entry.Ended. The entry is the loop as it is then. If
// the loop is over already, also by an earlier cancel, the error wraps [ErrOver].
func (d *Dir) Cancel(loop, reason string) (Entry, error) {
	e, err := d.ask(loop, func(s ralph.State) (ralph.Event, error) {
		return ralph.Event{Kind: ralph.EventCancelled, Text: reason}, going(s)
	})
	// Whoever runs the loop ends its agent, and records that.
	if err != nil || e.Holder != nil {
		return e, err
	}
	// Its loops belong to the same dead process, and nobody will run them again.
	parts := []Entry{e}
	if e.hasParts() {
		parts = append(parts, d.Parts(context.Background(), e)...)
	}
	for _, part := range parts {
		if err == nil && (part.State.Running || part.Kind == KindHook) {
			var ended []string
			ended, err = d.bury(part.Loop)
			e.Ended = append(e.Ended, ended...)
		}
	}
	return e, err
}

// bury ends what is left of a loop whose process has died, and records that the attempt
// has ended, unless its agent belongs to a host; and the end of a loop that is
// cancelled. Nobody else would do so: a loop that is cancelled is not resumed.
func (d *Dir) bury(loop string) ([]string, error) {
	j, err := d.Open(loop)
	if _, held := errors.AsType[*HeldError](err); held {
		return nil, nil // who holds it does that
	}
	if err != nil {
		return nil, err
	}
	s := j.State
	var ended []string
	// Before the end is recorded, for afterwards the mark is no longer in the state.
	if s.Running && s.Mark != "" {
		if ended, err = ralph.EndLeft(s.Mark); errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
	}
	ctx := context.Background()
	if err == nil && s.Running && j.Kind != KindHook {
		s, err = j.Record(ctx, ralph.Event{Kind: ralph.EventIterationEnded, Iteration: ralph.Iteration{
			Number: s.Iteration, Attempt: s.Attempt, Outcome: ralph.OutcomeInterrupted, Fault: ralph.FaultInterrupted,
			Error: "the process that ran this attempt had died when the loop was cancelled", Ended: ended,
		}})
	}
	if err == nil && s.Done() {
		_, err = j.Record(ctx, ralph.Event{Kind: ralph.EventLoopStopped, State: &s})
	}
	return ended, errors.Join(err, j.Close())
}

// Pause has a loop wait once the attempt that runs has ended, or lets it go on. It is
// on record: a loop that nobody runs is paused, or goes on, when it is run again. The
// error wraps [ErrOver] if the loop is over; to let a loop go on that a limit has
// stopped is no error, and reopens nothing by itself. The entry is the loop as it will
// be when its process has taken the request over. The same holds for the entries of
// [Dir.Stop], [Dir.Guide] and [Dir.Limit].
func (d *Dir) Pause(loop string, paused bool) (Entry, error) {
	return d.ask(loop, func(s ralph.State) (ralph.Event, error) {
		kind := ralph.EventContinued
		if paused {
			kind = ralph.EventPaused
		} else if !slices.Contains([]ralph.StopReason{ralph.StopVerified, ralph.StopCancelled}, s.Stop) {
			return asked(kind), nil // also of one that can be reopened
		}
		return asked(kind), going(s)
	})
}

// Continue lets a loop go on that is paused; of a session or a pipeline also all of its
// loops that are. It reports whether any was paused. Those that are over are left as
// they are. If one of them cannot be written to, it stops there.
func (d *Dir) Continue(ctx context.Context, loop Entry) (paused bool, err error) {
	for _, e := range append(d.Parts(ctx, loop), loop) {
		if !e.State.Paused {
			continue
		}
		switch _, err := d.Pause(e.Loop, false); {
		case err == nil:
			paused = true
		case !errors.Is(err, ErrOver):
			return paused, err
		}
	}
	return paused, nil
}

// Stop ends a loop after the iteration that has begun. It lowers the limit of
// iterations, see [ralph.State.Finish]. So [Dir.Limit] with a higher limit lets the
// loop go on; after [Dir.Cancel] nothing does. Of a session the iterations of all its
// loops count. The error wraps [ErrOver] if the loop is over.
func (d *Dir) Stop(loop string) (Entry, error) {
	had, err := d.had(loop)
	if err != nil {
		return Entry{}, err
	}
	return d.ask(loop, func(s ralph.State) (ralph.Event, error) {
		ev := asked(ralph.EventLimitsChanged)
		l := s.Finish().Task.Limits
		// The limit of a session counts over its loops, so its own iteration says
		// nothing.
		l.Iterations = max(l.Iterations, had)
		ev.State = &ralph.State{Task: ralph.Task{Limits: l}, Asked: s.Finish().Asked}
		return ev, going(s)
	})
}

// had is how many iterations the loops of a session have had, with one that has begun;
// 0 = it is none, or its loops have limits of their own.
func (d *Dir) had(loop string) (int, error) {
	e, err := d.Look(loop)
	if err != nil || e.Kind != KindSession || e.Meta["unlimited"] != "" {
		return 0, err
	}
	ctx := context.Background()
	n := d.Stand(ctx, e).IterationsRun
	for _, part := range d.Parts(ctx, e) {
		if part.State.Running {
			n++
		}
	}
	return n, nil
}

// Guide adds advice to the loop's next prompt, see [ralph.State.Guide]. Advice to a
// session or a pipeline goes to those of its loops that run now, for a later one works
// on another task; it is an error if none does. The error wraps [ErrOver] if the loop
// is over.
func (d *Dir) Guide(loop, text string) (Entry, error) {
	e, err := d.Look(loop)
	if err != nil || !e.hasParts() {
		return d.guide(loop, text)
	}
	if err := going(e.State); err != nil {
		return e, err
	}
	guided := false
	for _, part := range d.Parts(context.Background(), e) {
		if part.Holder == nil || part.State.Done() {
			continue
		}
		if _, err := d.guide(part.Loop, text); err != nil && !errors.Is(err, ErrOver) {
			return e, err
		} else if err == nil {
			guided = true
		}
	}
	if !guided {
		return e, fmt.Errorf("progress: %q has no loop that runs now, and advice is for one: name it, or try again", loop)
	}
	return e, nil
}

// guide is Guide of one loop. Blank advice is refused: it is a mistake of a script, and
// would stand in a prompt.
func (d *Dir) guide(loop, text string) (Entry, error) {
	return d.ask(loop, func(s ralph.State) (ralph.Event, error) {
		ev := asked(ralph.EventGuided)
		if ev.Text = strings.TrimSpace(text); ev.Text == "" {
			return ev, errors.New("progress: the guidance is blank")
		}
		return ev, going(s)
	})
}

// Limit replaces a loop's limits, see [ralph.State.Limit]: a loop that a limit has
// stopped is reopened by a higher one, and goes on when it is run again. The error
// wraps [ErrOver] if the loop is verified or cancelled. Limits that are not valid are
// an error, and nothing is asked for. They replace all that there were: begin with
// those of the Entry's State to change a single one.
func (d *Dir) Limit(loop string, l ralph.Limits) (Entry, error) {
	return d.ask(loop, func(s ralph.State) (ralph.Event, error) {
		ev := asked(ralph.EventLimitsChanged)
		ev.State = &ralph.State{Task: ralph.Task{Limits: l}}
		if s.Stop == ralph.StopVerified || s.Stop == ralph.StopCancelled {
			return ev, going(s)
		}
		return ev, l.Validate()
	})
}

// asked is a request for a change. The kind of the event that it would be is in its
// Meta; the fields that such an event has are for the caller to fill in.
func asked(kind ralph.EventKind) ralph.Event {
	return ralph.Event{Kind: ralph.EventRequested, Meta: map[string]string{"kind": string(kind)}}
}

// going refuses what is asked of a loop that is over. The error names the reason, for
// what to do next depends on it: a loop that a limit has stopped can go on, one that
// was cancelled cannot.
func going(s ralph.State) error {
	how := fmt.Sprintf("has stopped (%s)", s.Stop)
	switch s.Stop {
	case "":
		return nil
	case ralph.StopVerified:
		how = "is completed"
	case ralph.StopCancelled:
		how = "was cancelled"
	}
	return fmt.Errorf("progress: loop %q %s: %w", s.Loop, how, ErrOver)
}

// ask writes a line into a loop's journal, made of where it stands, and returns
// where it stands then. Nobody else writes in between.
//
// The journal is locked while it is read, decided on and written to. So the answer is
// true for the very line that is added, and of two who cancel at once one is told that
// it is over.
func (d *Dir) ask(loop string, of func(ralph.State) (ralph.Event, error)) (Entry, error) {
	e, err := d.Look(loop)
	if err != nil {
		return e, err
	}
	j := &journal{d: d, loop: loop, path: d.File(loop)} // not the one by which the loop may be run here
	f, err := j.writing()
	if err != nil {
		return e, j.failed(err)
	}
	defer f.Close()
	defer f.Unlock()
	t, err := tellFrom(f, j.path, false)
	if err == nil && t.end == 0 { // it was moved away meanwhile, and this is another file
		err = errors.Join(fmt.Errorf("progress: loop %q: %w", loop, notThere(fs.ErrNotExist)), d.on().Remove(j.path))
	}
	if err != nil {
		return e, err
	}
	s := t.fold.s
	// The verdict has passed and only the end is not written yet: to cancel now would
	// take back what is done.
	if t.proving && e.Holder != nil && e.Holder.Since.Before(t.active) { // its end is what is recorded next
		s.Stop = ralph.StopVerified
	}
	e.State, e.Status = s, statusOf(e, e.Active)
	ev, err := of(s)
	if err != nil {
		return e, err
	}
	ev.Loop, ev.Task, ev.Agent = s.Loop, s.Task.ID, s.Task.Agent
	ev = d.redacted(plainEvent(ev))
	j.firm = t.hook.firm
	text, err := jsonLine(journalLine{Kind: ev.Kind, Event: ev})
	if err == nil {
		err = j.put(f, text, true)
	}
	if err != nil {
		return e, j.failed(err)
	}
	// The caller is told how it will be; the loop's own process still has to take the
	// request over.
	if e.State = s.Apply(ev); ev.Kind == ralph.EventRequested {
		e.State = request{ev: ev}.does(s)
	}
	e.Active, e.Status = ev.Time, statusOf(e, ev.Time)
	return e, nil
}
