package progress_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file/filetest"
	"github.com/ralph-loop/ralph/progress"
)

// TestWithoutLocks: where the file system has no locks, a loop runs and is on record all
// the same, and who runs it is told that nobody is kept from doing so too.
func TestWithoutLocks(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	cmd := program("no locks", dir.Path)
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if e, err := dir.Look("T"); err != nil || e.Status != progress.StatusCompleted || e.State.Iteration != 2 {
		t.Errorf("%+v, %v", e, err)
	}
}

func withoutLocks(args []string) error {
	if err := filetest.NoLocks(); err != nil {
		return err
	}
	if _, err := progress.HoldWorkspace(args[0], "this"); !errors.Is(err, errors.ErrUnsupported) {
		return errors.Join(errors.New("the workspace is held"), err)
	}
	j, err := (&progress.Dir{Path: args[0]}).Create(ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}), progress.KindLoop)
	if err != nil {
		return err
	}
	if !errors.Is(j.Unlocked, errors.ErrUnsupported) {
		return errors.Join(errors.New("it does not say so"), j.Unlocked)
	}
	_, err = j.Run(context.Background(), answers("not yet", done))
	return errors.Join(err, j.Close())
}
