package ralph_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// explode is where the stack of every panic in these tests begins.
func explode() { panic("boom") }

// panicked reports whether an error, once, is one of this package that tells of
// the panic and where it was.
func panicked(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "ralph: ") && strings.Contains(err.Error(), "panicked: boom\n") &&
		strings.Contains(err.Error(), "ralph_test.explode(") && !strings.Contains(err.Error(), "ralph: ralph: ")
}

// TestPanicsEndRunWithAnError: of a log, a control, a prompt, a workspace or a
// sink.
func TestPanicsEndRunWithAnError(t *testing.T) {
	t.Parallel()
	start := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})
	for name, tt := range map[string]struct {
		local ralph.Local
		runs  int
	}{
		"log": {ralph.Local{Log: ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
			if ev.Kind == ralph.EventIterationEnded {
				explode()
			}
			return nil
		})}, 1},
		"control":   {ralph.Local{Control: func(context.Context, ralph.State) (ralph.State, error) { explode(); return ralph.State{}, nil }}, 0},
		"prompt":    {ralph.Local{Prompt: func(context.Context, ralph.State) (string, error) { explode(); return "", nil }}, 0},
		"workspace": {ralph.Local{Workspace: func(context.Context, string) (string, []string, error) { explode(); return "", nil, nil }}, 0},
		"output":    {ralph.Local{Output: func(ralph.Request) (io.Writer, io.Writer) { explode(); return nil, nil }}, 1},
		"raw sink":  {ralph.Local{Output: func(ralph.Request) (io.Writer, io.Writer) { return nil, onWrite(explode) }}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			l := tt.local
			l.Verifier = verify.String{}
			l.Runner = ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
				runs++
				return ralph.Replay("So far.").Run(ctx, req)
			})
			s, err := l.Run(t.Context(), start)
			if !panicked(err) || runs != tt.runs || s.Iteration != 1+tt.runs {
				t.Errorf("%d runs, %s: %v", runs, describe(s), err)
			}
		})
	}
}

// TestPanicOfAnAgentIsAFailedAttempt: it is retried, and the next attempt can be
// verified. What cannot be displayed is lost, as ever.
func TestPanicOfAnAgentIsAFailedAttempt(t *testing.T) {
	t.Parallel()
	var its []ralph.Iteration
	s, log, err := runLoop(t, t.Context(), ralph.Local{
		Output: func(ralph.Request) (io.Writer, io.Writer) { return onWrite(explode), nil },
		Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			if req.Attempt == 1 {
				req.Live(ralph.Usage{InputTokens: 7})
				panic(ralph.Permanent(errors.New("boom"))) // a panic is never a decision
			}
			return ralph.Replay(done).Run(ctx, req)
		}),
	}, ralph.Start(ralph.Task{Prompt: "Do it."}))
	if err != nil || s.Attempt != 2 || s.Usage.InputTokens != 7 {
		t.Errorf("%v: %s", err, describe(s))
	}
	for _, ev := range log.events(t) {
		if ev.Kind == ralph.EventIterationEnded {
			its = append(its, ev.Iteration)
		}
	}
	if it := its[0]; it.Fault != ralph.FaultError || !strings.Contains(it.Error, "panicked: boom\n") || !strings.Contains(it.Error, "panics_test.go") || len(it.Error) > 1<<10 {
		t.Errorf("%+v", it)
	}
}

// TestPanicOfAVerifierIsUnable: it says nothing about the work. People get the
// stack, the agent has no use for it.
func TestPanicOfAVerifierIsUnable(t *testing.T) {
	t.Parallel()
	it, err := (&ralph.Local{Runner: ralph.Replay(done), Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
		explode()
		return ralph.Pass(), nil
	})}).Iterate(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."}))
	v := it.Verdict
	if err != nil || v.Passed || !v.Undecided() || v.Checks[0].Status != ralph.CheckUnable ||
		!strings.Contains(v.Checks[0].Detail, "explode") || !strings.HasSuffix(v.Feedback, "panicked: boom") {
		t.Errorf("%v: %+v", err, v)
	}
}

// TestPanicInEvents: what panics in the caller's own loop is the caller's.
func TestPanicInEvents(t *testing.T) {
	t.Parallel()
	defer func() {
		if v := recover(); v != "boom" {
			t.Errorf("recovered %v", v)
		}
	}()
	l := &ralph.Local{Runner: ralph.Replay(done), Verifier: verify.String{}}
	for range l.Events(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."})) {
		explode()
	}
}

// TestPanicInRunAll: a loop that panics ends with an error, and the others go on.
func TestPanicInRunAll(t *testing.T) {
	t.Parallel()
	l := loopFunc(func(_ context.Context, s ralph.State) (ralph.State, error) {
		if s.Task.ID == "bad" {
			explode()
		}
		return s.Guide("it ran"), nil
	})
	n := 0
	for s, err := range ralph.RunAll(t.Context(), l, 1, states("good", "bad", "better")...) {
		n++
		if bad := s.Task.ID == "bad"; bad != panicked(err) || !bad && (err != nil || len(s.Guidance) == 0) {
			t.Errorf("%s: %v", s.Task.ID, err)
		}
	}
	if n != 3 {
		t.Errorf("%d loops ended", n)
	}
}
