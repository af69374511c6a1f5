package pipeline_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// hooked is a file whose methods do something else before; nil = nothing.
type hooked struct {
	*pipeline.File
	take    func(id string) (bool, error)
	write   func(id string, u pipeline.Update) error
	changes func()
}

func (h hooked) Take(ctx context.Context, id string) (bool, error) {
	if h.take != nil {
		if ok, err := h.take(id); !ok || err != nil {
			return ok, err
		}
	}
	return h.File.Take(ctx, id)
}

func (h hooked) Write(ctx context.Context, id string, u pipeline.Update) error {
	if h.write != nil {
		if err := h.write(id, u); err != nil {
			return err
		}
	}
	return h.File.Write(ctx, id, u)
}

func (h hooked) Changes(ctx context.Context) (map[string]string, []spec.Definition, error) {
	if h.changes != nil {
		h.changes()
	}
	return h.File.Changes(ctx)
}

// TestTakenInEachRun: a task is taken once in a run, whatever comes of its stages, and again in the
// next one, before anything is done to it: by then it may be somebody else's.
func TestTakenInEachRun(t *testing.T) {
	t.Parallel()
	interrupted, interrupt := context.WithCancel(t.Context())
	for name, tt := range map[string]struct {
		ctx   context.Context
		ends  func(times int) bool // the reviewer does not claim
		rules pipeline.Rules
	}{
		"a stage failed":       {t.Context(), func(int) bool { return true }, pipeline.Rules{}},
		"sent back":            {t.Context(), func(int) bool { return true }, pipeline.Rules{Back: map[string]pipeline.Back{"reviewer": {To: "coder", Rounds: 1}}}},
		"its loop goes on":     {interrupted, func(int) bool { interrupt(); return true }, pipeline.Rules{}},
		"what was is verified": {t.Context(), func(times int) bool { return times == 1 }, pipeline.Rules{Back: map[string]pipeline.Back{"reviewer": {To: "coder", Rounds: 1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &agents{}
			a.do = func(_ context.Context, req ralph.Request) (string, error) {
				if req.Agent == "reviewer" && tt.ends(a.times(req.Task, req.Agent)) {
					return "Not yet.", nil
				}
				return claim(req), nil
			}
			p, path := plain(t, a, task("T1", "", nil)+"      reviewer: {max_iterations: 1}\n")
			p.Stages, p.Rules = []string{"coder", "reviewer"}, tt.rules
			var taken []string
			p.Source = hooked{File: p.Source.(*pipeline.File), take: func(id string) (bool, error) { taken = append(taken, id); return true, nil }}
			_, err := p.Run(tt.ctx)
			if len(taken) != 1 {
				t.Errorf("taken %q", taken)
			}
			if err == nil {
				return
			}
			next := *p
			next.Source = hooked{File: &pipeline.File{Path: path}, take: func(string) (bool, error) { return false, nil }}
			before := len(a.ran)
			if s, err := next.Run(t.Context()); len(a.ran) != before || err == nil || s.Stands[0].Phase != pipeline.PhaseAltered {
				t.Errorf("somebody else has it: ran %q, %v", a.ran[before:], err)
			}
		})
	}
}

// TestReasons: why a stage has failed is told with what was wrong at last, in the file and
// to the agent that it is sent back to.
func TestReasons(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do    func(context.Context, ralph.Request) (string, error)
		check string
		want  string
		limit time.Duration
	}{
		"the agent failed":   {func(context.Context, ralph.Request) (string, error) { return "", errors.New("it broke") }, "true", "it broke", 0},
		"it panicked":        {func(context.Context, ralph.Request) (string, error) { panic("it burst") }, "true", "it burst", 0},
		"it hung":            {func(ctx context.Context, _ ralph.Request) (string, error) { <-ctx.Done(); return "", ctx.Err() }, "true", "time", time.Millisecond},
		"it was rejected":    {func(_ context.Context, req ralph.Request) (string, error) { return claim(req), nil }, "echo two tests fail; exit 1", "two tests fail", 0},
		"the check is wrong": {func(_ context.Context, req ralph.Request) (string, error) { return claim(req), nil }, "exec /nonexistent/check", "/nonexistent/check", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &agents{do: tt.do}
			p, path := plain(t, a, "  - id: T1\n    title: one\n    completion:\n      outcome: it\n      acceptance_criteria: [it]\n"+
				"      tester: {verification_method: external, verification_config: {command: '"+tt.check+"'}}\n")
			p.Stages, p.Limits = []string{"tester"}, ralph.Limits{Iterations: 1, IterationTimeout: tt.limit}
			_, err := p.Run(t.Context())
			if reason(t, err) != ralph.StopStalled {
				t.Error(err)
			}
			failure := string(stands(t, path)["T1"].Metadata["ralph_failure"])
			if !strings.Contains(failure, tt.want) || !strings.Contains(failure, "limit of iterations, 1,") {
				t.Errorf("the file says %s", failure)
			}
		})
	}
}

