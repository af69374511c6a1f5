package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks"
)

// TestSessionRelimit: before each attempt it is asked what the limits are, also within
// an item's loop; what was run counts for the new ones.
func TestSessionRelimit(t *testing.T) {
	t.Parallel()
	no := errors.New("no limits today")
	for name, tt := range map[string]struct {
		first, then ralph.Limits // then: after the second attempt
		err         error
		runs, most  int
		reason      ralph.StopReason // "" = another error
		text        string
	}{
		"as it was":         {ralph.Limits{Iterations: 4}, ralph.Limits{Iterations: 4}, nil, 4, 4, ralph.StopIterations, "the limit of iterations, 4"},
		"lowered":           {ralph.Limits{Iterations: 8}, ralph.Limits{Iterations: 2}, nil, 2, 2, ralph.StopIterations, "the limit of iterations, 2"},
		"lowered below":     {ralph.Limits{Iterations: 8}, ralph.Limits{Iterations: 1}, nil, 2, 1, ralph.StopIterations, "the limit of iterations, 1"},
		"raised":            {ralph.Limits{Iterations: 3}, ralph.Limits{Iterations: 5}, nil, 5, 5, ralph.StopIterations, "the limit of iterations, 5"},
		"unlimited":         {ralph.Limits{Iterations: 3}, ralph.Limits{Iterations: -1, CostUSD: 3}, nil, 6, -1, ralph.StopCost, "spent $3"},
		"less money":        {ralph.Limits{CostUSD: 3}, ralph.Limits{CostUSD: 1}, nil, 2, 10, ralph.StopCost, "spent $1"},
		"fewer tokens":      {ralph.Limits{}, ralph.Limits{Tokens: 15}, nil, 2, 10, ralph.StopTokens, "used 20 of 15 tokens"},
		"less time":         {ralph.Limits{}, ralph.Limits{Duration: time.Second}, nil, 2, 10, ralph.StopDuration, "used 2s of 1s"},
		"it cannot be told": {ralph.Limits{}, ralph.Limits{}, no, 2, 10, "", "tasks: limits of the session: no limits today"},
		"it makes no sense": {ralph.Limits{}, ralph.Limits{Iterations: -1}, nil, 2, 10, "", "tasks: limits of the session: limits: unlimited iterations need a duration, tokens or cost_usd to stop at"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, six, map[string][]string{"T001": {""}, "T002": {""}, "T003": {""}}, false)
				got, _, err := d.stopAt(-1, false, func(s *tasks.Session) {
					s.Limits = tt.first
					s.Relimit = func(_ context.Context, l ralph.Limits) (ralph.Limits, error) {
						if len(d.crew.runs) < 2 {
							if l != tt.first {
								t.Errorf("told %+v, want %+v", l, tt.first)
							}
							return l, nil
						}
						return tt.then, tt.err
					}
				})
				stop, _ := errors.AsType[*ralph.StopError](err)
				if (stop != nil) != (tt.reason != "") || stop != nil && stop.Reason != tt.reason || !strings.Contains(fmt.Sprint(err), tt.text) || stop == nil && err.Error() != tt.text {
					t.Errorf("%v, want %s: %s", err, tt.reason, tt.text)
				}
				if len(d.crew.runs) != tt.runs || got.IterationsRun != tt.runs || got.MaxIterations != tt.most || got.Status != tasks.SessionFailed {
					t.Errorf("%+v after %q", got, d.crew.runs)
				}
				for loop, s := range d.begun() {
					if s.Stop == ralph.StopCancelled {
						t.Errorf("the loop of %s was cancelled", loop)
					}
				}
			})
		})
	}
}

