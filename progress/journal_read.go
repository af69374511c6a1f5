package progress

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"time"

	"github.com/ralph-loop/ralph"
)

// A CorruptError says where a journal cannot be read. It stays as it is: nothing is
// made of what is left of it, for a loop that goes on from a hole goes wrong.
// [Dir.SetAside] moves it away.
type CorruptError struct {
	Path   string
	Line   int64 // from 1
	Offset int64 // of the line, in bytes
	Err    error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("progress: %s: line %d, at byte %d: %v; put it right, or have it set aside", e.Path, e.Line, e.Offset, e.Err)
}
func (e *CorruptError) Unwrap() error { return e.Err }

// A foundLine is a line of a journal, not decoded yet.
type foundLine struct {
	text       []byte
	path       string
	number     int64
	start, end int64 // its bytes in the file
}

// corrupt is the error of a line.
func (l foundLine) corrupt(err error) error {
	return &CorruptError{Path: l.path, Line: l.number, Offset: l.start, Err: err}
}

// is reports whether a line is of a kind, without decoding it.
func (l foundLine) is(kind ralph.EventKind) bool {
	return bytes.HasPrefix(l.text, []byte(`{"kind":"`+string(kind)+`"`))
}

func (l foundLine) decode() (journalLine, error) {
	var line journalLine
	if err := json.Unmarshal(l.text, &line); err != nil {
		return line, l.corrupt(err)
	}
	switch {
	case line.Kind == "" || line.Kind != line.Event.Kind:
		return line, l.corrupt(errors.New("it is no line of a journal"))
	case line.Event.V > ralph.Version:
		return line, l.corrupt(fmt.Errorf("it was written by a newer version (%d; this program knows %d)", line.Event.V, ralph.Version))
	}
	return line, nil
}

func (l foundLine) event() (ralph.Event, error) {
	line, err := l.decode()
	return line.Event, err
}

// journalLines yields the whole lines of a journal, or of the part of it that begins
// at offset, after so many lines. What follows the last one is left out.
func journalLines(r io.Reader, path string, lines, offset int64) iter.Seq2[foundLine, error] {
	return func(yield func(foundLine, error) bool) {
		in := bufio.NewReaderSize(r, 8<<10)
		for {
			text, err := in.ReadBytes('\n')
			lines++
			l := foundLine{text: text, path: path, number: lines, start: offset, end: offset + int64(len(text))}
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(l, fmt.Errorf("%s: %w", path, err))
				return
			case len(text) > maxJSONLine:
				yield(l, l.corrupt(fmt.Errorf("it has more than %d bytes", maxJSONLine)))
				return
			case !yield(l, nil):
				return
			}
			offset = l.end
		}
	}
}

// lastLine returns where the last whole line of a file ends.
func lastLine(f io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 4<<10)
	for end := size; end > 0; {
		n := min(end, int64(len(buf)))
		if _, err := f.ReadAt(buf[:n], end-n); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if at := bytes.LastIndexByte(buf[:n], '\n'); at >= 0 {
			return end - n + int64(at) + 1, nil
		}
		end -= n
	}
	return 0, nil
}

// A telling is what a whole journal tells.
type telling struct {
	about           about
	fold            fold
	pending         *ralph.Event // of the attempt that the state is in
	proving         bool         // a verdict has passed, and the loop's end is not on record
	started, active time.Time
	asked           []request // and not taken over
	waits           []request // of them advice, if the loop is over
	paused          bool      // by request, or on record
	again           bool      // it was started more than once
	end             int64     // of the last whole line
}

