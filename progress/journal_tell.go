package progress

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
)

// A telling is what a whole journal tells. It is filled line by line, and is of use
// only after finish.
type telling struct {
	about           about
	fold            fold
	pending         *ralph.Event // of the attempt that the state is in
	proving         bool         // a verdict has passed, and the loop's end is not on record
	started, active time.Time
	asked           []request // and not taken over
	taken           map[ralph.EventKind]int64
	held            foundLine // the last answer, as long as it may be of use
	waits           []request // of them advice, if the loop is over
	paused          bool      // by request, or on record
	again           bool      // it was started more than once
	end             int64     // of the last whole line
	hook            hooked
	each            func(ralph.Event, ralph.State) // nil = nobody; is told of each event that is applied, with the state after it
}

// tell reads a loop's journal. The error wraps [fs.ErrNotExist] if there is none, or
// none that has begun, and is a [*CorruptError] if it cannot be read.
//
// The first line must name the loop whose file this is: a journal that was copied over
// another one's would otherwise be gone on with.
func (d *Dir) tell(loop string) (*telling, error) {
	f, err := d.on().Open(d.File(loop))
	if err != nil {
		return nil, fmt.Errorf("progress: loop %q: %w", loop, notThere(err))
	}
	defer f.Close() // it was only read
	t, err := tellFrom(f, d.File(loop), true)
	if err == nil && t.end == 0 {
		err = fmt.Errorf("progress: loop %q: %w", loop, notThere(fs.ErrNotExist))
	}
	if err == nil && t.about.Loop != loop {
		err = &CorruptError{Path: d.File(loop), Line: 1, Err: fmt.Errorf("it is the journal of loop %q, not of %q", t.about.Loop, loop)}
	}
	return t, err
}

