package progress_test

import (
	"errors"
	"os"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestSessionSteer: a session is stopped by the iterations of all its loops, and whoever
// lets it go on lets its paused loops go on with it.
func TestSessionSteer(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir(), NoSync: true}
	s := ralph.Start(ralph.Task{ID: "feature", Limits: ralph.Limits{Iterations: 9}})
	s.Loop = "list"
	session, err := dir.Create(s, progress.KindSession)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Record(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted, State: &s}); err != nil {
		t.Fatal(err)
	}
	part := ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 2}})
	part.Loop = "list/T1"
	l := answers("no", "no")
	l.Log = dir.Under("list")
	if _, err := l.Run(t.Context(), part); !errors.As(err, new(*ralph.StopError)) {
		t.Fatal(err)
	}
	part.Loop, part.Task.ID = "list/T2", "T2"
	if err := l.Log.Append(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted, Loop: part.Loop, State: &part}); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Pause(part.Loop, true); err != nil {
		t.Fatal(err)
	}
	on, err := dir.Look("list")
	for _, want := range []bool{true, false} {
		if paused, more := dir.Continue(t.Context(), on); err != nil || more != nil || paused != want {
			t.Errorf("%v %v %v, want %v", paused, err, more, want)
		}
	}
	if on, err = dir.Stop("list"); err != nil || on.State.Task.Limits.Iterations != 2 || on.State.Asked == 0 {
		t.Errorf("%d iterations, %v, want the 2 that the loops had", on.State.Task.Limits.Iterations, err)
	}
	if on, err = dir.Look(part.Loop); err != nil || on.State.Paused {
		t.Errorf("%+v %v", on.State, err)
	}
}

// TestRunStopped: limits that are reached already when a loop is to go on are on record,
// and so is its end; a higher one lets it go on where it was.
func TestRunStopped(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir(), NoSync: true}
	s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 3}})
	s.Loop = "T"
	l := answers("no", "no", "no")
	l.Log = dir
	if _, err := l.Run(t.Context(), s); !errors.As(err, new(*ralph.StopError)) {
		t.Fatal(err)
	}
	if _, err := dir.Limit("T", ralph.Limits{Iterations: 6}); err != nil {
		t.Fatal(err)
	}
	j, err := dir.Open("T")
	if err != nil {
		t.Fatal(err)
	}
	j.State = j.State.Limit(ralph.Limits{Iterations: 2})
	if _, err := j.Run(t.Context(), answers()); !errors.As(err, new(*ralph.StopError)) {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	e, err := dir.Look("T")
	if err != nil || e.State.Stop != ralph.StopIterations || e.State.Task.Limits.Iterations != 2 {
		t.Errorf("%v %d %v, want it stopped by the limit 2", e.State.Stop, e.State.Task.Limits.Iterations, err)
	}
	if e, err = dir.Limit("T", ralph.Limits{Iterations: 6}); err != nil || e.State.Done() || e.State.Iteration != 4 {
		t.Errorf("%+v %v, want it at iteration 4", e.State, err)
	}
}

// TestFindCorrupt: a loop whose journal cannot be read is not one that is found.
func TestFindCorrupt(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	if err := os.WriteFile(dir.File("T"), []byte("nothing\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := dir.Find(t.Context(), "T")
	if !errors.As(err, new(*progress.CorruptError)) || len(found) > 0 {
		t.Errorf("%d found, %v", len(found), err)
	}
}
