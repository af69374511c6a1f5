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
// when its loop goes on, in this process or in another, and no agent is run for it again.
// A verification that has told what it used is counted, and so the attempt has ended. A
// cancel, from here or from elsewhere, ends it for good.
func TestDirInterruptedVerification(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cause error
		times int  // that it is interrupted
		again bool // by another process
		told  bool // what the verification used
		other bool // process that cancels it
	}{
		"same process": {times: 1}, "other process": {times: 1, again: true}, "twice": {times: 2, again: true},
		"told": {times: 1, told: true}, "told twice": {times: 2, again: true, told: true},
		"cancelled": {cause: ralph.ErrCancelled, times: 1}, "cancelled, told": {cause: ralph.ErrCancelled, times: 1, told: true},
		"cancelled elsewhere": {times: 1, other: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := &progress.Dir{Path: t.TempDir()}
			var interrupt context.CancelCauseFunc
			var events []ralph.Event
			runs, asked, over := 0, 0, test.cause != nil || test.other
			l := &ralph.Local{
				Workspace: noWorkspace,
				Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
					runs++
					return ralph.Response{Output: done, Usage: ralph.Usage{CostUSD: new(1.0)}}, nil
				}),
				Verifier: ralph.VerifierFunc(func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
					v := ralph.Verdict{Passed: true, Usage: ralph.Usage{CostUSD: new(0.25)}}
					if asked++; asked > test.times {
						return v, nil
					}
					if test.other {
						if _, err := (&progress.Dir{Path: dir.Path}).Cancel("T", "enough"); err != nil {
							t.Error(err)
						}
					}
					interrupt(cmp.Or(test.cause, errors.New("shut down")))
					if !test.told {
						v.Usage = ralph.Usage{}
					}
					return ralph.Verdict{Usage: v.Usage}, context.Cause(ctx)
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
				if s, err = l.Run(ctx, s); err == nil || s.Done() != over || s.Running != (!over && !test.told) {
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
			agent, judge := 1, 0.0
			if !over {
				l.Pending, l.Log, l.Control = dir.Pending, dir, dir.Control
				var err error
				if s, err = l.Run(t.Context(), s); err != nil || s.Stop != ralph.StopVerified {
					t.Fatal(s.Stop, err)
				}
				judge += 0.25
			} else if !slices.ContainsFunc(events, func(ev ralph.Event) bool {
				return ev.Kind == ralph.EventIterationEnded && ev.Iteration.Fault == ralph.FaultInterrupted
			}) {
				t.Error("the end of its attempt is not on record")
			}
			if test.told {
				judge += 0.25 * float64(test.times)
				if !over {
					agent += test.times
				}
			}
			cost, verifying := float64(agent)+judge, s.Verifying.Add(ralph.Usage{CostUSD: new(0.0)}).CostUSD
			if runs != agent || s.Running || s.Iteration != 1 || s.Usage.CostUSD == nil || *s.Usage.CostUSD != cost || *verifying != judge {
				t.Errorf("%d runs of the agent, not %d; %v, of it %v for verifying, not $%v: %+v", runs, agent, s.Usage, s.Verifying, cost, s)
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

// TestDirAdviceOnce: advice that nobody had taken over when a loop was interrupted, while
// its agent ran or its answer was verified, is told once, whether the loop goes on by the
// state that it had or by that of the record, which has some of the advice or all.
func TestDirAdviceOnce(t *testing.T) {
	t.Parallel()
	for answered, verifies := range map[int]bool{0: false, 1: true} { // answers by then
		for looks := range 4 { // after how many pieces of advice the record is looked at; 0 = never
			dir := &progress.Dir{Path: t.TempDir()}
			var prompts []string
			outputs := []string{done, "not yet", done}
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			l := &ralph.Local{Workspace: noWorkspace, Log: dir, Pending: dir.Pending, Control: dir.Control}
			l.Runner = ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
				if prompts = append(prompts, req.Prompt); len(prompts) == 1 && !verifies {
					interrupt()
					return ralph.Response{}, context.Cause(ctx)
				}
				return ralph.Response{Output: outputs[len(prompts)-1]}, nil
			})
			l.Verifier = ralph.VerifierFunc(func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				interrupt() // the second time nothing
				return ralph.Verdict{Passed: len(prompts) == 3}, context.Cause(ctx)
			})
			s, _ := l.Run(ctx, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
			if err := dir.Close(); err != nil || s.Done() || s.Running != verifies {
				t.Fatal(s, err)
			}
			other, fresh := &progress.Dir{Path: dir.Path}, &progress.Dir{Path: dir.Path}
			pieces := []string{"Mind the kettle.", "Mind the cups.", "Mind the tea."}
			for i, piece := range pieces {
				if _, err := other.Guide("T", piece); err != nil {
					t.Fatal(err)
				}
				if i+1 == looks {
					e, err := fresh.Look("T")
					if err != nil {
						t.Fatal(err)
					}
					s = e.State
				}
			}
			l.Log, l.Pending, l.Control = fresh, fresh.Pending, fresh.Control
			if s, err := l.Run(t.Context(), s); err != nil || s.Stop != ralph.StopVerified {
				t.Fatal(s.Stop, err)
			}
			for _, piece := range pieces {
				var told []int
				for _, prompt := range prompts {
					told = append(told, strings.Count(prompt, piece))
				}
				if !slices.Equal(told, []int{0, 1, 0}) {
					t.Errorf("%d answers, looked at after %d: its prompts tell %q %v times", answered, looks, piece, told)
				}
			}
			if err := fresh.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestDirAdviceLate: advice to a loop whose limit was raised after it had stopped, or that
// this process still holds, is told when it goes on.
func TestDirAdviceLate(t *testing.T) {
	t.Parallel()
	for _, held := range []bool{false, true} {
		dir := &progress.Dir{Path: t.TempDir()}
		other := &progress.Dir{Path: dir.Path}
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		var prompts []string
		l := &ralph.Local{Workspace: noWorkspace, Log: dir, Pending: dir.Pending, Control: dir.Control, Verifier: verify.String{}}
		l.Runner = ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			if prompts = append(prompts, req.Prompt); len(prompts) > 1 {
				return ralph.Response{Output: done}, nil
			} else if held {
				interrupt()
				return ralph.Response{}, context.Cause(ctx)
			}
			return ralph.Response{Output: "not yet"}, nil
		})
		s, err := l.Run(ctx, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}}))
		if err == nil || s.Done() == held {
			t.Fatal(s.Stop, err)
		}
		if !held {
			e, err := other.Limit("T", ralph.Limits{Iterations: 3})
			if err != nil {
				t.Fatal(err)
			}
			s = e.State
		}
		if _, err := other.Guide("T", advice); err != nil {
			t.Fatal(err)
		}
		if s, err = l.Run(t.Context(), s); err != nil || len(prompts) != 2 || strings.Count(prompts[1], advice) != 1 {
			t.Errorf("held %t: %v, %v; its prompts are %q", held, s.Stop, err, prompts)
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	}
}
