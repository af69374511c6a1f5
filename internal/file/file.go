// Package file opens files in the place of which people, agents and strangers can
// put something else. It is the one place with the rules for that:
//
//   - What is read is a regular file, of bounded size, and opening it never
//     waits. It may be reached through links.
//   - What is written is a regular file with one name, that belongs to us, to root
//     or to the owner of its folder (who could replace it anyway), and is no link.
//     Folders on the way may be links. A file that a person names for us to write
//     may be one: whoever takes the name resolves it, once, at the start.
//
// What is decided about a path is decided again about what was opened. Errors
// begin with what, which names the file to people ("task list") and may be "", and
// with its path; they say what to do. The names of packages are for callers to add.
package file

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Open opens a regular file for reading.
func Open(what, path string) (*os.File, error) { return open(what, path, os.Stat, os.OpenFile) }

// OpenIn opens a regular file for reading in a folder. Links on the way are relative and
// do not leave it.
func OpenIn(what string, root *os.Root, path string) (*os.File, error) {
	return open(what, path, root.Stat, root.OpenFile)
}

func open(what, path string, stat func(string) (fs.FileInfo, error), openFile func(string, int, fs.FileMode) (*os.File, error)) (*os.File, error) {
	if path == "" {
		return nil, fmt.Errorf("no path of a %s is given", cmp.Or(what, "file"))
	}
	info, err := stat(path)
	if err != nil {
		return nil, failed(what, path, err)
	}
	if wrong := regular(info); wrong != "" {
		return nil, refused(what, path, wrong)
	}
	f, err := openFile(path, os.O_RDONLY|NonBlock, 0)
	if err != nil {
		return nil, failed(what, path, err)
	}
	return opened(what, path, f, regular)
}

// Read reads all of a regular file. It is an error if that is more than most, in
// bytes.
func Read(what, path string, most int) ([]byte, error) {
	f, err := Open(what, path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	return Rest(what, f, most)
}

// Rest reads what is left of a file that is open, as [Read] does.
func Rest(what string, f *os.File, most int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	switch {
	case err != nil:
		return nil, failed(what, f.Name(), err)
	case len(text) > most:
		return nil, refused(what, f.Name(), fmt.Sprintf("has more than %d bytes, which is the most that is read", most))
	}
	return text, nil
}

// A rule says what is wrong with a file, "" = nothing.
type rule func(fs.FileInfo) (wrong string)

// regular is the rule for what is read.
func regular(info fs.FileInfo) string {
	mode := info.Mode()
	if mode.IsDir() {
		return "is a directory: give the path of the file in it"
	}
	for kind, name := range map[fs.FileMode]string{fs.ModeNamedPipe: "named pipe: remove it, or", fs.ModeSocket: "socket: remove it, or", fs.ModeDevice: "device:"} {
		if mode&kind != 0 {
			return "is not a regular file but a " + name + " give the path of a file"
		}
	}
	if !mode.IsRegular() {
		return "is not a regular file: remove it, or give the path of one"
	}
	return ""
}

// opened returns a file if it keeps the rule, and not only what stood at its path
// before it was opened.
func opened(what, path string, f *os.File, follows rule) (*os.File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, failed(what, path, errors.Join(err, f.Close()))
	}
	if wrong := follows(info); wrong != "" {
		return nil, errors.Join(refused(what, path, wrong), f.Close())
	}
	return f, nil
}

func name(what, path string) string { return strings.TrimSpace(what + " " + path) }

func refused(what, path, wrong string) error { return fmt.Errorf("%s %s", name(what, path), wrong) }

func failed(what, path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link that leads nowhere: %w: give the path of the one you have", name(what, path), fs.ErrNotExist)
		}
		return fmt.Errorf("%s: %w: create it, or give the path of the one you have", name(what, path), fs.ErrNotExist)
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path == path { // it is told once
		err = e.Err
	}
	return fmt.Errorf("%s: %w", name(what, path), err)
}
