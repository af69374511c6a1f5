package temporal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/temporal"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// A shift is a pipeline in Temporal's test suite, where no time passes but the workflow's.
// Its workers are what it says of attempts.
type shift struct {
	*suite
	says  func(attempt string) ralph.Iteration // of "TASK ITERATION.ATTEMPT"
	began []string                             // the same, and how much time had passed
	most  map[string]float64                   // what each might cost
}

// A registry has a shift for workers, which need a server.
type registry struct {
	worker.Registry
	*shift
}

func (r registry) RegisterActivityWithOptions(_ any, options activity.RegisterOptions) {
	f := map[string]any{"ralph.Iterate": r.attempt, "ralph.Merge": r.merge}[options.Name]
	r.Registry.RegisterActivityWithOptions(f, options)
}

func (w *shift) merge(context.Context, spec.Definition, []pipeline.StageEnd) (pipeline.SiteMerge, error) {
	return pipeline.SiteMerge{Merge: pipeline.Merge{Commit: "c"}}, nil
}

func (w *shift) attempt(_ context.Context, in input) (any, error) {
	if in.Hosts == nil {
		return map[string]any{"host": "a", "prepared": map[string]any{"prepared": true}}, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	name := fmt.Sprintf("%s %d.%d", in.State.Task.ID, in.State.Iteration, in.State.Attempt)
	w.began = append(w.began, fmt.Sprintf("%s %s", name, w.Now().Sub(begin).Round(time.Second)))
	w.most[name] = in.State.Task.Limits.CostUSD - *ralph.Usage{CostUSD: new(0.0)}.Add(in.State.Usage).CostUSD
	it := w.says(name)
	it.Number, it.Attempt = in.State.Iteration, in.State.Attempt
	return map[string]any{"host": "a", "iteration": it, "end": pipeline.StageEnd{Commit: "c"}}, nil
}

func newShift(t *testing.T, says func(attempt string) ralph.Iteration) *shift {
	t.Helper()
	w := &shift{suite: emptySuite(t), says: says, most: map[string]float64{}}
	if err := temporal.Register(registry{w, w}, &ralph.Local{}); err != nil {
		t.Fatal(err)
	}
	return w
}

// planned is what the workflow is given.
func planned(t *testing.T, rules pipeline.Rules, ids ...string) any {
	t.Helper()
	var all []pipeline.Planned
	c := pipeline.Course{}
	for _, id := range ids {
		all = append(all, pipeline.Planned{ID: id, Sum: "1", Agents: []string{"coder"}})
		c.Tasks = append(c.Tasks, pipeline.AgreedTask{Definition: spec.Definition{ID: id}, Once: []bool{false},
			Stages: []ralph.Task{{ID: id, Agent: "coder", Prompt: "Do it.", Dir: "/", Limits: ralph.Limits{Retries: -1, Failures: -1}}}})
	}
	s, err := pipeline.Plan(rules, all, nil)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"course": c.Next(pipeline.Event{Kind: pipeline.EventStarted, State: &s})}
}

// ends executes the workflow, and returns how it stands in the end, or what it goes on with
// in a new history.
func (w *shift) ends(in any) (final pipeline.State, anew any) {
	w.Helper()
	w.ExecuteWorkflow("ralph.Pipeline", in)
	if !w.IsWorkflowCompleted() {
		w.Fatal("the workflow has not come to its end")
	}
	if err := w.GetWorkflowError(); err != nil {
		again, is := errors.AsType[*workflow.ContinueAsNewError](err)
		if !is {
			w.Fatal(err)
		}
		var next json.RawMessage
		if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &next); err != nil {
			w.Fatal(err)
		}
		return final, next
	}
	if err := w.GetWorkflowResult(&final); err != nil {
		w.Fatal(err)
	}
	return final, nil
}

func (w *shift) ran(want ...string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.began)
	if !slices.Equal(w.began, want) {
		w.Errorf("attempts were made of %q, want %q", w.began, want)
	}
}

// signals sends a signal when so much of the workflow's time has passed.
func (w *shift) signals(after time.Duration, name string, v any) {
	w.suite.after(after, func() { w.SignalWorkflow(name, v) })
}

var (
	done    = ralph.Iteration{Outcome: ralph.OutcomeSuccess, Claimed: true, Verdict: ralph.Pass(), Usage: ralph.Usage{InputTokens: 10, CostUSD: new(0.1)}}
	notYet  = ralph.Iteration{Outcome: ralph.OutcomeFailure, Usage: ralph.Usage{InputTokens: 40, CostUSD: new(0.4)}}
	limited = ralph.Iteration{Outcome: ralph.OutcomeFailure, Fault: ralph.FaultRateLimit, RetryAfter: 3 * time.Hour}
)

// said are what attempts say that are named; all others claim.
func said(all map[string]ralph.Iteration) func(string) ralph.Iteration {
	return func(attempt string) ralph.Iteration {
		if it, is := all[attempt]; is {
			return it
		}
		return done
	}
}

