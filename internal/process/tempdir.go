package process

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
)

// dirName begins the names of the folders; an ID follows, as a mark has one.
const dirName = "ralph-run-"

// A TempDir is a folder for temporary files, which is removed also if the program
// that made it dies: by the next program that makes one. It is locked while it is
// in use.
type TempDir struct {
	Path string
	lock *os.File // the folder itself, which nothing in it can take away; nil = it cannot be locked
}

// NewTempDir makes a folder in parent, "" = the system's for temporary files, that
// only this user can read. The first time in a program it removes what programs that
// died have left there: folders of such a name, of this user's, which nobody has
// locked. Links are not followed.
func NewTempDir(parent string) (*TempDir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	if host.first("sweep " + parent) {
		sweep(parent)
	}
	for {
		d := &TempDir{Path: filepath.Join(parent, dirName+rand.Text()[:idSize])}
		if err := os.Mkdir(d.Path, 0o700); err != nil {
			return nil, err
		}
		var err error
		if d.lock, err = lock(d.Path); err == nil || !errors.Is(err, file.ErrTaken) {
			return d, nil
		}
		// Somebody took it for a dead one before it was locked.
	}
}

// Remove removes the folder, also if there are folders in it that cannot be
// written to.
func (d *TempDir) Remove() error {
	err := file.RemoveAll(d.Path)
	if d.lock != nil {
		d.lock.Close()
	}
	return err
}

// sweep removes the folders of programs that died.
func sweep(parent string) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		id, ours := strings.CutPrefix(e.Name(), dirName)
		if !ours || !isID(id) {
			continue
		}
		path := filepath.Join(parent, e.Name())
		info, err := e.Info()
		if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 || !owned(info) {
			continue
		}
		if f, err := lock(path); err == nil {
			_ = file.RemoveAll(path) // what cannot be removed stays
			f.Close()
		}
	}
}