// TestSessionSteered: by progress.Dir another process pauses and cancels the session,
// whichever item it is at; also in the middle of an attempt.
func TestSessionSteered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, six, map[string][]string{"T001": {"tick T001"}, "T002": {"", "tick T002"}, "T003": {""}}, false)
		owner, state := &progress.Dir{Path: d.records, NoSync: true}, ralph.Start(ralph.Task{ID: "run", Title: "shop"})
		must(t, owner.Append(t.Context(), ralph.Event{V: ralph.Version, Kind: ralph.EventLoopStarted, Loop: "run", State: &state}))
		defer owner.Close()
		others := &progress.Dir{Path: d.records, NoSync: true}
		paused, began := false, time.Now()
		var steered error
		steer := func(s *tasks.Session) {
			s.Control = s.Log.(*progress.Dir).Control
			record := s.Log
			s.Log = ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
				err := record.Append(ctx, ev)
				switch {
				case ev.Kind != ralph.EventIterationStarted:
				case ev.Loop == "run/T001":
					_, steered = others.Pause("run", true)
				case ev.Loop == "run/T003":
					_, steered = others.Cancel("run", "enough")
				}
				must(t, steered)
				if ev.Kind == ralph.EventPaused {
					paused = true
					time.AfterFunc(time.Hour, func() {
						if _, err := others.Pause("run", false); err != nil {
							t.Error(err)
						}
					})
				}
				return err
			})
		}
		got, _, err := d.stopAt(-1, false, steer)
		stop, ok := errors.AsType[*ralph.StopError](err)
		if !ok || stop.Reason != ralph.StopCancelled || stop.Detail != "enough" || got.IterationsRun != 3 || got.TasksCompleted != 2 {
			t.Errorf("%+v, %v after %q", got, err, d.crew.runs)
		}
		if took := time.Since(began); !paused || took < time.Hour {
			t.Errorf("paused: %v, after %v", paused, took)
		}
		if s := d.begun()["run/T003"]; s.Stop != ralph.StopCancelled {
			t.Errorf("%+v", s)
		}
	})
}

// TestSessionTickedWhileItWaits: what was ticked while an attempt waited is done, or is
// asked about; its loop is not recorded as cancelled, and that was no iteration.
func TestSessionTickedWhileItWaits(t *testing.T) {
	t.Parallel()
	for _, judged := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, "- [ ] T001 One\n", map[string][]string{"T001": {"work T001, limit"}}, judged)
			time.AfterFunc(5*time.Second, func() { must(t, tasks.ListFile{Path: d.crew.list}.Tick("T001")) })
			got, _, err := d.stopAt(-1, false, nil)
			if err != nil || got.Status != tasks.SessionCompleted || got.TasksCompleted != 1 || len(d.crew.runs) != 1 {
				t.Errorf("judged %v: %+v, %v", judged, got, err)
			}
			begun := d.begun()
			if s := begun["run/T001"]; s.Stop != ralph.StopVerified || len(begun) != 1 || tasks.IterationsRun(s) != got.IterationsRun {
				t.Errorf("judged %v: %+v", judged, begun)
			}
			if !judged && got.IterationsRun != 0 {
				t.Errorf("%d iterations", got.IterationsRun)
			}
			if took := got.EndTime.Sub(got.StartTime); took > 7*time.Second {
				t.Errorf("waited %v", took)
			}
		})
	}
}

// TestSessionNames: loops are named after the session; what is asked before the agent
// is run has a name of its own.
func TestSessionNames(t *testing.T) {
	t.Parallel()
	var loops []string
	s, _, _ := list(t, three, does("ok", ids("T001 T002"), ids("T001 T002")), does("ok", ids("T003"), ids("T003")))
	s.Verifier, s.Name = &judge{}, "specs/shop"
	s.Log = ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
		if !slices.Contains(loops, ev.Loop) {
			loops = append(loops, ev.Loop)
		}
		return nil
	})
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"specs/shop/T001", "specs/shop/T002 (check)", "specs/shop/T003"}, loops); diff != "" {
		t.Error(diff)
	}
}

// A strict judge wants something guarded.
type strict struct {
	judge
	prepared int
	guarded  []map[string]string
}

func (v *strict) Prepare(_ context.Context, task ralph.Task) (ralph.Task, error) {
	v.prepared++
	task.Guarded = map[string]string{"exam.go": fmt.Sprint(v.prepared)}
	return task, nil
}

func (v *strict) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	v.guarded = append(v.guarded, c.Task.Guarded)
	return v.judge.Verify(ctx, c)
}

