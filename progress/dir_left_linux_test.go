package progress_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestDirLeft: as long as something runs that a dead process has left, the mark by which
// it is ended is not lost; who cancels the loop ends it, and is told.
func TestDirLeft(t *testing.T) {
	t.Parallel()
	mark := ralph.NewMark()
	id, _, _ := strings.Cut(mark, "-")
	left := exec.Command("sleep", "300")
	left.Env = append(os.Environ(), "RALPH_RUN_"+id+"=1")
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	defer left.Wait()
	defer left.Process.Kill()
	dir := &progress.Dir{Path: t.TempDir()}
	s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})
	for _, ev := range []ralph.Event{
		{Kind: ralph.EventLoopStarted, State: &s},
		{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 1, Attempt: 1}, Meta: map[string]string{"mark": mark}},
	} {
		ev.Loop = "T"
		if err := dir.Append(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	for name, lose := range map[string]func() error{
		"Remove":   func() error { return dir.Remove("T") },
		"SetAside": func() error { _, err := dir.SetAside("T"); return err },
	} {
		if err := lose(); err == nil || !strings.Contains(err.Error(), "sleep 300") {
			t.Errorf("%s: %v", name, err)
		}
	}
	e, err := dir.Cancel("T", "enough")
	if err != nil || len(e.Ended) != 1 || !strings.Contains(e.Ended[0], "sleep 300") {
		t.Errorf("%q, %v", e.Ended, err)
	}
	if err := left.Wait(); err == nil {
		t.Error("it lives")
	}
	if err := dir.Remove("T"); err != nil {
		t.Error(err)
	}
}
