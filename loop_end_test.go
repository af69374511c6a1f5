package ralph_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestRunLogFails fails every append in turn. Run must say so, must not run the
// agent unrecorded, and the state it returns must go on to a good end.
func TestRunLogFails(t *testing.T) {
	t.Parallel()
	for failAt := 1; failAt <= 8; failAt++ {
		var runs atomic.Int32
		l := &ralph.Local{Verifier: verify.String{}, Log: &memory{failAt: failAt},
			Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
				runs.Add(1)
				return ralph.Response{Output: []string{"So far.", done}[req.Iteration-1]}, nil
			})}
		s, err := l.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."}))
		if !errors.Is(err, errLog) {
			t.Errorf("append %d fails: got %v", failAt, err)
		}
		if failAt <= 2 && runs.Load() > 0 {
			t.Errorf("append %d fails: the agent ran unrecorded", failAt)
		}
		if s, err = l.Run(t.Context(), s); err != nil || s.Stop != ralph.StopVerified {
			t.Errorf("append %d fails: going on gives %v, %s", failAt, err, describe(s))
		}
		if runs.Load() > 2 {
			t.Errorf("append %d fails: %d runs", failAt, runs.Load())
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errLog }

func TestRunRawOutputFails(t *testing.T) {
	t.Parallel()
	s, _, err := runLoop(t, t.Context(), ralph.Local{
		Runner: ralph.Replay("So far."),
		Output: func(ralph.Request) (io.Writer, io.Writer) { return fullDisk{}, fullDisk{} },
	}, ralph.Start(ralph.Task{Prompt: "Do it."}))
	if !errors.Is(err, errLog) || s.Iteration != 2 {
		t.Errorf("%v: %s", err, describe(s))
	}
}

func TestRunNeedsItsParts(t *testing.T) {
	t.Parallel()
	for _, l := range []ralph.Local{{Runner: ralph.Replay(done)}, {Verifier: verify.String{}}} {
		if s, err := l.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."})); err == nil || s.Done() {
			t.Errorf("%+v: %v, %s", l, err, describe(s))
		}
	}
	s, err := (&ralph.Local{Runner: ralph.Replay(), Verifier: verify.String{}}).Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Promise: "<promise>"}))
	if stopReason(t, err) != ralph.StopInvalid {
		t.Errorf("%v: %s", err, describe(s))
	}
}

// TestRunEcho runs an agent that repeats its prompt, which holds the promise.
func TestRunEcho(t *testing.T) {
	t.Parallel()
	for _, m := range []ralph.Match{ralph.MatchLastLine, ralph.MatchOwnLine, ralph.MatchAnywhere, ralph.MatchFold} {
		for name, prompt := range map[string]func(context.Context, ralph.State) (string, error){
			"the usual prompt": nil,
			"one that ends with the tag": func(context.Context, ralph.State) (string, error) {
				return "Do it, then say\r\n<promise>COMPLETE</promise>\r\n", nil
			},
		} {
			s, _, err := runLoop(t, t.Context(), ralph.Local{Prompt: prompt, Runner: ralph.RunnerFunc(
				func(_ context.Context, req ralph.Request) (ralph.Response, error) {
					return ralph.Response{Output: "You said:\n" + req.Prompt + "\nand I did nothing."[:req.Attempt]}, nil
				})}, ralph.Start(ralph.Task{Prompt: "Do it.", Match: m, Limits: ralph.Limits{Iterations: 2}}))
			if stopReason(t, err) != ralph.StopIterations {
				t.Errorf("mode %q, %s: %v, %s", m, name, err, describe(s))
			}
		}
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	l := &ralph.Local{Runner: ralph.Replay("So far.", done), Verifier: verify.String{}}
	var fold ralph.State
	for ev, err := range l.Events(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."})) {
		if err != nil {
			t.Fatal(err)
		}
		fold = fold.Apply(ev)
	}
	if fold.Stop != ralph.StopVerified || fold.Iteration != 2 {
		t.Error(describe(fold))
	}
	log := &memory{}
	l.Log = log
	for ev := range l.Events(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."})) {
		if ev.Kind == ralph.EventIterationStarted {
			break // cancels
		}
	}
	events := log.events(t)
	if last := events[len(events)-1]; last.Kind != ralph.EventIterationEnded || last.Iteration.Fault != ralph.FaultInterrupted {
		t.Errorf("breaking off ends with %+v", last)
	}
	for _, err := range l.Events(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}})) {
		if err != nil && stopReason(t, err) != ralph.StopIterations {
			t.Error(err)
		}
	}
}

func TestRunAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at, most atomic.Int32
		l := &ralph.Local{Verifier: verify.String{}, Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			most.Store(max(most.Load(), at.Add(1)))
			defer at.Add(-1)
			<-time.After(time.Duration(len(req.Task)) * time.Minute)
			return ralph.Response{Output: done}, nil
		})}
		var states []ralph.State
		for _, id := range []string{"aaa", "aa", "a", "aaaa"} {
			states = append(states, ralph.Start(ralph.Task{Prompt: "Do it.", ID: id}))
		}
		var order []string
		for s, err := range ralph.RunAll(t.Context(), l, 2, states...) {
			if err != nil {
				t.Error(err)
			}
			order = append(order, s.Task.ID)
		}
		// aaa and aa begin; a follows aa and ends with aaa; aaaa is last.
		if order[0] != "aa" || order[3] != "aaaa" {
			t.Error(order)
		}
		if most.Load() != 2 {
			t.Errorf("%d at the same time", most.Load())
		}
		l.Runner = ralph.RunnerFunc(hang)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(errLog) })
		n := 0
		for s, err := range ralph.RunAll(ctx, l, 1, states...) {
			if n++; !errors.Is(err, errLog) || s.Done() {
				t.Errorf("%v: %s", err, describe(s))
			}
		}
		if n != 4 {
			t.Errorf("%d states", n)
		}
	})
}

func TestRunRawOutputFailsAtTheEnd(t *testing.T) {
	t.Parallel()
	l := ralph.Local{Runner: ralph.Replay(done), Output: func(ralph.Request) (io.Writer, io.Writer) { return nil, fullDisk{} }}
	if s, _, err := runLoop(t, t.Context(), l, ralph.Start(ralph.Task{Prompt: "Do it."})); !errors.Is(err, errLog) || s.Stop != ralph.StopVerified {
		t.Errorf("%v: %s", err, describe(s))
	}
	l.Runner = ralph.Replay("So far.")
	if s, _, err := runLoop(t, t.Context(), l, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}})); !errors.Is(err, errLog) || stopReason(t, err) != ralph.StopIterations {
		t.Errorf("%v: %s", err, describe(s))
	}
}
