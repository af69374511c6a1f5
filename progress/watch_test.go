package progress_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestWatch: each look tells what Dir.Standings does, whatever has come in between:
// loops that begin, go on, are steered, end, are gone, and cannot be read.
func TestWatch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := &progress.Dir{Path: t.TempDir()}
	t.Cleanup(func() { d.Close() })
	w := progress.Watch{Dir: d}
	begin := func(id string) *progress.Journal {
		t.Helper()
		j, err := d.Create(ralph.Start(ralph.Task{ID: id, Prompt: id}), progress.KindLoop)
		if err == nil {
			err = j.Begin(ctx, false)
		}
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	same := func(what string, statuses ...progress.Status) {
		t.Helper()
		want, bad := d.Standings(ctx)
		got, err := w.Standings(ctx)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", what, diff)
		}
		if diff := cmp.Diff(fmt.Sprint(bad), fmt.Sprint(err)); diff != "" {
			t.Errorf("%s:\n%s", what, diff)
		}
		var is []progress.Status
		for _, st := range got {
			is = append(is, st.Status)
		}
		if diff := cmp.Diff(statuses, is); diff != "" {
			t.Errorf("%s:\n%s", what, diff)
		}
	}
	same("an empty folder")
	one := begin("one")
	same("a loop", progress.StatusRunning)
	two := begin("two")
	if _, err := d.Pause("one", true); err != nil {
		t.Fatal(err)
	}
	same("another one, and the first is paused", progress.StatusPaused, progress.StatusRunning)
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	same("nobody holds one, which no file tells", progress.StatusPaused, progress.StatusInterrupted)
	if _, err := d.Cancel("two", "enough"); err != nil {
		t.Fatal(err)
	}
	same("it is cancelled", progress.StatusPaused, progress.StatusCancelled)
	if err := os.WriteFile(d.File("bad"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	same("one cannot be read", progress.StatusPaused, progress.StatusCancelled)
	same("and still cannot", progress.StatusPaused, progress.StatusCancelled)
	if err := os.Remove(d.File("bad")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Remove("two"); err != nil {
		t.Fatal(err)
	}
	same("one is gone", progress.StatusPaused)
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}

	ended, stop := context.WithCancel(ctx)
	stop()
	if got, err := w.Standings(ended); len(got) != 0 || !errors.Is(err, context.Canceled) {
		t.Error(got, err)
	}
	same("a look that was broken off", progress.StatusInterrupted)
}

// TestWatchReads: what has not changed is not read again.
func TestWatchReads(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := &progress.Dir{Path: t.TempDir()}
	w := progress.Watch{Dir: d}
	for i := range 20 {
		s := ralph.Start(ralph.Task{ID: fmt.Sprint("T", i), Prompt: "x"})
		j, err := d.Create(s, progress.KindLoop)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(j.Begin(ctx, false), j.Close()); err != nil {
			t.Fatal(err)
		}
	}
	first, err := w.Standings(ctx)
	if err != nil || len(first) != 20 {
		t.Fatal(len(first), err)
	}
	// What is in a file cannot be seen to be another thing if nothing of the file shows it,
	// so a reader would find them broken.
	for i := range 20 {
		path := d.File(fmt.Sprint("T", i))
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt([]byte("broken"), 0)
		if err := errors.Join(err, f.Close(), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := w.Standings(ctx); err != nil || cmp.Diff(first, again) != "" {
		t.Error(err, cmp.Diff(first, again))
	}
}

// TestWatchErrorPasses: an error that is none of what stands in a journal is gone as soon
// as its cause is, although nothing of the file has changed.
func TestWatchErrorPasses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := &progress.Dir{Path: t.TempDir()}
	j, err := d.Create(ralph.Start(ralph.Task{ID: "T1", Prompt: "x"}), progress.KindLoop)
	if err == nil {
		err = errors.Join(j.Begin(ctx, false), j.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	w := progress.Watch{Dir: d}
	path, away := d.File("T1"), d.File("T1")+".away"
	// The link is what is looked at, and stays as it is.
	if err := errors.Join(os.Rename(path, away), os.Symlink("loop-b", path), os.Symlink(path, filepath.Join(d.Path, "loop-b"))); err != nil {
		t.Skip(err)
	}
	if got, err := w.Standings(ctx); len(got) != 0 || err == nil {
		t.Fatal(got, err)
	}
	if err := errors.Join(os.Remove(filepath.Join(d.Path, "loop-b")), os.Rename(away, filepath.Join(d.Path, "loop-b"))); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Standings(ctx); len(got) != 1 || err != nil {
		t.Error(got, err)
	}
}
