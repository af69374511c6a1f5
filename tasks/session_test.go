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

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks"
)

// A worker is an agent: one step per iteration, the last again and again. It
// gets the path of the list and its prompt.
type worker struct {
	t       *testing.T
	list    string
	steps   []func(w *worker) (answer string, err error)
	prompts []string
}

func (w *worker) Run(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	w.prompts = append(w.prompts, req.Prompt)
	if ctx.Err() != nil {
		return ralph.Response{}, context.Cause(ctx)
	}
	answer, err := w.steps[min(len(w.prompts), len(w.steps))-1](w)
	cost := 0.5
	return ralph.Response{Output: answer, Usage: ralph.Usage{InputTokens: 10, CostUSD: &cost}}, err
}

// tick ticks boxes and answers.
func tick(answer string, ids ...string) func(*worker) (string, error) {
	return func(w *worker) (string, error) {
		for _, id := range ids {
			if err := (tasks.ListFile{Path: w.list, AllBoxes: true}).Tick(id); err != nil {
				w.t.Error(err)
			}
		}
		return answer, nil
	}
}

// says answers and does nothing, or fails.
func says(answer string, err error) func(*worker) (string, error) {
	return func(*worker) (string, error) { return answer, err }
}

// list writes a list and returns a session on it, with its agent and its log.
func list(t *testing.T, text string, steps ...func(*worker) (string, error)) (*tasks.Session, *worker, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "001-shop")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "tasks.md")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	w := &worker{t: t, list: path, steps: steps}
	log := filepath.Join(dir, "progress.txt")
	return &tasks.Session{
		Source: tasks.ListFile{Path: path}, Runner: w, Dir: dir,
		Log: &progress.Markdown{Path: log, Feature: "001-shop"},
	}, w, log
}

