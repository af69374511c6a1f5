package progresstest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress/progresstest"
	"github.com/ralph-loop/ralph/verify"
)

// TestLoopStopsWhenItsLogFails: wherever in the loop the log fails, Run returns
// its error and no attempt begins that is not on record.
func TestLoopStopsWhenItsLogFails(t *testing.T) {
	t.Parallel()
	boom := errors.New("disk full")
	loop := func(n int) (kinds []ralph.EventKind, runs int, err error) {
		outputs := ralph.Replay("so far", "<promise>COMPLETE</promise>")
		local := &ralph.Local{
			Verifier: verify.String{},
			Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
				runs++
				return outputs.Run(ctx, req)
			}),
			Log: progresstest.FailAfter(ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
				kinds = append(kinds, ev.Kind)
				return nil
			}), n, boom),
			Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil },
		}
		_, err = local.Run(t.Context(), ralph.Start(ralph.Task{ID: "T", Prompt: "do it"}))
		return kinds, runs, err
	}
	all, _, err := loop(100)
	if err != nil || len(all) != 8 {
		t.Fatalf("%v: %v", all, err)
	}
	for n := range all {
		kinds, runs, err := loop(n)
		if !errors.Is(err, boom) {
			t.Errorf("after %d events Run returned %v", n, err)
		}
		if diff := cmp.Diff(all[:n], append([]ralph.EventKind{}, kinds...)); diff != "" {
			t.Errorf("after %d events (-want +got):\n%s", n, diff)
		}
		begun := 0
		for _, kind := range kinds {
			if kind == ralph.EventIterationStarted {
				begun++
			}
		}
		if runs != begun {
			t.Errorf("after %d events the agent ran %d times, %d attempts are on record", n, runs, begun)
		}
	}
}

func TestFailAfterIsExact(t *testing.T) {
	t.Parallel()
	var passed, failed atomic.Int64
	log := progresstest.FailAfter(ralph.ProgressLogFunc(func(context.Context, ralph.Event) error { passed.Add(1); return nil }), 100, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if log.Append(t.Context(), ralph.Event{}) != nil {
					failed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if passed.Load() != 100 || failed.Load() != 300 {
		t.Errorf("%d passed, %d failed", passed.Load(), failed.Load())
	}
	own := errors.New("its own")
	for _, tt := range []struct {
		name string
		log  ralph.ProgressLog
		want error
	}{
		{"the log's own error", progresstest.FailAfter(ralph.ProgressLogFunc(func(context.Context, ralph.Event) error { return own }), 1, nil), own},
		{"no log", progresstest.FailAfter(nil, 1, nil), nil},
		{"negative", progresstest.FailAfter(nil, -1, own), own},
	} {
		if err := tt.log.Append(t.Context(), ralph.Event{}); err != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// Wherever its log fails, a loop stops with that error and starts no further attempt.
func ExampleFailAfter() {
	loop := &ralph.Local{
		Runner:   ralph.Replay("So far.", "<promise>COMPLETE</promise>"),
		Verifier: verify.String{},
		Log:      progresstest.FailAfter(nil, 3, errors.New("disk full")),
	}
	_, err := loop.Run(context.Background(), ralph.Start(ralph.Task{Prompt: "Do it."}))
	fmt.Println(err)
	// Output: ralph: progress log: disk full
}
