package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// again is the pipeline as another process has it: nothing is known but what is on
// record and in the file.
func again(t testing.TB, p *pipeline.Pipeline, a *agents) *pipeline.Pipeline {
	t.Helper()
	next := *p
	next.Source = &pipeline.File{Path: p.Source.(*pipeline.File).Path}
	next.Record, next.Runner = reopened(t, p.Record.Path), a.runner
	return &next
}

// TestPermanent ends the run at what no retry can help, and touches no other task.
func TestPermanent(t *testing.T) {
	t.Parallel()
	gone := ralph.Permanent(errors.New("not logged in"))
	for name, change := range map[string]func(*pipeline.Pipeline, *agents){
		"the agent": func(_ *pipeline.Pipeline, a *agents) {
			a.do = func(context.Context, ralph.Request) (string, error) { return "", gone }
		},
		"before it": func(p *pipeline.Pipeline, a *agents) {
			p.Runner = func(pipeline.Place) (ralph.Runner, error) { return refusing{a}, nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &agents{do: makes(t)}
			p, path := plain(t, a, task("T1", "", nil), task("T2", "", nil))
			p.Stages = []string{"coder"}
			change(p, a)
			_, err := p.Run(t.Context())
			if reason(t, err) != ralph.StopFailed || !strings.Contains(err.Error(), "not logged in") {
				t.Errorf("error %v", err)
			}
			got := stands(t, path)
			if !strings.Contains(string(got["T1"].Metadata["ralph_failure"]), fmt.Sprintf(`"iterations_used":%d`, len(a.ran))) || !got["T2"].UpdatedAt.IsZero() || statuses(t, path) != "T1 todo, T2 " {
				t.Errorf("the file: %v", got)
			}
			if a.do = makes(t); len(a.ran) > 1 {
				t.Errorf("ran %q", a.ran)
			}
			a.ran = nil
			if _, err := again(t, p, a).Run(t.Context()); err != nil || len(a.ran) != 2 {
				t.Errorf("again: %v, ran %q", err, a.ran)
			}
		})
	}
}

type refusing struct{ *agents }

func (refusing) Validate(ralph.Task) error { return errors.New("not logged in") }

// TestFailed begins a task that has failed anew at the next run, and only then: its loop
// has another name, and what was verified before it is not run again.
func TestFailed(t *testing.T) {
	t.Parallel()
	a := &agents{do: func(_ context.Context, req ralph.Request) (string, error) {
		if req.Agent == "tester" {
			return "Two tests fail.", nil
		}
		return claim(req), nil
	}}
	p, path := plain(t, a, task("T1", "", nil)+"      tester: {max_iterations: 2}\n", task("T2", "", []string{"T1"}), task("T3", "", nil)+"      tester: {max_iterations: 1}\n")
	p.Stages = []string{"coder", "tester"}
	if _, err := p.Run(t.Context()); reason(t, err) != ralph.StopStalled {
		t.Error(err)
	}
	if got := statuses(t, path); got != "T1 todo, T2 , T3 todo" {
		t.Errorf("%s", got)
	}
	if want := []string{"T1.coder 1", "T1.tester 1", "T1.tester 2", "T3.coder 1", "T3.tester 1"}; !slices.Equal(a.ran, want) {
		t.Errorf("ran %q", a.ran)
	}
	b := &agents{do: makes(t)}
	next := again(t, p, b)
	if _, err := next.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var loops []string
	for _, req := range b.asked {
		loops = append(loops, req.Loop)
	}
	if want := []string{"pipeline/T1.tester.2", "pipeline/T2.coder", "pipeline/T2.tester", "pipeline/T3.tester.2"}; !slices.Equal(slices.Sorted(slices.Values(loops)), want) {
		t.Errorf("loops %q", loops)
	}
	if got := stands(t, path); got["T1"].Metadata["ralph_failure"] != nil || statuses(t, path) != "T1 done, T2 done, T3 done" {
		t.Errorf("%v", got)
	}
}

// TestUnable counts a check that cannot run, an agent that fails, and one that takes too
// long as failed iterations: the loop goes on to its maximum, and so do other tasks.
func TestUnable(t *testing.T) {
	t.Parallel()
	a := &agents{}
	a.do = func(_ context.Context, req ralph.Request) (string, error) {
		switch n := a.times(req.Task, req.Agent); {
		case req.Task == "T1" && n < 5:
			return "", errors.New("it broke")
		case req.Task == "T2" && n < 3:
			return "", context.DeadlineExceeded
		}
		return claim(req), nil
	}
	p, path := plain(t, a, task("T1", "", nil), task("T2", "", nil), task("T3", "/nonexistent/check", nil)+"        max_iterations: 5\n", task("T4", "true", nil))
	p.Stages = []string{"coder"}
	final, err := p.Run(t.Context())
	if reason(t, err) != ralph.StopStalled || final.Stands[2].Phase != pipeline.PhaseFailed {
		t.Errorf("%v, %v", err, final.Stands)
	}
	if got := statuses(t, path); got != "T1 done, T2 done, T3 todo, T4 done" {
		t.Error(got)
	}
	for task, want := range map[string]int{"T1": 5, "T2": 3, "T3": 5, "T4": 1} {
		if got := a.times(task, "coder"); got != want {
			t.Errorf("%s: %d iterations, want %d", task, got, want)
		}
	}
}

