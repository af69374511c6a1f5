package progress_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// TestPoolWanted: a loop that is let go on at the moment at which it has failed, and is
// still held, gets another try; one.
func TestPoolWanted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		p := &progress.Pool{Dir: &progress.Dir{Path: t.TempDir()}}
		p.Build = func(ralph.State, map[string]string) (*ralph.Local, error) {
			return &ralph.Local{
				Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
					tries++
					return ralph.Response{}, errors.New("it does not work")
				}),
				Verifier: verify.String{}, Workspace: noWorkspace,
				Log: logFunc(func(ev ralph.Event) {
					if ev.Kind != ralph.EventLoopStopped || tries > 1 {
						return
					}
					if e, err := p.Dir.Look("A"); err != nil || e.Status != progress.StatusFailed || e.Holder == nil {
						t.Errorf("not what is tested: %+v %v", e, err)
					}
					if _, err := p.Continue("A"); err != nil {
						t.Error(err)
					}
				}),
			}, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.Run(ctx) }()
		if _, err := p.Start(t.Context(), ralph.Start(ralph.Task{ID: "A", Prompt: "Do it.", Limits: ralph.Limits{Failures: 1, Retries: -1}}), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if tries != 2 {
			t.Errorf("it was tried %d times", tries)
		}
		stood(t, p, "A", progress.StatusFailed)
		cancel()
		<-ended
	})
}

type logFunc func(ralph.Event)

func (f logFunc) Append(_ context.Context, ev ralph.Event) error {
	f(ev)
	return nil
}

// TestPoolOrder: after a crash what ran goes on first, then what waited, in the order of
// the starts.
func TestPoolOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path, left := t.TempDir(), filepath.Join(t.TempDir(), "left")
		p, c, _ := newPool(t, path, 1, "D", "C")
		for _, loop := range []string{"D", "C", "B", "A"} {
			startIn(t, p, loop)
			c.began()
		}
		if _, err := p.Dir.Pause("D", true); err != nil {
			t.Fatal(err)
		}
		c.tell["D"] <- "not yet"
		alike(t, "D is paused", []string{"C"}, c.began())
		if _, err := p.Continue("D"); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(left, os.DirFS(path)); err != nil { // as a crash would leave it
			t.Fatal(err)
		}

		p, c, _ = newPool(t, left, 1, "A", "B", "C", "D")
		for _, loop := range []string{"C", "D", "B", "A"} {
			alike(t, "the next", []string{loop}, c.began())
			c.tell[loop] <- done
		}
		c.began()
		stood(t, p, "A", progress.StatusCompleted)
	})
}

// TestPoolNames: a name that is being started is taken.
func TestPoolNames(t *testing.T) {
	t.Parallel()
	c, twice := &crew{}, errors.New("not asked")
	p := &progress.Pool{Dir: &progress.Dir{Path: t.TempDir()}}
	start := func() (progress.Entry, error) {
		return p.Start(t.Context(), ralph.Start(ralph.Task{ID: "A", Prompt: "Do it."}), nil)
	}
	p.Build = func(s ralph.State, meta map[string]string) (*ralph.Local, error) {
		_, twice = start()
		return c.build(s, meta)
	}
	if _, err := start(); err != nil || !errors.Is(twice, fs.ErrExist) {
		t.Errorf("the second start: %v; the first: %v", twice, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Run(ctx); !errors.Is(err, context.Canceled) { // lets go of it
		t.Error(err)
	}
}

// TestPoolRefusesToContinue: a loop whose workspace is taken stays as it was on record, so
// that the next Pool does not run it in the place of the one that works there.
func TestPoolRefusesToContinue(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir, c := t.TempDir(), &crew{}
	p := &progress.Pool{Dir: &progress.Dir{Path: t.TempDir()}, Build: c.build, Alone: true}
	if _, err := p.Start(t.Context(), ralph.Start(ralph.Task{ID: "A", Prompt: "Do it.", Dir: dir}), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Dir.Pause("A", true); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Run(ctx) // lets go of it
	p = &progress.Pool{Dir: p.Dir, Build: c.build, Alone: true}
	if _, err := p.Start(t.Context(), ralph.Start(ralph.Task{ID: "B", Prompt: "Do it.", Dir: dir}), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Continue("A"); !errors.As(err, new(*progress.HeldError)) {
		t.Errorf("two in one folder: %v", err)
	}
	if e, err := p.Dir.Look("A"); err != nil || !e.State.Paused {
		t.Errorf("it is no longer paused: %+v %v", e.State, err)
	}
	p.Run(ctx)
	if e, err := p.Continue("A"); err != nil || e.State.Paused {
		t.Errorf("the folder is free: %+v %v", e.State, err)
	}
}
