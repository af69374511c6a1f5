package board

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// A History is what is on record of a loop, attempt by attempt.
type History struct {
	// Attempts are in the order in which they began, also those that were retried or
	// interrupted.
	Attempts []Attempt
	// Asked are the changes that people have asked for, in their order.
	Asked []Asked
	// Torn says that the last line of the journal is not whole: either it is being written
	// at this moment, or the process was killed while it wrote it. It has not happened.
	Torn bool
}

// An Attempt is one run of an agent, with its verdict. Of one that has not ended, only
// Number, Attempt and Start, and what it has used so far, are known.
type Attempt struct {
	ralph.Iteration
	// Ended says that its end is on record.
	Ended bool
	// Words are the end of what the agent said last, at most 4 KiB; "" = it has not
	// answered.
	Words string
}

// A journal is what was read of one.
type journal struct {
	info  os.FileInfo
	began time.Time // its first line, for a file system gives a new file the number of one that is gone
	end   int64
	told  History
	// The last ones that the journal tells.
	limits ralph.Limits
	advice []string
}

// maxWords bounds what is kept of an answer, in bytes.
const maxWords = 4 << 10

// History returns what is on record of a loop. What was read before is not read again.
// The error wraps [fs.ErrNotExist] if nothing is on record of it. Later calls do not change
// what was returned.
func (r *Reader) History(loop string) (History, error) {
	f, err := ralph.OpenFile(r.Dir.File(loop))
	if err != nil {
		delete(r.logs, loop)
		return History{}, err
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err != nil {
		return History{}, err
	}
	if r.logs == nil {
		r.logs = map[string]*journal{}
	}
	began, err := beginning(f)
	if err != nil {
		return History{}, err
	}
	j := r.logs[loop]
	if j == nil || !os.SameFile(j.info, info) || !j.began.Equal(began) || info.Size() < j.end { // another one has come in its place
		j = &journal{began: began}
		r.logs[loop] = j
	}
	j.info = info
	return j.read(f, info.Size())
}

// beginning is the time of a journal's first line, zero if it has none yet.
func beginning(f io.ReaderAt) (time.Time, error) {
	for rec, err := range progress.ReadJSONL(io.NewSectionReader(f, 0, 1<<62)) {
		return rec.Timestamp, err
	}
	return time.Time{}, nil
}

// read reads the whole lines that have come.
func (j *journal) read(f io.ReaderAt, size int64) (History, error) {
	end, err := lastLine(f, j.end, size)
	if err != nil {
		return History{}, err
	}
	for rec, err := range progress.ReadJSONL(io.NewSectionReader(f, j.end, end-j.end)) {
		if err != nil {
			return History{}, err
		}
		j.tell(rec.Event)
	}
	j.end, j.told.Torn = end, end < size
	told := j.told
	told.Attempts, told.Asked = slices.Clone(told.Attempts), slices.Clone(told.Asked) // an attempt that ends is written to
	return told, nil
}

// lastLine is where the last whole line between two places of a file ends.
func lastLine(f io.ReaderAt, from, size int64) (int64, error) {
	buf := make([]byte, 16<<10)
	for end := size; end > from; {
		n := min(end-from, int64(len(buf)))
		if _, err := f.ReadAt(buf[:n], end-n); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if at := bytes.LastIndexByte(buf[:n], '\n'); at >= 0 {
			return end - n + int64(at) + 1, nil
		}
		end -= n
	}
	return from, nil
}

// tell adds what an event tells.
func (j *journal) tell(ev ralph.Event) {
	h := &j.told
	switch ev.Kind {
	case ralph.EventLoopStarted:
		if ev.State != nil {
			j.limits, j.advice = ev.State.Task.Limits, slices.Clone(ev.State.Guidance)
		}
	case ralph.EventLearned:
		if ev.State != nil {
			j.limits = ev.State.Task.Limits
		}
	case ralph.EventIterationStarted:
		h.Attempts = append(h.Attempts, Attempt{Iteration: ev.Iteration})
	case ralph.EventRunning:
		if a := h.attempt(ev.Iteration); a != nil {
			a.Usage, a.Elapsed = ev.Iteration.Usage, ev.Iteration.Elapsed
		}
	case ralph.EventAnswered:
		if a := h.attempt(ev.Iteration); a != nil && ev.Answer != nil {
			words := strings.ToValidUTF8(ev.Answer.Output[max(0, len(ev.Answer.Output)-maxWords):], "")
			a.Iteration, a.Words = ev.Iteration, strings.Clone(words) // an answer may be large
		}
	case ralph.EventIterationEnded:
		if a := h.attempt(ev.Iteration); a != nil {
			a.Iteration, a.Ended = ev.Iteration, true
			return
		}
		h.Attempts = append(h.Attempts, Attempt{Iteration: ev.Iteration, Ended: true}) // of a host, which tells no start
	case ralph.EventGuided, ralph.EventLimitsChanged, ralph.EventPaused, ralph.EventContinued, ralph.EventReopened, ralph.EventCancelled:
		if n := len(h.Asked); ev.Kind == ralph.EventCancelled && n > 0 && h.Asked[n-1].Kind == ev.Kind {
			return // by the process that has taken it over
		}
		h.Asked = append(h.Asked, Asked{ev.Time, ev.Kind, j.asked(ev)})
	}
}

// attempt is the one that has not ended and has these numbers; nil = there is none.
func (h *History) attempt(it ralph.Iteration) *Attempt {
	if n := len(h.Attempts); n > 0 {
		if a := &h.Attempts[n-1]; !a.Ended && a.Number == it.Number && a.Attempt == it.Attempt {
			return a
		}
	}
	return nil
}

// Format is how the client of a loop prints, as far as the command that began the loop
// tells it; "" = it is not known. See [progress.Readable].
func Format(e progress.Entry) ralph.Format {
	program, _, _ := strings.Cut(e.Meta["agent"], " ")
	cmd, err := ralph.Preset(filepath.Base(program))
	if err != nil {
		return ""
	}
	return cmd.Format
}

// A Tail follows the raw output of an attempt, as people read it. It keeps the last 64
// KiB of that. Use it from one goroutine at a time. The zero value follows nothing; close
// it when it is not needed any more.
type Tail struct {
	path string
	info os.FileInfo // of the file that is open, whose number no other one gets
	raw  *progress.Raw
	off  int64
	to   io.WriteCloser
	text bytes.Buffer
}

// maxTail bounds what is kept of an agent's output, in bytes.
const maxTail = 64 << 10

// Read returns the lines that an attempt has printed by now, the last ones, without
// control sequences. Path is that of [progress.Dir.Raw]; another one than in the call
// before begins anew, and so does another file in its place. Format and workspace are those of [progress.Readable]. An attempt
// that has printed nothing has no lines, and is no error.
func (t *Tail) Read(path string, format ralph.Format, workspace string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if t.path != path || t.raw != nil && (info == nil || !os.SameFile(t.info, info)) {
		if err := t.Close(); err != nil {
			return nil, err
		}
	}
	t.path = path
	if t.raw == nil {
		raw, err := progress.OpenRaw(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		t.raw, t.info, t.to = raw, info, progress.Readable(&t.text, format, workspace)
	}
	if err := t.catchUp(); err != nil {
		return nil, err
	}
	text := strings.TrimRight(t.text.String(), "\n")
	if text == "" {
		return nil, nil
	}
	return strings.Split(text, "\n"), nil
}

// catchUp reads what has come. It waits for nothing.
func (t *Tail) catchUp() error {
	size, err := t.raw.Size()
	buf := make([]byte, 32<<10)
	for err == nil && t.off < size {
		var n int
		n, err = t.raw.ReadAt(buf[:min(int64(len(buf)), size-t.off)], t.off)
		t.off += int64(n)
		if _, bad := t.to.Write(buf[:n]); bad != nil {
			return bad
		}
		t.trim()
		if lost, is := errors.AsType[*progress.LostError](err); is {
			t.off, err = max(lost.Next, t.off+1), nil
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// trim lets go of what is too much, up to the end of a line.
func (t *Tail) trim() {
	if over := t.text.Len() - maxTail; over > 0 {
		t.text.Next(over)
		if _, err := t.text.ReadBytes('\n'); err != nil { // all of it was one line
			t.text.Reset()
		}
	}
}

// Close lets go of the file.
func (t *Tail) Close() error {
	raw := t.raw
	*t = Tail{}
	if raw == nil {
		return nil
	}
	return raw.Close()
}
