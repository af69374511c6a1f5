package progress_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestDirChanged: the files of a session are those of its loops, and of no other.
func TestDirChanged(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), &progress.Dir{Path: t.TempDir()}
	session, err := dir.Create(ralph.Start(ralph.Task{ID: "shop"}), progress.KindSession)
	if err == nil {
		err = session.Begin(ctx, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for _, loop := range []struct {
		in    *progress.Dir
		id    string
		files []string
	}{{dir.Under("shop"), "T1", []string{"b.go", "a.go"}}, {dir.Under("shop"), "T2", []string{"c.go", "b.go"}}, {dir, "T3", []string{"d.go"}}} {
		defer loop.in.Close()
		s := ralph.Start(ralph.Task{ID: loop.id, Prompt: "Do it."})
		s.Files = loop.files
		if err := loop.in.Append(ctx, ralph.Event{Kind: ralph.EventLoopStarted, Loop: s.Loop, Task: loop.id, State: &s}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"a.go", "b.go", "c.go"}, dir.Changed(ctx, "shop")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := dir.Changed(ctx, "none"); got != nil {
		t.Errorf("of no session %q", got)
	}
}
