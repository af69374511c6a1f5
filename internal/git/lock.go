package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph/internal/file"
)

// lockText is what our lock of the index holds, so that one that a kill has left is
// known from git's own.
const lockText = "ralph: the work tree is being written\n"

// begun are the files in git's folder of a work tree that say that something is begun.
var begun = [...]string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer"}

// lock takes the lock of the index of the user's work tree, so that no command of git
// that writes it runs meanwhile. Whoever is killed leaves that lock, but not the one
// on a file of our own, which is taken before. What else a kill has left is removed.
func (r *Repo) lock() (unlock func(), err error) {
	f, err := file.Append("", filepath.Join(r.dir, "ralph.lock"), file.Shared)
	if err != nil {
		return nil, fmt.Errorf("git: %w", err)
	}
	if err := file.Lock(f, file.LockMode{Try: true}); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		f.Close()
		return nil, fmt.Errorf("git: %s is locked by another run: %w", r.Top, err)
	}
	name := filepath.Join(r.dir, "index.lock")
	unlock = func() {
		os.Remove(name)
		_ = file.Unlock(f) // a child that is just being started has the file too, and closing it here would not do
		f.Close()
	}
	if err := lockIndex(name); err != nil {
		f.Close()
		return nil, fmt.Errorf("git: %w", err)
	}
	if err := r.sweep(); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// unbegun is an error if something is begun in the user's work tree.
func (r *Repo) unbegun() error {
	for _, name := range begun {
		if there(filepath.Join(r.dir, name)) {
			return fmt.Errorf("git: in %s something is begun and not finished (%s): finish it first", r.Top, name)
		}
	}
	return nil
}

func lockIndex(name string) error {
	temp := name + ".ralph"
	if err := os.WriteFile(temp, []byte(lockText), 0o644); err != nil {
		return err
	}
	defer os.Remove(temp)
	err := os.Link(temp, name)                      // with what it holds, or not at all
	if err != nil && !errors.Is(err, fs.ErrExist) { // the file system has no links
		var f *os.File
		if f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err == nil {
			_, err = f.WriteString(lockText)
			return errors.Join(err, f.Close())
		}
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if text, err := file.Read("", name, 1<<10); err != nil || string(text) != lockText {
		return fmt.Errorf("another git command is at work, or has left its lock %s", name)
	}
	return nil
}
