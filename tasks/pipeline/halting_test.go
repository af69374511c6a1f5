package pipeline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// TestCancelled: a run that its caller cancels is cancelled for good, also by its record,
// and has not stopped for want of tasks.
func TestCancelled(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]string{"the only task": nil, "others wait for it": {task("T2", "", []string{"T1"})}, "others are open": {task("T2", "", nil)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			a := &agents{do: func(c context.Context, _ ralph.Request) (string, error) {
				cancel(ralph.ErrCancelled)
				<-c.Done()
				return "", c.Err()
			}}
			p, _ := plain(t, a, append([]string{task("T1", "", nil)}, more...)...)
			final, err := p.Run(ctx)
			if reason(t, err) != ralph.StopCancelled || final.Stop != ralph.StopCancelled {
				t.Errorf("%v, %v", err, final.Stop)
			}
			if e, err := p.Record.Look("pipeline"); err != nil || e.State.Stop != ralph.StopCancelled {
				t.Errorf("on record: %v, %v", e.State.Stop, err)
			}
		})
	}
}

// TestCancelledAtTheEnd: another process cancels the run while its last loop is in an
// iteration. The loop sees it before its next one, and the run need not have seen it.
func TestCancelledAtTheEnd(t *testing.T) {
	t.Parallel()
	var p *pipeline.Pipeline
	a := &agents{do: func(context.Context, ralph.Request) (string, error) {
		_, err := reopened(t, p.Record.Path).Cancel("pipeline", "enough")
		return "Nothing.", err
	}}
	p, _ = plain(t, a, task("T1", "false", nil))
	final, err := p.Run(t.Context())
	if reason(t, err) != ralph.StopCancelled || final.Stop != ralph.StopCancelled || !strings.Contains(final.Detail, "enough") {
		t.Errorf("%v, %v: %s", err, final.Stop, final.Detail)
	}
	if e, err := p.Record.Look("pipeline"); err != nil || e.State.Stop != ralph.StopCancelled {
		t.Errorf("on record: %v, %v", e.State.Stop, err)
	}
}

// once is a source that gives each task away once.
type once struct {
	*pipeline.File
	taken []string
}

func (o *once) Take(ctx context.Context, id string) (bool, error) {
	if slices.Contains(o.taken, id) {
		return false, nil
	}
	o.taken = append(o.taken, id)
	return o.File.Take(ctx, id)
}

// TestTakenOnce takes no task again that is this run's already, and was sent back.
func TestTakenOnce(t *testing.T) {
	t.Parallel()
	a := &agents{}
	a.do = func(_ context.Context, req ralph.Request) (string, error) {
		if req.Agent == "reviewer" && a.times("T1", "reviewer") == 1 {
			return "<promise>REVIEWER_REJECTED</promise>", nil
		}
		return claim(req), nil
	}
	p, _ := plain(t, a, task("T1", "", nil))
	p.Source = &once{File: p.Source.(*pipeline.File)}
	p.Stages, p.Config = []string{"coder", "reviewer"}, spec.Config{Agents: []spec.AgentConfig{{Agent: "reviewer", OnReject: "coder"}}}
	if _, err := p.Run(t.Context()); err != nil || a.times("T1", "coder") != 2 {
		t.Errorf("%v, ran %q", err, a.ran)
	}
}

// panicking is a source of which one method panics.
type panicking struct {
	*pipeline.File
	where string
}

func (p panicking) in(method string) {
	if p.where == method {
		panic(method + " is broken")
	}
}

func (p panicking) Read(ctx context.Context) ([]spec.Definition, error) {
	p.in("Read")
	return p.File.Read(ctx)
}

func (p panicking) Take(ctx context.Context, id string) (bool, error) {
	p.in("Take")
	return p.File.Take(ctx, id)
}

func (p panicking) Write(ctx context.Context, id string, u pipeline.Update) error {
	p.in("Write")
	return p.File.Write(ctx, id, u)
}

func (p panicking) Changes(ctx context.Context) (map[string]string, []spec.Definition, error) {
	p.in("Changes")
	return p.File.Changes(ctx)
}

// TestSourcePanics is an error of the run, and not the end of the program.
func TestSourcePanics(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Read", "Take", "Write", "Changes"} {
		p, _ := plain(t, &agents{do: makes(t)}, task("T1", "", nil))
		p.Source = panicking{p.Source.(*pipeline.File), method}
		var wrong error
		for _, wrong = range p.Events(t.Context()) {
		}
		if wrong == nil || !strings.HasPrefix(wrong.Error(), "pipeline: Source."+method+" panicked: "+method+" is broken") {
			t.Errorf("%s: %v", method, wrong)
		}
	}
}