// TestPipelineWaits: what a stage waits for is a timer, and meanwhile it holds nothing of
// the budget.
func TestPipelineWaits(t *testing.T) {
	w := newShift(t, said(map[string]ralph.Iteration{"A 1.1": limited, "B 1.1": notYet}))
	s, _ := w.ends(planned(t, pipeline.Rules{Slots: 2, CostUSD: 1}, "A", "B"))
	if standing(s) != "verified A=done B=done" {
		t.Errorf("it ended %s (%s)", standing(s), s.Detail)
	}
	w.ran("A 1.1 0s", "A 1.2 3h0m0s", "B 1.1 0s", "B 2.1 0s")
	if w.most["A 1.1"] != 0.5 || w.most["B 1.1"] != 0.5 || w.most["B 2.1"] < 0.4 || w.most["B 2.1"] > 0.6 {
		t.Errorf("of the budget they had %v", w.most)
	}
	if !slices.Contains(w.timers, 3*time.Hour) {
		t.Errorf("the timers are %v", w.timers)
	}
}

// TestPipelineSteered: signals reach a pipeline that waits.
func TestPipelineSteered(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steer func(w *shift)
		ends  string
		ran   []string
	}{
		{"pause", func(w *shift) {
			w.signals(time.Hour, temporal.SignalPause, true)
			w.signals(5*time.Hour, temporal.SignalPause, false)
		}, "verified A=done B=done", []string{"A 1.1 0s", "A 1.2 5h0m0s", "B 1.1 5h0m0s"}},
		{"pause that ends before the wait", func(w *shift) {
			w.signals(time.Hour, temporal.SignalPause, true)
			w.signals(2*time.Hour, temporal.SignalPause, false)
		}, "verified A=done B=done", []string{"A 1.1 0s", "A 1.2 3h0m0s", "B 1.1 3h0m0s"}},
		{"cancel", func(w *shift) { w.signals(time.Hour, temporal.SignalCancel, "no more") }, "cancelled A=interrupted B=", []string{"A 1.1 0s"}},
		{"cancel in a pause", func(w *shift) {
			w.signals(time.Hour, temporal.SignalPause, true)
			w.signals(4*time.Hour, temporal.SignalCancel, "no more")
		}, "cancelled A=interrupted B=", []string{"A 1.1 0s"}},
		{"cancel at once", func(w *shift) { w.signals(0, temporal.SignalCancel, "no more") }, "cancelled", nil},
		{"the workflow is cancelled", func(w *shift) { w.suite.after(time.Hour, w.CancelWorkflow) }, "cancelled A=interrupted B=", []string{"A 1.1 0s"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newShift(t, said(map[string]ralph.Iteration{"A 1.1": limited}))
			tt.steer(w)
			s, _ := w.ends(planned(t, pipeline.Rules{}, "A", "B"))
			if got := standing(s); !strings.HasPrefix(got, tt.ends) {
				t.Errorf("it ended %s (%s)", got, s.Detail)
			}
			if tt.ran != nil {
				w.ran(tt.ran...)
			}
		})
	}
}

// TestPipelineAnew: with a long history it goes on in a new one, with loops that were
// interrupted for that, and what has been signalled.
func TestPipelineAnew(t *testing.T) {
	t.Run("between iterations", func(t *testing.T) {
		w := newShift(t, func(string) ralph.Iteration { return notYet })
		w.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) { // in the suite's own time
			w.SetContinueAsNewSuggested(true)
		})
		_, anew := w.ends(planned(t, pipeline.Rules{Slots: 2, Tokens: 1000}, "A", "B", "C"))
		if anew == nil {
			t.Fatal("it does not go on")
		}
		w.ran("A 1.1 0s", "B 1.1 0s")
		w = newShift(t, said(nil))
		s, _ := w.ends(anew)
		if standing(s) != "verified A=done B=done C=done" || s.Used().InputTokens != 110 {
			t.Errorf("it ended %s (%s), used %v", standing(s), s.Detail, s.Used())
		}
		w.ran("A 2.1 0s", "B 2.1 0s", "C 1.1 0s")
	})
	t.Run("in a wait, and paused", func(t *testing.T) {
		w := newShift(t, said(map[string]ralph.Iteration{"A 1.1": limited}))
		w.signals(time.Minute, temporal.SignalPause, true)
		w.suite.after(time.Hour, func() { w.SetContinueAsNewSuggested(true) })
		w.signals(time.Hour, temporal.SignalPause, true) // so that it looks
		_, anew := w.ends(planned(t, pipeline.Rules{}, "A", "B"))
		if anew == nil {
			t.Fatal("it does not go on")
		}
		w.ran("A 1.1 0s")
		if !strings.Contains(fmt.Sprintf("%s", anew), `"paused":true`) {
			t.Errorf("it goes on with %s", anew)
		}
		w = newShift(t, said(nil))
		w.SetStartTime(begin.Add(time.Hour))
		w.signals(3*time.Hour, temporal.SignalPause, false)
		s, _ := w.ends(anew)
		if standing(s) != "verified A=done B=done" {
			t.Errorf("it ended %s (%s)", standing(s), s.Detail)
		}
		w.ran("A 1.2 4h0m0s", "B 1.1 4h0m0s")
	})
}
