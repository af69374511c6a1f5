package ralph_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
)

// TestRemote: what is asked for reaches the loop, in its order, also from before it
// began, and once.
func TestRemote(t *testing.T) {
	t.Parallel()
	start := ralph.Start(ralph.Task{})
	going := play(start, ralph.Iteration{}, ralph.Iteration{})
	running := going.Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 3, Attempt: 1}})
	for _, tt := range []struct {
		name string
		s    ralph.State
		ask  func(*ralph.Remote)
		want string
	}{
		{"nothing", going, func(*ralph.Remote) {}, "3.1 unpriced=2"},
		{"advice", start, func(r *ralph.Remote) { r.Guide("a"); r.Guide("b") }, `1.1 guidance=["a" "b"]`},
		{"advice while it runs", running, func(r *ralph.Remote) { r.Guide("a") }, `3.1 running unpriced=2 guidance=["a"] late=1`},
		{"paused", start, func(r *ralph.Remote) { r.Pause(true) }, "1.1 paused"},
		{"paused and continued", start, func(r *ralph.Remote) { r.Pause(true); r.Pause(false) }, "1.1"},
		{"stopped", running, (*ralph.Remote).Stop, "3.1 running unpriced=2"},
		{"stopped between two iterations", going, (*ralph.Remote).Stop, "2.1 STOP iterations (the limit of iterations, 2, is reached, and the task is not verified) unpriced=2"},
		{"cancelled", going, func(r *ralph.Remote) { r.Cancel("enough"); r.Guide("a") }, "3.1 STOP cancelled (enough) unpriced=2"},
		{"limits", going, func(r *ralph.Remote) {
			if err := r.Limit(ralph.Limits{Iterations: 1}); err != nil {
				t.Error(err)
			}
		}, "2.1 STOP iterations (the limit of iterations, 1, is reached, and the task is not verified) unpriced=2"},
		{"limits that are not valid", going, func(r *ralph.Remote) {
			if err := r.Limit(ralph.Limits{Iterations: -1}); err == nil || !strings.HasPrefix(err.Error(), "ralph: limits: ") {
				t.Error(err)
			}
		}, "3.1 unpriced=2"},
	} {
		var r ralph.Remote
		if got := r.State(); got.V != 0 {
			t.Errorf("%s: it has seen %s", tt.name, describe(got))
		}
		tt.ask(&r)
		done, cancel := context.WithCancel(t.Context())
		cancel()
		if s, err := r.Control(done, tt.s); err != nil || describe(s) != describe(tt.s) {
			t.Errorf("%s: taken over although nobody waits for it: %s, %v", tt.name, describe(s), err)
		}
		s, err := r.Control(t.Context(), tt.s)
		if got := describe(s); got != tt.want || err != nil || describe(r.State()) != tt.want {
			t.Errorf("%s: %v\n got %s\nseen %s\nwant %s", tt.name, err, got, describe(r.State()), tt.want)
		}
		if again, err := r.Control(t.Context(), tt.s); err != nil || describe(again) != describe(tt.s) {
			t.Errorf("%s: taken over twice: %s, %v", tt.name, describe(again), err)
		}
	}
	var r ralph.Remote
	r.Stop()
	if s, _ := r.Control(t.Context(), running); s.Task.Limits.Iterations != 3 {
		t.Errorf("stops after %d", s.Task.Limits.Iterations)
	}
}

// TestRemoteOfALoop: another goroutine lowers the limits in a wait of hours, advises,
// and is told.
func TestRemoteOfALoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r ralph.Remote
		var prompt string
		begin := time.Now()
		r.Guide("mind the gap") // before it begins
		time.AfterFunc(time.Hour+time.Millisecond, func() {
			if s := r.State(); s.Attempt != 2 || s.NotBefore().IsZero() {
				t.Errorf("seen: %s", describe(s))
			}
			r.Cancel("enough")
		})
		s, log, err := runLoop(t, t.Context(), ralph.Local{Control: r.Control, Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			prompt = req.Prompt
			return limited(5*time.Hour).Run(ctx, req)
		})}, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
		if stopReason(t, err) != ralph.StopCancelled || s.Detail != "enough" || time.Since(begin) > time.Hour+2*time.Second || r.State().Stop != ralph.StopCancelled {
			t.Errorf("%v after %v: %s, seen %s", err, time.Since(begin), describe(s), describe(r.State()))
		}
		if !strings.Contains(prompt, "mind the gap") || !strings.HasPrefix(log.kinds(t), "loop_started guided iteration_started ") {
			t.Errorf("%s:\n%s", log.kinds(t), prompt)
		}
	})
}

// TestRemoteWakes a driver that sleeps: it asks again at once, and sleeps on.
func TestRemoteWakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r ralph.Remote
		begin := time.Now()
		s := play(ralph.Start(ralph.Task{}), ralph.Iteration{Fault: ralph.FaultRateLimit, RetryAfter: time.Hour, End: begin})
		for i, d := range []time.Duration{time.Minute, 2 * time.Minute, 2 * time.Minute, 90 * time.Minute, 100 * time.Minute} {
			time.AfterFunc(d, func() {
				r.Guide(fmt.Sprint(i))
				if i >= 2 {
					r.Pause(i < 4) // a pause that is longer than the wait
				}
			})
		}
		var asked []time.Duration
		for s.Paused || time.Until(s.NotBefore()) > 0 {
			if err := ralph.Sleep(t.Context(), s, r.Wake()); err != nil {
				t.Fatal(err)
			}
			s, _ = r.Control(t.Context(), s)
			if now := time.Since(begin); len(asked) == 0 || asked[len(asked)-1] != now {
				asked = append(asked, now)
			}
		}
		if got := fmt.Sprint(asked); got != "[1m0s 2m0s 1h30m0s 1h40m0s]" || len(s.Guidance) != 5 {
			t.Errorf("asked after %s: %s", got, describe(s))
		}
	})
}

// TestRemoteConcurrently: nothing that is asked for from many goroutines is lost.
func TestRemoteConcurrently(t *testing.T) {
	t.Parallel()
	var r ralph.Remote
	var askers sync.WaitGroup
	for i := range 8 {
		askers.Go(func() {
			for j := range 50 {
				r.Guide(fmt.Sprintf("%d.%d", i, j))
				r.State()
			}
		})
	}
	all := make(chan struct{})
	go func() { askers.Wait(); close(all) }()
	s := ralph.Start(ralph.Task{})
	for ended := false; !ended; {
		select {
		case <-r.Wake():
		case <-all:
			ended = true
		}
		s, _ = r.Control(t.Context(), s)
	}
	if len(s.Guidance) != 400 {
		t.Errorf("%d of 400 texts", len(s.Guidance))
	}
}
