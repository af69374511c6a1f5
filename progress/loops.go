package progress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
)

// A Kind says what a journal is of. A session and a pipeline have a journal of their
// own beside those of their loops, for what concerns them as a whole: that they were
// begun, paused, cancelled, and how they ended.
type Kind string

const (
	KindLoop    Kind = "loop"    // one loop
	KindSession Kind = "session" // a list that is worked off, whose items are loops
	// KindPipeline: tasks and their stages, which are loops; see package pipeline.
	KindPipeline Kind = "pipeline"
	// KindHook: a loop whose agent belongs to a host, see [ralph.Hook] and [Dir.Update].
	KindHook Kind = "hook"
)

// A Status sums up the state of a loop in one word, for people and for lists. It is
// made of the record and of who holds the loop, and is true for the moment in which it
// was made: nothing is decided by it.
type Status string

const (
	// StatusRunning: a process runs it, or its agent belongs to a host ([KindHook]), of
	// which nothing is heard between two events.
	StatusRunning   Status = "running"
	StatusWaiting   Status = "waiting"   // for a rate limit, or before a retry
	StatusPaused    Status = "paused"    // between two iterations, until somebody lets it go on
	StatusCompleted Status = "completed" // verified
	// StatusInterrupted: no process runs it, and it is not over. It was interrupted, or its
	// process has died, and it can be run again.
	StatusInterrupted Status = "interrupted"
	// StatusFailed: a limit or a failure has stopped it, and State.Stop says which. It can
	// go on once the limit is raised, or the cause is mended.
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled" // for good
)

// An Entry is what is on record of a loop, a session or a pipeline, as [Dir.Loops] and
// [Dir.Look] found it. It is a copy and does not change when the record does. To run
// the loop take [Dir.Open], which holds it: by an Entry alone two processes would.
type Entry struct {
	Loop   string `json:"loop"`
	Kind   Kind   `json:"kind"`
	Parent string `json:"parent,omitempty"`
	Status Status `json:"status"`
	// State is where it stands, with what other processes have asked for and the loop's
	// own process has not taken over yet.
	State ralph.State `json:"state"`
	// Meta is what it was last started with, see [ralph.Local.Meta]. Started is the time of
	// its first start, and Active that of the last thing on record, both in UTC.
	Meta    map[string]string `json:"meta,omitempty"`
	Started time.Time         `json:"started"`
	Active  time.Time         `json:"active"`
	// Untold is how many attempts were interrupted, so that nobody knows their cost:
	// State.Unpriced does not count them. 0 also of a loop that was started once and is over.
	Untold int `json:"untold,omitempty"`
	// Holder is the process that runs it; nil = none does.
	Holder *Holder `json:"holder,omitempty"`
	// Ended are the command lines of what a dead process had left running and [Dir.Cancel]
	// has ended.
	Ended []string `json:"ended,omitempty"`
}

// Loops yields the loops that are on record, in the order of their files' names. A loop
// whose journal cannot be read is yielded with its error, and with its file's name as
// Loop; the others follow, for one bad file must not hide them. An error of the folder,
// or the cause of ctx, is the last pair. A folder that is not there holds no loop. The
// sequence can be used again.
func (d *Dir) Loops(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for path, err := range d.paths(ctx) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			e, err := d.entry(path)
			if errors.Is(err, fs.ErrNotExist) { // nothing has begun in it yet, or it was removed
				continue
			}
			if err != nil {
				e.Loop = strings.TrimSuffix(filepath.Base(path), ".jsonl")
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// paths yields the files that are loops' journals. An error is the last. Names with
// another dot are those of earlier loops, of journals that were set aside, and of torn
// lines.
func (d *Dir) paths(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		files, err := os.ReadDir(d.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			yield("", fmt.Errorf("progress: %w", err))
			return
		}
		for _, f := range files {
			base, is := strings.CutSuffix(f.Name(), ".jsonl")
			if !is || strings.Contains(base, ".") {
				continue
			}
			if ctx.Err() != nil {
				yield("", context.Cause(ctx))
				return
			}
			if !yield(filepath.Join(d.Path, f.Name()), nil) {
				return
			}
		}
	}
}

// Look returns what is on record of a loop. The error wraps [fs.ErrNotExist] if nothing
// is, and is a [*CorruptError] if its journal cannot be read. It takes no lock and may
// be called at any time, from any process; see [Entry].
func (d *Dir) Look(loop string) (Entry, error) {
	e, err := d.entry(d.File(loop))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("progress: loop %q: %w", loop, notThere(fs.ErrNotExist))
	}
	return e, err
}

// entry reads a journal, and says in an error whose it is.
func (d *Dir) entry(path string) (Entry, error) {
	e, err := d.entryOf(path)
	return e, own(err)
}