// sections are the tasks and outcomes of a progress.txt.
func sections(t *testing.T, path string) (list []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := progress.ReadMarkdown(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sections {
		list = append(list, fmt.Sprintf("%d %s %s", s.Number, s.Task, s.Status))
	}
	return list
}

// ignoreTimes leaves out what differs from run to run, and Unverified, which is
// looked at where there is a Verifier; where there is none it is what is completed.
var ignoreTimes = cmpopts.IgnoreFields(tasks.Report{}, "StartTime", "EndTime", "Elapsed", "Unpriced", "Usage", "Detail", "Unverified")

const three = "# Tasks\n\n- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n"

func TestSession(t *testing.T) {
	t.Parallel()
	const promise, blocked = "Done.\n\n<promise>COMPLETE</promise>", "I lack the key.\n\n<promise>BLOCKED</promise>"
	broken := errors.New("the run broke")
	tests := []struct {
		name   string
		steps  []func(*worker) (string, error)
		change func(*tasks.Session)
		want   tasks.Report
		log    []string
		reason ralph.StopReason // "" = completed
	}{
		{"one after the other", []func(*worker) (string, error){tick("ok", "T001"), tick("ok", "T002"), tick("ok", "T003")}, nil,
			tasks.Report{Status: "completed", IterationsRun: 3, TasksCompleted: 3},
			[]string{"1 T001 success", "2 T002 success", "3 T003 success"}, ""},
		{"all at once", []func(*worker) (string, error){tick(promise, "T001", "T002", "T003")}, nil,
			tasks.Report{Status: "completed", IterationsRun: 1, TasksCompleted: 3}, []string{"1 T001 success"}, ""},
		{"it never ticks T001, and T003 when asked for T002", []func(*worker) (string, error){
			says("later", nil), says("later", nil), says(promise, nil), tick("ok", "T003"), tick("ok", "T002")}, nil,
			tasks.Report{Status: "failed", IterationsRun: 5, TasksCompleted: 2, TasksRemaining: 1, Skipped: []string{"T001"}},
			[]string{"1 T001 failure", "2 T001 failure", "3 T001 skipped", "4 T002 success", "5 T002 success"}, ralph.StopStalled},
		{"misses go on beside another's box", []func(*worker) (string, error){
			tick("ok", "T002"), tick("ok", "T003"), says("no", nil)}, nil,
			tasks.Report{Status: "failed", IterationsRun: 3, TasksCompleted: 2, TasksRemaining: 1, Skipped: []string{"T001"}},
			[]string{"1 T001 success", "2 T001 success", "3 T001 skipped"}, ralph.StopStalled},
		{"misses in a row only", []func(*worker) (string, error){
			says("no", nil), says("no", nil), tick("ok", "T001"), says("no", nil), says("no", nil), tick("ok", "T002"), tick("ok", "T003")}, nil,
			tasks.Report{Status: "completed", IterationsRun: 7, TasksCompleted: 3},
			[]string{"1 T001 failure", "2 T001 failure", "3 T001 success", "4 T002 failure", "5 T002 failure", "6 T002 success", "7 T003 success"}, ""},
		{"blocked skips at once", []func(*worker) (string, error){says(blocked, nil), tick("ok", "T002", "T003")}, nil,
			tasks.Report{Status: "failed", IterationsRun: 2, TasksCompleted: 2, TasksRemaining: 1, Skipped: []string{"T001"}},
			[]string{"1 T001 skipped", "2 T002 success"}, ralph.StopStalled},
		{"a word is no error", []func(*worker) (string, error){tick("ERROR: error, failed, blocked", "T001", "T002", "T003")}, nil,
			tasks.Report{Status: "completed", IterationsRun: 1, TasksCompleted: 3}, []string{"1 T001 success"}, ""},
		{"an error result is one", []func(*worker) (string, error){
			func(w *worker) (string, error) { tick("", "T001", "T002", "T003")(w); return "all fine", broken }}, nil,
			tasks.Report{Status: "completed", IterationsRun: 1, TasksCompleted: 3}, []string{"1 T001 failure"}, ""},
		{"faults are misses", []func(*worker) (string, error){says("", broken)}, func(s *tasks.Session) { s.Limits.Iterations = 4 },
			tasks.Report{Status: "failed", MaxIterations: 4, IterationsRun: 4, TasksRemaining: 3, Skipped: []string{"T001"}},
			[]string{"1 T001 failure", "2 T001 failure", "3 T001 skipped", "4 T002 failure"}, ralph.StopIterations},
		{"the limit", []func(*worker) (string, error){tick("ok", "T001"), tick(promise, "T002"), says(promise, nil)},
			func(s *tasks.Session) { s.Limits.Iterations = 2 },
			tasks.Report{Status: "failed", MaxIterations: 2, IterationsRun: 2, TasksCompleted: 2, TasksRemaining: 1},
			[]string{"1 T001 success", "2 T002 success"}, ralph.StopIterations},
		{"the last iteration allowed may complete it", []func(*worker) (string, error){tick("ok", "T001", "T002"), tick("ok", "T003")},
			func(s *tasks.Session) { s.Limits.Iterations = 2 },
			tasks.Report{Status: "completed", MaxIterations: 2, IterationsRun: 2, TasksCompleted: 3}, []string{"1 T001 success", "2 T003 success"}, ""},
		{"an agent that cannot run ends it", []func(*worker) (string, error){says("", ralph.Permanent(errors.New("not logged in")))}, nil,
			tasks.Report{Status: "failed", IterationsRun: 1, TasksRemaining: 3}, []string{"1 T001 failure"}, ralph.StopFailed},
		{"the cost of all items together", []func(*worker) (string, error){tick("ok", "T001"), tick("ok", "T002"), tick("ok", "T003")},
			func(s *tasks.Session) { s.Limits.CostUSD = 1 },
			tasks.Report{Status: "failed", IterationsRun: 2, TasksCompleted: 2, TasksRemaining: 1}, []string{"1 T001 success", "2 T002 success"}, ralph.StopCost},
		{"the tokens of all items together", []func(*worker) (string, error){tick("ok", "T001"), tick("ok", "T002"), tick("ok", "T003")},
			func(s *tasks.Session) { s.Limits.Tokens = 20 },
			tasks.Report{Status: "failed", IterationsRun: 2, TasksCompleted: 2, TasksRemaining: 1}, []string{"1 T001 success", "2 T002 success"}, ralph.StopTokens},
		{"removing a task is not doing it", []func(*worker) (string, error){func(w *worker) (string, error) {
			return promise, os.WriteFile(w.list, []byte("- [x] T002 Two\n- [x] T003 Three\n"), 0o644)
		}}, nil,
			tasks.Report{Status: "failed", IterationsRun: 3, TasksCompleted: 2, TasksRemaining: 1, Skipped: []string{"T001"}},
			[]string{"1 T001 success", "2 T001 failure", "3 T001 skipped"}, ralph.StopStalled},
		{"tasks that are added", []func(*worker) (string, error){tick("ok", "T001", "T002"), func(w *worker) (string, error) {
			text, err := os.ReadFile(w.list)
			if err == nil {
				err = os.WriteFile(w.list, append(text, "- [ ] T004 Four\n"...), 0o644)
			}
			return "", errors.Join(err, tasks.ListFile{Path: w.list}.Tick("T003"))
		}, tick("ok", "T004")}, nil,
			tasks.Report{Status: "completed", IterationsRun: 3, TasksCompleted: 4}, []string{"1 T001 success", "2 T003 failure", "3 T004 success"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, _, log := list(t, three, tt.steps...)
			s.Feature = "001-shop"
			if tt.change != nil {
				tt.change(s)
			}
			got, err := s.Run(t.Context())
			tt.want.FeatureBranch = "001-shop"
			if tt.want.MaxIterations == 0 {
				tt.want.MaxIterations = 10
			}
			if diff := cmp.Diff(tt.want, got, ignoreTimes); diff != "" {
				t.Error(diff)
			}
			if len(got.Unverified) != got.TasksCompleted || got.Rejected != nil || got.Pending != nil {
				t.Errorf("without a Verifier: %+v", got)
			}
			if diff := cmp.Diff(tt.log, sections(t, log)); diff != "" {
				t.Error(diff)
			}
			stop, _ := errors.AsType[*ralph.StopError](err)
			if tt.reason == "" && err != nil || tt.reason != "" && (stop == nil || stop.Reason != tt.reason) {
				t.Errorf("error %v, want %s", err, cmpOr(string(tt.reason), "none"))
			}
			if got.StartTime.IsZero() || got.EndTime.Before(got.StartTime) {
				t.Errorf("from %v to %v", got.StartTime, got.EndTime)
			}
		})
	}
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// TestSessionOddList: what is no task is not waited for, and ticking changes one
// byte a box.
func TestSessionOddList(t *testing.T) {
	t.Parallel()
	const odd = "\ufeff# Tasks\r\n\r\n- [ ] T001 One\r\n```\r\n- [ ] T007 in a fence\r\n```\r\n<!-- - [ ] T008 in a comment -->\r\n- [2026-01-29] a date\r\n" +
		"\r\n## Success criteria\r\n\r\n- [ ] SC-001 it is fast\r\n\r\n## Phase 2\r\n\r\n* [ ]\tT002 Two"
	s, _, log := list(t, odd, tick("ok", "T001"), tick("ok", "T002"))
	got, err := s.Run(t.Context())
	if err != nil || got.TasksCompleted != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(log), "tasks.md"))
	want := strings.NewReplacer("[ ] T001", "[x] T001", "[ ]\tT002", "[x]\tT002").Replace(odd)
	if err != nil || string(text) != want {
		t.Errorf("%q, %v", text, err)
	}
}

