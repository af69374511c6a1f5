package progress

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/ralph-loop/ralph"
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

// A foundLine is a line of a journal, not decoded yet. Where it lies in the file is
// kept with it: a request is known to be taken over by the place where it ends, and an
// error names that place.
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

// newer is the error of a line of a version that this program does not know. To read on
// as far as one understands it would go on with a part of the truth.
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
	// A line of an execution log is JSON with an event, too, but has no kind in front.
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
			text, err := readLine(in, maxJSONLine+1)
			lines++
			l := foundLine{text: bytes.Clone(text), path: path, number: lines, start: offset, end: offset + int64(len(text))}
			switch {
			// A file in which one line is longer than all that is ever written is no
			// journal.
			case len(text) > maxJSONLine:
				yield(l, l.corrupt(fmt.Errorf("it has more than %d bytes", maxJSONLine)))
				return
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(l, fmt.Errorf("%s: %w", path, err))
				return
			case !yield(l, nil):
				return
			}
			offset = l.end
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
