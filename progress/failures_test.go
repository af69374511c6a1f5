package progress_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// Each of these is a way in which loops of this kind have failed their users.

// TestFailure31CountsGoOn: a loop that goes on keeps its iterations, its cost and its
// limits; an agent that was killed has spent what it told.
func TestFailure31CountsGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := &progress.Dir{Path: t.TempDir()}
		runs := 0
		l := &ralph.Local{Verifier: verify.String{}, Workspace: noWorkspace, Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			runs++
			return ralph.Response{Output: "not yet", Usage: ralph.Usage{Requests: 1, CostUSD: new(2.0)}}, nil
		})}
		task := ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 3, CostUSD: 20}}
		j := create(t, dir, ralph.Start(task))
		if s, err := j.Run(t.Context(), l); s.Stop != ralph.StopIterations || *s.Usage.CostUSD != 6 {
			t.Fatalf("%+v, %v", s, err)
		}
		j.Close()
		for _, step := range []struct {
			limit, iteration int
			stopped          bool
		}{{2, 3, true}, {5, 4, false}, {2, 3, true}} {
			limits := task.Limits
			limits.Iterations = step.limit
			e, err := dir.Limit("T", limits)
			if err != nil || e.State.Done() != step.stopped || e.State.Iteration != step.iteration || *e.State.Usage.CostUSD != 6 {
				t.Errorf("limit %d: %+v, %v", step.limit, e.State, err)
			}
			j := open(t, dir, "T")
			if j.State.Done() != step.stopped || j.State.Iteration != step.iteration {
				t.Errorf("limit %d: %+v", step.limit, j.State)
			}
			j.Close()
		}
		runs = 0
		task.Limits.Iterations = 5
		if _, err := dir.Limit("T", task.Limits); err != nil {
			t.Fatal(err)
		}
		j = open(t, dir, "T")
		if s, _ := j.Run(t.Context(), l); runs != 2 || s.Iteration != 5 || *s.Usage.CostUSD != 10 {
			t.Errorf("%d more runs: %+v", runs, s)
		}
		j.Close()

		// It tells $9 of 10 and is killed.
		s := ralph.Start(ralph.Task{ID: "U", Prompt: "Do it.", Limits: ralph.Limits{CostUSD: 10}})
		at := ralph.Iteration{Number: 1, Attempt: 1, Usage: ralph.Usage{CostUSD: new(9.0)}}
		for _, ev := range []ralph.Event{{Kind: ralph.EventLoopStarted, State: &s}, {Kind: ralph.EventIterationStarted, Iteration: at}, {Kind: ralph.EventRunning, Iteration: at}} {
			ev.Loop = "U"
			if err := dir.Append(t.Context(), ev); err != nil {
				t.Fatal(err)
			}
		}
		dir.Close()
		runs = 0
		j = open(t, dir, "U")
		if *j.State.Usage.CostUSD != 9 {
			t.Errorf("%+v", j.State)
		}
		if s, err := j.Run(t.Context(), l); runs != 0 || s.Stop != ralph.StopCost || *s.Usage.CostUSD != 9 {
			t.Errorf("%d runs: %+v, %v", runs, s, err)
		}
		j.Close()
	})
}