// TestSessionPrompt: the agent is told its task, what is missing and that its
// promise was early.
func TestSessionPrompt(t *testing.T) {
	t.Parallel()
	const promise = "<promise>COMPLETE</promise>"
	s, w, _ := list(t, "## Phase 1: Setup\n\n- [ ] T001 [P] [US1] One\n  - with care\n- [ ] T002 Two\n- [ ] T003 Three\n",
		says(promise, nil), tick(promise, "T001"), tick("ok", "T002"), tick("ok", "T003"))
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := s.Dir
	holds := func(i int, want ...string) {
		t.Helper()
		for _, text := range want {
			if !strings.Contains(w.prompts[i], text) {
				t.Errorf("prompt %d does not hold %q:\n%s", i+1, text, w.prompts[i])
			}
		}
	}
	holds(0, "feature 001-shop", "This is iteration 1.", `T001 One (in "Phase 1: Setup")`, "with care",
		filepath.Join(dir, "spec.md"), filepath.Join(dir, "tasks.md"), filepath.Join(dir, "progress.txt"))
	holds(1, "This is iteration 2.", "the box of T001 is not ticked", "claimed that everything is done, but 3 tasks are open: T001, T002, T003.", "Go on with T001.")
	holds(2, "This is iteration 3.", "T002 Two", "claimed that everything is done, but 2 tasks are open: T002, T003.")
	if strings.Contains(w.prompts[0], "What is missing") || strings.Contains(w.prompts[3], "What is missing") {
		t.Error("feedback stays after it was told")
	}
}

