package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
)

// TestSessionRateLimit: an attempt that the provider's limit ended is no
// iteration. If it had ticked the box, nothing is waited for, and the task is
// not run again.
func TestSessionRateLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		items := []tasks.Item{{ID: "T001", Key: "T001", Text: "One"}, {ID: "T002", Key: "T002", Text: "Two"}, {ID: "T003", Key: "T003", Text: "Three"}}
		var asked, outcomes []string
		s := tasks.Session{Dir: dir, Feature: "shop", Workspace: noWorkspace,
			Source: tasks.SourceFunc(func(context.Context) ([]tasks.Item, error) { return append([]tasks.Item(nil), items...), nil }),
			Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
				asked = append(asked, fmt.Sprintf("%s %d.%d", req.Task, req.Iteration, req.Attempt))
				limit := ralph.RetryAfter(errors.New("too many requests"), time.Hour)
				switch len(asked) {
				case 1: // nothing done
					return ralph.Response{}, limit
				case 2:
					items[0].Done = true
					return ralph.Response{Output: "done"}, nil
				case 3: // done, but the last words were not heard
					items[1].Done = true
					return ralph.Response{}, limit
				}
				items[2].Done = true
				return ralph.Response{Output: "done"}, nil
			}),
			Log: ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
				if ev.Kind == ralph.EventIterationEnded {
					outcomes = append(outcomes, fmt.Sprintf("%s %s%s", ev.Task, ev.Iteration.Fault, ev.Iteration.Outcome))
				}
				return nil
			})}
		start := time.Now()
		got, err := s.Run(t.Context())
		want := tasks.Report{FeatureBranch: "shop", StartTime: start.UTC().Round(0), EndTime: start.Add(time.Hour).UTC().Round(0),
			Status: "completed", MaxIterations: 10, IterationsRun: 3, TasksCompleted: 3, Unverified: []string{"T001", "T002", "T003"}, Elapsed: time.Hour, Unpriced: 3}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
		if diff := cmp.Diff([]string{"T001 1.1", "T001 1.2", "T002 1.1", "T003 1.1"}, asked); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"T001 rate_limitinterrupted", "T001 success", "T002 success", "T003 success"}, outcomes); diff != "" {
			t.Error(diff)
		}
	})
}

func noWorkspace(context.Context, string) (string, []string, error) { return "", nil, nil }

// TestSessionBlockedButDone: a ticked box outranks what the answer says.
func TestSessionBlockedButDone(t *testing.T) {
	t.Parallel()
	s, _, log := list(t, three, tick("<promise>BLOCKED</promise>", "T001"), tick("ok", "T002", "T003"))
	got, err := s.Run(t.Context())
	if err != nil || got.Skipped != nil || got.TasksCompleted != 3 || got.IterationsRun != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"1 T001 success", "2 T002 success"}, sections(t, log)); diff != "" {
		t.Error(diff)
	}
}

// TestSessionEarlyPromise: what a promise left open is named in the next prompt,
// also if that is another task's, and in no later one.
func TestSessionEarlyPromise(t *testing.T) {
	t.Parallel()
	const promise, early = "<promise>COMPLETE</promise>", "claimed that everything is done"
	s, w, _ := list(t, three, says("no", nil), says("no", nil), says(promise, nil), // given up
		says(promise, nil), says("<promise>BLOCKED</promise>", nil), // T002, told once
		tick("ok", "T003"))
	got, err := s.Run(t.Context())
	if stop, ok := errors.AsType[*ralph.StopError](err); !ok || stop.Reason != ralph.StopStalled || got.IterationsRun != 6 {
		t.Errorf("%+v, %v", got, err)
	}
	for i, want := range []bool{false, false, false, true, true, false} {
		if got := strings.Contains(w.prompts[i], early); got != want {
			t.Errorf("prompt %d tells of the early promise: %v, want %v", i+1, got, want)
		}
	}
	if !strings.Contains(w.prompts[3], "3 tasks are open: T001, T002, T003.") {
		t.Error(w.prompts[3])
	}
}

