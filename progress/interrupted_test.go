package progress_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// TestDirInterruptedVerification: an answer whose verification is interrupted is verified
// when its loop goes on, in this process or in another; no agent is run for it again, and
// what both verifications have used counts, once. A cancel ends it for good.
func TestDirInterruptedVerification(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cause error
		times int  // that it is interrupted
		again bool // by another process
	}{
		"same process": {times: 1}, "other process": {times: 1, again: true}, "twice": {times: 2, again: true},
		"cancelled": {cause: ralph.ErrCancelled, times: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := &progress.Dir{Path: t.TempDir()}
			var interrupt context.CancelCauseFunc
			var events []ralph.Event
			runs, asked := 0, 0
			l := &ralph.Local{
				Workspace: noWorkspace,
				Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
					runs++
					return ralph.Response{Output: done, Usage: ralph.Usage{CostUSD: new(1.0)}}, nil
				}),
				Verifier: ralph.VerifierFunc(func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
					v := ralph.Verdict{Passed: true, Usage: ralph.Usage{CostUSD: new(0.25)}}
					if asked++; asked <= test.times {
						interrupt(cmp.Or(test.cause, errors.New("shut down")))
						return ralph.Verdict{Usage: v.Usage}, context.Cause(ctx)
					}
					return v, nil
				}),
			}
			s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})
			for range test.times {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				interrupt = cancel
				l.Log, l.Pending, l.Control = progress.Multi(dir, ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
					events = append(events, ev)
					return nil
				})), dir.Pending, dir.Control
				var err error
				if s, err = l.Run(ctx, s); err == nil || s.Done() != (test.cause != nil) || s.Running == s.Done() {
					t.Fatalf("%+v, %v", s, err)
				}
				if test.again {
					if err := dir.Close(); err != nil {
						t.Fatal(err)
					}
					dir = &progress.Dir{Path: dir.Path}
					e, err := dir.Look("T")
					if err != nil || e.Status != progress.StatusInterrupted {
						t.Fatal(e.Status, err)
					}
					s = e.State
				}
			}
			cost := 1 + 0.25*float64(test.times)
			if test.cause == nil {
				var err error
				if l.Pending, l.Log = dir.Pending, dir; test.again {
					l.Control = dir.Control
				}
				if s, err = l.Run(t.Context(), s); err != nil || s.Stop != ralph.StopVerified {
					t.Fatal(s.Stop, err)
				}
				cost += 0.25
			} else if !slices.ContainsFunc(events, func(ev ralph.Event) bool {
				return ev.Kind == ralph.EventIterationEnded && ev.Iteration.Fault == ralph.FaultInterrupted
			}) {
				t.Error("the end of its attempt is not on record")
			}
			if runs != 1 || s.Iteration != 1 || s.Attempt > 2 || s.Usage.CostUSD == nil || *s.Usage.CostUSD != cost || *s.Verifying.CostUSD != cost-1 {
				t.Errorf("%d runs of the agent; %v, of it %v for verifying, not $%v: %+v", runs, s.Usage, s.Verifying, cost, s)
			}
			if e, err := dir.Look("T"); err != nil || !e.State.Done() || *e.State.Usage.CostUSD != cost {
				t.Errorf("on record: %v, %v, %v", e.Status, e.State.Usage, err)
			}
			if err := dir.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDirAdviceOnce: advice that nobody had taken over when a loop was interrupted is told
// once, whether the loop goes on by the state that it had or by that of the record, which
// has the advice.
func TestDirAdviceOnce(t *testing.T) {
	t.Parallel()
	for _, recorded := range []bool{false, true} {
		dir := &progress.Dir{Path: t.TempDir()}
		var prompts []string
		runner := ralph.Replay("not yet", "not yet", done)
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		l := &ralph.Local{Verifier: verify.String{}, Workspace: noWorkspace, Log: dir, Pending: dir.Pending, Control: dir.Control}
		l.Runner = ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			if prompts = append(prompts, req.Prompt); len(prompts) == 1 {
				interrupt()
				return ralph.Response{}, context.Cause(ctx)
			}
			return runner.Run(ctx, req)
		})
		s, _ := l.Run(ctx, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
		if err := dir.Close(); err != nil || s.Done() {
			t.Fatal(s, err)
		}
		if _, err := (&progress.Dir{Path: dir.Path}).Guide("T", advice); err != nil {
			t.Fatal(err)
		}
		dir = &progress.Dir{Path: dir.Path}
		if recorded {
			e, err := dir.Look("T")
			if err != nil {
				t.Fatal(err)
			}
			s = e.State
		}
		l.Log, l.Pending, l.Control = dir, dir.Pending, dir.Control
		s, err := l.Run(t.Context(), s)
		if err != nil || s.Stop != ralph.StopVerified {
			t.Fatal(s.Stop, err)
		}
		var told []int
		for _, prompt := range prompts {
			told = append(told, strings.Count(prompt, advice))
		}
		if !slices.Equal(told, []int{0, 1, 0, 0}) {
			t.Errorf("by the record %t: its prompts tell the advice %v times", recorded, told)
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	}
}
