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
	"github.com/ralph-loop/ralph/internal/file"
)

// A CorruptError says where a journal cannot be read. It stays as it is: nothing is
// made of what is left of it, for a loop that goes on from a hole goes wrong.
// [Dir.SetAside] moves it away.
//
// A torn last line is no corruption: a crash leaves one, and it is put aside. This is
// about a line in the middle, or a file of something else.
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

// newer is the error of a line of a version that this program does not know.
func (l foundLine) newer(v int) error {
	return l.corrupt(fmt.Errorf("it was written by a newer version (%d; this program knows %d)", v, ralph.Version))
}

// is reports whether a line is of a kind, without decoding it. Answers can be megabytes
// long, and most readers do not need them: that the kind stands first on the line makes
// it cheap to pass over them.
func (l foundLine) is(kind ralph.EventKind) bool {
	return bytes.HasPrefix(l.text, []byte(`{"kind":"`+string(kind)+`"`))
}

// decode decodes the line. The kind stands there twice, and must be the same: the first
// one is what decides whether a line is decoded at all.
func (l foundLine) decode() (journalLine, error) {
	var line journalLine
	if err := json.Unmarshal(l.text, &line); err != nil {
		return line, l.corrupt(err)
	}
	switch {
	case line.Kind == "" || line.Kind != line.Event.Kind:
		return line, l.corrupt(errors.New("it is no line of a journal"))
	case line.Event.V > ralph.Version:
		return line, l.newer(line.Event.V)
	}
	return line, nil
}

// event is the event of the line, for those to whom the rest says nothing.
func (l foundLine) event() (ralph.Event, error) {
	line, err := l.decode()
	return line.Event, err
}

// journalLines yields the whole lines of a journal, or of the part of it that begins
// at offset, after so many lines. What follows the last one is left out.
//
// What follows the last line feed is not yielded. It may be a line that another process
// is writing right now, or one that a crash has torn; in either case it has not
// happened.
func journalLines(r io.Reader, path string, lines, offset int64) iter.Seq2[foundLine, error] {
	return func(yield func(foundLine, error) bool) {
		in := bufio.NewReaderSize(r, 8<<10)
		for {
			text, err := wholeLine(in)
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

// wholeLine returns the next line with its end, or the first bytes of one that is too
// long, whether it ends or not. The bound keeps a file without line feeds, which may be
// anything, out of memory.
func wholeLine(in *bufio.Reader) (text []byte, err error) {
	for {
		var more []byte
		more, err = in.ReadSlice('\n')
		if text = append(text, more...); len(text) > maxJSONLine {
			return text, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, err
		}
	}
}

// lastLine returns where the last whole line of a file ends. It reads from the end, so
// that a journal of months costs no more than one of minutes.
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
// is a verdict that is not proven.
func (t *telling) hold(kind ralph.EventKind) error {
	switch kind {
	case ralph.EventIterationStarted:
		t.held.text, t.fold.answer = nil, nil
	case ralph.EventIterationEnded:
		if t.fold.passing() && t.held.text != nil {
			ev, err := t.held.event()
			if err != nil {
				return err
			}
			t.fold.answer = &ev
		}
		t.held.text = nil
	case ralph.EventLoopStarted:
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
