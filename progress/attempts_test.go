package progress_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestHoldAttempt: a mark is written down as long as the attempt is held; what is held is
// not ended, and a name that is no mark is none.
func TestHoldAttempt(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	if ended, err := progress.EndAttempts(t.Context()); len(ended) > 0 || err != nil {
		t.Errorf("without any: %q, %v", ended, err)
	}
	if _, err := progress.HoldAttempt("../elsewhere"); err == nil {
		t.Error("a path was taken for a mark")
	}
	mark := ralph.NewMark()
	held, err := progress.HoldAttempt(mark)
	if err != nil {
		t.Fatal(err)
	}
	written := func() int {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(home, "ralph", "attempts", mark+"*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	if ended, err := progress.EndAttempts(t.Context()); len(ended) > 0 || err != nil || written() != 1 {
		t.Errorf("one that is held: %q, %v; %d written", ended, err, written())
	}
	if _, err := progress.HoldAttempt(mark); err == nil {
		t.Error("it was held twice")
	} else if _, is := errors.AsType[*progress.HeldError](err); !is {
		t.Error(err)
	}
	if err := held.Close(); err != nil || written() != 0 {
		t.Errorf("closed: %v; %d written", err, written())
	}
	if err := os.WriteFile(filepath.Join(home, "ralph", "attempts", mark+".attempt"), nil, 0o600); err != nil { // of a process that was killed
		t.Fatal(err)
	}
	if ended, err := progress.EndAttempts(t.Context()); len(ended) > 0 || err != nil || written() != 0 {
		t.Errorf("of one that is gone: %q, %v; %d written", ended, err, written())
	}
}
