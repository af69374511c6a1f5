//go:build unix

package process

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/ralph-loop/ralph/internal/file"
)

// lock locks a folder until the file is closed, or the program ends. The error is
// file.ErrTaken, or one that says that this system does not lock folders.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		err = file.ErrTaken
	}
	if err != nil {
		return nil, err
	}
	if err := file.Lock(f, file.LockMode{Try: true}); err != nil {
		f.Close()
		return nil, err
	}
	locked, err1 := f.Stat()
	there, err2 := os.Lstat(path)
	if err1 != nil || err2 != nil || !os.SameFile(locked, there) {
		f.Close()
		return nil, file.ErrTaken
	}
	return f, nil
}

func owned(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid()
}
