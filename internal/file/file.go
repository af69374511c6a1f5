// Package file reads and replaces the files that people and agents edit while a
// program uses them.
package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Regular says what is at a path, which must be a regular file: a directory has
// no text, and a pipe would block. The error begins with what, which names the
// file to people ("task list"), and says what to do.
func Regular(what, path string) (fs.FileInfo, error) {
	if path == "" {
		return nil, fmt.Errorf("no path of a %s is given", what)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s %s: %w: create it, or give the path of the one you have", what, path, fs.ErrNotExist)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", what, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s %s is a directory: give the path of the file in it", what, path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s %s is not a regular file", what, path)
	}
	return info, nil
}

// Read reads a regular file, see [Regular]: all of it, or if most is not 0 no
// more than one byte beyond most, so that the caller sees that it is too long.
func Read(what, path string, most int) ([]byte, error) {
	if _, err := Regular(what, path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	defer f.Close() // it was only read
	var in io.Reader = f
	if most > 0 {
		in = io.LimitReader(f, int64(most)+1)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return text, nil
}

// Replace gives an existing file new content, all or nothing: a reader, or a
// machine that loses power, sees the old content or the new one. A symbolic link
// is followed, and the mode stays.
func Replace(path string, text []byte) (err error) {
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
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
	_, err = temp.Write(text)
	if err == nil {
		err = temp.Chmod(info.Mode().Perm())
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
	syncDir(dir)
	return nil
}

// syncDir makes a rename durable where the system can do that for folders; the
// file itself is whole in any case.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// StateHome is where programs keep what they must find again: $XDG_STATE_HOME, or
// ~/.local/state if that is not an absolute path, as its specification has it.
func StateHome() (string, error) {
	if home := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(home) {
		return home, nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(user, ".local", "state"), nil
}