// TestSessionMended: a task that was lost with the list and comes back done is
// done.
func TestSessionMended(t *testing.T) {
	t.Parallel()
	const zero = "- [x] T000 Zero\n"
	s, _, log := list(t, zero+three,
		func(w *worker) (string, error) { return "oops", os.WriteFile(w.list, []byte(zero), 0o644) },
		func(w *worker) (string, error) {
			return "mended", os.WriteFile(w.list, []byte(strings.ReplaceAll(zero+three, "[ ]", "[x]")), 0o644)
		})
	got, err := s.Run(t.Context())
	if err != nil || got.IterationsRun != 2 || got.TasksCompleted != 3 || got.Status != tasks.SessionCompleted {
		t.Errorf("%+v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"1 T001 failure", "2 T001 success"}, sections(t, log)); diff != "" {
		t.Error(diff)
	}
}

// TestFeatureInAHook: there the environment names a repository that is not meant.
func TestFeatureInAHook(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", "-b", "002-cart", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("GIT_DIR", t.TempDir())
	s, _, _ := list(t, three, tick("ok", "T001", "T002", "T003"))
	s.Dir = dir
	if got, err := s.Run(t.Context()); err != nil || got.FeatureBranch != "002-cart" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSessionUnticked: a box that is opened again is open, and does not count
// twice.
func TestSessionUnticked(t *testing.T) {
	t.Parallel()
	open := func(id string) func(*worker) (string, error) {
		return func(w *worker) (string, error) {
			text, err := os.ReadFile(w.list)
			return "wrong", errors.Join(err, os.WriteFile(w.list, []byte(strings.Replace(string(text), "[x] "+id, "[ ] "+id, 1)), 0o644))
		}
	}
	s, _, log := list(t, "- [x] T000 Zero\n"+three, tick("ok", "T001"), open("T001"), tick("ok", "T002"), tick("ok", "T001"), open("T000"), tick("ok", "T003"), tick("ok", "T000"))
	got, err := s.Run(t.Context())
	if err != nil || got.IterationsRun != 7 || got.TasksCompleted != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	want := []string{"1 T001 success", "2 T002 failure", "3 T002 success", "4 T001 success", "5 T003 failure", "6 T003 success", "7 T000 success"}
	if diff := cmp.Diff(want, sections(t, log)); diff != "" {
		t.Error(diff)
	}
}

// TestSessionSameIDs: the second of two tasks of one ID is a task of its own.
func TestSessionSameIDs(t *testing.T) {
	t.Parallel()
	s, w, _ := list(t, "- [ ] T001 One\n- [ ] T001 Another\n", tick("ok", "T001"), says("no", nil), tick("ok", "T001#2"))
	got, err := s.Run(t.Context())
	if err != nil || got.IterationsRun != 3 || got.TasksCompleted != 2 || !strings.Contains(w.prompts[1], "Another") || !strings.Contains(w.prompts[2], "the box of T001#2 is not ticked") {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSessionSecond: a second session adds no header, numbers on, and keeps what
// the agent wrote in between.
func TestSessionSecond(t *testing.T) {
	t.Parallel()
	pattern := func(answer string, ids ...string) func(*worker) (string, error) {
		return func(w *worker) (string, error) {
			log := filepath.Join(filepath.Dir(w.list), "progress.txt")
			text, err := os.ReadFile(log)
			if err == nil {
				err = os.WriteFile(log, []byte(strings.Replace(string(text), "\n---\n", "\n- Found with "+ids[0]+"\n\n---\n", 1)), 0o644)
			}
			answer, _ := tick(answer, ids...)(w)
			return answer, err
		}
	}
	const said = "Done.\n\n**Learnings**:\n- the cart is a map\n- tests need a clock\n"
	s, _, log := list(t, three, pattern(said, "T001"), pattern("ok", "T002"), tick("ok", "T003"))
	s.Limits.Iterations = 1
	for _, want := range []tasks.SessionStatus{"failed", "failed", "completed"} {
		if got, _ := s.Run(t.Context()); got.Status != want || got.IterationsRun != 1 || got.TasksCompleted != 1 {
			t.Errorf("%+v", got)
		}
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "20"); line != "" { // without times
			lines = append(lines, line)
		}
	}
	want := []string{"# Ralph Progress Log", "Feature: 001-shop", "Started: ", "## Codebase Patterns",
		"[Patterns discovered during implementation - updated by agent]", "- Found with T001", "- Found with T002", "---",
		"## Iteration 1 - ", "**Task**: T001 One", "**Status**: ✅ Completed", "**Learnings**:", "- the cart is a map", "- tests need a clock", "---",
		"## Iteration 2 - ", "**Task**: T002 Two", "**Status**: ✅ Completed", "---",
		"## Iteration 3 - ", "**Task**: T003 Three", "**Status**: ✅ Completed", "---"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

// TestSessionTickedMeanwhile: a person may do the task while the session waits.
func TestSessionTickedMeanwhile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		asked := 0
		s := tasks.Session{Dir: dir, Feature: "shop", Workspace: noWorkspace,
			Source: tasks.SourceFunc(func(context.Context) ([]tasks.Item, error) {
				return []tasks.Item{{ID: "T001", Key: "T001", Text: "One", Done: time.Since(start) > time.Minute}}, nil
			}),
			Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
				asked++
				return ralph.Response{}, ralph.RetryAfter(errors.New("too many requests"), time.Hour)
			})}
		got, err := s.Run(t.Context())
		if err != nil || asked != 1 || got.Status != tasks.SessionCompleted || got.IterationsRun != 0 || got.TasksCompleted != 1 {
			t.Errorf("asked %d times: %+v, %v", asked, got, err)
		}
	})
}

