package progress

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
)

// hooked is what a session's journal tells beside its loop: who deals with an event,
// and what its host has told. It changes far more often than the loop.
type hooked struct {
	rest  ralph.HookState // but Session and State
	first ralph.Task      // that of the loop's start
	whole int64           // the end of the last line that holds a whole state
	// firm is the end of the last line that was synced. What follows it may vanish with the
	// power, and so must go when a line after it cannot be synced.
	firm int64
}

// take takes note of a line. A line without a state is of an event that changes nothing
// of the loop, and was not synced.
func (h *hooked) take(l foundLine, line journalLine) {
	if line.Hook == nil || line.Event.State != nil {
		h.firm = l.end
	}
	if line.Hook == nil {
		return
	}
	last := h.rest.Last
	h.rest = *line.Hook
	h.rest.Last, h.rest.Failed = last, line.Event.Text
	if s := line.Event.State; s != nil {
		h.rest.Last, h.whole = line.Event.Iteration, l.end
		if l.start == 0 {
			h.first = s.Task
		}
	}
}

// session is where a session stands; zero = it is none's journal. It is the state of
// the loop, which the events give, put together with the rest, which the last line has.
func (t *telling) session() ralph.HookState {
	if t.end == 0 {
		return ralph.HookState{}
	}
	x := t.hook.rest
	x.Session, x.State = t.about.Loop, t.fold.s
	return x
}

// late is what a session's journal tells by its first line, which was read, and by those from
// the last one on that holds a whole state.
//
// The result is the same as of reading all lines, since a whole state stands for
// everything before it; only it does not take longer the older a session is.
func (t *telling) late(f file.Handle, first foundLine) (*telling, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	at, err := lastWhole(f, first.end, info.Size())
	if err != nil {
		return nil, err
	}
	// A copy, for if this fails the lines are read from the beginning after all.
	late := *t
	late.taken = maps.Clone(t.taken)
	for l, err := range journalLines(io.NewSectionReader(f, at, info.Size()-at), first.path, first.number, at) {
		if err == nil {
			err = late.read(l, false)
		}
		if err != nil {
			return nil, err
		}
	}
	return &late, nil
}

// lastWhole returns where the last line begins that holds a whole state of a session,
// of those between two places; the first of them if there is none. It reads pieces of
// growing size from the end: usually the first is enough.
func lastWhole(f io.ReaderAt, from, to int64) (int64, error) {
	for n := int64(16 << 10); ; n *= 4 {
		start := max(to-n, from)
		text := make([]byte, max(to-start, 0))
		if _, err := f.ReadAt(text, start); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for end := bytes.LastIndexByte(text, '\n'); end >= 0; {
			at := bytes.LastIndexByte(text[:end], '\n') + 1
			if at == 0 && start > from {
				break // it begins before what was read
			}
			if holdsWhole(text[at:end]) {
				return start + int64(at), nil
			}
			end = at - 1
		}
		if start == from {
			return from, nil
		}
	}
}

// holdsWhole reports whether a line holds a whole state of a session, without decoding
// it: in a text these words cannot stand, for its quotes are escaped. It is asked of
// many lines to find one.
func holdsWhole(line []byte) bool {
	return bytes.Contains(line, []byte(`"hook":{`)) && bytes.Contains(line, []byte(`"state":{"v":`))
}

// misplaced is the error of a journal that has another name than it should. Somebody
// has renamed or copied a file; to go on with it would run one loop twice.
func misplaced(path, loop string) error {
	return &CorruptError{Path: path, Line: 1, Err: fmt.Errorf("it is the journal of loop %q, under another name", loop)}
}
