package progress

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Watch looks at a [Dir] again and again, for those who show it as it changes. Each
// look tells what [Dir.Loops] and [Dir.Standings] do, but reads only the journals that
// have changed since the look before: of a folder with a thousand loops, of which three
// run, it reads three. It keeps one [Entry] for each loop.
//
// That a journal has changed is seen by its file: another one, another size, or another
// time of its last change. Who writes into the middle of one and puts that time back
// deceives a Watch. A journal that could not be opened or read is tried again each time.
//
// It takes no lock on a loop and writes nothing. Use one Watch from one goroutine at a
// time. The zero value needs a Dir.
type Watch struct {
	Dir *Dir

	seen map[string]watched // by path
}

// A watched is a journal as it was read last.
type watched struct {
	info fs.FileInfo
	e    Entry
	err  error
}

// Loops yields what [Dir.Loops] does, but no Holder of a loop that is over. Who holds one
// that is not, which no file tells, is asked in each look. If the sequence is broken off,
// the next look reads again what was not yielded.
func (w *Watch) Loops(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		now := make(map[string]watched, len(w.seen))
		defer func() { w.seen = now }()
		for path, err := range w.Dir.paths(ctx) {
			if err != nil {
				now = w.seen // it says nothing of what is there
				yield(Entry{}, err)
				return
			}
			one, ok := w.look(path)
			if !ok {
				continue
			}
			now[path] = one
			if !yield(one.e, one.err) {
				return
			}
		}
	}
}

// look is false of a journal in which nothing has begun yet, or which was removed.
func (w *Watch) look(path string) (watched, bool) {
	// The look at the file comes before it is read: what is written in between is read
	// twice, and never missed.
	info, err := os.Lstat(path)
	if err != nil {
		return watched{}, false
	}
	last, ok := w.seen[path]
	// What stands in a file stays so until it is written to. Any other error passes without
	// a sign: permissions come back, and a disk that was away.
	_, corrupt := errors.AsType[*CorruptError](last.err)
	if ok && (last.err == nil || corrupt) && os.SameFile(last.info, info) && last.info.Size() == info.Size() && last.info.ModTime().Equal(info.ModTime()) {
		if last.err == nil && !last.e.State.Done() {
			last.e.Holder = w.Dir.holder(path, last.e.Parent, last.e.Active)
			last.e.Status = statusOf(last.e, time.Now())
		}
		return last, true
	}
	e, err := w.Dir.entry(path)
	if errors.Is(err, fs.ErrNotExist) {
		return watched{}, false
	}
	if err == nil && e.State.Done() {
		e.Holder = nil // it may be that of the parent, which will be let go of without a sign
	}
	if err != nil {
		e.Loop = strings.TrimSuffix(filepath.Base(path), ".jsonl")
	}
	return watched{info, e, err}, true
}

// Standings returns what [Dir.Standings] does, without Left, for which all processes of
// the machine would have to be looked at: [Dir.Stand] tells it of a single loop.
func (w *Watch) Standings(ctx context.Context) ([]Standing, error) {
	return standings(w.Loops(ctx), false)
}
