package ralph_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// A loopFunc is a Loop of another kind: RunAll takes any.
type loopFunc func(context.Context, ralph.State) (ralph.State, error)

func (f loopFunc) Run(ctx context.Context, s ralph.State) (ralph.State, error) { return f(ctx, s) }

func states(ids ...string) []ralph.State {
	var states []ralph.State
	for _, id := range ids {
		states = append(states, ralph.Start(ralph.Task{ID: id}))
	}
	return states
}

// TestRunAllBreak: breaking off cancels the loops that run, starts no more and
// waits for all.
func TestRunAllBreak(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		ended := map[string]error{}
		l := loopFunc(func(ctx context.Context, s ralph.State) (ralph.State, error) {
			if s.Task.ID == "quick" {
				synctest.Wait() // the others have begun
			} else {
				<-ctx.Done()
			}
			mu.Lock()
			defer mu.Unlock()
			ended[s.Task.ID] = context.Cause(ctx)
			return s, context.Cause(ctx)
		})
		for s, err := range ralph.RunAll(t.Context(), l, 3, states("slow", "slower", "quick")...) {
			if s.Task.ID != "quick" || err != nil {
				t.Errorf("%s ended first: %v", s.Task.ID, err)
			}
			break
		}
		if len(ended) != 3 || !errors.Is(ended["slow"], ralph.ErrAbandoned) || !errors.Is(ended["slower"], ralph.ErrAbandoned) {
			t.Errorf("after the break: %v", ended)
		}
	})
}

// TestRunAllCancelled: what has not begun is yielded as it is, with the cause.
func TestRunAllCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("shutdown")
	var begun atomic.Int32
	l := loopFunc(func(ctx context.Context, s ralph.State) (ralph.State, error) {
		begun.Add(1)
		cancel(cause)
		return s.Guide("it ran"), nil
	})
	var got []string
	for s, err := range ralph.RunAll(ctx, l, 1, states("a", "b", "c")...) {
		if ran := len(s.Guidance) > 0; ran != (err == nil) || !ran && !errors.Is(err, cause) {
			t.Errorf("%s: %v", s.Task.ID, err)
		}
		got = append(got, s.Task.ID)
	}
	if begun.Load() != 1 {
		t.Errorf("%d loops ran", begun.Load())
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestRunAllLimit: each loop waits until as many run as may.
func TestRunAllLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ limit, atOnce int }{{1, 1}, {2, 2}, {-1, 5}, {9, 5}} {
		synctest.Test(t, func(t *testing.T) {
			var at atomic.Int32
			release := make(chan bool)
			l := loopFunc(func(_ context.Context, s ralph.State) (ralph.State, error) {
				at.Add(1)
				<-release
				return s, nil
			})
			go func() {
				synctest.Wait() // all that may run wait for the release
				if got := int(at.Load()); got != tt.atOnce {
					t.Errorf("limit %d: %d run at once", tt.limit, got)
				}
				close(release)
			}()
			n := 0
			for _, err := range ralph.RunAll(t.Context(), l, tt.limit, states("a", "b", "c", "d", "e")...) {
				if n++; err != nil {
					t.Error(err)
				}
			}
			if n != 5 {
				t.Errorf("limit %d: %d ended", tt.limit, n)
			}
		})
	}
	for range ralph.RunAll(t.Context(), loopFunc(nil), 0) {
		t.Error("no states, and one ended")
	}
}

// TestRunAllYieldsEachError: one loop's failure is its own.
func TestRunAllYieldsEachError(t *testing.T) {
	t.Parallel()
	l := loopFunc(func(_ context.Context, s ralph.State) (ralph.State, error) {
		if s.Task.ID == "bad" {
			return s.Cancel("no"), s.Cancel("no").Err()
		}
		return s, nil
	})
	for s, err := range ralph.RunAll(t.Context(), l, 0, states("good", "bad", "better")...) {
		if (err != nil) != (s.Task.ID == "bad") || err != nil && stopReason(t, err) != ralph.StopCancelled {
			t.Errorf("%s: %v", s.Task.ID, err)
		}
	}
}

// TestRunAllRefusesTwoOfOneName: in a log they would be one. The others run.
func TestRunAllRefusesTwoOfOneName(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, -1} {
		var ran sync.Map
		l := loopFunc(func(_ context.Context, s ralph.State) (ralph.State, error) {
			ran.Store(s.Loop, true)
			return s.Guide("it ran"), nil
		})
		yielded := map[string]int{}
		all := append(states("a", "b", "", "a", "", "a"), ralph.Start(ralph.Task{ID: "a", Agent: "coder"}))
		for s, err := range ralph.RunAll(t.Context(), l, limit, all...) {
			yielded[s.Task.ID]++
			if refused := s.Loop == "a"; refused != (err != nil) || refused && (err.Error() != `ralph: 3 loops are named "a"; none of them was run` || len(s.Guidance) > 0) {
				t.Errorf("%s: %v, %s", s.Loop, err, describe(s))
			}
		}
		if _, ok := ran.Load("a"); ok || yielded["a"] != 4 || yielded["b"] != 1 || yielded[""] != 2 {
			t.Errorf("a ran: %t, yielded %v", ok, yielded)
		}
	}
}

// TestRunAllNamesStates: those without a name can be told apart, by their place
// and from those of another call into the same log; others keep theirs.
func TestRunAllNamesStates(t *testing.T) {
	t.Parallel()
	log := &memory{}
	l := &ralph.Local{Runner: ralph.Replay(done), Verifier: verify.String{}, Log: log}
	calls := map[string]bool{}
	for range 2 {
		all := states("", "b", "")
		all = append(all, ralph.Start(ralph.Task{Promise: "a\nb"})) // which has stopped already
		names := map[string]bool{}
		for i := range all {
			if all[i].Task.Prompt = "Do it."; all[i].Task.ID == "" {
				all[i].Task.Title = strconv.Itoa(i)
			}
		}
		for s, err := range ralph.RunAll(t.Context(), l, 1, all...) {
			names[s.Loop] = true
			if s.Task.ID == "b" {
				if s.Loop != "b" {
					t.Errorf("b is named %q", s.Loop)
				}
				continue
			}
			place, call, _ := strings.Cut(strings.TrimPrefix(s.Loop, "loop-"), "-")
			calls[call] = true
			if place != s.Task.Title || (err != nil) != (place == "3") {
				t.Errorf("state %s is named %q: %v", s.Task.Title, s.Loop, err)
			}
		}
		if len(names) != 4 || len(calls) == 0 || calls[""] || all[0].Loop != "" {
			t.Errorf("named %v", names)
		}
	}
	if len(calls) != 2 {
		t.Errorf("two calls are called %v", calls)
	}
	loops := map[string]bool{}
	for _, ev := range log.events(t) {
		loops[ev.Loop] = true
	}
	if len(loops) != 5 { // b ran twice
		t.Errorf("in the log: %v", loops)
	}
}
