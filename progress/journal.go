package progress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
)

// A journalLine is a line of a journal. The kind is told first, so that readers need
// not decode what they have no use for.
type journalLine struct {
	Kind    ralph.EventKind `json:"kind"`
	Journal *about          `json:"journal,omitempty"` // on the first line
	// Taken is, on a line that changes what the loop goes on by, the offset up to
	// which requests of that kind have been taken over with it; on the start of a loop
	// those of all kinds.
	Taken int64 `json:"taken,omitempty"`
	// Advised is Taken for advice on the start of a loop that was over, for which advice
	// waits; 0 = as Taken.
	Advised int64 `json:"advised,omitempty"`
	// Asked says on the end of a loop that there are requests before it which were
	// not taken over.
	Asked bool `json:"asked,omitempty"`
	// Again says on the end of a loop that it was started more than once, so that the
	// first line is not the one that tells its Meta.
	Again bool `json:"again,omitempty"`
	// Hook is, on a line of a session's loop, what the event does not tell of it: all but
	// Session, State, Last (the event's Iteration) and Failed (its Text). A line with a
	// State takes over all requests up to Taken.
	Hook  *ralph.HookState `json:"hook,omitempty"`
	Event ralph.Event      `json:"event"`
}

// about is what a journal tells of itself. It stands on the first line, so that a file
// which was renamed, or copied from elsewhere, is known for what it is.
type about struct {
	V      int    `json:"v"`
	Kind   Kind   `json:"kind"`
	Loop   string `json:"loop"`
	Parent string `json:"parent,omitempty"`
}

// A journal is what a Dir knows of a loop's journal. Its file may be written to by
// other processes: what they ask for stands in it after end.
//
// Reader and writer are one type because they must agree on where the file ends: what
// lies between that place and the file's size was written by others, and is read before
// a line is added.
type journal struct {
	d          *Dir
	loop, path string

	mu       sync.Mutex
	kind     Kind
	lock     *Hold
	open     bool        // a Journal has it
	goesOn   bool        // by Open, or it has begun
	fresh    bool        // by Create
	file     file.Handle // kept open by who runs the loop, from its first line on; nil = not yet
	unlocked error       // why there is no lock

	raw io.WriteCloser // of the attempt that runs
	onFile
}

// onFile is what is known of a journal's file.
type onFile struct {
	named    bool  // the file's name is durable
	ready    bool  // end is known
	end      int64 // of what is known of the file
	own      int64 // the end of the last line that was written here
	firm     int64 // the lines after it need not have been synced; 0 = all have
	asked    []request
	handed   int64        // the end of the last request that was handed to the driver
	cancel   *ralph.Event // by another process
	told     bool         // the driver knows
	paused   bool
	again    bool         // the loop was started more than once
	above    bool         // its parent was paused when that was last asked
	answered *ralph.Event // an attempt that is to be verified
}

// Error is the reason for which another process has cancelled the loop, in its words.
func (e cancelledError) Error() string { return e.reason }
func (e cancelledError) Unwrap() error { return ralph.ErrCancelled }

func (j *journal) name() string { return fmt.Sprintf("loop %q", j.loop) }

// take locks the loop for this process.
//
// A loop with a parent needs no lock of its own, since whoever runs the parent holds
// that. A file system without locks is no reason not to work at all: that nobody else
// is kept out is told, in Journal.Unlocked.
func (j *journal) take(what string) error {
	if j.lock != nil || j.d.Parent != "" {
		return nil
	}
	if err := j.d.Make(); err != nil {
		return err
	}
	lock, err := hold(strings.TrimSuffix(j.path, ".jsonl")+".lock", j.name(), what)
	if errors.Is(err, errors.ErrUnsupported) {
		j.unlocked = err
		return nil
	}
	j.lock = lock
	return err
}

// release lets go of the loop. The file is closed before the lock, so that the next
// holder does not meet a handle of this one.
func (j *journal) release() error {
	err := errors.Join(j.shut(), j.lock.Close())
	j.lock, j.open, j.goesOn, j.fresh = nil, false, false, false
	return err
}

// shut closes the file. The next line opens it again.
func (j *journal) shut() error {
	f := j.file
	if j.file = nil; f == nil {
		return nil
	}
	return f.Close()
}

