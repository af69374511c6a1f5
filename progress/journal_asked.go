package progress

import (
	"cmp"
	"errors"
	"io/fs"
	"os"

	"github.com/ralph-loop/ralph"
)

// A request is a change that another process asks for. It is a line in the journal and
// no message to the process that runs the loop: so it reaches one that starts later, it
// is on record who asked for what, and nothing has to listen.
type request struct {
	ev  ralph.Event
	end int64 // of its line
}

// class says which requests are taken over by events of a kind. Pausing and letting go
// on are one class: the last one of them counts.
func class(kind ralph.EventKind) ralph.EventKind {
	if kind == ralph.EventContinued {
		return ralph.EventPaused
	}
	return kind
}

// asks is the event that a request would be, "" = it is none.
func asks(ev ralph.Event) ralph.EventKind {
	if ev.Kind != ralph.EventRequested {
		return ""
	}
	return ralph.EventKind(ev.Meta["kind"])
}

// does returns a state with what a request asks for. What that means is decided by
// State.Apply, as for every event, so there are no rules of its own here.
func (r request) does(s ralph.State) ralph.State {
	ev := r.ev
	ev.Kind = asks(ev)
	return s.Apply(ev)
}

// note takes note of a line by another process. A line that makes no sense is passed
// over: the loop must not stop because of what somebody else has written. Who opens the
// journal is told of it.
func (j *journal) note(l foundLine) {
	ev, err := l.event()
	switch kind := asks(ev); {
	case err != nil:
	case ev.Kind == ralph.EventCancelled:
		if j.cancel == nil {
			j.cancel = &ev
		}
	case kind != "":
		j.asked = append(j.asked, request{ev, l.end})
		if class(kind) == ralph.EventPaused {
			j.paused = kind == ralph.EventPaused
		}
	}
}

// control hands out what other processes have asked for.
//
// What was handed out counts as taken over only when the driver's own event is on
// record, which says up to where (handed). If the driver dies before that, the request
// is still there.
func (j *journal) control(s ralph.State) (ralph.State, error) {
	if err := j.refresh(); err != nil {
		return s, err
	}
	for _, r := range j.asked {
		s, j.handed = r.does(s), r.end
	}
	j.asked = nil
	if j.cancel != nil && !j.told {
		j.told = true
		s = s.Cancel(j.reason().reason)
	}
	return s, nil
}

// command hands out what other processes have asked of a loop's parent. A pause is
// handed on only when it changes, so that a person can let a single loop of a paused
// session go on.
func (j *journal) command(s ralph.State, child *journal) (ralph.State, error) {
	if err := j.refresh(); err != nil {
		return s, err
	}
	j.asked = nil // but for pauses they are its own driver's
	if j.paused != child.above {
		child.above = j.paused
		s = s.Pause(j.paused)
	}
	if j.cancel != nil {
		s = s.Cancel(j.reason().reason)
	}
	return s, nil
}

// refresh reads what others have written, if they have.
//
// The size tells whether there is anything to read: a journal only grows. Before the
// first event of a loop there is no file, and that is no error.
func (j *journal) refresh() error {
	info, err := os.Stat(j.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && j.own == 0:
		return nil
	// The usual case: nobody has written.
	case err == nil && j.ready && info.Size() == j.end:
		return nil
	case err != nil:
		return j.failed(err)
	}
	if !j.ready {
		told, err := j.d.tell(j.loop)
		if err != nil {
			return err
		}
		j.known(told)
		return nil
	}
	f, err := j.d.on().Open(j.path)
	if err == nil {
		err = errors.Join(j.read(f, info.Size()), f.Close())
	}
	return j.failed(err)
}

// known takes over what a journal tells.
func (j *journal) known(t *telling) {
	j.ready, j.end, j.own, j.kind = true, t.end, t.end, t.about.Kind
	j.asked, j.paused, j.again = t.asked, t.paused, t.again
	if j.answered, j.guidance = t.pending, nil; len(t.waits) == 0 {
		j.guidance = t.fold.s.Guidance
	}
	// The state holds it; the driver is still to be told.
	if t.fold.s.Stop == ralph.StopCancelled {
		j.cancel = &ralph.Event{Text: t.fold.s.Detail}
	}
}

// pending is the answer of an attempt that is to be verified. The numbers must match:
// an answer of an attempt before was judged, or is of no use any more.
func (j *journal) pending(s ralph.State) (*ralph.Event, error) {
	if j.answered == nil && !j.ready {
		if err := j.refresh(); err != nil {
			return nil, err
		}
	}
	ev := j.answered
	if ev == nil || ev.Iteration.Number != s.Iteration || ev.Iteration.Attempt != s.Attempt {
		return nil, nil
	}
	return ev, nil
}

// A cancelledError says that another process has cancelled the loop.
type cancelledError struct{ reason string }

// reason is why another process has cancelled the loop. There is always a text, for an
// error without one tells nothing.
func (j *journal) reason() cancelledError {
	return cancelledError{cmp.Or(j.cancel.Text, "cancelled by another process")}
}
