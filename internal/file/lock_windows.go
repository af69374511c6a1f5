package file

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// place is what is locked of a file: a byte where none will ever be, for Windows
// keeps others from reading what is locked.
func place() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 0x7fffffff} }

// Lock locks an open file. The error is [ErrTaken], or wraps
// [errors.ErrUnsupported] on a file system that has no locks.
func Lock(f *os.File, mode LockMode) error {
	how := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK)
	if mode.Shared {
		how = 0
	}
	if mode.Try {
		how |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, place())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrTaken
	}
	if err != nil {
		return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

// Unlock unlocks it. Where there are no locks it does nothing.
func Unlock(f *os.File) error {
	err := windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, place())
	if errors.Is(err, windows.ERROR_NOT_LOCKED) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
