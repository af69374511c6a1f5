package progress

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph/internal/file"
)

// A File is a log's file that stands where an agent works and may clean up: it is
// opened for each write, and one that was deleted is begun again, with a folder
// .ralph that holds it. Lines of [JSONL] that concurrent loops or processes write
// stay whole. What may stand at Path, and who may read it, says [OpenJSONL]. Folders
// that are made are for their owner alone, 0700, and say to git that they are no
// part of the project.
type File struct {
	Path string
}

// Write appends to the file. A torn last line is ended first, see [OpenJSONL]; so
// writing nothing makes sure that the file can be written.
func (f File) Write(p []byte) (int, error) {
	log, err := f.open()
	if err != nil {
		return 0, err
	}
	n, err := log.Write(p)
	return n, cmp.Or(err, log.Close())
}

func (f File) open() (*os.File, error) {
	if filepath.Base(filepath.Dir(f.Path)) == ".ralph" {
		if err := f.folder(); err != nil {
			return nil, err
		}
	}
	return OpenJSONL(f.Path)
}

// Create makes the file, 0600, and its folder if it is not there, for a log that
// is written once, such as a session's. The error wraps [fs.ErrExist] if the file
// is there. The caller closes it.
func (f File) Create() (*os.File, error) {
	err := f.folder()
	if err != nil {
		return nil, err
	}
	log, err := file.Create("", f.Path, file.Private)
	if err != nil {
		return nil, fmt.Errorf("progress: %w", err)
	}
	return log, nil
}

// folder makes the folder, if it is not there.
func (f File) folder() error {
	folder := filepath.Dir(f.Path)
	if _, err := os.Stat(folder); err == nil {
		return nil
	}
	err := file.Folder(folder)
	if err == nil {
		var ignore *os.File
		if ignore, err = file.Create("", filepath.Join(folder, ".gitignore"), file.Private); err == nil {
			_, err = ignore.WriteString("*\n")
			err = errors.Join(err, ignore.Close())
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) { // or somebody else was faster
		return fmt.Errorf("progress: %w", err)
	}
	return nil
}