// TestSessionAgreed: what must stay as it was is agreed once for a session, not anew
// when it goes on after the agent has worked.
func TestSessionAgreed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, three, map[string][]string{"T001": {"tick T001, work T001"}, "T002": {"tick T002, work T002"}, "T003": {"tick T003, work T003"}}, true)
		v := &strict{}
		for n := range 4 {
			d.stopAt(4+n, true, func(s *tasks.Session) { s.Verifier = v })
		}
		got, _, err := d.stopAt(-1, false, func(s *tasks.Session) { s.Verifier = v })
		if err != nil || v.prepared != 1 || len(v.guarded) < 3 {
			t.Errorf("%+v, %v, prepared %d times", got, err, v.prepared)
		}
		for _, guarded := range v.guarded {
			if guarded["exam.go"] != "1" {
				t.Errorf("%v", guarded)
			}
		}
	})
}

// TestSessionNewest: the sums go on from the last of the loops, whatever the clock says
// and by whichever names they are told.
func TestSessionNewest(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	state := func(id string, cost float64, updated time.Time, more func(*ralph.State)) ralph.State {
		s := ralph.Start(ralph.Task{ID: id, Always: true, Blocked: "BLOCKED", Limits: ralph.Limits{Iterations: 3}})
		s.Usage.CostUSD, s.LastCost, s.Updated, s.Iteration, s.Unpriced = new(cost), new(cost), updated, 2, int(cost)
		s.Elapsed = time.Duration(cost) * time.Hour
		more(&s)
		return s
	}
	none := func(*ralph.State) {}
	silent := func(s *ralph.State) { s.Usage, s.LastCost = ralph.Usage{}, nil }
	for name, tt := range map[string]struct {
		begun []ralph.State
		spent float64 // in all, with the one run that follows
	}{
		"by cost":          {[]ralph.State{state("T002", 3, at.Add(-time.Hour), none), state("T003", 1, at, none)}, 3.5},
		"by time":          {[]ralph.State{state("T002", 0, at, func(s *ralph.State) { s.Usage, s.Unpriced = ralph.Usage{}, 7 }), state("T003", 0, at.Add(-time.Hour), silent)}, 0.5},
		"begun, not ended": {[]ralph.State{state("T002", 3, at, none), state("T003", 9, time.Time{}, none)}, 9.5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, _ := list(t, "- [ ] T001 One\n- [x] T002 Two\n- [x] T003 Three\n", tick("ok", "T001"))
			s.Begun = map[string]ralph.State{}
			for _, b := range tt.begun {
				s.Begun[b.Task.ID] = b
			}
			var first *ralph.State
			s.Log = ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
				if first == nil {
					first = ev.State
				}
				return nil
			})
			got, err := s.Run(t.Context())
			if err != nil || got.Usage.CostUSD == nil || *got.Usage.CostUSD != tt.spent {
				t.Errorf("%+v, %v", got, err)
			}
			newest := tt.begun[0]
			if name == "begun, not ended" {
				newest = tt.begun[1]
			}
			if first == nil || first.Elapsed != newest.Elapsed || first.Unpriced != newest.Unpriced || !first.Updated.Equal(newest.Updated) {
				t.Errorf("%+v", first)
			}
		})
	}
}

// TestSessionForecast: what the next attempt will cost is told by the last attempt, not by
// a check that came after it.
func TestSessionForecast(t *testing.T) {
	t.Parallel()
	s, w, _ := list(t, "- [ ] T001 One\n- [x] T002 Two\n", tick("ok", "T001"))
	item := ralph.Start(ralph.Task{ID: "T002", Blocked: "BLOCKED"})
	item.Usage.CostUSD, item.LastCost, item.Stop = new(3.0), new(3.0), ralph.StopVerified
	check := ralph.Start(ralph.Task{ID: "T002"})
	check.Usage.CostUSD, check.LastCost, check.Stop = new(3.25), new(0.25), ralph.StopVerified
	s.Begun, s.Limits.CostUSD = map[string]ralph.State{"T002": item, "T002 (check)": check}, 5
	got, err := s.Run(t.Context())
	if stop, ok := errors.AsType[*ralph.StopError](err); !ok || stop.Reason != ralph.StopCost || len(w.prompts) != 0 || *got.Usage.CostUSD != 3.25 {
		t.Errorf("%+v, %v", got, err)
	}
}