func TestSessionTemplate(t *testing.T) {
	t.Parallel()
	s, w, _ := list(t, three, tick("ok", "T001", "T002", "T003"))
	s.Template = "{FEATURE_NAME}|{SPEC_PATH}|{TASKS_PATH}|{PROGRESS_PATH}|{CURRENT_TASK}|{ITERATION_NUMBER}|{{MINE}}|{OTHER}"
	s.Values = map[string]string{"MINE": "{OTHER}"}
	s.Feature, s.Path, s.Spec, s.Progress = "001-shop", "t.md", "s.md", "p.txt"
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := `001-shop|s.md|t.md|p.txt|T001 One (in "Tasks")|1|{OTHER}|{OTHER}`; w.prompts[0] != want {
		t.Errorf("%q, want %q", w.prompts[0], want)
	}
	s.Template = "{{CURENT_TASK}}"
	if _, err := s.Run(t.Context()); err == nil {
		t.Error("a misspelt placeholder is no error")
	}
}

// TestSessionRefuses: nothing is run or written if there is nothing to work on.
func TestSessionRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": "", "done": "- [x] T001 One\n", "not UTF-8": "- [ ] T001 \xff\n", "no box": "# Tasks\n", "no ID": "- [ ] write it\n",
	} {
		s, w, log := list(t, text, tick("ok"))
		if _, err := s.Run(t.Context()); err == nil || len(w.prompts) > 0 {
			t.Errorf("%s: %v", name, err)
		} else if _, err := os.Stat(log); err == nil {
			t.Errorf("%s: a log was begun", name)
		}
	}
	s, w, _ := list(t, three, tick("ok"))
	if err := os.Remove(w.list); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	for _, s := range []*tasks.Session{{}, {Source: s.Source}, {Source: s.Source, Runner: w, Limits: ralph.Limits{Iterations: -1}}} {
		if _, err := s.Run(t.Context()); err == nil {
			t.Errorf("%+v runs", s)
		}
	}
}

// TestSessionInterrupted: what was ticked counts, and another session goes on.
func TestSessionInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := func(w *worker) (string, error) {
		tick("", "T002")(w)
		cancel(ralph.ErrCancelled)
		return "", ralph.ErrCancelled
	}
	s, w, log := list(t, three, tick("ok", "T001"), stop, tick("ok", "T003"))
	got, err := s.Run(ctx)
	want := tasks.Report{FeatureBranch: "001-shop", Status: "interrupted", MaxIterations: 10, IterationsRun: 2, TasksCompleted: 2, TasksRemaining: 1}
	if diff := cmp.Diff(want, got, ignoreTimes); diff != "" || !errors.Is(err, ralph.ErrCancelled) {
		t.Error(diff, err)
	}
	got, err = s.Run(t.Context())
	want = tasks.Report{FeatureBranch: "001-shop", Status: "completed", MaxIterations: 10, IterationsRun: 1, TasksCompleted: 1}
	if diff := cmp.Diff(want, got, ignoreTimes); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if len(w.prompts) != 3 || !strings.Contains(w.prompts[2], "T003 Three") {
		t.Errorf("%d prompts", len(w.prompts))
	}
	if diff := cmp.Diff([]string{"1 T001 success", "2 T002 success", "3 T003 success"}, sections(t, log)); diff != "" {
		t.Error(diff)
	}
}

