package progress

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
)

// JSONL writes the execution log: one JSON object per line and event, for programs and
// for audits. Every attempt is on record: what was claimed, why what looked like a
// claim was none, and what the checks found. [ReadJSONL] reads it back. Each line also
// holds the whole [ralph.Event], so [Resume] can make a state of it; for loops that are
// to survive a crash take a [Dir], which locks and syncs.
//
// A line is one Write, so loops and processes may share a file that is open for
// appending. What is recorded is as durable as what W writes. A line that could
// not be written whole is ended before the next one. One JSONL may serve many
// loops concurrently.
type JSONL struct {
	// W gets the lines, required. For a file: [OpenJSONL].
	W io.Writer

	mu    sync.Mutex
	torn  bool // the last line has no end
	loops map[string]*position
}

var _ ralph.ProgressLog = (*JSONL)(nil)

// A Record is a line of the execution log. The lines of attempts (Kind is
// iteration_ended) hold everything; the others only what is not of an attempt. The keys
// at the beginning are flat, and spelt as older tools spell them, so that a script of
// one line can read the log.
type Record struct {
	// The keys that other programs read.
	TaskID    string `json:"task_id"`
	Stage     string `json:"stage"` // the task's agent
	Iteration int    `json:"ralph_iteration"`
	// Max is the limit of iterations; -1 = unlimited, 0 = not known.
	Max int `json:"ralph_max"`
	// PromiseFound says that the agent made its claim, and Continuing that the loop goes on
	// after this attempt.
	PromiseFound bool `json:"promise_found"`
	Continuing   bool `json:"continuing"`
	// DurationMS is the time of running and verifying, in milliseconds.
	DurationMS int64 `json:"duration_ms"`

	Attempt int           `json:"attempt"`
	Outcome ralph.Outcome `json:"outcome"`
	Fault   ralph.Fault   `json:"fault,omitempty"`
	Error   string        `json:"error,omitempty"`
	// Verified is the verdict. It is true without PromiseFound only under
	// [ralph.Task.Always]. Reason is why what was there is no promise, see [ralph.Promise],
	// and Feedback why a claim was rejected; "" = it is not so.
	Verified bool          `json:"verified"`
	Reason   string        `json:"reason,omitempty"`
	Feedback string        `json:"feedback,omitempty"`
	Checks   []ralph.Check `json:"checks,omitempty"`
	Usage    ralph.Usage   `json:"usage,omitzero"`

	Timestamp time.Time       `json:"timestamp"` // UTC
	Kind      ralph.EventKind `json:"kind"`
	Event     ralph.Event     `json:"event"`

	Line int64 `json:"-"` // in the file, from 1; gaps are lines that could not be read
	// ID names the record among all of a loop's name, for [Dir.Follow], which sets it. It has
	// digits and "-" alone. "" = it is from elsewhere.
	ID string `json:"-"`
}

// note is the line of an event that is not an attempt's end. It leaves out what would
// look like an attempt to a program that reads only the first keys of a Record. A
// script that counts lines with ralph_iteration would count a start as an attempt.
type note struct {
	TaskID    string          `json:"task_id"`
	Stage     string          `json:"stage"`
	Timestamp time.Time       `json:"timestamp"`
	Kind      ralph.EventKind `json:"kind"`
	Event     ralph.Event     `json:"event"`
}

// OpenJSONL opens an execution log for appending, as [JSONL.W]; it is made if it
// does not exist. A last line that was cut off by a crash is ended, so that it
// does not spoil the next one. The caller closes the file.
//
// The log is for its owner's eyes, 0600: of one that everybody may read, group and
// others lose their rights. It must be a regular file with one name, which belongs
// to us, to root or to the owner of its folder. Nothing is written through a symbolic
// link, which an agent could have left: if a person may name one, resolve it once,
// at the start ([filepath.EvalSymlinks]). [os.DevNull] is taken too.
func OpenJSONL(path string) (*os.File, error) {
	if path == os.DevNull { // somebody wants no log
		return os.OpenFile(path, os.O_RDWR, 0)
	}
	f, err := file.Append("", path, file.Private)
	if err != nil {
		return nil, fmt.Errorf("progress: %w", err)
	}
	if err := endLine(f); err != nil {
		return nil, fmt.Errorf("progress: %s: %w", path, errors.Join(err, f.Close()))
	}
	return f, nil
}

// endLine ends a line that a crash has cut off. It stays in the file: readers pass over
// it, and somebody may want to see it.
func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = f.Write([]byte("\n"))
	return err
}

