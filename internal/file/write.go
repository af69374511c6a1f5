package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Modes of files that are made here.
const (
	Private fs.FileMode = 0o600 // logs and evidence, for they hold what an agent has seen
	Shared  fs.FileMode = 0o666 // what people work with; less the umask
)

// Append opens a file for reading and appending; one that is not there is made
// with this mode. Of a private file that all may read, as it was left by others or
// by earlier versions, group and others lose their rights; a mode that somebody
// has chosen for a group stays.
func Append(what, path string, mode fs.FileMode) (*os.File, error) {
	for range 10 { // what is there may come and go
		f, err := edit(what, path, os.O_APPEND)
		if err == nil && mode == Private {
			tighten(f)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		if f, err = Create(what, path, mode); !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, refused(what, path, busy)
}

// Create makes a file that must not be there, for reading and appending. The error
// wraps [fs.ErrExist] if it is.
func Create(what, path string, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, mode) // goes through no link
	if e, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: make its folder, or give another path", name(what, path), e.Err)
	}
	if err != nil {
		return nil, failed(what, path, err)
	}
	give(f)
	return f, nil
}

// Edit opens a file that must be there, for reading and writing in place.
func Edit(what, path string) (*os.File, error) { return edit(what, path, 0) }

func edit(what, path string, flags int) (*os.File, error) {
	for range 10 { // editors replace files
		info, err := keeps(what, path)
		if err != nil {
			return nil, err
		}
		f, err := os.OpenFile(path, os.O_RDWR|NonBlock|noFollow|flags, 0)
		if err != nil {
			return nil, failed(what, path, err)
		}
		now, err := f.Stat()
		if err == nil && os.SameFile(info, now) {
			return opened(what, path, f, writable(path))
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, failed(what, path, err)
		}
	}
	return nil, refused(what, path, busy)
}

const busy = "is replaced by somebody else all the time: try again"

// keeps reports what keeps a file that is there from being written.
func keeps(what, path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, failed(what, path, err)
	}
	if wrong := writable(path)(info); wrong != "" {
		return nil, refused(what, path, wrong)
	}
	return info, nil
}

// writable is the rule for what is written at a path.
func writable(path string) rule {
	return func(info fs.FileInfo) string {
		if info.Mode()&fs.ModeSymlink != 0 {
			return "is a symbolic link, and nothing is written through one: remove it, or give the path of the file that it leads to"
		}
		if wrong := regular(info); wrong != "" {
			return wrong
		}
		user, _, links, ok := owner(info)
		if !ok {
			return ""
		}
		if links > 1 {
			return fmt.Sprintf("has %d names (hard links), and what is written to it would change another file: put a copy in its place", links)
		}
		if user == 0 || user == os.Geteuid() {
			return ""
		}
		folder, err := os.Stat(filepath.Dir(path))
		if err == nil {
			if of, _, _, _ := owner(folder); of == user {
				return ""
			}
		}
		return fmt.Sprintf("belongs to another user (%d), neither to you nor to the owner of its folder: remove it, or put a copy in its place", user)
	}
}

// tighten takes a file that all may read from others, if it can be done.
func tighten(f *os.File) {
	if info, err := f.Stat(); err == nil && info.Mode().Perm()&0o007 != 0 {
		_ = f.Chmod(info.Mode().Perm() &^ 0o077) // some file systems have no modes
	}
}

// give hands what root has made in the folder of somebody else to them, if that
// can be done: a container that works as root shall leave nothing behind that the
// owner of the workspace cannot read.
func give(f *os.File) {
	if os.Geteuid() != 0 {
		return
	}
	if folder, err := os.Stat(filepath.Dir(f.Name())); err == nil {
		if user, group, _, ok := owner(folder); ok && user != 0 {
			_ = f.Chown(user, group)
		}
	}
}

// Folder makes a folder for private files, with those above it, if it is not
// there. Those that are there stay as they are.
func Folder(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	if above := filepath.Dir(path); above != path {
		if err := Folder(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		info, e := os.Stat(path)
		switch {
		case e == nil && info.IsDir(): // somebody else was faster
			return nil
		case e == nil:
			return refused("", path, "is not a folder, and one is needed there")
		}
		return err
	}
	if f, err := os.OpenFile(path, os.O_RDONLY|noFollow|NonBlock, 0); err == nil {
		give(f)
		_ = f.Close()
	}
	return nil
}

// Temp makes a private file with a name of its own in a folder, see [Folder] and
// [os.CreateTemp].
func Temp(folder, pattern string) (*os.File, error) {
	if err := Folder(folder); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(folder, pattern)
	if err == nil {
		give(f)
	}
	return f, err
}

// Replace gives an existing file new content, all or nothing: a reader, or a
// machine that loses power, sees the old content or the new one. The mode stays,
// and so does the owner where that can be done.
func Replace(what, path string, text []byte) error {
	info, err := keeps(what, path)
	if err != nil {
		return err
	}
	return replace(path, info, text)
}

// Swap is [Replace] for a file that still holds what was read of it. False means that
// somebody else has changed it: nothing is written. Of two who do this at the same time
// one finds the other's text, but not where there are no locks, on Windows, where a
// file that is open cannot be replaced, and while a third one holds the lock for longer
// than this takes.
func Swap(what, path string, was, text []byte) (bool, error) {
	if _, err := keeps(what, path); err != nil {
		return false, err
	}
	f, err := Open(what, path)
	if err != nil {
		return false, err
	}
	defer f.Close() // it was only read; the lock ends with it
	if runtime.GOOS != "windows" {
		await(f)
	}
	opened, err := f.Stat()
	if err != nil {
		return false, failed(what, path, err)
	}
	info, err := keeps(what, path) // which may have been replaced before it was locked
	if err != nil || !os.SameFile(opened, info) {
		return false, err
	}
	now, err := io.ReadAll(io.LimitReader(f, int64(len(was))+1))
	switch {
	case err != nil:
		return false, failed(what, path, err)
	case !bytes.Equal(now, was):
		return false, nil
	case runtime.GOOS == "windows":
		_ = f.Close()
	}
	return true, replace(path, info, text)
}

// await locks a file, but waits for a second at most: a lock that is held longer is
// for something else, and a stranger's must not keep us from working.
func await(f *os.File) {
	for range 100 {
		if !errors.Is(Lock(f, LockMode{Try: true}), ErrTaken) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Put is [Replace] for a file that need not be there: it makes a private one. Its
// folder must be there.
func Put(what, path string, text []byte) error {
	info, err := keeps(what, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return replace(path, info, text)
}

// replace puts a file in the place of one that was found there, nil = none. A link
// that came since is replaced, not followed.
func replace(path string, was fs.FileInfo, text []byte) (err error) {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	if was == nil {
		give(temp)
	} else if user, group, _, ok := owner(was); ok && user != os.Geteuid() {
		_ = temp.Chown(user, group)
	}
	_, err = temp.Write(text)
	if err == nil && was != nil {
		err = temp.Chmod(was.Mode().Perm())
	}
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if err = os.Rename(temp.Name(), path); err != nil {
		return err
	}
	_ = OS{}.Sync(dir) // so that the rename is durable; the file itself is whole in any case
	return nil
}