// TestSessionTickedWhileItWorks: an agent that ticks the box before it has ended, in
// an attempt that is not the first, is not ended for it.
func TestSessionTickedWhileItWorks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ticked := false
		s := tasks.Session{Dir: dir, Feature: "shop", Workspace: noWorkspace,
			Source: tasks.SourceFunc(func(context.Context) ([]tasks.Item, error) {
				return []tasks.Item{{ID: "T001", Key: "T001", Text: "One", Done: ticked}}, nil
			}),
			Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
				if req.Attempt == 1 {
					return ralph.Response{}, ralph.RetryAfter(errors.New("too many requests"), time.Hour)
				}
				ticked = true
				<-time.After(time.Minute)
				if ctx.Err() != nil {
					t.Errorf("it was ended: %v", context.Cause(ctx))
				}
				return ralph.Response{Output: "Committed too."}, context.Cause(ctx)
			})}
		got, err := s.Run(t.Context())
		if err != nil || got.Status != tasks.SessionCompleted || got.IterationsRun != 1 || got.TasksCompleted != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestSessionControl: what the caller cancels ends the session.
func TestSessionControl(t *testing.T) {
	t.Parallel()
	s, w, _ := list(t, three, tick("ok", "T001"))
	s.Control = func(_ context.Context, st ralph.State) (ralph.State, error) {
		if st.Task.ID == "T002" {
			st = st.Cancel("enough")
		}
		return st, nil
	}
	got, err := s.Run(t.Context())
	stop, ok := errors.AsType[*ralph.StopError](err)
	if !ok || stop.Reason != ralph.StopCancelled || got.Status != tasks.SessionFailed || got.IterationsRun != 1 || got.TasksRemaining != 2 || len(w.prompts) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSessionSourcePanics: at the start, after an attempt, and at the end.
func TestSessionSourcePanics(t *testing.T) {
	t.Parallel()
	for last := range 3 {
		asked := 0
		s := tasks.Session{Dir: t.TempDir(), Feature: "shop", Workspace: noWorkspace, Runner: ralph.Replay("a", "b", "c"), Misses: 1,
			Source: tasks.SourceFunc(func(context.Context) ([]tasks.Item, error) {
				if asked++; asked > last {
					panic("no list today")
				}
				return []tasks.Item{{ID: "T001", Key: "T001", Text: "One", Done: asked > 1}}, nil
			})}
		report, err := s.Run(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), "tasks: Source panicked: no list today\n") || !strings.Contains(err.Error(), "session_edge_test.go") || report.Status == tasks.SessionCompleted {
			t.Errorf("the list was read %d times: %v, %v", last, report, err)
		}
	}
}

// TestSessionEndNotRecorded: that a loop was cancelled too late is no error of its log;
// what else that says is.
func TestSessionEndNotRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := errors.New("the disk is full")
	for _, tt := range []struct{ said, want error }{
		{nil, nil}, {ralph.ErrCancelled, nil}, {full, full}, {errors.Join(fmt.Errorf("enough: %w", ralph.ErrCancelled), full), full},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			s := tasks.Session{Dir: dir, Feature: "shop", Workspace: noWorkspace,
				Source: tasks.SourceFunc(func(context.Context) ([]tasks.Item, error) {
					return []tasks.Item{{ID: "T001", Key: "T001", Text: "One", Done: time.Since(start) > time.Minute}}, nil
				}),
				Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
					return ralph.Response{}, ralph.RetryAfter(errors.New("too many requests"), time.Hour)
				}),
				Log: ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
					if ev.Kind == ralph.EventLoopStopped {
						return tt.said
					}
					return nil
				})}
			if _, err := s.Run(t.Context()); !errors.Is(err, tt.want) || err != nil && tt.want == nil {
				t.Errorf("%v: %v", tt.said, err)
			}
		})
	}
}
