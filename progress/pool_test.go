package progress_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

const noSlot = "it waits, for as many run as may at the same time"

// A crew are agents that work until they are told that they are done.
type crew struct {
	mu   sync.Mutex
	runs []string // in the order in which they began
	tell map[string]chan string
}

func (c *crew) agent(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	c.mu.Lock()
	c.runs = append(c.runs, req.Loop)
	tell := c.tell[req.Loop]
	c.mu.Unlock()
	select {
	case text := <-tell:
		return ralph.Response{Output: text}, nil
	case <-ctx.Done():
		return ralph.Response{}, context.Cause(ctx)
	}
}

// began are the runs that have begun since it was last asked.
func (c *crew) began() []string {
	time.Sleep(2 * time.Second) // of the bubble's clock: whoever looks has looked
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	began := c.runs
	c.runs = nil
	return began
}

func (c *crew) build(s ralph.State, meta map[string]string) (*ralph.Local, error) {
	if meta["agent"] == "gone" {
		return nil, errors.New("there is no such agent")
	}
	return &ralph.Local{Runner: ralph.RunnerFunc(c.agent), Verifier: verify.String{}, Workspace: noWorkspace}, nil
}

// newPool is a pool on a folder, which runs until it is stopped.
func newPool(t *testing.T, path string, slots int, loops ...string) (*progress.Pool, *crew, func()) {
	t.Helper()
	c := &crew{tell: map[string]chan string{}}
	for _, loop := range loops {
		c.tell[loop] = make(chan string)
	}
	p := &progress.Pool{Dir: &progress.Dir{Path: path}, Build: c.build, Slots: slots}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context())) // which is done before the test cleans up
	ended, stopped := make(chan error), errors.New("stopped")
	go func() { ended <- p.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel(stopped)
		if err := <-ended; !errors.Is(err, stopped) {
			t.Error(err)
		}
		if err := p.Dir.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return p, c, stop
}

func startIn(t *testing.T, p *progress.Pool, loop string) {
	t.Helper()
	if e, err := p.Start(t.Context(), ralph.Start(ralph.Task{ID: loop, Prompt: "Do it."}), nil); err != nil || e.Loop != loop {
		t.Fatal(e, err)
	}
}

func stood(t *testing.T, p *progress.Pool, loop string, want progress.Status) {
	t.Helper()
	if e, err := p.Dir.Look(loop); err != nil || e.Status != want {
		t.Errorf("%s is %s, not %s: %v", loop, e.Status, want, err)
	}
}

func alike(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestPoolSlots: as many loops run as may, in their order; a paused one gives its slot to
// the next, and gets one again when it is let go on.
func TestPoolSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, c, _ := newPool(t, t.TempDir(), 1, "A", "B", "C")
		startIn(t, p, "A")
		alike(t, "the first", []string{"A"}, c.began())
		startIn(t, p, "B")
		startIn(t, p, "C")
		alike(t, "no slot", []string(nil), c.began())
		alike(t, "why B and C wait", map[string]string{"B": noSlot, "C": noSlot}, p.Idle())
		if _, err := p.Dir.Cancel("B", "no longer wanted"); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Dir.Pause("A", true); err != nil {
			t.Fatal(err)
		}
		c.tell["A"] <- "not yet"
		alike(t, "A is paused, and B was cancelled while it waited", []string{"C"}, c.began())
		stood(t, p, "B", progress.StatusCancelled)
		if _, err := p.Continue("A"); err != nil {
			t.Fatal(err)
		}
		alike(t, "A waits for C", []string(nil), c.began())
		c.tell["C"] <- done
		alike(t, "A goes on", []string{"A"}, c.began())
		c.tell["A"] <- done
		c.began()
		for _, loop := range []string{"A", "C"} {
			stood(t, p, loop, progress.StatusCompleted)
			if _, err := p.Continue(loop); !errors.Is(err, progress.ErrOver) {
				t.Errorf("a loop that is verified goes on: %v", err)
			}
		}
	})
}

// TestPoolGoesOn: what a pool has accepted, or was running, the next one runs; what is
// paused waits for whoever lets it go on.
func TestPoolGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		p, c, stop := newPool(t, path, 1, "A", "B")
		startIn(t, p, "A")
		alike(t, "the first", []string{"A"}, c.began())
		startIn(t, p, "B")
		startIn(t, p, "C")
		if _, err := p.Dir.Pause("C", true); err != nil {
			t.Fatal(err)
		}
		stop()
		startIn(t, p, "D") // too late for this one
		stood(t, p, "A", progress.StatusInterrupted)
		stood(t, p, "D", progress.StatusInterrupted)

		p, c, _ = newPool(t, path, -1, "A", "B", "C", "D")
		began := map[string]int{}
		for _, loop := range c.began() {
			began[loop]++
		}
		alike(t, "the next pool", map[string]int{"A": 1, "B": 1, "D": 1}, began)
		for loop := range began {
			c.tell[loop] <- done
		}
		c.began()
		for loop := range began {
			stood(t, p, loop, progress.StatusCompleted)
		}
		if _, err := p.Continue("C"); err != nil {
			t.Fatal(err)
		}
		alike(t, "what was paused", []string{"C"}, c.began())
	})
}