// Append writes the event's line. It does not keep the event. The error is that of W,
// or says that the event cannot be written as JSON; the next line is then still a line
// of its own.
func (l *JSONL) Append(_ context.Context, ev ralph.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.W == nil {
		return errors.New("progress: JSONL has no W")
	}
	ev = plainEvent(ev)
	at := l.position(ev)
	var rec any = note{TaskID: ev.Task, Stage: ev.Agent, Timestamp: ev.Time, Kind: ev.Kind, Event: ev}
	if ev.Kind == ralph.EventIterationEnded {
		rec = attemptRecord(ev, at)
	}
	text, err := jsonLine(rec)
	if err == nil {
		err = l.write(text)
	}
	return own(err)
}

// position takes note of an event and returns where its loop stands. A loop that has
// stopped is forgotten, so that a log of a service does not grow in memory.
func (l *JSONL) position(ev ralph.Event) *position {
	at := l.loops[ev.Loop]
	if at == nil {
		at = &position{}
	}
	at.apply(ev)
	switch {
	case ev.Kind == ralph.EventLoopStopped:
		delete(l.loops, ev.Loop)
	case at.known:
		set(&l.loops, ev.Loop, at)
	}
	return at
}

// set puts a value into a map, which is made for the first one.
func set[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}

// write writes a line at once, for files that others append to as well. A line of which
// only a part was written is ended before the next.
func (l *JSONL) write(text []byte) error {
	if l.torn {
		text = append([]byte("\n"), text...)
	}
	n, err := l.W.Write(text)
	if n > 0 {
		l.torn = text[n-1] != '\n'
	}
	return err
}

// record is an event as a Record. It is for readers of a journal, whose lines are
// events alone.
func (l *JSONL) record(ev ralph.Event) Record {
	at := l.position(ev)
	if ev.Kind == ralph.EventIterationEnded {
		return attemptRecord(ev, at)
	}
	return Record{TaskID: ev.Task, Stage: ev.Agent, Timestamp: ev.Time, Kind: ev.Kind, Event: ev}
}

// attemptRecord is the Record of an attempt's end. What it repeats of the event is for
// readers that look at the first keys only.
func attemptRecord(ev ralph.Event, at *position) Record {
	it := ev.Iteration
	return Record{
		TaskID: ev.Task, Stage: ev.Agent,
		Iteration: it.Number, Max: at.iterations(),
		PromiseFound: it.Claimed, Continuing: at.continuing(it), DurationMS: it.Elapsed.Milliseconds(),
		Attempt: it.Attempt, Outcome: it.Outcome, Fault: it.Fault, Error: it.Error,
		Verified: it.Verdict.Passed, Reason: it.NearMiss, Feedback: it.Verdict.Feedback, Checks: it.Verdict.Checks,
		Usage:     it.Usage,
		Timestamp: ev.Time, Kind: ev.Kind, Event: ev,
	}
}

// jsonLine is v as a line: without HTML escapes, in valid UTF-8, and safe to show. A
// person may show the log on a terminal, where control sequences in an agent's words
// would take effect.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return PrintableJSON(bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD"))), nil
}

// plainEvent is an event as JSON can hold it: with a time, times in UTC, and no amounts
// that are none. It shares nothing that it changes. A log must not fail on an event
// because a client has told NaN for its cost: what cannot be said is left out.
func plainEvent(ev ralph.Event) ralph.Event {
	ev.V = cmp.Or(ev.V, ralph.Version)
	if ev.Time.IsZero() {
		ev.Time = time.Now().Round(0)
	}
	ev.Time = ev.Time.UTC()
	ev.Iteration.Start, ev.Iteration.End = ev.Iteration.Start.UTC(), ev.Iteration.End.UTC()
	ev.Iteration.Usage.CostUSD = amount(ev.Iteration.Usage.CostUSD)
	ev.Iteration.Verdict.Usage.CostUSD = amount(ev.Iteration.Verdict.Usage.CostUSD)
	if ev.Answer != nil {
		answer := *ev.Answer
		answer.Usage.CostUSD = amount(answer.Usage.CostUSD)
		ev.Answer = &answer
	}
	if ev.State != nil {
		s := *ev.State
		s.Updated = s.Updated.UTC()
		s.Usage.CostUSD, s.Verifying.CostUSD = amount(s.Usage.CostUSD), amount(s.Verifying.CostUSD)
		s.LastCost, s.Spent, s.Partial = amount(s.LastCost), amount(s.Spent), amount(s.Partial)
		s.Verdict.Usage.CostUSD = amount(s.Verdict.Usage.CostUSD)
		if s.Settled != nil {
			settled := *s.Settled
			settled.CostUSD = amount(settled.CostUSD)
			s.Settled = &settled
		}
		ev.State = &s
	}
	return ev
}
