package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/sqlite"
)

// TestLeft: who takes the task of a run that was killed ends what that has left running, and
// nothing of a task that nobody had.
func TestLeft(t *testing.T) {
	t.Parallel()
	begun := filepath.Join(t.TempDir(), "begun")
	mark := ralph.NewMark()
	over := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	agent := &ralph.Command{Args: []string{"sh", "-c", "touch '" + begun + "'; exec sleep 1000"}}
	go func() {
		_, err := agent.Run(ctx, ralph.Request{Task: "A", Dir: t.TempDir(), Prompt: "Do it.", Iteration: 1, Mark: mark})
		over <- err
	}()
	for tick, late := time.Tick(10*time.Millisecond), time.After(time.Minute); ; {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		select {
		case <-tick:
		case err := <-over:
			t.Fatal("it never begins:", err)
		case <-late:
			t.Fatal("it never begins")
		}
	}
	db := fresh(t, sqlite.Column, three()...)
	start := ralph.Start(ralph.Task{ID: "A"})
	for _, ev := range []ralph.Event{
		{Kind: ralph.EventLoopStarted, State: &start},
		{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 1, Attempt: 1}, Meta: map[string]string{"mark": mark}},
	} {
		ev.Loop, ev.Task = start.Loop, "A"
		if err := db.Append(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	first := read(t, db)
	takes(t, first, "A", true)
	if left, err := ralph.Left(mark); len(left) != 1 || err != nil {
		t.Errorf("of a task that was open: %q %v", left, err)
	}
	if err := first.Close(); err != nil { // it stays running, as if its process were dead
		t.Fatal(err)
	}
	takes(t, read(t, db), "A", true)
	if left, err := ralph.Left(mark); len(left) != 0 || err != nil {
		t.Errorf("it is left: %q %v", left, err)
	}
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Error("the agent goes on")
	}
}