// TestPoolLimits: a loop that a limit has stopped goes on when that is raised, and one
// that failed when it gets another try.
func TestPoolLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, c, _ := newPool(t, t.TempDir(), 0, "A", "B")
		once := ralph.Limits{Iterations: 1, Failures: 1, Retries: -1}
		for _, loop := range []string{"A", "B"} {
			if _, err := p.Start(t.Context(), ralph.Start(ralph.Task{ID: loop, Prompt: "Do it.", Limits: once}), nil); err != nil {
				t.Fatal(err)
			}
			c.began()
		}
		c.tell["A"] <- "not yet"
		c.tell["B"] <- "" // nothing said is a fault
		c.began()
		_, err := p.Continue("A")
		if stop, is := errors.AsType[*ralph.StopError](err); !is || stop.Reason != ralph.StopIterations {
			t.Errorf("its limit is reached: %v", err)
		}
		once.Iterations = 2
		if _, err := p.Limit("A", once); err != nil {
			t.Fatal(err)
		}
		alike(t, "a raised limit", []string{"A"}, c.began())
		if _, err := p.Limit("B", once); err != nil {
			t.Fatal(err)
		}
		alike(t, "a loop that has failed", []string(nil), c.began())
		if _, err := p.Continue("B"); err != nil {
			t.Fatal(err)
		}
		alike(t, "another try", []string{"B"}, c.began())
	})
}

// TestPoolRefuses: what cannot be run is not accepted, and nothing is on record of it;
// what can no longer be run stays on record, and says why.
func TestPoolRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		p, _, stop := newPool(t, path, 0, "A")
		task := ralph.Task{ID: "A", Prompt: "Do it."}
		for what, s := range map[string]ralph.State{
			"no agent": ralph.Start(task), "no prompt": ralph.Start(ralph.Task{ID: "A"}), "no sense": ralph.Start(ralph.Task{ID: "A", Promise: "a\nb"}),
		} {
			meta := map[string]string{}
			if what == "no agent" {
				meta["agent"] = "gone"
			}
			if _, err := p.Start(t.Context(), s, meta); err == nil {
				t.Errorf("%s is accepted", what)
			}
			if _, err := p.Dir.Look("A"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: on record: %v", what, err)
			}
		}
		startIn(t, p, "A")
		if _, err := p.Start(t.Context(), ralph.Start(task), nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a name twice: %v", err)
		}
		stop()

		if err := os.WriteFile(filepath.Join(path, "bad.jsonl"), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		gone := errors.New("its agent is gone")
		failed := map[string]error{}
		p = &progress.Pool{
			Dir:    &progress.Dir{Path: path},
			Build:  func(ralph.State, map[string]string) (*ralph.Local, error) { return nil, gone },
			Failed: func(loop string, err error) { failed[loop] = err },
		}
		ctx, cancel := context.WithCancel(t.Context())
		go p.Run(ctx)
		synctest.Wait()
		if len(failed) != 2 || !errors.Is(failed["A"], gone) || p.Idle()["A"] != gone.Error() || failed["bad"] == nil {
			t.Errorf("failed: %v; idle: %v", failed, p.Idle()["A"])
		}
		if _, err := p.Continue("A"); !errors.Is(err, gone) {
			t.Error(err)
		}
		stood(t, p, "A", progress.StatusInterrupted)
		cancel()
	})
}

// TestPoolAlone: two loops do not work in one folder at the same time, if that is asked for.
func TestPoolAlone(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	c := &crew{tell: map[string]chan string{}}
	p := &progress.Pool{Dir: &progress.Dir{Path: t.TempDir()}, Build: c.build, Alone: true}
	task := ralph.Task{ID: "A", Prompt: "Do it.", Dir: dir}
	if _, err := p.Start(t.Context(), ralph.Start(task), nil); err != nil {
		t.Fatal(err)
	}
	task.ID = "B"
	_, err := p.Start(t.Context(), ralph.Start(task), nil)
	if held, is := errors.AsType[*progress.HeldError](err); !is || held.What != "workspace "+dir {
		t.Errorf("the second loop: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Run(ctx); !errors.Is(err, context.Canceled) { // lets go of both
		t.Error(err)
	}
	if hold, err := progress.HoldWorkspace(dir, "test"); err != nil || hold.Close() != nil {
		t.Errorf("the workspace is still held: %v", err)
	}
}
