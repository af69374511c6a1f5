package progress_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// died is a folder with the journal as it was right after the first event of a kind
// was recorded: what a process leaves that is killed then.
func died(t *testing.T, run func(*progress.Dir, ralph.ProgressLog), is func(ralph.Event) bool) *progress.Dir {
	t.Helper()
	dir := &progress.Dir{Path: t.TempDir()}
	left := &progress.Dir{Path: t.TempDir()}
	run(dir, ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
		if _, err := os.Stat(left.File("T")); err == nil || !is(ev) {
			return nil
		}
		return os.WriteFile(left.File("T"), []byte(read(t, dir.File("T"))), 0o600)
	}))
	return left
}

// ends is a loop that runs, and has died when its verdict had passed and its end was
// not on record yet.
func ends(t *testing.T) *progress.Dir {
	return died(t, func(dir *progress.Dir, log ralph.ProgressLog) {
		l := answers("not yet", done)
		l.Log = log
		runLoop(t, create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})), l)
	}, func(ev ralph.Event) bool { return ev.Iteration.Verdict.Passed })
}

func stopped(t *testing.T, dir *progress.Dir, want ralph.StopReason) {
	t.Helper()
	dir = &progress.Dir{Path: dir.Path}
	if e, err := dir.Look("T"); err != nil || e.State.Stop != want {
		t.Errorf("looked at: %q, %v", e.State.Stop, err)
	}
	j := open(t, dir, "T")
	if j.State.Stop != want {
		t.Errorf("opened: %q", j.State.Stop)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// TestDirCancelIsKept: once a cancel was accepted, the loop stays cancelled, whatever is
// recorded later and wherever its process dies.
func TestDirCancelIsKept(t *testing.T) {
	t.Parallel()
	cancel := func(t *testing.T, dir *progress.Dir) {
		t.Helper()
		if _, err := (&progress.Dir{Path: dir.Path}).Cancel("T", "enough"); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("before the loop goes on", func(t *testing.T) {
		stopped(t, died(t, func(dir *progress.Dir, log ralph.ProgressLog) {
			started(t, dir)
			j := open(t, dir, "T")
			cancel(t, dir)
			l := answers(done)
			l.Log = log
			if s, err := j.Run(t.Context(), l); s.Stop != ralph.StopCancelled {
				t.Errorf("%v, %v", s.Stop, err)
			}
		}, func(ev ralph.Event) bool { return ev.Kind == ralph.EventLoopStarted }), ralph.StopCancelled)
	})
	t.Run("when a verdict was lost", func(t *testing.T) {
		dir := ends(t)
		cancel(t, dir)
		stopped(t, dir, ralph.StopCancelled)
	})
	t.Run("when a verdict was lost, before the loop goes on", func(t *testing.T) {
		dir := ends(t)
		j := open(t, dir, "T")
		cancel(t, dir)
		l := answers()
		l.Log = ralph.ProgressLogFunc(func(context.Context, ralph.Event) error {
			if e, err := dir.Look("T"); err != nil || e.Status != progress.StatusCancelled {
				t.Errorf("%v, %v", e.Status, err)
			}
			return nil
		})
		if s, err := j.Run(t.Context(), l); s.Stop != ralph.StopCancelled {
			t.Errorf("%v, %v", s.Stop, err)
		}
	})
	t.Run("when a request had reopened it", func(t *testing.T) {
		dir := &progress.Dir{Path: t.TempDir()}
		j := create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}}))
		if s, err := j.Run(t.Context(), answers("not yet")); s.Stop != ralph.StopIterations || j.Close() != nil {
			t.Fatal(s.Stop, err)
		}
		if e, err := dir.Limit("T", ralph.Limits{Iterations: 3}); err != nil || e.State.Done() {
			t.Fatalf("%+v, %v", e, err)
		}
		cancel(t, dir)
		stopped(t, dir, ralph.StopCancelled)
	})
}

