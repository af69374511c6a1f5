//go:build unix

package process

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// lock locks a folder until the file is closed, or the program ends. The error is
// errTaken, or one that says that this system does not lock folders.
func lock(path string) (*os.File, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errTaken
		}
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if err == syscall.EWOULDBLOCK {
			err = errTaken
		}
		return nil, err
	}
	locked, err1 := f.Stat()
	there, err2 := os.Lstat(path)
	if err1 != nil || err2 != nil || !os.SameFile(locked, there) {
		f.Close()
		return nil, errTaken
	}
	return f, nil
}

func owned(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid()
}
