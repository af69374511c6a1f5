package progress

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph/internal/file"
)

// A Holder is the process that holds a loop or a workspace, as it has described itself.
// It is for people. Whether somebody holds the thing is decided by a lock of the
// operating system alone, which ends with its process: a file with a process ID
// outlives a crash, and the ID may be another program's by then.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host,omitempty"`
	What  string    `json:"what,omitempty"` // what it does there, in its own words
	Since time.Time `json:"since"`          // UTC
}

// String is for people: "process 123 (what) since 2026-01-02T15:04:05Z", with the host
// if that is another one, and without what is not known.
func (h Holder) String() string {
	who := "another process"
	if h.PID > 0 {
		who = fmt.Sprintf("process %d", h.PID)
	}
	if host, _ := os.Hostname(); h.Host != "" && h.Host != host {
		who += " on " + PrintableLine(h.Host)
	}
	if h.What != "" {
		who += " (" + PrintableLine(h.What) + ")"
	}
	if !h.Since.IsZero() {
		who += " since " + h.Since.Format(time.RFC3339)
	}
	return who
}

// us is this process, as it says so to itself.
func us() Holder {
	return Holder{PID: os.Getpid(), What: "this program: Journal.Close, or Dir.Close, lets go of it"}
}

// A HeldError says that a loop or a workspace cannot be had, because a process holds
// it: another one, or another part of this one. It is no failure: try again later, or
// ask the Holder.
type HeldError struct {
	What   string // what cannot be had, for people: loop "T001", workspace /src
	Holder Holder
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("progress: %s is held by %s", e.What, e.Holder)
}

// A Hold is a lock on a workspace, a loop or an attempt. The operating system
// releases it when the process ends, even by a crash, so no lock is left that would
// stop the next run. Close may be called on a nil Hold, and more than once.
type Hold struct {
	lock *os.File
	path string
}

// HoldWorkspace locks a workspace for a run that has agents work there, since two
// agents in one tree undo each other's work. The lock is a file in the folder that
// [WorkspaceDir] names, wherever the run keeps its own records. what tells others what
// the run does. Nothing in this library takes this lock by itself: a program that runs
// several agents in one tree on purpose takes it once.
//
// The error is a [*HeldError] if a process holds the workspace already, be it this one;
// it wraps [errors.ErrUnsupported] where the file system has no locks. Any other error
// says that the folder cannot be written to.
func HoldWorkspace(dir, what string) (*Hold, error) {
	d, err := WorkspaceDir(dir)
	if err != nil {
		return nil, err
	}
	if err := d.Make(); err != nil {
		return nil, err
	}
	return hold(filepath.Join(d.Path, "workspace.lock"), "workspace "+dir, what)
}

// Close releases the lock and removes its file.
func (h *Hold) Close() error {
	if h == nil || h.lock == nil {
		return nil
	}
	if sameFile(h.lock, h.path) { // somebody may have removed it, and somebody else holds another one now
		_ = os.Remove(h.path) // before it is unlocked: who comes now makes another one; some systems keep what is open
	}
	err := errors.Join(file.Unlock(h.lock), h.lock.Close())
	h.lock = nil
	return err
}

// hold locks a file, which it makes, and writes into it who has it. It is patient
// with what lasts an instant: others look who has it, it is removed by who had it,
// or the file does not tell yet, or tells of a process that is gone.
//
// What lasts longer than patience is taken for a holder. It sleeps between tries, for
// the system wakes nobody who only tries a lock.
func hold(path, thing, what string) (*Hold, error) {
	var holder Holder
	for until := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		h, err := tryHold(path)
		if err == nil {
			if err := h.tell(what); err != nil {
				return nil, fmt.Errorf("progress: lock: %w", errors.Join(err, h.Close()))
			}
			return h, nil
		}
		held, is := errors.AsType[*HeldError](err)
		switch {
		case !is && !errors.Is(err, file.ErrTaken):
			return nil, fmt.Errorf("progress: lock: %w", err)
		case is:
			holder = held.Holder
		}
		if is && holder.lives() || time.Now().After(until) {
			return nil, &HeldError{What: thing, Holder: holder}
		}
	}
}

// patience is how long a lock is tried for that nobody should have. It is long enough
// for a process that is being killed to be gone, and short enough for a person who
// waits.
const patience = 2 * time.Second

// tryHold locks a file. The error is a [*HeldError], or wraps [file.ErrTaken] if
// nobody has it for himself.
//
// A lock that others share is held by readers who only look who has it: that lasts an
// instant and is no holder.
func tryHold(path string) (*Hold, error) {
	f, err := file.Append("", path, file.Private)
	if err != nil {
		return nil, err
	}
	err = file.Lock(f, file.LockMode{Try: true})
	if errors.Is(err, file.ErrTaken) {
		if looked := file.Lock(f, file.LockMode{Try: true, Shared: true}); errors.Is(looked, file.ErrTaken) {
			err = &HeldError{Holder: readHolder(f)}
		}
	}
	if err == nil && !sameFile(f, path) {
		err = file.ErrTaken
	}
	if err != nil {
		f.Close() // nothing was written
		return nil, err
	}
	return &Hold{lock: f, path: path}, nil
}

// lives reports whether the holder is known and, as far as that can be told, not gone.
// A process that was killed while it started another one keeps its locks until that is
// another program. Of another machine's process nothing can be found out, so it is
// taken to live.
func (h Holder) lives() bool {
	if host, _ := os.Hostname(); h.PID <= 0 || h.Host != host {
		return h.PID > 0
	}
	p, err := os.FindProcess(h.PID)
	if err == nil {
		defer p.Release() // it is a handle of the system's
		err = p.Signal(syscall.Signal(0))
	}
	return !errors.Is(err, os.ErrProcessDone)
}

// tell writes into the locked file who has it. It is not forced to the disk: after a
// loss of power nobody has it.
func (h *Hold) tell(what string) error {
	host, _ := os.Hostname()
	text, err := json.Marshal(Holder{PID: os.Getpid(), Host: host, What: what, Since: time.Now().UTC().Round(0)})
	if err == nil {
		err = file.Truncate(h.lock, 0)
	}
	if err == nil {
		_, err = h.lock.Write(text)
	}
	return err
}

// holderOf tells who holds a lock, nil = nobody. It takes the lock for an instant,
// shared, so that two who look do not take each other for a holder.
func holderOf(path string) *Holder {
	for until := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		f, err := file.Open("", path)
		if err != nil {
			return nil
		}
		err = file.Lock(f, file.LockMode{Try: true, Shared: true})
		holder := readHolder(f)
		_ = file.Unlock(f) // also for a process that is being started
		f.Close()
		switch {
		case !errors.Is(err, file.ErrTaken):
			return nil
		case holder.lives():
			return &holder
		case time.Now().After(until):
			return &holder
		}
	}
}

// readHolder reads who holds a lock; what cannot be read is not known. It is read while
// its owner may be writing it, so half of it is nothing.
func readHolder(f *os.File) (h Holder) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 64<<10))
	if err != nil || json.Unmarshal(text, &h) != nil {
		return Holder{}
	}
	h.What = strings.TrimSpace(h.What)
	return h
}

// sameFile reports whether a path still leads to a file that is open. A lock on a file
// that was removed keeps nobody out: the next one makes another file.
func sameFile(f interface{ Stat() (os.FileInfo, error) }, path string) bool {
	is, err := f.Stat()
	there, err2 := os.Lstat(path)
	return err == nil && err2 == nil && os.SameFile(is, there)
}