// TestSentBackWithTheCheck: what a check has found reaches the agent that is to mend it.
func TestSentBackWithTheCheck(t *testing.T) {
	t.Parallel()
	a := &agents{do: func(_ context.Context, req ralph.Request) (string, error) { return claim(req), nil }}
	p, _ := plain(t, a, task("T1", "", nil)+"      tester: {max_iterations: 1, verification_method: external, verification_config: {command: 'echo two tests fail; exit 1'}}\n")
	p.Stages, p.Rules.Back = []string{"coder", "tester"}, map[string]pipeline.Back{"tester": {To: "coder", Rounds: 1}}
	if _, err := p.Run(t.Context()); reason(t, err) != ralph.StopStalled {
		t.Error(err)
	}
	if told := a.prompts("T1", "coder"); len(told) != 2 || !strings.Contains(told[1], "two tests fail") {
		t.Errorf("the coder was told %q", told)
	}
}

// TestPluggedPanics: what panics that was plugged in is an error: of its task where it is
// asked for one, and never the end of the program.
func TestPluggedPanics(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*pipeline.Pipeline, *hooked)
		file   string
		want   string // of the error
	}{
		"runner": {func(p *pipeline.Pipeline, _ *hooked) {
			with := p.Runner
			p.Runner = func(at pipeline.Place) (ralph.Runner, error) {
				if at.Task == "T1" {
					panic("burst")
				}
				return with(at)
			}
		}, "T1 failed, T2 done", "stalled"},
		"prompt": {func(p *pipeline.Pipeline, _ *hooked) {
			p.Prompt = func(s pipeline.Stage) func(context.Context, ralph.State) (string, error) {
				if s.Definition.ID == "T1" {
					panic("burst")
				}
				return func(_ context.Context, s ralph.State) (string, error) { return s.Prompt(), nil }
			}
		}, "T1 failed, T2 done", "stalled"},
		"take": {func(_ *pipeline.Pipeline, h *hooked) { h.take = func(string) (bool, error) { panic("burst") } }, "T1 , T2 ", "burst"},
		"write": {func(_ *pipeline.Pipeline, h *hooked) {
			h.write = func(string, pipeline.Update) error { panic("burst") }
		}, "T1 running, T2 ", "burst"},
		"changes": {func(_ *pipeline.Pipeline, h *hooked) { h.changes = func() { panic("burst") } }, "T1 done, T2 done", "burst"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &agents{do: makes(t)}
			p, path := plain(t, a, task("T1", "", nil), task("T2", "", nil))
			p.Stages = []string{"coder"}
			h := hooked{File: p.Source.(*pipeline.File)}
			tt.change(p, &h)
			p.Source = h
			if _, _, err := journey(t, p); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v", err)
			}
			if got := statuses(t, path); got != tt.file {
				t.Errorf("the file: %s", got)
			}
		})
	}
}

// TestLostWhileMerging: where one task's status cannot be written, which ends the run, the
// merge of another that is under way is not told as failed: the next run finishes it.
func TestLostWhileMerging(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{".gitignore": "tasks.yaml\n"})
	a := &agents{}
	calm := false
	a.do = func(ctx context.Context, req ralph.Request) (string, error) {
		if req.Task == "T3" && !calm {
			return "Not yet.", nil // until the run has noticed
		}
		return makes(t)(ctx, req)
	}
	path := filepath.Join(dir, "tasks.yaml")
	merging, halted := make(chan struct{}), make(chan struct{})
	source := hooked{File: file(t, path, task("T1", "", nil), task("T2", "", nil), task("T3", "", nil)), changes: func() {},
		write: func(id string, u pipeline.Update) error {
			switch {
			case id == "T1" && u.Status == spec.StatusDone:
				<-halted
			case id == "T2":
				<-merging
				return errors.New("connection lost")
			}
			return nil
		}}
	p := &pipeline.Pipeline{Source: source, Dir: dir, Record: record(t), Runner: a.runner, Stages: []string{"coder"},
		Rules: pipeline.Rules{Merge: true, Slots: 3}, Limits: ralph.Limits{Iterations: 1 << 20}}
	p.Record.NoSync = true
	began := false
	for ev, err := range p.Events(t.Context()) {
		switch {
		case err != nil:
			if err.Error() != "connection lost" {
				t.Error(err)
			}
		case ev.Kind == pipeline.EventMerging && !began:
			began = true
			close(merging)
		case ev.Kind == pipeline.EventEnded && ev.Task == "T3":
			close(halted)
		case ev.Kind == pipeline.EventUnmerged:
			t.Errorf("%s is not merged: %s", ev.Task, ev.Text)
		}
	}
	if failure := stands(t, path)["T1"].Metadata["ralph_failure"]; failure != nil {
		t.Errorf("T1: %s", failure)
	}
	calm = true
	next := *p
	next.Source = source.File
	if _, err := next.Run(t.Context()); err != nil || a.times("T1", "coder") != 1 || statuses(t, path) != "T1 done, T2 done, T3 done" {
		t.Errorf("again: %v, %s", err, statuses(t, path))
	}
	sound(t, dir)
}

// TestBackwards: where a rejection cannot lead to is said at the start, and not after the
// first rejection.
func TestBackwards(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{"coder": "", "reviewer": "does not work before it", "tester": "does not work before it"} {
		a := &agents{do: makes(t)}
		p, _ := plain(t, a, task("T1", "", nil))
		p.Stages, p.Rules.Back = []string{"coder", "reviewer", "tester"}, map[string]pipeline.Back{"reviewer": {To: to}}
		if _, err := p.Agree(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("back to %s: %v", to, err)
		}
	}
}