// tell reads a loop's journal. The error wraps [fs.ErrNotExist] if there is none, or
// none that has begun, and is a [*CorruptError] if it cannot be read.
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
// wanted, or if one is the last word.
func tellFrom(f io.Reader, path string, whole bool) (*telling, error) {
	t := &telling{}
	taken := map[ralph.EventKind]int64{}
	var answered foundLine
	for l, err := range journalLines(f, path, 0, 0) {
		if err != nil {
			return nil, err
		}
		t.end = l.end
		if l.number > 1 && l.is(ralph.EventAnswered) { // long, and of use only if nothing follows
			if whole && !json.Valid(l.text) {
				return nil, l.corrupt(errors.New("it is no line of a journal"))
			}
			answered = l
			continue
		}
		line, err := l.decode()
		if err == nil && answered.text != nil && line.Kind == ralph.EventIterationEnded && line.Event.Iteration.Fault == ralph.FaultInterrupted {
			err = t.answered(answered) // who ends the attempt of a dead process may not say what it has used
		}
		if err == nil {
			err = t.line(l, line, taken)
		}
		if err == nil && line.Kind == ralph.EventIterationEnded && t.fold.passing() && answered.text != nil {
			t.fold.answer, err = pendingEvent(answered)
		}
		if err != nil {
			return nil, err
		}
		if line.Kind == ralph.EventIterationStarted || line.Kind == ralph.EventIterationEnded || line.Kind == ralph.EventLoopStarted && !t.fold.s.Running {
			answered.text = nil
		}
		if line.Kind == ralph.EventIterationStarted {
			t.fold.answer = nil
		}
	}
	if answered.text != nil && t.fold.s.Running {
		ev, err := pendingEvent(answered)
		if err != nil {
			return nil, err
		}
		t.fold.answer = ev
		t.active = ev.Time
	}
	t.proving = t.fold.unproven != nil && !t.fold.unproven.Done()
	t.fold.end()
	t.pending = t.fold.answer
	t.askedFor(taken)
	return t, nil
}

// answered applies an answer.
func (t *telling) answered(l foundLine) error {
	ev, err := pendingEvent(l)
	t.fold.s = t.fold.s.Apply(*ev)
	return err
}

func pendingEvent(l foundLine) (*ralph.Event, error) {
	ev, err := l.event()
	return &ev, err
}

// line takes note of a line.
func (t *telling) line(l foundLine, line journalLine, taken map[ralph.EventKind]int64) error {
	ev := line.Event
	switch {
	case l.number > 1:
	case line.Journal == nil:
		return l.corrupt(errors.New("it does not say what it is the journal of"))
	case line.Journal.V > ralph.Version:
		return l.corrupt(fmt.Errorf("it was written by a newer version (%d; this program knows %d)", line.Journal.V, ralph.Version))
	default:
		t.about = *line.Journal
	}
	if ev.Loop != t.about.Loop {
		return l.corrupt(fmt.Errorf("it is of loop %q, in the journal of %q", ev.Loop, t.about.Loop))
	}
	kind := class(ev.Kind)
	taken[kind] = max(taken[kind], line.Taken)
	if kind == ralph.EventLoopStarted {
		for _, all := range []ralph.EventKind{ralph.EventPaused, ralph.EventLimitsChanged, ralph.EventReopened} {
			taken[all] = max(taken[all], line.Taken)
		}
		taken[ralph.EventGuided] = max(taken[ralph.EventGuided], cmp.Or(line.Advised, line.Taken))
	}
	switch kind {
	case ralph.EventRequested:
		t.asked = append(t.asked, request{ev, l.end})
		if as := asks(ev); class(as) == ralph.EventPaused {
			t.paused = as == ralph.EventPaused
		}
		return nil
	case ralph.EventPaused:
		t.paused = ev.Kind == ralph.EventPaused
	case ralph.EventLoopStarted:
		t.again = l.number > 1
		if t.started.IsZero() {
			t.started = ev.Time
		}
	}
	if t.fold.s.Iteration == 0 && kind != ralph.EventLoopStarted {
		return l.corrupt(errors.New("the journal does not begin with the loop's start"))
	}
	t.active = ev.Time
	if kind == ralph.EventCancelled && t.fold.unproven == nil && t.fold.s.Done() {
		t.askedFor(taken) // a loop that had stopped goes on by a request: it is that which is cancelled
	}
	if kind == ralph.EventLoopStarted && t.fold.cancelled() {
		return nil // who started it did not know yet; a new loop of its name has a journal of its own
	}
	t.fold.apply(ev)
	if kind == ralph.EventLoopStopped && ev.State != nil && ev.State.Stop == t.fold.s.Stop {
		t.fold.s = *ev.State // whole, also if what came before could not be written
	}
	return nil
}

// askedFor applies what was asked for and not taken over. Advice to a loop that is
// over waits until it goes on.
func (t *telling) askedFor(taken map[ralph.EventKind]int64) {
	var left, advice []request
	for _, r := range t.asked {
		kind := asks(r.ev)
		if r.end <= taken[class(kind)] {
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
