package tasks_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
)

// A board is a source in memory that counts how often it is read.
type board struct {
	items []tasks.Item
	reads int
}

func (b *board) Items(context.Context) ([]tasks.Item, error) {
	b.reads++
	return append([]tasks.Item(nil), b.items...), nil
}

// TestSessionReadsOnce: after an attempt, however it ended, the list is read
// once: what decides whether a task is given up is what the log says of it.
func TestSessionReadsOnce(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer string
		err    error
		want   []string
	}{
		"done":    {"ok", nil, []string{"success"}},
		"open":    {"not yet", nil, []string{"failure", "failure", "skipped"}},
		"claimed": {"<promise>COMPLETE</promise>", nil, []string{"failure", "failure", "skipped"}},
		"blocked": {"<promise>BLOCKED</promise>", nil, []string{"skipped"}},
		"failed":  {"", errors.New("broken"), []string{"failure", "failure", "skipped"}},
		"cannot":  {"", ralph.Permanent(errors.New("not installed")), []string{"failure"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := &board{items: []tasks.Item{{ID: "T001", Key: "T001", Text: "One"}}}
			var outcomes []string
			s := tasks.Session{
				Dir: t.TempDir(), Feature: "shop", Workspace: noWorkspace, Source: list,
				Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
					list.items[0].Done = name == "done"
					return ralph.Response{Output: tt.answer}, tt.err
				}),
				Log: ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
					if ev.Kind == ralph.EventIterationEnded {
						outcomes = append(outcomes, string(ev.Iteration.Outcome))
						// Somebody else ticks the box while the log is written: it counts, but
						// changes nothing about this attempt.
						list.items[0].Done = list.items[0].Done || len(outcomes) == len(tt.want)
					}
					return nil
				}),
			}
			got, err := s.Run(t.Context())
			if diff := cmp.Diff(tt.want, outcomes); diff != "" {
				t.Error(diff)
			}
			if want := 1 + len(tt.want) + 1; list.reads != want { // at the start, after each attempt, at the end
				t.Errorf("the list was read %d times, want %d", list.reads, want)
			}
			skipped := tt.want[len(tt.want)-1] == "skipped"
			if (len(got.Skipped) == 1) != skipped || got.TasksCompleted != 1 || got.TasksRemaining != 0 || got.Status != tasks.SessionCompleted || err != nil {
				t.Errorf("%+v, %v, skipped in the log: %v", got, err, skipped)
			}
		})
	}
}

// TestSessionSourceHangs: a list that does not answer is waited for as long as a
// verification may take, also where nothing is verified, and no longer than the
// caller's context.
func TestSessionSourceHangs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		hangs := false
		var checks []ralph.CheckStatus
		s := tasks.Session{Dir: dir, Feature: "shop", Workspace: noWorkspace, Limits: ralph.Limits{VerifyTimeout: time.Minute, Iterations: 3},
			Source: tasks.SourceFunc(func(ctx context.Context) ([]tasks.Item, error) {
				if hangs {
					<-ctx.Done()
					return nil, context.Cause(ctx)
				}
				return []tasks.Item{{ID: "T001", Key: "T001", Text: "One"}}, nil
			}),
			Log: ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
				for _, check := range ev.Iteration.Verdict.Checks {
					checks = append(checks, check.Status)
				}
				return nil
			}),
		}
		for answer, want := range map[string]time.Duration{"not yet": 4 * time.Minute, "<promise>BLOCKED</promise>": 2 * time.Minute} {
			hangs = false
			s.Runner = ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
				hangs = true
				return ralph.Response{Output: answer}, nil
			})
			start := time.Now()
			got, err := s.Run(t.Context())
			if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || got.Status != tasks.SessionFailed || got.TasksRemaining != 1 || took != want {
				t.Errorf("%s: %+v, %v after %v, want %v", answer, got, err, took, want)
			}
		}
		// That it cannot be known is no fault of the agent's.
		if diff := cmp.Diff([]ralph.CheckStatus{ralph.CheckTimeout, ralph.CheckTimeout, ralph.CheckTimeout}, checks); diff != "" {
			t.Error(diff)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Second, func() { cancel(ralph.ErrCancelled) })
		hangs = false
		start := time.Now()
		got, err := s.Run(ctx)
		if took := time.Since(start); !errors.Is(err, ralph.ErrCancelled) || got.Status != tasks.SessionInterrupted || took > 2*time.Minute {
			t.Errorf("%+v, %v after %v", got, err, took)
		}
	})
}

// TestDefaultTemplate: it is the template of a session that has none, and the
// start for one of your own.
func TestDefaultTemplate(t *testing.T) {
	t.Parallel()
	var prompts []string
	for _, template := range []string{"", tasks.DefaultTemplate(), strings.Replace(tasks.DefaultTemplate(), "fresh context", "no memory", 1)} {
		s, w, log := list(t, three, tick("ok", "T001", "T002", "T003"))
		s.Template, s.Path, s.Progress, s.Spec = template, "tasks.md", "progress.txt", "spec.md"
		if _, err := s.Run(t.Context()); err != nil {
			t.Fatal(err, log)
		}
		prompts = append(prompts, w.prompts[0])
	}
	if prompts[0] != prompts[1] || strings.Replace(prompts[0], "fresh context", "no memory", 1) != prompts[2] || prompts[0] == prompts[2] {
		t.Error(cmp.Diff(prompts[0], prompts[1]), cmp.Diff(prompts[0], prompts[2]))
	}
}

// TestSessionTextChanged: a box without an ID whose text is changed as it is
// ticked is another item then, and was done all the same.
func TestSessionTextChanged(t *testing.T) {
	t.Parallel()
	s, w, log := list(t, "- [ ] Write it\n- [ ] Test it\n", func(w *worker) (string, error) {
		return "ok", os.WriteFile(w.list, []byte("- [x] Write it (in Go)\n- [ ] Test it\n"), 0o644)
	}, tick("ok", "Test it"))
	s.Source = tasks.ListFile{Path: w.list, AllBoxes: true}
	got, err := s.Run(t.Context())
	want := tasks.Report{FeatureBranch: "001-shop", Status: "completed", MaxIterations: 10, IterationsRun: 2, TasksCompleted: 2}
	if diff := cmp.Diff(want, got, ignoreTimes); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if diff := cmp.Diff([]string{"1 Write_it success", "2 Test_it success"}, sections(t, log)); diff != "" {
		t.Error(diff)
	}
}
