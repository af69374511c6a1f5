package progress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"time"

	"github.com/ralph-loop/ralph/internal/file"
)

// Follow yields what is on record of a loop, record by record, and then what comes, within
// a second: for those who show it, in any process. It begins after the record that has the
// [Record.ID] after, so that a reader that broke off can go on; "" = with the first one. It
// only reads, and takes no lock, so a loop neither waits for who follows it nor loses
// anything to them; who reads slowly reads later. What comes before the record after is
// read too, for it says where the loop stands: to go on is cheap in the same sequence, and
// takes a pass over the journal in another one. The sequence can be used again.
//
// It does not end with the loop, which a higher limit lets go on: break it off at
// [ralph.EventLoopStopped] if that is the end. A loop that begins anew under the name is
// followed from its start, also if after is of the one before.
//
// An error is the last pair: it wraps [fs.ErrNotExist] if nothing is on record of the loop,
// or no longer is, is a [*CorruptError] if its journal cannot be read, or the cause of ctx.
func (d *Dir) Follow(ctx context.Context, loop, after string) iter.Seq2[Record, error] {
	return d.FollowEvery(ctx, loop, after, 0)
}

// FollowEvery yields what [Dir.Follow] does, and a zero Record whenever none has come for
// that long: for those who must be heard of, as by a connection that is closed when
// nothing goes over it. It is told within a second. 0 = never.
//
// A timer beside Dir.Follow would need a goroutine that waits for records, and who breaks
// off would have to end it. Here the one that reads the journal also looks at the clock.
func (d *Dir) FollowEvery(ctx context.Context, loop, after string, every time.Duration) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f := follower{d: d, path: d.File(loop)}
		defer f.close()
		fmt.Sscanf(after, idForm, &f.seenBegan, &f.seen) // what is no ID is of no record
		for last := time.Now(); ctx.Err() == nil; {
			for r, err := range f.more() {
				if errors.Is(err, fs.ErrNotExist) {
					err = fmt.Errorf("loop %q: %w", loop, notThere(fs.ErrNotExist))
				}
				if !yield(r, own(err)) || err != nil {
					return
				}
				last = time.Now()
			}
			if every > 0 && time.Since(last) >= every {
				if !yield(Record{}, nil) {
					return
				}
				last = time.Now()
			}
			select {
			case <-ctx.Done():
			case <-time.After(lookEvery):
			}
		}
		yield(Record{}, context.Cause(ctx))
	}
}

// A follower is how far a journal was read.
type follower struct {
	d     *Dir
	path  string
	file  file.Handle // nil = not open
	lines int64
	end   int64 // of the last line that was yielded
	loops JSONL // where the loop stands
	began int64 // when the loop did: it tells a loop from others of its name
	// The record that was seen last, before this began.
	seenBegan, seen int64
}

// idForm is how a Record.ID is made of the time at which the record began, and the line.
const idForm = "%d-%d"

// more yields what has come since the last call. What is left of a journal in whose
// place there is another one comes before that.
func (f *follower) more() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			if err := f.open(); err != nil {
				yield(Record{}, err)
				return
			}
			moved := !sameFile(f.file, f.path) // before it is read: what comes later is read with the next look
			for r, err := range f.lineByLine() {
				if !yield(r, err) || err != nil {
					return
				}
			}
			if !moved {
				return
			}
			f.close()
		}
	}
}

func (f *follower) open() (err error) {
	if f.file == nil {
		f.file, err = f.d.on().Open(f.path)
		f.lines, f.end, f.loops = 0, 0, JSONL{}
	}
	return err
}

func (f *follower) close() {
	if f.file != nil {
		f.file.Close() // it was only read
		f.file = nil
	}
}

// lineByLine yields the records of the whole lines that were not yielded yet.
func (f *follower) lineByLine() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		info, err := f.file.Stat()
		if err == nil && info.Size() < f.end {
			err = fmt.Errorf("%s was cut while it was followed", f.path)
		}
		if err != nil {
			yield(Record{}, err)
			return
		}
		for l, err := range journalLines(io.NewSectionReader(f.file, f.end, info.Size()-f.end), f.path, f.lines, f.end) {
			var line journalLine
			if err == nil {
				line, err = l.decode()
			}
			if err == nil && l.number == 1 && (line.Journal == nil || f.d.File(line.Journal.Loop) != f.path) {
				err = l.corrupt(errors.New("it is not the beginning of this loop's journal"))
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			f.lines, f.end = l.number, l.end
			if l.number == 1 {
				f.began = line.Event.Time.UnixNano()
			}
			r := f.loops.record(line.Event) // also of what was seen: it says where the loop stands
			r.Line, r.ID = l.number, fmt.Sprintf(idForm, f.began, l.number)
			if (f.began != f.seenBegan || l.number > f.seen) && !yield(r, nil) {
				return
			}
		}
	}
}
