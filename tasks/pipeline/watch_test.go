package pipeline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// TestWatch: in the middle of a run and after it, each look tells what Standings does,
// with the titles of tasks that have not begun and what they wait for.
func TestWatch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	const tasks = `tasks:
- {id: CART, title: "A  cart"}
- {id: PAY, title: Payment, dependencies: [CART]}
`
	if err := os.WriteFile(filepath.Join(dir, "tasks.yaml"), []byte(tasks), 0o644); err != nil {
		t.Fatal(err)
	}
	record := &progress.Dir{Path: filepath.Join(t.TempDir(), "record")}
	t.Cleanup(func() { record.Close() })
	w := pipeline.Watch{Watch: progress.Watch{Dir: record}}
	var looks [][]pipeline.Summary
	look := func() {
		want, bad := pipeline.Standings(ctx, record)
		got, err := w.Standings(ctx)
		for i := range want {
			if want[i].State.Done() {
				want[i].Holder = nil // of a loop that is over a Watch tells none
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || errors.Join(bad, err) != nil {
			t.Errorf("%v, %v, %s", bad, err, diff)
		}
		for _, st := range got {
			if st.Kind == progress.KindPipeline {
				looks = append(looks, st.Tasks)
			}
		}
	}
	p := pipeline.Pipeline{
		Name: "shop", Source: &pipeline.File{Path: filepath.Join(dir, "tasks.yaml")}, Dir: dir, Record: record, Stages: []string{"coder"},
		Runner: func(pipeline.Place) (ralph.Runner, error) {
			return ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
				look()
				return ralph.Response{Output: "Committed, and all tests pass.\n\n<promise>" + req.Promise + "</promise>"}, nil
			}), nil
		},
	}
	look()
	if _, err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	look()
	look()

	type task struct {
		Title string
		After []string
		Phase pipeline.Phase
	}
	var got [][]task
	for _, sums := range looks {
		var all []task
		for _, s := range sums {
			all = append(all, task{s.Title, s.After, s.Phase})
		}
		got = append(got, all)
	}
	row := func(cart, pay pipeline.Phase) []task {
		return []task{{"A cart", nil, cart}, {"Payment", []string{"CART"}, pay}}
	}
	over := row(pipeline.PhaseDone, pipeline.PhaseDone)
	want := [][]task{row(pipeline.PhaseRunning, pipeline.PhaseOpen), row(pipeline.PhaseDone, pipeline.PhaseRunning), over, over}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// endsAt is a context that is over when it has been asked so often.
type endsAt struct {
	context.Context
	left *int
}

func (c endsAt) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestWatchBrokenOff: after a look that was broken off anywhere, the next one tells all.
func TestWatchBrokenOff(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tasks.yaml"), []byte("tasks:\n- {id: CART, title: A cart}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	record := &progress.Dir{Path: filepath.Join(t.TempDir(), "record")}
	t.Cleanup(func() { record.Close() })
	p := pipeline.Pipeline{
		Name: "shop", Source: &pipeline.File{Path: filepath.Join(dir, "tasks.yaml")}, Dir: dir, Record: record, Stages: []string{"coder"},
		Runner: func(pipeline.Place) (ralph.Runner, error) {
			return ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
				return ralph.Response{Output: "Committed, and all tests pass.\n\n<promise>" + req.Promise + "</promise>"}, nil
			}), nil
		},
	}
	if _, err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	var fresh pipeline.Watch
	fresh.Dir = record
	want, err := fresh.Standings(ctx)
	if err != nil || len(want) == 0 || want[0].Tasks == nil {
		t.Fatal(want, err)
	}
	for n := range 20 {
		w := pipeline.Watch{Watch: progress.Watch{Dir: record}}
		w.Standings(endsAt{ctx, &n}) // is broken off
		got, err := w.Standings(ctx)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("broken off at %d: %v\n%s", n, err, diff)
		}
	}
}