// TestFailure32TornAndCorrupt: a line that was cut off stops nobody, and what cannot be read is
// told with its place, kept, and put aside only when that is asked for.
func TestFailure32TornAndCorrupt(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	l := answers("not yet", "not yet", done)
	s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}})
	j := create(t, dir, s)
	j.Run(t.Context(), l)
	j.Close()
	whole := read(t, dir.File("T"))
	torn := whole + `{"kind":"loop_st`
	if err := os.WriteFile(dir.File("T"), []byte(torn), 0o600); err != nil {
		t.Fatal(err)
	}
	if e, err := dir.Look("T"); err != nil || e.State.Iteration != 1 {
		t.Errorf("%+v, %v", e, err)
	}
	j = open(t, dir, "T")
	j.Close()
	aside, _ := filepath.Glob(filepath.Join(dir.Path, "*.torn"))
	if read(t, dir.File("T")) != whole || len(aside) != 1 || read(t, aside[0]) != `{"kind":"loop_st` {
		t.Errorf("%v, %q", aside, read(t, dir.File("T")))
	}

	lines := strings.SplitAfter(whole, "\n")
	lines[1] = lines[1][:20] + "\n"
	if err := os.WriteFile(dir.File("T"), []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := dir.Open("T")
	corrupt, ok := errors.AsType[*progress.CorruptError](err)
	if !ok || corrupt.Line != 2 || corrupt.Offset != int64(len(lines[0])) || corrupt.Path != dir.File("T") {
		t.Fatal(err)
	}
	if _, err := dir.Create(s, progress.KindLoop); !errors.As(err, &corrupt) {
		t.Errorf("it is overwritten: %v", err)
	}
	to, _, err := dir.SetAside("T")
	if err != nil || read(t, to) != strings.Join(lines, "") {
		t.Error(to, err)
	}
	if _, err := dir.Open("T"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	create(t, dir, s).Close()
}

// TestFailure33TwoLoopsOneFolder: each has a journal of its own, and the second start of one
// names who runs it.
func TestFailure33TwoLoopsOneFolder(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	a, b := create(t, dir, ralph.Start(ralph.Task{ID: "A", Prompt: "One."})), create(t, dir, ralph.Start(ralph.Task{ID: "B", Prompt: "Two."}))
	_, err := (&progress.Dir{Path: dir.Path}).Create(ralph.Start(ralph.Task{ID: "A", Prompt: "Another."}), progress.KindLoop)
	if held, ok := errors.AsType[*progress.HeldError](err); !ok || held.Holder.PID != os.Getpid() || time.Since(held.Holder.Since) > time.Hour {
		t.Error(err)
	}
	runLoop(t, a, answers(done))
	runLoop(t, b, answers("not yet", done))
	for loop, want := range map[string]int{"A": 1, "B": 2} {
		if e, err := dir.Look(loop); err != nil || e.State.Iteration != want || e.Status != progress.StatusCompleted {
			t.Errorf("%s: %+v, %v", loop, e, err)
		}
	}
}

// TestFailure34StaleLock: what a crash has left of a lock is in nobody's way, whatever
// it says.
func TestFailure34StaleLock(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	runLoop(t, create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})), answers(done))
	lock := strings.TrimSuffix(dir.File("T"), ".jsonl") + ".lock"
	for _, text := range []string{fmt.Sprintf(`{"pid":%d,"what":"running","since":"2020-01-01T00:00:00Z"}`, os.Getpid()), "", "no JSON"} {
		if err := os.WriteFile(lock, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if e, err := dir.Look("T"); err != nil || e.Holder != nil {
			t.Errorf("%+v, %v", e, err)
		}
		if err := open(t, dir, "T").Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFailure35OnlyByName: nothing is resumed but what was named.
func TestFailure35OnlyByName(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	create := func(loop string) {
		s := ralph.Start(ralph.Task{ID: loop, Prompt: "Do it."})
		if err := dir.Append(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted, Loop: loop, State: &s}); err != nil {
			t.Fatal(err)
		}
	}
	create("only-one")
	dir.Close()
	for _, name := range []string{"", "only", "ONLY-ONE", "only-one ", "other"} {
		if j, err := dir.Open(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %+v, %v", name, j, err)
		}
	}
	if err := dir.Append(t.Context(), ralph.Event{Kind: ralph.EventCancelled}); err == nil {
		t.Error("an event of no loop is recorded")
	}
}

// TestFailure37CancelStays: what a loop records after it was cancelled, and what a
// process does that has not heard of it, brings it not back.
func TestFailure37CancelStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := &progress.Dir{Path: t.TempDir()}
		other := &progress.Dir{Path: dir.Path}
		l := &ralph.Local{Workspace: noWorkspace, Runner: ralph.Replay(done), Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
			_, err := other.Cancel("T", "enough")
			return ralph.Pass(), err // and the loop has not looked yet
		})}
		j := create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
		s, err := j.Run(t.Context(), l)
		if !errors.Is(err, ralph.ErrCancelled) || s.Stop != ralph.StopCancelled || s.Detail != "enough" {
			t.Errorf("%+v, %v", s, err)
		}
		j.Close()
		for range 2 {
			if e, err := other.Cancel("T", ""); !errors.Is(err, progress.ErrOver) || e.Status != progress.StatusCancelled {
				t.Errorf("%+v, %v", e, err)
			}
		}
		if _, err := other.Limit("T", ralph.Limits{Iterations: 99}); !errors.Is(err, progress.ErrOver) {
			t.Error(err)
		}
		j = open(t, dir, "T")
		if s, err := j.Run(t.Context(), answers(done)); s.Stop != ralph.StopCancelled || err == nil {
			t.Errorf("%+v, %v", s, err)
		}
		j.Close()
	})
}

// TestFailure39RateLimit: a rate limit is waited for, also by a process that comes
// later, and costs no iteration.
func TestFailure39RateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := &progress.Dir{Path: t.TempDir()}
		runs, start := 0, time.Now()
		l := &ralph.Local{Verifier: verify.String{}, Workspace: noWorkspace, Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
			if runs++; time.Since(start) < time.Hour {
				return ralph.Response{}, ralph.RetryAfter(errors.New("too many requests"), time.Hour)
			}
			return ralph.Response{Output: done}, nil
		})}
		j := create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if s, err := j.Run(ctx, l); s.Done() || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v, %v", s, err)
		}
		j.Close()
		s := runLoop(t, open(t, dir, "T"), l)
		if runs != 2 || s.Iteration != 1 || time.Since(start) < time.Hour {
			t.Errorf("%d runs after %v: %+v", runs, time.Since(start), s)
		}
	})
}