// writing opens the file for a line, locked. What is unfinished at its end is put
// aside, and what others have written is noted.
//
// The lock is on the file and is held for one line only; it is not the lock that says
// who runs the loop. So other processes can ask for something at any time, and two
// lines never mix. A journal that was moved away while the lock was waited for is
// opened anew, since what is written to the old file nobody reads.
func (j *journal) writing() (file.Handle, error) {
	f := j.file
	j.file = nil
	for range 100 {
		var err error
		if f == nil {
			if err = j.d.Make(); err == nil {
				f, err = j.d.on().Append(j.path)
			}
		}
		if err != nil {
			return nil, err
		}
		if err = f.Lock(file.LockMode{}); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return nil, errors.Join(err, f.Close())
		}
		if !sameFile(f, j.path) { // it was moved away meanwhile
			f.Close()
			f = nil
			continue
		}
		if err = j.catchUp(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
	return nil, fmt.Errorf("%s is moved away all the time", j.path)
}

// catchUp notes what others have written, up to the last whole line, and puts aside
// what follows it.
func (j *journal) catchUp(f file.Handle) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if !j.ready {
		end, err := lastLine(f, size)
		if err != nil {
			return err
		}
		j.ready, j.end, j.own = true, end, end
	} else if err := j.read(f, size); err != nil {
		return err
	}
	if size > j.end {
		return j.putAside(f, size)
	}
	return nil
}

// read notes the lines between what is known and size.
//
// A file that has become shorter than what this process has written was tampered with
// or restored from elsewhere. To go on would mix two histories, so the loop ends with
// an error.
func (j *journal) read(f io.ReaderAt, size int64) error {
	if size < j.own {
		return fmt.Errorf("%s was cut or removed while the loop ran", j.path)
	}
	j.end = min(j.end, size)
	if size == j.end {
		return nil
	}
	for l, err := range journalLines(io.NewSectionReader(f, j.end, size-j.end), j.path, 0, j.end) {
		if err != nil {
			return err
		}
		j.note(l)
		j.end = l.end
	}
	return nil
}

// putAside takes out what a crash has left of a line, and keeps its bytes.
//
// The order is that of a move between files: first the copy, durably with its name,
// then the cut. A loss of power in between leaves the bytes in both places, and never
// in none.
func (j *journal) putAside(f file.Handle, size int64) error {
	torn := make([]byte, size-j.end)
	if _, err := io.ReadFull(io.NewSectionReader(f, j.end, size-j.end), torn); err != nil {
		return err
	}
	aside, err := j.d.on().Append(fmt.Sprintf("%s.%d.torn", strings.TrimSuffix(j.path, ".jsonl"), j.end))
	if err != nil {
		return err
	}
	if _, err = aside.Write(torn); err == nil {
		err = aside.Sync()
	}
	if err = errors.Join(err, aside.Close()); err == nil {
		err = j.d.sync(filepath.Dir(j.path)) // its name, before the bytes are gone from here
	}
	if err != nil {
		return err
	}
	if err := f.Truncate(j.end); err != nil {
		return err
	}
	return f.Sync()
}

// append records an event.
//
// That another process has cancelled the loop is told once, by an error that says the
// event is recorded all the same. An event that is itself the cancel needs no telling.
func (j *journal) append(ctx context.Context, ev ralph.Event) error {
	ev = j.d.redacted(plainEvent(ev))
	if ev.Kind == ralph.EventLoopStarted {
		if err := j.start(ev); err != nil {
			return j.failed(err)
		}
	}
	if err := j.write(ev); err != nil {
		return j.failed(err)
	}
	if ev.Kind == ralph.EventIterationEnded {
		if err := j.closeRaw(); err != nil {
			return j.failed(err)
		}
	}
	if j.cancel != nil && !j.told {
		j.told = true
		if ev.Kind != ralph.EventCancelled {
			return j.reason()
		}
	}
	return nil
}

// failed says which loop an error is about, unless the error is one of this package and
// says so already.
func (j *journal) failed(err error) error {
	if of := own(err); of == err {
		return err
	}
	return fmt.Errorf("progress: %s: %w", j.name(), err)
}

// own is an error of this package, which begins with its name. The prefix stands once,
// however many layers an error has come through.
func own(err error) error {
	if strings.HasPrefix(err.Error(), "progress: ") {
		return err
	}
	return fmt.Errorf("progress: %w", err)
}