// TestWaitsNoLonger: a loop that waits for hours does not hold up a run that has stopped,
// and does not go on with a task that somebody else has changed meanwhile.
func TestWaitsNoLonger(t *testing.T) {
	for _, altered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			dir, limited := t.TempDir(), make(chan struct{})
			path := filepath.Join(dir, "tasks.yaml")
			a := &agents{}
			a.do = func(_ context.Context, req ralph.Request) (string, error) {
				switch {
				case req.Task == "T1" && req.Attempt == 1:
					close(limited)
					return "", ralph.RetryAfter(errors.New("too many requests"), 10*time.Hour)
				case req.Task == "T1":
					return claim(req), nil
				}
				<-limited
				<-time.After(time.Minute)
				if !altered {
					return "", ralph.Permanent(errors.New("not logged in"))
				}
				text, err := os.ReadFile(path)
				if err == nil {
					err = os.WriteFile(path, []byte(strings.Replace(string(text), "Do T1", "Do it", 1)), 0o644)
				}
				return claim(req), err
			}
			p := &pipeline.Pipeline{Source: file(t, path, task("T1", "", nil), task("T2", "", nil)), Dir: dir, Runner: a.runner,
				Stages: []string{"coder"}, Rules: pipeline.Rules{Slots: 2}, Share: true}
			began := time.Now()
			final, err := p.Run(t.Context())
			want, phase := ralph.StopFailed, pipeline.PhaseInterrupted
			if altered {
				want, phase = ralph.StopStalled, pipeline.PhaseAltered
			}
			if reason(t, err) != want || final.Stands[0].Phase != phase || time.Since(began) > time.Hour {
				t.Errorf("altered %v: %v after %v, %v", altered, err, time.Since(began), final.Stands)
			}
		})
	}
}

// TestPausedNoLonger: a loop that somebody has paused does not hold up a run that has
// stopped.
func TestPausedNoLonger(t *testing.T) {
	t.Parallel()
	a, paused := &agents{}, make(chan struct{})
	p, path := plain(t, a, task("T1", "", nil), task("T2", "", nil))
	p.Stages, p.Rules.Slots, p.Share = []string{"coder"}, 2, true
	a.do = func(_ context.Context, req ralph.Request) (string, error) {
		if req.Task == "T1" {
			defer close(paused)
			_, err := p.Record.Pause("pipeline/T1.coder", true)
			return "Half is done.", err
		}
		<-paused
		return "", ralph.Permanent(errors.New("not logged in"))
	}
	if _, err := p.Run(t.Context()); reason(t, err) != ralph.StopFailed || statuses(t, path) != "T1 running, T2 todo" {
		t.Errorf("%v, %s", err, statuses(t, path))
	}
}

// TestAlteredWhileVerified: a task that somebody has changed while its last stage ran is
// not done, in the file or in the state.
func TestAlteredWhileVerified(t *testing.T) {
	t.Parallel()
	a := &agents{}
	p, path := plain(t, a, task("T1", "", nil), task("T2", "", []string{"T1"}))
	p.Stages = []string{"coder"}
	a.do = func(_ context.Context, req ralph.Request) (string, error) {
		sh(t, p.Dir, "sed -i 's/Do T1/Do it/' "+path)
		return claim(req), nil
	}
	final, err := p.Run(t.Context())
	if reason(t, err) != ralph.StopStalled || final.Stands[0].Phase != pipeline.PhaseAltered || a.times("T2", "coder") > 0 {
		t.Errorf("%v, %v, ran %q", err, final.Stands, a.ran)
	}
}

// TestOtherOrder: a task that has another priority, or waits for others, by the next run is
// the same task: what was verified is not run again.
func TestOtherOrder(t *testing.T) {
	t.Parallel()
	a := &agents{do: func(_ context.Context, req ralph.Request) (string, error) {
		if req.Agent == "tester" {
			return "Two tests fail.", nil
		}
		return claim(req), nil
	}}
	p, path := plain(t, a, task("T1", "", nil), task("T2", "", nil))
	p.Stages, p.Limits.Iterations = []string{"coder", "tester"}, 1
	if _, err := p.Run(t.Context()); reason(t, err) != ralph.StopStalled {
		t.Fatal(err)
	}
	file(t, path, task("T1", "", []string{"T2"}, "priority: 2"), task("T2", "", nil))
	b := &agents{do: makes(t)}
	if _, err := again(t, p, b).Run(t.Context()); err != nil || !slices.Equal(b.ran, []string{"T2.tester 1", "T1.tester 1"}) {
		t.Errorf("%v, ran %q", err, b.ran)
	}
}

// TestNotMergedAfterAll: a merge that was told as failed is not finished by the next run, in
// which the task is another one.
func TestNotMergedAfterAll(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{".gitignore": "tasks.yaml\n"})
	path := filepath.Join(dir, "tasks.yaml")
	a := &agents{do: func(_ context.Context, req ralph.Request) (string, error) {
		writeAll(t, req.Dir, map[string]string{"made": "old\n"})
		return claim(req), nil
	}}
	p := &pipeline.Pipeline{Source: file(t, path, task("T1", "test -e made", nil)), Dir: dir, Record: record(t), Runner: a.runner, Stages: []string{"coder"}, Rules: pipeline.Rules{Merge: true}}
	writeAll(t, dir, map[string]string{"made": "the user's\n"})
	if _, err := p.Run(t.Context()); reason(t, err) != ralph.StopStalled {
		t.Fatal(err)
	}
	sh(t, dir, "rm made; sed -i 's/Do T1/Do it/' "+path)
	b := &agents{do: func(context.Context, ralph.Request) (string, error) { return "Not yet.", nil }}
	next := again(t, p, b)
	next.Limits.Iterations = 1
	if _, err := next.Run(t.Context()); reason(t, err) != ralph.StopStalled || there(t, dir, "main")["made"] != "" {
		t.Errorf("%v; main has %v", err, there(t, dir, "main"))
	}
}
