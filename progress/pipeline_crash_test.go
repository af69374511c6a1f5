//go:build linux || darwin

package progress_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file/filetest"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// pipes is a pipeline, and what outlives the processes that run it: its tasks, in memory,
// and what was told as verified. In its first run a task fails in its second stage, in the
// next one it does not.
type pipes struct {
	path string
	disk *filetest.Disk

	mu       sync.Mutex
	defs     []spec.Definition
	verified map[string]bool // "task.agent", which events have told
	ran      []string
	fails    bool
	wrong    []string
}

func (w *pipes) Read(context.Context) ([]spec.Definition, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.defs), nil
}

func (w *pipes) Take(context.Context, string) (bool, error) { return true, nil }

func (w *pipes) Write(_ context.Context, id string, u pipeline.Update) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.disk.Stopped() {
		return filetest.ErrStopped
	}
	for i, d := range w.defs {
		if d.ID == id {
			w.defs[i].Status = u.Status
		}
	}
	return nil
}

// Run is the agent.
func (w *pipes) Run(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.disk.Stopped() {
		return ralph.Response{}, context.Cause(ctx)
	}
	stage := req.Task + "." + req.Agent
	if w.verified[stage] {
		w.wrong = append(w.wrong, stage+" runs again, although it was verified")
	}
	w.ran = append(w.ran, stage)
	resp := ralph.Response{Usage: usage(1, 0.25)}
	if !w.fails || stage != "B.tester" {
		resp.Output = done
	}
	return resp, nil
}

// live runs the pipeline in a process, until it dies or is over.
func (w *pipes) live() error {
	ctx, died := context.WithCancelCause(context.Background())
	defer died(nil)
	w.disk.OnStop = func() { died(filetest.ErrStopped) }
	dir := (&progress.Dir{Path: w.path}).On(w.disk)
	defer dir.Close()
	p := &pipeline.Pipeline{
		Source: w, Dir: filepath.Dir(filepath.Dir(w.path)), Record: dir, Stages: []string{"coder", "tester"},
		Runner: func(pipeline.Place) (ralph.Runner, error) { return w, nil },
		Task: func(d spec.Definition, agent string) (ralph.Task, error) {
			return ralph.Task{ID: d.ID, Agent: agent, Prompt: d.Title, Limits: ralph.Limits{Iterations: 1}}, nil
		},
		Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), nil }),
		Prompt: func(pipeline.Stage) func(context.Context, ralph.State) (string, error) {
			return func(context.Context, ralph.State) (string, error) { return "Do it.", nil }
		},
		Rules: pipeline.Rules{CostUSD: 100},
	}
	for ev, err := range p.Events(ctx) {
		if err != nil {
			return err
		}
		if ev.Kind == pipeline.EventEnded && ev.Stop == ralph.StopVerified {
			w.mu.Lock()
			w.verified[ev.Task+"."+ev.Agent] = true
			w.mu.Unlock()
		}
	}
	return nil
}

// TestPipelineCrash: a pipeline's process dies, or the machine loses power, at every write,
// sync and rename of its record in turn, and then it goes on. No agent runs again for what
// was told as verified, also in the run before.
func TestPipelineCrash(t *testing.T) {
	t.Parallel()
	ops := 0
	try := func(at int, seed uint64) {
		folder := t.TempDir()
		w := &pipes{path: filepath.Join(folder, "state", "loops"), disk: &filetest.Disk{Seed: seed}, fails: true, verified: map[string]bool{}}
		for _, id := range []string{"A", "B", "C"} {
			w.defs = append(w.defs, spec.Definition{ID: id, Title: "Do " + id})
		}
		w.defs[2].Dependencies = []string{"B"}
		err := w.live()
		if stop, ok := errors.AsType[*ralph.StopError](err); !ok || stop.Reason != ralph.StopStalled {
			t.Fatalf("the first run: %v", err)
		}
		w.fails = false
		w.disk.Restart(at, filetest.Stop)
		err = w.live()
		if at == 0 {
			ops = w.disk.Ops()
		} else if !w.disk.Stopped() {
			return
		}
		if at > 0 {
			if err == nil && w.defs[2].Status != spec.StatusDone {
				t.Errorf("stopped at %d: no error, and it is not over", at)
			}
			if err := w.disk.Crash(); err != nil {
				t.Fatal(err)
			}
			w.disk.Restart(0, filetest.Stop)
			err = w.live()
		}
		name := fmt.Sprintf("stopped at %d of %d, seed %d", at, ops, seed)
		if err != nil || len(w.wrong) > 0 {
			t.Errorf("%s: %v\n%s\n%q", name, err, strings.Join(w.wrong, "\n"), w.ran)
		}
		for _, d := range w.defs {
			if d.Status != spec.StatusDone {
				t.Errorf("%s: %s is %s", name, d.ID, d.Status)
			}
		}
		s, _, err := pipeline.Recorded(t.Context(), &progress.Dir{Path: w.path}, "pipeline")
		if err != nil || s.Stop != ralph.StopVerified {
			t.Errorf("%s: on record is %+v, %v", name, s, err)
		}
	}
	try(0, 0)
	for at := 1; at <= ops && !t.Failed(); at++ {
		for _, seed := range []uint64{0, 1, 2} {
			try(at, seed)
		}
	}
}