// start makes sure that nobody else runs the loop, and that a new loop has a journal
// of its own.
//
// A loop that begins anew puts the journal of the one before it out of the way, unless
// that one can go on: two loops of one name in one journal could not be told apart.
// Loops of a parent are an exception, for the parent's own record says which of them
// begin again.
func (j *journal) start(ev ralph.Event) error {
	if err := j.take("running"); err != nil {
		return err
	}
	switch {
	case ev.State == nil || j.goesOn:
		return nil
	case ev.State.Begun() && j.ready:
		return nil
	case ev.State.Begun(): // it was let go of since: what others have asked for, or a cancel, is not in its state
		if err := j.refresh(); !isCorrupt(err) {
			return err
		}
		return nil // that is said by who opens it
	}
	if there, err := j.earlier(); err != nil || !there {
		return err
	}
	if !j.fresh && j.d.Parent == "" { // whose loops these are knows which of them begin anew
		if err := j.d.finished(j.loop); err != nil {
			return err
		}
	}
	return j.archive()
}

// isCorrupt reports whether an error is that of a journal that cannot be read. Whoever
// only appends need not care; whoever opens it is told.
func isCorrupt(err error) bool {
	_, is := errors.AsType[*CorruptError](err)
	return is
}

// archive keeps the journal as that of the last loop of its name.
//
// The raw output moves first: a crash in between leaves the journal where it is, with
// its raw output under the last one's name, which costs a look at old output and no
// loop.
func (j *journal) archive() error {
	disk, base := j.d.on(), strings.TrimSuffix(j.path, ".jsonl")
	err := j.shut()
	if err == nil {
		err = disk.RemoveAll(base + ".last.raw")
	}
	if err == nil {
		err = j.d.moveRaw(base+".raw", base+".last.raw")
	}
	if err == nil {
		err = disk.Rename(j.path, base+".last.jsonl")
	}
	if err == nil {
		err = j.d.sync(j.d.Path)
	}
	if err == nil {
		j.onFile = onFile{}
	}
	return err
}

// write writes a line. Nothing of one that could not be written whole is left.
//
// Each line that takes over requests says up to which place in the file it does. So a
// reader needs no second record of what was dealt with, and a crash between a request
// and its effect loses neither: what lies behind that place is still to be done.
func (j *journal) write(ev ralph.Event) error {
	known, ready := j.end, j.ready
	f, err := j.writing()
	if err != nil {
		return err
	}
	if !ready {
		known = j.end
	}
	l := journalLine{Kind: ev.Kind, Event: ev}
	if j.end == 0 {
		kind := j.kind
		if kind == "" {
			kind = KindLoop
		}
		l.Journal = &about{V: ralph.Version, Kind: kind, Loop: j.loop, Parent: j.d.Parent}
	}
	switch class(ev.Kind) {
	case ralph.EventLoopStarted:
		j.again = j.end > 0
		l.Taken = max(known, j.handed)
		l.Advised = l.Taken
		for _, r := range j.asked {
			if asks(r.ev) == ralph.EventGuided {
				l.Advised = min(l.Advised, r.end-1)
			} else {
				l.Taken = min(l.Taken, r.end-1)
			}
		}
	case ralph.EventLoopStopped:
		l.Asked, l.Again = len(j.asked) > 0, j.again
	case ralph.EventGuided, ralph.EventPaused, ralph.EventLimitsChanged, ralph.EventReopened:
		l.Taken = j.handed
	}
	text, err := jsonLine(l)
	if err == nil {
		err = j.put(f, text, true)
	}
	if err == nil {
		j.end += int64(len(text))
		j.own = j.end
	}
	if err = errors.Join(err, f.Unlock()); err != nil {
		return errors.Join(err, f.Close())
	}
	j.file = f // for the next line
	return j.fixName()
}

// fixName makes the file's name durable: who made the file may have died before that. A
// file that is synced and whose name is not is lost with the power.
func (j *journal) fixName() error {
	if j.named {
		return nil
	}
	err := j.d.sync(filepath.Dir(j.path))
	j.named = err == nil
	return err
}

// put adds bytes to the file, durably if that is wanted, or nothing. A line that is
// there in part, or is there though Append has said that it is not, would be believed
// by the next reader.
func (j *journal) put(f file.Handle, text []byte, durable bool) error {
	_, err := f.Write(text)
	end := j.end
	if err == nil && durable && !j.d.NoSync {
		if err = f.Sync(); err != nil && j.firm > 0 { // who fails to sync a line loses the bytes before it that were not synced
			end = j.firm
		}
	}
	if err != nil {
		if cut := f.Truncate(end); cut == nil {
			_ = f.Sync() // else it is put aside when the file is next written to
		}
	}
	return err
}
