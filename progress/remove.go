package progress

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ralph-loop/ralph"
)

// SetAside moves a loop's journal to another name, whatever is in it, and returns its
// new path. Afterwards no such loop is on record. It is for a journal that is corrupt,
// and for a loop that is to begin anew although it could go on. What a dead process has
// left running of the loop is ended first; ended are its command lines, see
// [ralph.EndLeft]. The error is a [*HeldError] if a process holds the loop, and wraps
// [fs.ErrNotExist] if there is none.
func (d *Dir) SetAside(loop string) (to string, ended []string, err error) {
	ended, err = d.withLock(loop, func() error {
		// Under a name of its own, so that several can be kept.
		from := d.File(loop)
		for n := 1; ; n++ {
			to = strings.TrimSuffix(from, ".jsonl") + fmt.Sprintf(".aside-%d.jsonl", n)
			if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
		err := d.on().Rename(from, to)
		if err == nil {
			err = d.moveRaw(d.file(loop, ".raw"), strings.TrimSuffix(to, ".jsonl")+".raw")
		}
		if err == nil {
			err = d.sync(d.Path)
		}
		return err
	})
	if err != nil {
		to = ""
	}
	return to, ended, err
}

// moveRaw moves the raw output of a loop with its journal. There may be none: an agent
// that never ran has printed nothing.
func (d *Dir) moveRaw(from, to string) error {
	if err := d.on().Rename(from, to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Remove removes what is on record of a loop that is not being run: its journal, the
// one kept from the loop before it, and their raw output. What was set aside, or torn
// by a crash, stays. What a dead process has left running of the loop is ended first;
// ended are its command lines. The error is a [*HeldError] if a process holds the loop,
// and wraps [fs.ErrNotExist] if there is none.
func (d *Dir) Remove(loop string) (ended []string, err error) {
	return d.withLock(loop, func() error {
		err := d.on().Remove(d.File(loop))
		for _, end := range []string{".raw", ".last.jsonl", ".last.raw"} {
			if err == nil {
				err = d.on().RemoveAll(d.file(loop, end))
			}
		}
		if err == nil {
			err = d.sync(d.Path)
		}
		return err
	})
}

// withLock does something to a journal that no process holds.
//
// It takes the same lock as a run does, so a loop cannot be removed under a process
// that has just begun to run it. Whoever holds the parent holds the loop, too, although
// its own lock is free.
func (d *Dir) withLock(loop string, do func() error) (ended []string, err error) {
	if _, err := os.Lstat(d.File(loop)); err != nil {
		return nil, fmt.Errorf("progress: loop %q: %w", loop, notThere(err))
	}
	j := d.journal(loop)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lock != nil {
		return nil, &HeldError{What: j.name(), Holder: us()}
	}
	if e, err := d.Look(loop); err == nil && e.Holder != nil {
		return nil, &HeldError{What: j.name(), Holder: *e.Holder}
	}
	if err := j.take("to remove it"); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	defer d.forget(loop)
	ended, err = d.endLeft(loop)
	if err == nil {
		err = do()
	}
	if err = errors.Join(err, j.release()); err != nil {
		return ended, fmt.Errorf("progress: loop %q: %w", loop, err)
	}
	return ended, nil
}

// endLeft ends what dead processes have left running of a loop, and of its parts. What
// cannot be read tells of nothing. Once the journal is gone nobody knows the marks any
// more, so it is done before.
func (d *Dir) endLeft(loop string) (all []string, err error) {
	t, err := d.tell(loop)
	if err != nil {
		return nil, nil
	}
	marks := []string{t.fold.s.Mark}
	if t.about.Kind == KindSession || t.about.Kind == KindPipeline {
		for _, part := range d.Parts(context.Background(), Entry{Loop: loop, Started: t.started}) {
			marks = append(marks, part.State.Mark)
		}
	}
	for _, mark := range marks {
		if mark == "" {
			continue
		}
		ended, err := ralph.EndLeft(mark)
		all = append(all, ended...)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return all, err
		}
	}
	return all, nil
}

// notThere replaces the error of a file that is not there. Its path, with a hash in it,
// says nothing to people.
func notThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("nothing is on record of it: %w", fs.ErrNotExist)
	}
	return err
}
