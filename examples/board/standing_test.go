package board_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// TestAloneCards: loops of one task that stand alone are told apart by their names, and why
// each has ended is said as by ralph status.
func TestAloneCards(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := &progress.Dir{Path: t.TempDir(), NoSync: true}
	t.Cleanup(func() { dir.Close() })
	for _, loop := range []string{"nightly", "stopped", "cancelled", "used-up", "prompt"} {
		s := ralph.Start(ralph.Task{ID: "prompt", Prompt: "x", Limits: ralph.Limits{Iterations: 3}})
		s.Loop = loop
		events := []ralph.Event{{Kind: ralph.EventLoopStarted, State: &s}}
		end := s
		switch loop {
		case "stopped":
			end.Stop, end.Asked, end.Detail = ralph.StopIterations, 3, "the limit of iterations, 1, is reached, and the task is not verified"
		case "used-up":
			end.Stop, end.Detail = ralph.StopIterations, "the limit of iterations, 3, is reached, and the task is not verified"
		case "cancelled":
			end.Stop, end.Detail = ralph.StopCancelled, "cancelled on the board"
		}
		if end.Asked != 0 {
			events = append(events, ralph.Event{Kind: ralph.EventLimitsChanged, State: &end})
		}
		if end.Done() {
			events = append(events, ralph.Event{Kind: ralph.EventLoopStopped, State: &end})
		}
		for _, ev := range events {
			ev.V, ev.Loop, ev.Task = ralph.Version, loop, "prompt"
			if err := dir.Append(ctx, ev); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := board.Reader{Dir: dir}
	tree, err := r.Look(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, run := range tree.Runs {
		got[run.Cards[0].ID] = run.Cards[0].Lane.String() + " " + run.Cards[0].Why
	}
	want := map[string]string{
		"nightly": "running ", "prompt": "running ", "stopped": "failed stopped on request", "cancelled": "skipped cancelled on the board",
		"used-up": "failed the limit of iterations, 3, is reached, and the task is not verified",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTaskCards: a task of a pipeline that was cancelled stands where a loop that was
// cancelled does, and a long title is whole, or is seen to go on.
func TestTaskCards(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	project := t.TempDir()
	long := strings.Repeat("long ", 30) + "title"
	list := "tasks:\n- {id: A, title: " + long + "}\n- {id: B, title: " + long + ", dependencies: [A]}\n- {id: C, title: Stopped}\n"
	if err := os.WriteFile(filepath.Join(project, "tasks.yaml"), []byte(list), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := &progress.Dir{Path: filepath.Join(t.TempDir(), "record"), NoSync: true}
	t.Cleanup(func() { dir.Close() })
	other := &progress.Dir{Path: dir.Path}
	p := pipeline.Pipeline{
		Name: "shop", Dir: project, Record: dir, Source: &pipeline.File{Path: filepath.Join(project, "tasks.yaml")}, Stages: []string{"coder"},
		Runner: func(pipeline.Place) (ralph.Runner, error) {
			return ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
				ask := func() (progress.Entry, error) { return other.Cancel(req.Loop, "cancelled on the board") }
				if req.Task == "C" {
					ask = func() (progress.Entry, error) { return other.Stop(req.Loop) }
				}
				_, err := ask()
				return ralph.Response{Output: "Not yet."}, err
			}), nil
		},
		Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), nil }),
	}
	p.Run(ctx) // nothing of it is done
	r := board.Reader{Dir: other}
	tree, err := r.Look(ctx)
	if err != nil || len(tree.Runs) != 1 {
		t.Fatal(tree, err)
	}
	type card struct{ ID, Title, Lane, Why string }
	var got []card
	for _, c := range tree.Runs[0].Cards {
		got = append(got, card{c.ID, c.Title, c.Lane.String(), c.Why})
	}
	want := []card{
		{"A", long, "skipped", "cancelled on the board"},
		{"B", long[:120] + "…", "todo", ""},
		{"C", "Stopped", "failed", "stopped on request"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAsked: what people have asked for is told with its words and values.
func TestAsked(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := &progress.Dir{Path: t.TempDir(), NoSync: true}
	s := ralph.Start(ralph.Task{ID: "T1", Prompt: "x", Limits: ralph.Limits{Iterations: 3, CostUSD: 5}})
	l := ralph.Local{
		Log: dir, Control: dir.Control,
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			var err error
			switch req.Iteration {
			case 1:
				_, a := dir.Guide("T1", "use a map")
				_, b := dir.Guide("T1", "and a test")
				_, c := dir.Limit("T1", ralph.Limits{Iterations: 20, Tokens: 1000, Duration: 2 * time.Hour})
				err = errors.Join(a, b, c)
			case 2:
				_, a := dir.Guide("T1", "once more")
				_, b := dir.Stop("T1")
				err = errors.Join(a, b)
			}
			return ralph.Response{Output: "Not yet."}, err
		}),
		Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), nil }),
	}
	if res, _ := l.Run(ctx, s); res.Stop != ralph.StopIterations {
		t.Fatalf("%+v", res)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	r := board.Reader{Dir: dir}
	h, err := r.History("T1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range h.Asked {
		got = append(got, string(a.Kind)+": "+a.Text)
	}
	want := []string{
		"guided: use a map; and a test", "limits_changed: iterations 3 → 20, cost $5.0000 → none, tokens none → 1000, time none → 2h0m0s",
		"guided: once more", "limits_changed: asked to stop after iteration 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
