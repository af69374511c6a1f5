package progress

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// maxJSONLine bounds what is read of a line, in bytes; a longer one is no JSON.
const maxJSONLine = 64 << 20

// ReadJSONL reads an execution log, record by record. Lines that hold no JSON
// object of this kind are skipped: a crash may have cut them off, or somebody
// has edited the file; so are lines over 64 MiB. [Record.Line] shows the gaps.
// The only error is that of r, with the number of the line; it comes last. The
// sequence reads r as it goes, and can be used once.
func ReadJSONL(r io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		for n := int64(1); ; n++ {
			text, err := readLine(in, maxJSONLine)
			if rec, ok := parseRecord(text, n); ok && !yield(rec, nil) {
				return
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Record{}, fmt.Errorf("progress: line %d: %w", n, err))
				return
			}
		}
	}
}

func parseRecord(text []byte, number int64) (Record, bool) {
	if number == 1 {
		text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	}
	text = bytes.TrimSpace(text)
	if !bytes.HasPrefix(text, []byte("{")) {
		return Record{}, false
	}
	rec := Record{}
	if json.Unmarshal(text, &rec) != nil {
		return Record{}, false
	}
	rec.Line = number
	return rec, true
}

// Resume returns the state of a loop as its events in an execution log give it,
// to be run again: limits go on where they were, and an attempt in which the
// process died is run again. The task is the ID of a task or the name of a
// loop. If a loop with this name was started afresh, after it had stopped, it is
// the later one.
//
// It is an error if the log does not tell the loop's start, or if several loops
// (agents) worked on the task and none has this name. What cannot be read is
// skipped, as in [ReadJSONL].
//
// What r says is believed: a line with a verdict that passed is a task that is
// verified, one with other limits or other hashes in Task.Guarded is what was
// agreed. So r must be a log that only the program which drives the loop can write. A log
// in the workspace is in the hands of the agent, and of all that works there: it is
// something for people to read, and nothing to resume from.
func Resume(r io.Reader, task string) (ralph.State, error) {
	loops := map[string]ralph.State{}
	for rec, err := range ReadJSONL(r) {
		if err != nil {
			return ralph.State{}, fmt.Errorf("%w, resuming %q", err, task)
		}
		ev := rec.Event
		if ev.Loop != task && ev.Task != task {
			continue
		}
		s, known := loops[ev.Loop]
		switch {
		case ev.Kind == ralph.EventLoopStarted && ev.State != nil && (!known || s.Done()):
			loops[ev.Loop] = *ev.State
		case known:
			loops[ev.Loop] = s.Apply(ev)
		}
	}
	if s, ok := loops[task]; ok {
		return s, nil
	}
	names := slices.Sorted(maps.Keys(loops))
	switch len(names) {
	case 0:
		return ralph.State{}, fmt.Errorf("progress: resume %q: the log does not tell the start of such a task or loop", task)
	case 1:
		return loops[names[0]], nil
	}
	return ralph.State{}, fmt.Errorf("progress: resume %q: several loops worked on it; name one of %s", task, strings.Join(names, ", "))
}
