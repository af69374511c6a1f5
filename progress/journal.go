package progress

import (
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
	guidance []string     // of a state that has all that was asked for; nil = not known
}

// Error is the reason for which another process has cancelled the loop, in its words.
func (e cancelledError) Error() string { return e.reason }
func (e cancelledError) Unwrap() error { return ralph.ErrCancelled }

// name is what the loop is called in errors. It is quoted, since it may be any text.
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
		// Without locks the lines of two processes could mix, but one line is one
		// write, and most systems keep that whole.
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