// tellFrom reads a journal. Answers, which may be long, are looked at only if that is
// wanted, or if one is the last word. To list a hundred loops must not cost the
// decoding of a thousand answers.
func tellFrom(f file.Handle, path string, whole bool) (*telling, error) {
	t, err := tellLines(f, path, whole)
	if err == nil {
		err = t.finish()
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// tellLines reads the lines of a journal. Of a session's it reads, unless the whole is
// wanted, the first one and those from the last one on that holds a whole state.
//
// A session's journal is read at each event of its host, and may be months old.
func tellLines(f file.Handle, path string, whole bool) (*telling, error) {
	t := &telling{taken: map[ralph.EventKind]int64{}}
	for l, err := range journalLines(f, path, 0, 0) {
		if err == nil {
			err = t.read(l, whole)
		}
		if err != nil {
			return nil, err
		}
		if l.number > 1 || t.about.Kind != KindHook || whole {
			continue
		}
		if late, err := t.late(f, l); err == nil {
			return late, nil
		} // else that is found again, at its place
	}
	return t, nil
}

// finish takes into account what is still open when the last line is read.
//
// A verdict that passed without the loop's end behind it is not believed: the process
// died between the two, or somebody has added the line. It is given again, by the
// answer that is on record.
func (t *telling) finish() error {
	if t.held.text != nil && t.fold.s.Running {
		ev, err := t.held.event()
		if err != nil {
			return err
		}
		t.fold.answer, t.active = &ev, ev.Time
	}
	t.proving = t.fold.unproven != nil && !t.fold.unproven.Done()
	t.fold.end()
	t.pending = t.fold.answer
	t.askedFor()
	return nil
}

// read takes note of a line. An answer is held until it is known whether it is of use:
// if nothing follows, or nothing that proves what it claims.
//
// Two conditions make it worth decoding one: an attempt whose end says that it was
// interrupted, although it had answered, must not lose what the answer says was used;
// and a last answer is to be verified.
func (t *telling) read(l foundLine, whole bool) error {
	t.end = l.end
	if l.number > 1 && l.is(ralph.EventAnswered) {
		if whole && !json.Valid(l.text) {
			return l.corrupt(errors.New("it is no line of a journal"))
		}
		t.held = l
		return nil
	}
	line, err := l.decode()
	if err == nil && line.Kind == ralph.EventIterationEnded && line.Event.Iteration.Fault == ralph.FaultInterrupted && t.held.text != nil {
		var ev ralph.Event // who ends the attempt of a dead process may not say what it has used
		ev, err = t.held.event()
		t.fold.s = t.fold.s.Apply(ev)
	}
	if err == nil {
		err = t.line(l, line)
	}
	if err == nil {
		err = t.hold(line.Kind)
	}
	return err
}

// hold decides what becomes of an answer after an event of a kind. An answer is of use
// in two cases: nothing follows it, so that it is still to be verified; or what follows
// is a verdict that is not proven. Holding its bytes and not its event keeps what is
// decoded to one answer of a journal, however many there are.
func (t *telling) hold(kind ralph.EventKind) error {
	switch kind {
	case ralph.EventIterationStarted:
		t.held.text, t.fold.answer = nil, nil
	case ralph.EventIterationEnded:
		// The verdict may not be believed in the end, and then this answer is verified
		// again.
		if t.fold.passing() && t.held.text != nil {
			ev, err := t.held.event()
			if err != nil {
				return err
			}
			t.fold.answer = &ev
		}
		t.held.text = nil
	case ralph.EventLoopStarted:
		// A start in the middle of an attempt is of a process that goes on with it, and
		// may still verify the answer.
		if !t.fold.s.Running {
			t.held.text = nil
		}
	}
	return nil
}

// line takes note of a line that is not an answer.
//
// Requests change nothing here yet: whether the loop's driver has taken them over is
// known only when all lines are read.
func (t *telling) line(l foundLine, line journalLine) error {
	ev := line.Event
	if err := t.belongs(l, line); err != nil {
		return err
	}
	t.takes(line)
	t.hook.take(l, line)
	switch class(ev.Kind) {
	case ralph.EventRequested:
		t.asked = append(t.asked, request{ev, l.end})
		// A pause is shown at once, before the driver has taken it over: people who
		// have just paused a loop look whether it is.
		if as := asks(ev); class(as) == ralph.EventPaused {
			t.paused = as == ralph.EventPaused
		}
		return nil
	case ralph.EventPaused:
		t.paused = ev.Kind == ralph.EventPaused
	case ralph.EventCancelled:
		if t.fold.unproven == nil && t.fold.s.Done() {
			t.askedFor() // a loop that had stopped goes on by a request: it is that which is cancelled
		}
	case ralph.EventLoopStarted:
		if t.again = l.number > 1; !t.again {
			t.started = ev.Time
		}
	}
	t.active = ev.Time
	if ev.Kind == ralph.EventLoopStarted && t.fold.cancelled() {
		return nil // who started it did not know yet; a new loop of its name has a journal of its own
	}
	t.fold.apply(ev)
	// Whether the end is believed was decided by the fold; this only takes over the
	// details.
	if ev.Kind == ralph.EventLoopStopped && ev.State != nil && ev.State.Stop == t.fold.s.Stop {
		t.fold.s = *ev.State // whole, also if what came before could not be written
	}
	if t.each != nil {
		t.each(ev, t.fold.s)
	}
	return nil
}

// belongs refuses a line that cannot be in this journal, at its place. Each loop has a
// journal to itself, so a line of another one was put there by somebody.
func (t *telling) belongs(l foundLine, line journalLine) error {
	switch {
	case l.number > 1:
	case line.Journal == nil:
		return l.corrupt(errors.New("it does not say what it is the journal of"))
	case line.Journal.V > ralph.Version:
		return l.newer(line.Journal.V)
	case line.Kind != ralph.EventLoopStarted || line.Event.State == nil:
		return l.corrupt(errors.New("the journal does not begin with the loop's start"))
	default:
		t.about = *line.Journal
	}
	if loop := line.Event.Loop; loop != t.about.Loop {
		return l.corrupt(fmt.Errorf("it is of loop %q, in the journal of %q", loop, t.about.Loop))
	}
	return nil
}

// takes notes which requests have been taken over with a line. Only the furthest place
// counts: lines can be told twice.
func (t *telling) takes(line journalLine) {
	take := func(kind ralph.EventKind, upTo int64) { t.taken[kind] = max(t.taken[kind], upTo) }
	if line.Kind != ralph.EventLoopStarted && line.Hook == nil {
		take(class(line.Kind), line.Taken)
		return
	}
	for _, kind := range []ralph.EventKind{ralph.EventPaused, ralph.EventLimitsChanged, ralph.EventReopened} {
		take(kind, line.Taken)
	}
	// Advice to a loop that is over is not taken over by its next start, but waits for
	// the prompt.
	take(ralph.EventGuided, cmp.Or(line.Advised, line.Taken))
}

// askedFor applies what was asked for and not taken over. Advice to a loop that is
// over waits until it goes on.
//
// Everything else holds for a loop that is over, too: limits may let it go on. Advice
// is for a prompt, and there is none to come.
func (t *telling) askedFor() {
	var left, advice []request
	for _, r := range t.asked {
		kind := asks(r.ev)
		if r.end <= t.taken[class(kind)] {
			continue
		}
		left = append(left, r)
		if kind == ralph.EventGuided {
			advice = append(advice, r)
		} else {
			t.fold.s = r.does(t.fold.s)
		}
	}
	t.asked = left
	if t.fold.s.Done() {
		t.waits = advice
		return
	}
	for _, r := range advice {
		t.fold.s = r.does(t.fold.s)
	}
}
