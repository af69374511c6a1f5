package ralph_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// TestDriverTellsWhatWasLeft: the driver of the example ends what a dead process has
// left, and has it on record also if there was an answer to verify.
func TestDriverTellsWhatWasLeft(t *testing.T) {
	needsProc(t)
	name := leftTest(t)
	log := filepath.Join(t.TempDir(), "log")
	host := startHost(t, name, "RALPH_TEST_LOG="+log)
	dir := &progress.Dir{Path: t.TempDir()}
	j, err := dir.Create(ralph.Start(ralph.Task{ID: "left", Prompt: "Do it.", Dir: t.TempDir()}), progress.KindLoop)
	if err != nil {
		t.Fatal(err)
	}
	at := ralph.Iteration{Number: 1, Attempt: 1, Start: time.Now()}
	for _, ev := range []ralph.Event{
		{Kind: ralph.EventLoopStarted, State: new(j.State)},
		{Kind: ralph.EventIterationStarted, Iteration: at, Meta: map[string]string{"mark": lastMark(t, log, "left")}},
		{Kind: ralph.EventAnswered, Iteration: ralph.Iteration{Number: 1, Attempt: 1, Claimed: true}, Answer: &ralph.Response{Output: done}},
	} {
		if _, err := j.Record(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if j, err = dir.Open("left"); err != nil {
		t.Fatal(err)
	}
	s, err := drive(t.Context(), j, &ralph.Local{Runner: ralph.Replay(), Verifier: verify.String{}})
	if err = errors.Join(err, j.Close()); err != nil || s.Stop != ralph.StopVerified {
		t.Errorf("%v: %s", err, describe(s))
	}
	f, err := os.Open(dir.File("left"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for rec := range progress.ReadJSONL(f) {
		if it := rec.Event.Iteration; rec.Kind == ralph.EventIterationEnded && len(it.Ended) < len(lefts) {
			t.Errorf("ended %q", it.Ended)
		}
	}
	host.Process.Kill()
	host.Wait()
	nothingLives(t, name)
}
