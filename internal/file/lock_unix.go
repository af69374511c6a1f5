//go:build unix && !solaris && !aix

package file

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock locks an open file. The error is [ErrTaken], or wraps
// [errors.ErrUnsupported] on a file system that has no locks.
func Lock(f *os.File, mode LockMode) error {
	how := syscall.LOCK_EX
	if mode.Shared {
		how = syscall.LOCK_SH
	}
	if mode.Try {
		how |= syscall.LOCK_NB
	}
	return flock(f, how)
}

// Unlock unlocks it, also for a process that has just been started and has not let
// go of our files yet. Where there are no locks it does nothing.
func Unlock(f *os.File) error {
	if err := flock(f, syscall.LOCK_UN); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

func flock(f *os.File, how int) error {
	for {
		switch err := syscall.Flock(int(f.Fd()), how); {
		case err == nil:
			return nil
		case err == syscall.EINTR:
		case err == syscall.EWOULDBLOCK:
			return ErrTaken
		case err == syscall.ENOLCK || err == syscall.EBADF || errors.Is(err, errors.ErrUnsupported):
			return fmt.Errorf("%s: the file system has no locks: %w", f.Name(), errors.ErrUnsupported)
		default:
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}
