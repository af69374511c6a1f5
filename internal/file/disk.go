package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// A Disk is where what must not be lost is kept: [OS], or in tests one that fails,
// or that forgets what was not synced. All paths are absolute or relative to the
// current folder, as in package os; the rules of this package hold.
type Disk interface {
	Open(path string) (Handle, error)   // for reading
	Append(path string) (Handle, error) // for reading and appending; a private file is made if none is there
	Rename(from, to string) error
	Remove(path string) error
	RemoveAll(path string) error
	Folder(path string) error // makes a private one, with those above it
	Sync(folder string) error // what was made, renamed and removed in it is durable then
}

// A Handle is an open file.
type Handle interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
	Lock(mode LockMode) error
	Unlock() error
}

// OS are the files of the operating system.
type OS struct{}

var _ Disk = OS{}

type osFile struct{ *os.File }

func (f osFile) Lock(mode LockMode) error  { return Lock(f.File, mode) }
func (f osFile) Unlock() error             { return Unlock(f.File) }
func (f osFile) Truncate(size int64) error { return Truncate(f.File, size) }

// Truncate cuts an open file, also one that is open for appending: such a file some
// systems let nobody cut but by its name, so the caller makes sure that it is still
// called that.
func Truncate(f *os.File, size int64) error {
	err := f.Truncate(size)
	if errors.Is(err, fs.ErrPermission) {
		err = os.Truncate(f.Name(), size)
	}
	return err
}

func handle(f *os.File, err error) (Handle, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (OS) Open(path string) (Handle, error)   { return handle(Open("", path)) }
func (OS) Append(path string) (Handle, error) { return handle(Append("", path, Private)) }
func (OS) Rename(from, to string) error       { return os.Rename(from, to) }
func (OS) Remove(path string) error           { return os.Remove(path) }
func (OS) RemoveAll(path string) error        { return os.RemoveAll(path) }
func (OS) Folder(path string) error           { return Folder(path) }

// Sync leaves it to file systems that cannot sync folders to keep their names.
func (OS) Sync(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	if err = d.Sync(); errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, fs.ErrPermission) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
