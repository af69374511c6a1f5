package progress_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/progress"
)

// started is a loop whose process has died after its start was on record, and
// before its first attempt was.
func started(t *testing.T, d *progress.Dir) {
	t.Helper()
	j := create(t, d, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
	s := j.State
	if _, err := j.Record(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted, State: &s}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDirAskedBeforeTheStart: what is asked for between the opening of a journal and the
// start of its loop is not lost, also if the loop has not begun yet.
func TestDirAskedBeforeTheStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := &progress.Dir{Path: t.TempDir()}
		other := &progress.Dir{Path: dir.Path}
		started(t, dir)
		j := open(t, dir, "T")
		if _, err := other.Guide("T", advice); err != nil {
			t.Fatal(err)
		}
		prompts := ""
		l := answers("not yet", done)
		run := l.Runner
		l.Runner = ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			prompts += req.Prompt
			return run.Run(ctx, req)
		})
		if s := runLoop(t, j, l); s.Stop != ralph.StopVerified || !strings.Contains(prompts, advice) {
			t.Errorf("%+v was told %s", s, prompts)
		}

		dir = &progress.Dir{Path: t.TempDir()}
		other = &progress.Dir{Path: dir.Path}
		started(t, dir)
		j = open(t, dir, "T")
		if _, err := other.Cancel("T", "enough"); err != nil {
			t.Fatal(err)
		}
		if s, err := j.Run(t.Context(), answers(done)); s.Stop != ralph.StopCancelled || !errors.Is(err, ralph.ErrCancelled) {
			t.Errorf("%v: %+v", err, s)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestDirCancelIsTotal: a loop that was cancelled before its next start was on record is
// cancelled, also if the process that started it dies before it knows.
func TestDirCancelIsTotal(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	other := &progress.Dir{Path: dir.Path}
	started(t, dir)
	j := open(t, dir, "T")
	if _, err := other.Cancel("T", "enough"); err != nil {
		t.Fatal(err)
	}
	s := j.State
	if err := j.Append(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted, Loop: "T", State: &s}); !errors.Is(err, ralph.ErrCancelled) {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if e, err := other.Cancel("T", "again"); !errors.Is(err, progress.ErrOver) || e.State.Detail != "enough" {
		t.Errorf("%v: %+v", err, e)
	}
	if j := open(t, dir, "T"); j.State.Stop != ralph.StopCancelled {
		t.Errorf("%+v", j.State)
	}
}

// TestDirAskedTooLate: what is asked for before the end of a loop, and not taken
// over before it, is there when the loop goes on.
func TestDirAskedTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := &progress.Dir{Path: t.TempDir()}
		other := &progress.Dir{Path: dir.Path}
		j := create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}}))
		l := answers("not yet")
		l.Log = ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
			if ev.Kind != ralph.EventAnswered {
				return nil
			}
			_, err := other.Guide("T", advice)
			_, err2 := other.Limit("T", ralph.Limits{Iterations: 3})
			return errors.Join(err, err2)
		})
		if s, err := j.Run(t.Context(), l); s.Stop != ralph.StopIterations {
			t.Errorf("%v: %+v", err, s)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if e, err := other.Look("T"); err != nil || e.State.Done() || e.Status != progress.StatusInterrupted {
			t.Errorf("%v: %+v", err, e)
		}
		if j = open(t, other, "T"); j.State.Done() || !slices.Equal(j.State.Guidance, []string{advice}) {
			t.Errorf("%+v", j.State)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestDirAdviceWaits: advice for a loop that was over before it could be taken
// waits until somebody has the loop go on.
func TestDirAdviceWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := &progress.Dir{Path: t.TempDir()}
		j := create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Failures: 1, Retries: -1}}))
		l := answers()
		l.Log = ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
			if ev.Kind != ralph.EventAnswered {
				return nil
			}
			_, err := (&progress.Dir{Path: dir.Path}).Guide("T", advice)
			return err
		})
		if s, err := j.Run(t.Context(), l); s.Stop != ralph.StopFailed {
			t.Errorf("%v: %+v", err, s)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		j = open(t, dir, "T")
		j.State = j.State.Reopen()
		prompts := ""
		l = answers()
		l.Runner = ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			prompts += req.Prompt
			return ralph.Response{Output: done}, nil
		})
		if s := runLoop(t, j, l); s.Stop != ralph.StopVerified || strings.Count(prompts, advice) != 1 {
			t.Errorf("%+v was told %s", s, prompts)
		}
	})
}

// movesAway is a disk on which a journal is moved away before it can be written to.
type movesAway struct{ file.OS }

func (movesAway) Append(path string) (file.Handle, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return file.OS{}.Append(path)
}

// TestDirAskedOfNobody: what is asked of a loop whose journal is moved away at that
// moment does not begin a journal.
func TestDirAskedOfNobody(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	started(t, dir)
	if _, err := (&progress.Dir{Path: dir.Path}).On(movesAway{}).Guide("T", advice); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Lstat(dir.File("T")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v: %s", err, read(t, dir.File("T")))
	}
}

// TestDirLockOfTheDead: a process that is killed while it starts another one keeps its
// locks until that is another program. That does not keep the loop from going on.
func TestDirLockOfTheDead(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Skip(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(progress.Holder{PID: cmd.Process.Pid, Host: host})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"dead": text, "not told yet": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := &progress.Dir{Path: t.TempDir()}
				started(t, dir)
				lock, err := os.Create(strings.TrimSuffix(dir.File("T"), "jsonl") + "lock")
				if err == nil {
					_, err = lock.Write(text)
				}
				if err = errors.Join(err, file.Lock(lock, file.LockMode{})); err != nil {
					t.Fatal(err)
				}
				opened := make(chan error)
				go func() {
					j, err := dir.Open("T")
					if err == nil {
						err = j.Close()
					}
					opened <- err
				}()
				synctest.Wait() // it waits
				if err := lock.Close(); err != nil {
					t.Fatal(err)
				}
				if err := <-opened; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestDirHeldByTheParent: a loop that belongs to a session is held by who holds that.
func TestDirHeldByTheParent(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	j := create(t, dir, ralph.Start(ralph.Task{ID: "S", Prompt: "Do it."}))
	s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})
	if err := dir.Under("S").Append(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted, Loop: "T", State: &s}); err != nil {
		t.Fatal(err)
	}
	other := &progress.Dir{Path: dir.Path}
	for name, try := range map[string]func() error{
		"Open":     func() error { _, err := other.Open("T"); return err },
		"Remove":   func() error { _, err := other.Remove("T"); return err },
		"SetAside": func() error { _, _, err := other.SetAside("T"); return err },
	} {
		if held, ok := errors.AsType[*progress.HeldError](try()); !ok || held.Holder.PID != os.Getpid() {
			t.Errorf("%s: %v", name, held)
		}
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if _, err := other.Remove("T"); err != nil {
		t.Error(err)
	}
}
