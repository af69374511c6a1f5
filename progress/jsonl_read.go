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

// ReadJSONL reads an execution log, or the journal of a [Dir], record by record. Lines
// that hold no JSON object of this kind are skipped: a crash may have cut them off, or
// somebody has edited the file; so are lines over 64 MiB. [Record.Line] shows the gaps.
// The only error is that of r, with the number of the line; it comes last. The
// sequence reads r as it goes, and can be used once.
func ReadJSONL(r io.Reader) iter.Seq2[Record, error] { return records(r, func() {}) }

// records is ReadJSONL, with a call for each line that is skipped and not blank.
func records(r io.Reader, skipped func()) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		var loops JSONL // where they stand
		for n := int64(1); ; n++ {
			text, err := readLine(in, maxJSONLine)
			rec, ok := parseRecord(text, n)
			if ok && bytes.HasPrefix(text, []byte(`{"kind":`)) { // a journal's line: the event alone
				rec = loops.record(rec.Event)
				rec.Line = n
			}
			if ok && !yield(rec, nil) {
				return
			} else if !ok && len(bytes.TrimSpace(text)) > 0 {
				skipped()
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

// parseRecord reads a line. It is not ok if the line is none of ours, for whatever
// reason: a log in the workspace can hold anything.
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

// Resume returns the state of a loop as its events in an execution log give it, to
// be run again: limits go on where they were, and an attempt in which the process
// died is run again. The task is the ID of a task or the name of a loop. If the
// loop was started anew under the same name after it had stopped, the state is that
// of the later loop.
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
	f, err := resume(r, task)
	return f.s, err
}

// ResumeProven is Resume for a log that others may be able to write to: a verdict that
// passed is believed only if the loop's end is told too. Otherwise the state is the one
// before it, and the verdict is given again: of the answer, if [ralph.Local.Pending] finds
// that on record, and else of another attempt. [Dir.Open] does the same.
//
// A log that tells an end as well is believed, and so are limits and the task.
func ResumeProven(r io.Reader, task string) (ralph.State, error) {
	f, err := resume(r, task)
	f.end()
	return f.s, err
}

// resume is what a log tells of a loop; with an error it is empty.
func resume(r io.Reader, task string) (fold, error) {
	loops := map[string]*fold{}
	for rec, err := range ReadJSONL(r) {
		if err != nil {
			return fold{}, fmt.Errorf("%w, resuming %q", err, task)
		}
		ev := rec.Event
		if ev.Loop != task && ev.Task != task {
			continue
		}
		if ev.Kind == ralph.EventLoopStarted && ev.State != nil && loops[ev.Loop] == nil {
			loops[ev.Loop] = &fold{}
		}
		if f := loops[ev.Loop]; f != nil {
			f.apply(ev)
			f.hold(ev)
		}
	}
	if f := loops[task]; f != nil {
		return *f, nil
	}
	names := slices.Sorted(maps.Keys(loops))
	switch len(names) {
	case 0:
		return fold{}, fmt.Errorf("progress: resume %q: the log does not tell the start of such a task or loop", task)
	case 1:
		return *loops[names[0]], nil
	}
	return fold{}, fmt.Errorf("progress: resume %q: several loops worked on it; name one of %s", task, strings.Join(names, ", "))
}

// A fold is what a loop's events make of it, from its start on. A record is no
// evidence: a verdict that passed, without the end of the loop, is to be given again.
//
// It can be verified again at no cost but the verification's, while a verdict that
// somebody has written into a file would make a task done that is not.
type fold struct {
	s        ralph.State
	meta     map[string]string
	unproven *ralph.State    // if a verdict has passed and the loop's end is not told: the state before
	passed   ralph.Iteration // the attempt
	untold   int             // interrupted attempts of which the cost is not known: no state counts them
	answer   *ralph.Event    // the recorded answer of the attempt that is to be verified, as far as the reader keeps it
}

// apply takes note of an event. A second start with a state is another loop of the same
// name only if the one before it is over; otherwise the loop goes on.
func (f *fold) apply(ev ralph.Event) {
	before := f.s
	starts := ev.Kind == ralph.EventLoopStarted && ev.State != nil
	if starts {
		f.meta = ev.Meta
	}
	if starts && (before.Iteration == 0 || before.Done()) {
		f.s, f.unproven, f.untold = *ev.State, nil, 0
		return
	}
	if it := ev.Iteration; ev.Kind == ralph.EventIterationEnded && it.Fault == ralph.FaultInterrupted && it.Usage.CostUSD == nil {
		// A process that has died may have told what its attempt had cost by then.
		if before.Settled == nil || money(before.Usage) == money(*before.Settled) {
			f.untold++
		}
	}
	f.s = before.Apply(ev)
	switch {
	case ev.Kind == ralph.EventLoopStopped:
		if f.cancelled() && ev.State != nil && ev.State.Stop == ralph.StopCancelled {
			f.end()
		}
		f.unproven = nil
	case ev.Kind == ralph.EventCancelled && f.unproven != nil: // if the end is not told, it counts
		s := f.unproven.Next(interrupted(f.passed)).Cancel(ev.Text)
		f.unproven, f.answer = &s, nil
	case !before.Done() && f.s.Stop == ralph.StopVerified && ev.State == nil: // else it is told
		f.unproven, f.passed = &before, ev.Iteration
	}
}

// hold keeps the answer of the attempt that runs, or whose verdict is not proven.
func (f *fold) hold(ev ralph.Event) {
	switch {
	case ev.Kind == ralph.EventAnswered:
		f.answer = &ev
	case !f.s.Running && !f.passing(), ev.Kind == ralph.EventIterationStarted:
		f.answer = nil
	}
}

// cancelled reports whether the loop is cancelled, unless an end that is still to come
// says that its verdict has come before. A cancel that comes between a verdict and its
// end finds the loop verified if the end follows, and cancelled if it does not.
func (f *fold) cancelled() bool {
	return f.s.Stop == ralph.StopCancelled || f.unproven != nil && f.unproven.Stop == ralph.StopCancelled
}

// passing reports whether the fold is at a verdict that passed and may not be proven.
func (f *fold) passing() bool { return f.unproven != nil && f.unproven.Running }

// end counts what the answer tells that is the last word, and puts a loop whose end is
// not told back to where it is to be verified: with the answer that is on record, or
// else by another attempt.
func (f *fold) end() {
	if f.unproven == nil {
		if f.answer != nil {
			f.s = f.s.Apply(*f.answer)
		}
		return
	}
	s := *f.unproven
	switch {
	case s.Done():
	case f.answer == nil:
		s = s.Next(interrupted(f.passed))
	default: // what the lost verification has used counts too
		ev := *f.answer
		ev.Iteration.Verdict.Usage, ev.Iteration.Elapsed = f.passed.Verdict.Usage, f.passed.Elapsed
		f.answer, s = &ev, s.Apply(ev)
	}
	f.s, f.unproven = s, nil
}

// interrupted is an attempt as if the process had ended before its verdict: what it has
// spent counts. Its claim is taken back: it is made again by the next attempt, or by
// the answer.
func interrupted(it ralph.Iteration) ralph.Iteration {
	it.Outcome, it.Fault, it.Error = ralph.OutcomeInterrupted, ralph.FaultInterrupted, "the process ended before the loop's end was on record"
	it.Claimed, it.Blocked, it.Verdict = false, false, ralph.Verdict{Usage: it.Verdict.Usage}
	return it
}
