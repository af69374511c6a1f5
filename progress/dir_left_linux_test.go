package progress_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestDirLeft: whoever ends a loop whose process has died, or puts it away, ends what it
// has left running, and is told.
func TestDirLeft(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Cancel", "Remove", "SetAside"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leftOf(t, name)
		})
	}
}

func leftOf(t *testing.T, name string) {
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
	var ended []string
	var err error
	switch name {
	case "Cancel":
		var e progress.Entry
		e, err = dir.Cancel("T", "enough")
		ended = e.Ended
	case "Remove":
		ended, err = dir.Remove("T")
	case "SetAside":
		_, ended, err = dir.SetAside("T")
	}
	if err != nil || len(ended) != 1 || !strings.Contains(ended[0], "sleep 300") {
		t.Errorf("%q, %v", ended, err)
	}
	if err := left.Wait(); err == nil {
		t.Error("it lives")
	}
}