// TestBroken is for a task that cannot be run as it is defined: a person must look at it.
func TestBroken(t *testing.T) {
	t.Parallel()
	a := &agents{do: makes(t)}
	p, path := plain(t, a, task("T1", "", nil), task("T2", "", []string{"T1"}), task("T3", "", nil))
	p.Stages = []string{"coder"}
	p.Runner = func(place pipeline.Place) (ralph.Runner, error) {
		if place.Task == "T1" {
			return nil, errors.New("there is no such client")
		}
		return a, nil
	}
	if _, err := p.Run(t.Context()); reason(t, err) != ralph.StopStalled {
		t.Error(err)
	}
	if got := statuses(t, path); got != "T1 failed, T2 , T3 done" {
		t.Error(got)
	}
	if text := string(stands(t, path)["T1"].Metadata["ralph_failure"]); !strings.Contains(text, "there is no such client") {
		t.Error(text)
	}
}

// TestInterrupted goes on with the same loop at the next run, with what it has used. Its
// status in the file stays running.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"a": "a\n"})
	path := filepath.Join(t.TempDir(), "tasks.yaml")
	ctx, interrupt := context.WithCancel(t.Context())
	a := &agents{}
	a.do = func(c context.Context, req ralph.Request) (string, error) {
		if req.Task == "T2" && a.times("T2", "coder") == 2 {
			interrupt()
			<-c.Done()
			return "", c.Err()
		}
		if req.Task == "T2" && a.times("T2", "coder") == 1 {
			writeAll(t, req.Dir, map[string]string{"half": "done\n"})
			return "Half is done.", nil
		}
		return makes(t)(c, req)
	}
	p := &pipeline.Pipeline{Source: file(t, path, task("T1", "test -f T1", nil), task("T2", "test -f half && test -f T2", []string{"T1"}), task("T3", "test -f T2", []string{"T2"})), Dir: dir,
		Record: record(t), Runner: a.runner, Stages: []string{"coder"}, Rules: pipeline.Rules{Merge: true}}
	if _, err := p.Run(ctx); err != context.Canceled {
		t.Fatal(err)
	}
	if got := statuses(t, path); got != "T1 done, T2 running, T3 " {
		t.Error(got)
	}
	if text := string(stands(t, path)["T2"].Metadata["ralph"]); !strings.Contains(text, `"stage":"coder"`) || !strings.Contains(text, `"completion_promise":"CODED"`) {
		t.Error(text)
	}
	writeAll(t, dir, map[string]string{"a": "b\n"})
	if _, err := again(t, p, a).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "not committed") {
		t.Errorf("a changed file: %v", err)
	}
	sh(t, dir, "git checkout -q a")
	next := again(t, p, a)
	final, err := next.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"T1.coder 1", "T2.coder 1", "T2.coder 2", "T2.coder 2", "T3.coder 1"}; !slices.Equal(a.ran, want) || final.Used().Requests != 5 {
		t.Errorf("ran %q, used %v", a.ran, final.Used())
	}
	sound(t, dir)
	if b, w := left(t, dir); len(b)+len(w) > 0 {
		t.Errorf("left are %q, %q", b, w)
	}
}

// TestInterruptedBefore interrupts before the agent's folder is there: nothing is wrong
// with the task.
func TestInterruptedBefore(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"a": "a\n"})
	path := filepath.Join(t.TempDir(), "tasks.yaml")
	a := &agents{do: makes(t)}
	p := &pipeline.Pipeline{Source: file(t, path, task("T1", "", nil)), Dir: dir, Record: record(t), Runner: a.runner, Stages: []string{"coder"}, Rules: pipeline.Rules{Merge: true}}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var err error
	for ev, wrong := range p.Events(ctx) {
		if err = wrong; ev.Kind == pipeline.EventBegan {
			interrupt()
		}
	}
	if err != context.Canceled || len(a.ran) > 0 || statuses(t, path) != "T1 running" {
		t.Errorf("%v, ran %q, %s", err, a.ran, statuses(t, path))
	}
	if _, err := again(t, p, a).Run(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTaken leaves a task alone that somebody else has changed since the run began.
func TestTaken(t *testing.T) {
	t.Parallel()
	a := &agents{}
	var path string
	a.do = func(_ context.Context, req ralph.Request) (string, error) {
		if req.Task == "T1" {
			f, err := spec.Load(path)
			if err == nil {
				err = f.SetStatus("T2", spec.StatusDone)
			}
			if err == nil {
				err = f.Save()
			}
			if err != nil {
				t.Error(err)
			}
		}
		return claim(req), nil
	}
	p, path2 := plain(t, a, task("T1", "", nil), task("T2", "", nil), task("T3", "", nil), task("T4", "", []string{"T2"}))
	path, p.Stages = path2, []string{"coder"}
	all, final, err := journey(t, p)
	if reason(t, err) != ralph.StopStalled || final.Stands[1].Phase != pipeline.PhaseAltered || a.times("T2", "coder")+a.times("T4", "coder") > 0 {
		t.Errorf("%v: %q", err, all)
	}
	if got := statuses(t, path); got != "T1 done, T2 done, T3 done, T4 " {
		t.Error(got)
	}
}
