package progress_test

import (
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestWakeAfterRecord asks for a pause just before the driver records something of its
// own, and so reads it: the driver is woken all the same.
func TestWakeAfterRecord(t *testing.T) {
	t.Parallel()
	d := &progress.Dir{Path: filepath.Join(t.TempDir(), "record")}
	defer d.Close()
	j, err := d.Create(ralph.Start(ralph.Task{ID: "p", Prompt: "p"}), progress.KindPipeline)
	if err == nil {
		err = j.Begin(t.Context(), false)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	other := &progress.Dir{Path: d.Path}
	defer other.Close()
	if _, err := other.Pause(j.State.Loop, true); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Record(t.Context(), ralph.Event{Kind: ralph.EventStep, Text: "own"}); err != nil {
		t.Fatal(err)
	}
	<-j.Wake(t.Context())
	if s, err := j.Ask(t.Context()); err != nil || !s.Paused {
		t.Errorf("paused %v, %v", s.Paused, err)
	}
}
