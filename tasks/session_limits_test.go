package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
)

// TestSessionStalls stops a session when nothing has changed for as many iterations,
// whichever items they were of; a run that goes on begins to count anew.
func TestSessionStalls(t *testing.T) {
	t.Parallel()
	still := func(context.Context, string) (string, []string, error) { return "unchanged", nil, nil }
	idle := []func(*worker) (string, error){says("Hm.", nil)}
	s, w, _ := list(t, numbered(3), idle...)
	s.Limits.Iterations, s.Limits.Stalls, s.Misses, s.Workspace = 20, 5, 2, still // at the first miss of the third item
	got, err := s.Run(t.Context())
	stop, ok := errors.AsType[*ralph.StopError](err)
	if want := "5 iterations in a row ticked no box and changed no file"; !ok || stop.Reason != ralph.StopStalled || stop.Detail != want || got.IterationsRun != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = s.Run(t.Context()); got.IterationsRun != 5 || len(w.prompts) != 10 {
		t.Errorf("again: %+v, %v", got, err)
	}
	for name, free := range map[string]func(s *tasks.Session){
		"a change": func(s *tasks.Session) {
			n := 0
			s.Workspace = func(context.Context, string) (string, []string, error) { n++; return fmt.Sprint(n), nil, nil }
		},
		"a workspace unknown": func(s *tasks.Session) { s.Workspace = noWorkspace },
		"without the limit":   func(s *tasks.Session) { s.Limits.Stalls = 0 },
	} {
		s, _, _ := list(t, numbered(3), idle...)
		s.Limits.Iterations, s.Limits.Stalls, s.Misses, s.Workspace = 20, 5, 2, still
		free(s)
		if got, err := s.Run(t.Context()); len(got.Skipped) != 3 || got.IterationsRun != 6 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// untold is a worker that does not tell what it costs.
type untold struct{ *worker }

func (u untold) Run(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	resp, err := u.worker.Run(ctx, req)
	resp.Usage = ralph.Usage{InputTokens: 10}
	return resp, err
}

// TestSessionPriced stops a session that has a limit of cost after the first answer, or the
// first verification, of unknown cost, though each has ended its item's loop; but all items
// are done after it.
func TestSessionPriced(t *testing.T) {
	t.Parallel()
	steps := []func(*worker) (string, error){tick("ok", "T001"), tick("ok", "T002"), tick("ok", "T003")}
	limits := ralph.Limits{CostUSD: 5, Priced: true}
	known := ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), nil })
	judge := ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
		v := ralph.Pass()
		v.Usage = ralph.Usage{OutputTokens: 3}
		return v, nil
	})
	for _, tt := range []struct {
		name     string
		untold   bool
		verifier ralph.Verifier
		limits   ralph.Limits
		items    int
		want     int // iterations
		why      string
	}{
		{"the agent tells nothing", true, nil, limits, 3, 1, "the last answer cost is not known"},
		{"the judge tells nothing", false, judge, limits, 3, 1, "the last verification cost is not known"},
		{"both tell", false, known, limits, 3, 3, ""},
		{"it need not be known", true, judge, ralph.Limits{CostUSD: 5}, 3, 3, ""},
		{"no limit of cost", true, judge, ralph.Limits{Priced: true}, 3, 3, ""},
		{"it was the last item", true, judge, limits, 1, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, w, _ := list(t, numbered(tt.items), steps...)
			s.Limits, s.Verifier = tt.limits, tt.verifier
			if tt.untold {
				s.Runner = untold{w}
			}
			got, err := s.Run(t.Context())
			stop, stopped := errors.AsType[*ralph.StopError](err)
			if got.IterationsRun != tt.want || stopped != (tt.why != "") || stopped && (stop.Reason != ralph.StopCost || !strings.Contains(stop.Detail, tt.why)) {
				t.Fatalf("%+v, %v", got, err)
			}
			if !stopped && err != nil {
				t.Fatal(err)
			}
			s.Relimit = func(_ context.Context, l ralph.Limits) (ralph.Limits, error) {
				l.CostUSD++
				return l, nil
			}
			s.Verifier = known // by other limits, or in another run, it goes on to the next answer
			if !stopped {
				return
			}
			if again, err := s.Run(t.Context()); err != nil || again.TasksRemaining != 0 {
				t.Errorf("again: %+v, %v", again, err)
			}
		})
	}
}