// TestDirRunAgain: a loop whose driver let go of it, and which is run again by the state
// it had, takes over what was asked for in between.
func TestDirRunAgain(t *testing.T) {
	t.Parallel()
	for _, cancels := range []bool{false, true} {
		dir := &progress.Dir{Path: t.TempDir()}
		other := &progress.Dir{Path: dir.Path}
		ctx, interrupt := context.WithCancel(t.Context())
		var prompts []string
		l := answers("not yet", done)
		agent := l.Runner
		l.Log, l.Pending, l.Control = dir, dir.Pending, dir.Control
		l.Runner = ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			prompts = append(prompts, req.Prompt)
			if len(prompts) == 2 {
				interrupt()
			}
			return agent.Run(ctx, req)
		})
		s, _ := l.Run(ctx, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
		if err := dir.Close(); err != nil || s.Done() || s.Iteration != 2 {
			t.Fatal(s, err)
		}
		_, err := other.Guide("T", advice)
		if cancels {
			_, err = other.Cancel("T", "enough")
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err = l.Run(t.Context(), s)
		switch told := strings.Contains(prompts[len(prompts)-1], advice); {
		case cancels && (len(prompts) != 2 || s.Stop != ralph.StopCancelled || !errors.Is(err, ralph.ErrCancelled)):
			t.Errorf("cancelled, it ran %d times: %v, %v", len(prompts), s.Stop, err)
		case !cancels && (len(prompts) != 3 || !told || err != nil):
			t.Errorf("it was told %q, %v", prompts, err)
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDirAnswerCounts: what an answer says that the attempt has used counts from then on,
// also if the process dies before the verdict and nobody asks for that any more.
func TestDirAnswerCounts(t *testing.T) {
	t.Parallel()
	dir := died(t, func(dir *progress.Dir, log ralph.ProgressLog) {
		l := answers(done)
		l.Log = log
		l.Runner = ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
			return ralph.Response{Output: done, Usage: usage(4, 9)}, nil
		})
		runLoop(t, create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{CostUSD: 10}})), l)
	}, func(ev ralph.Event) bool { return ev.Kind == ralph.EventAnswered })
	j := open(t, dir, "T")
	if s := j.State; !s.Running || s.Usage.CostUSD == nil || *s.Usage.CostUSD != 9 {
		t.Errorf("opened: %+v", s)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if _, err := dir.Cancel("T", "enough"); err != nil {
		t.Error(err)
	}
	j = open(t, dir, "T")
	defer j.Close()
	if s := j.State; s.Stop != ralph.StopCancelled || s.Usage.CostUSD == nil || *s.Usage.CostUSD != 9 {
		t.Errorf("cancelled: %+v", s)
	}
}

// TestDirAskedOnce: of what was asked for too late, the start of the loop takes over all but
// advice, which waits.
func TestDirAskedOnce(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	other := &progress.Dir{Path: dir.Path}
	j := create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 4, Failures: 1}}))
	l := answers()
	l.Runner = ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
		_, err := other.Guide("T", advice)
		_, err2 := other.Pause("T", true)
		_, err3 := other.Stop("T")
		return ralph.Response{}, ralph.Permanent(errors.Join(err, err2, err3, errors.New("not logged in")))
	})
	if s, err := j.Run(t.Context(), l); s.Stop != ralph.StopFailed || j.Close() != nil {
		t.Fatal(s.Stop, err)
	}
	j = open(t, dir, "T")
	if s := j.State; s.Stop != ralph.StopFailed || s.Task.Limits.Iterations != 1 {
		t.Fatalf("%+v", s)
	}
	more := ralph.Limits{Iterations: 6}
	s := j.State.Limit(more).Reopen() // as who runs it again decides
	if _, err := j.Record(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted, State: &s}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil { // it has died
		t.Fatal(err)
	}
	j = open(t, dir, "T")
	defer j.Close()
	if s := j.State; s.Done() || s.Paused || s.Task.Limits != more || !slices.Equal(s.Guidance, []string{advice}) {
		t.Errorf("%+v", s)
	}
}

// TestDirOtherName: a journal under another loop's name is nobody's, also to those who
// only look.
func TestDirOtherName(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	runLoop(t, create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})), answers(done))
	if err := os.WriteFile(dir.File("U"), []byte(read(t, dir.File("T"))), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := dir.Look("U")
	if _, is := errors.AsType[*progress.CorruptError](err); !is {
		t.Errorf("looked at: %v", err)
	}
	_, err = dir.Guide("U", advice)
	if _, is := errors.AsType[*progress.CorruptError](err); !is {
		t.Errorf("asked: %v", err)
	}
	listed := map[string]int{}
	for e, err := range dir.Loops(t.Context()) {
		if err == nil {
			listed[e.Loop]++
		}
	}
	if len(listed) != 1 || listed["T"] != 1 {
		t.Error(listed)
	}
}

// TestHoldRemoved: who lets go of a lock whose file was removed does not remove that of
// who holds it now.
func TestHoldRemoved(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	at := t.TempDir()
	first, err := progress.HoldWorkspace(at, "one")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := progress.WorkspaceDir(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir.Path, "workspace.lock")); err != nil {
		t.Skip(err) // a system that keeps what is open
	}
	second, err := progress.HoldWorkspace(at, "two")
	if err := errors.Join(err, first.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = progress.HoldWorkspace(at, "three")
	if held, is := errors.AsType[*progress.HeldError](err); !is || held.Holder.What != "two" {
		t.Errorf("it is held twice: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