// entryOf reads the whole journal only if its first and its last line do not tell all
// that there is: most loops in a folder are over.
func (d *Dir) entryOf(path string) (Entry, error) {
	f, err := d.on().Open(path)
	if err != nil {
		return Entry{}, err
	}
	defer f.Close() // it was only read
	e, ok := over(f, path)
	if !ok {
		t, err := tellFrom(f, path, false)
		if err == nil && t.end == 0 {
			err = fs.ErrNotExist
		}
		if err != nil {
			return Entry{}, err
		}
		e = Entry{
			Loop: t.about.Loop, Kind: t.about.Kind, Parent: t.about.Parent, State: t.fold.s, Meta: t.fold.meta,
			Started: t.started, Active: t.active, Untold: t.fold.untold,
		}
	}
	// A copy of a journal under another name would be listed as a second loop.
	if path != d.File(e.Loop) {
		return Entry{}, misplaced(path, e.Loop)
	}
	e.Holder = d.holder(path, e.Parent, e.Active)
	e.Status = statusOf(e, time.Now())
	return e, nil
}

// holder tells who holds a loop: that is who holds its parent, if it is of this run of
// it. nil = nobody. A parent that was started again since does not hold the loops of
// its last run which it has not taken up.
func (d *Dir) holder(path, parent string, active time.Time) *Holder {
	if parent == "" {
		return holderOf(strings.TrimSuffix(path, ".jsonl") + ".lock")
	}
	if h := holderOf(d.file(parent, ".lock")); h != nil && !active.Before(h.Since) {
		return h
	}
	return nil
}

// over reads of a loop that was started once and has stopped only its start and its
// end, which hold all that an Entry tells.
//
// What was asked for after the end, or a second start, would change what is told; the
// end says of itself whether there was any of that before it.
func over(f file.Handle, path string) (Entry, bool) {
	info, err := f.Stat()
	if err != nil {
		return Entry{}, false
	}
	end, ok := stopOf(f, path, info.Size())
	if !ok {
		return Entry{}, false
	}
	first, err := beginning(f, path, info.Size())
	about := first.Journal
	if err != nil || about == nil || about.V > ralph.Version || first.Kind != ralph.EventLoopStarted || end.Loop != about.Loop {
		return Entry{}, false
	}
	return Entry{
		Loop: about.Loop, Kind: about.Kind, Parent: about.Parent, State: *end.State,
		Meta: first.Event.Meta, Started: first.Event.Time, Active: end.Time,
	}, true
}

// stopOf decodes the last line of a journal, if it is an end that leaves nothing to be
// told by the lines before it. An end that is longer than what is read of the file is
// read the long way.
func stopOf(f io.ReaderAt, path string, size int64) (ralph.Event, bool) {
	// A state stays below half of that without its task.
	const tail = 128 << 10
	from := max(size-tail, 0)
	text := make([]byte, size-from)
	if _, err := f.ReadAt(text, from); err != nil && !errors.Is(err, io.EOF) {
		return ralph.Event{}, false
	}
	lines, whole := bytes.CutSuffix(text, []byte("\n"))
	at := bytes.LastIndexByte(lines, '\n') + 1
	last := foundLine{text: text[at:], path: path}
	if !whole || at == 0 || !last.is(ralph.EventLoopStopped) {
		return ralph.Event{}, false
	}
	end, err := last.decode()
	told := err == nil && !end.Asked && !end.Again && end.Event.State != nil && end.Event.State.Done()
	return end.Event, told
}

// errNothing says that a journal has no whole line.
var errNothing = errors.New("nothing has begun in it")

// beginning decodes the first line of a journal. No more of the file is read than that
// line.
func beginning(f io.ReaderAt, path string, size int64) (journalLine, error) {
	for l, err := range journalLines(io.NewSectionReader(f, 0, size), path, 0, 0) {
		if err != nil {
			return journalLine{}, err
		}
		return l.decode()
	}
	return journalLine{}, errNothing
}

// statusOf is an entry's. A loop is waiting or paused only between two attempts. That
// nobody holds a loop which is not over is how a crash shows: nothing else tells of it.
func statusOf(e Entry, now time.Time) Status {
	s := e.State
	switch {
	case s.Stop == ralph.StopVerified:
		return StatusCompleted
	case s.Stop == ralph.StopCancelled:
		return StatusCancelled
	case s.Done():
		return StatusFailed
	case e.Holder == nil && e.Kind != KindHook: // whose events are its life
		return StatusInterrupted
	case s.Running:
		return StatusRunning
	case s.Paused:
		return StatusPaused
	case s.NotBefore().After(now):
		return StatusWaiting
	}
	return StatusRunning
}

// Find returns the loops that a person may mean by a name: the loop of that name;
// else those that work on the task with that ID and are not over; else those of that
// task which are over. The error wraps [fs.ErrNotExist] if there are none. Several
// are for the caller to refuse, or to show. Loops whose journals cannot be read are
// not among them.
func (d *Dir) Find(ctx context.Context, what string) ([]Entry, error) {
	// A name goes before a task's ID, for it is exact.
	if e, err := d.Look(what); err == nil {
		return []Entry{e}, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var found []Entry
	for e, err := range d.Loops(ctx) {
		if err == nil && e.State.Task.ID == what {
			found = append(found, e)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	// Who names a task means the loop that goes on, if there is one; old ones are many.
	if going := slices.DeleteFunc(slices.Clone(found), func(e Entry) bool { return e.State.Done() }); len(going) > 0 {
		found = going
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("progress: nothing is on record of a loop or a task %q: %w", what, fs.ErrNotExist)
	}
	return found, nil
}
