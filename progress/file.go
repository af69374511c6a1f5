package progress

import (
	"cmp"
	"os"
	"path/filepath"
)

// A File is a log's file that stands where an agent works and may clean up: it is
// opened for each write, and one that was deleted is begun again, with a folder
// .ralph that holds it. Such a folder says to git that it is no part of the
// project. Lines of [JSONL] that concurrent loops or processes write stay whole.
type File struct {
	Path string
}

// Write appends to the file. A torn last line is ended first, see [OpenJSONL]; so
// writing nothing makes sure that the file can be written.
func (f File) Write(p []byte) (int, error) {
	file, err := f.open()
	if err != nil {
		return 0, err
	}
	n, err := file.Write(p)
	return n, cmp.Or(err, file.Close())
}

func (f File) open() (*os.File, error) {
	folder := filepath.Dir(f.Path)
	if _, err := os.Stat(folder); filepath.Base(folder) == ".ralph" && err != nil {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(folder, ".gitignore"), []byte("*\n"), 0o644); err != nil {
			return nil, err
		}
	}
	return OpenJSONL(f.Path)
}