// TestSessionInterruptedOpen: an attempt that was interrupted before the box was
// ticked is no iteration, and is made again.
func TestSessionInterruptedOpen(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := func(w *worker) (string, error) {
		tick("", "T003")(w) // which is another's
		cancel(ralph.ErrCancelled)
		return "", ralph.ErrCancelled
	}
	s, w, log := list(t, three, tick("ok", "T001"), stop, tick("ok", "T002"))
	got, err := s.Run(ctx)
	want := tasks.Report{FeatureBranch: "001-shop", Status: "interrupted", MaxIterations: 10, IterationsRun: 1, TasksCompleted: 2, TasksRemaining: 1}
	if diff := cmp.Diff(want, got, ignoreTimes); diff != "" || !errors.Is(err, ralph.ErrCancelled) {
		t.Error(diff, err)
	}
	if got, err := s.Run(t.Context()); err != nil || got.IterationsRun != 1 || got.TasksCompleted != 1 || !strings.Contains(w.prompts[2], "T002 Two") {
		t.Errorf("%+v, %v", got, err)
	}
	if all := sections(t, log); all[0] != "1 T001 success" || all[len(all)-1] != fmt.Sprintf("%d T002 success", len(all)) {
		t.Errorf("%q", all)
	}
}

// TestSessionListBroken: an agent that breaks the list is told so, and may mend
// it.
func TestSessionListBroken(t *testing.T) {
	t.Parallel()
	s, w, _ := list(t, three,
		func(w *worker) (string, error) { return "oops", os.Remove(w.list) },
		func(w *worker) (string, error) { return "mended", os.WriteFile(w.list, []byte(three), 0o644) },
		tick("ok", "T001", "T002", "T003"))
	got, err := s.Run(t.Context())
	if err != nil || got.IterationsRun != 3 || !strings.Contains(w.prompts[1], "the task list can no longer be read") {
		t.Errorf("%+v, %v", got, err)
	}
	s, _, _ = list(t, three, func(w *worker) (string, error) { return "oops", errors.Join(os.RemoveAll(w.list)) })
	if got, err := s.Run(t.Context()); !errors.Is(err, os.ErrNotExist) || got.Status != tasks.SessionFailed || got.TasksRemaining != 3 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSessionFeature(t *testing.T) {
	t.Parallel()
	s, _, log := list(t, three, tick("ok", "T001", "T002", "T003"))
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", "-b", "002-cart", filepath.Dir(log)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, err := s.Run(t.Context()); err != nil || got.FeatureBranch != "002-cart" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSessionPRD(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "prd.json")
	if err := os.WriteFile(path, []byte(`{"project":"shop","userStories":[{"id":"US-2","title":"Cart","priority":2,"passes":false},{"id":"US-1","title":"Login","acceptanceCriteria":["the tests pass"],"priority":1,"passes":false}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	done := func(id string) func(*worker) (string, error) {
		return func(*worker) (string, error) { return "ok", tasks.PRDFile{Path: path}.Tick(id) }
	}
	w := &worker{t: t, steps: []func(*worker) (string, error){done("US-1"), done("US-2")}}
	s := tasks.Session{Source: tasks.PRDFile{Path: path}, Runner: w, Dir: dir}
	got, err := s.Run(t.Context())
	if err != nil || got.TasksCompleted != 2 || !strings.Contains(w.prompts[0], "US-1 Login") || !strings.Contains(w.prompts[0], "- the tests pass") {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSessionLive: what an attempt has used so far is told while it runs.
func TestSessionLive(t *testing.T) {
	t.Parallel()
	s, w, _ := list(t, "- [ ] T001 One\n", tick("Done.", "T001"))
	s.Runner = ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
		req.Live(ralph.Usage{InputTokens: 7})
		return w.Run(ctx, req)
	})
	var told []string
	s.Live = func(req ralph.Request, u ralph.Usage) { told = append(told, fmt.Sprint(req.Task, u.InputTokens)) }
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"T0017"}, told); diff != "" {
		t.Error(diff)
	}
}
