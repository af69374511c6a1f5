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
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks"
)

// numbered is a list of n open tasks, T001 and so on.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- [ ] T%03d Task %d\n", i+1, i+1)
	}
	return b.String()
}

// TestFailure08Promise: "done" with 3 of 16 tasks done is a false claim, and the
// next prompt says what is missing.
func TestFailure08Promise(t *testing.T) {
	t.Parallel()
	const promise = "All done.\n\n<promise>COMPLETE</promise>"
	s, w, log := list(t, numbered(16), tick(promise, "T001", "T002", "T003"), says(promise, nil))
	s.Limits.Iterations = 2
	got, err := s.Run(t.Context())
	want := tasks.Report{FeatureBranch: "001-shop", Status: "failed", MaxIterations: 2, IterationsRun: 2, TasksCompleted: 3, TasksRemaining: 13}
	if diff := cmp.Diff(want, got, ignoreTimes); diff != "" {
		t.Error(diff)
	}
	if stop, ok := errors.AsType[*ralph.StopError](err); !ok || stop.Reason != ralph.StopIterations {
		t.Error(err)
	}
	if !strings.Contains(w.prompts[1], "13 tasks are open: T004, T005, T006, T007, T008, T009, T010, T011, T012, T013, T014, T015, T016.") {
		t.Error(w.prompts[1])
	}
	if diff := cmp.Diff([]string{"1 T001 success", "2 T004 failure"}, sections(t, log)); diff != "" {
		t.Error(diff) // the claim alone is no success of the task
	}
}

// TestFailure09SameSignal: COMPLETE after each task ends neither the session nor
// a task; and the last one needs none.
func TestFailure09SameSignal(t *testing.T) {
	t.Parallel()
	const promise = "<promise>COMPLETE</promise>"
	s, w, log := list(t, three, tick(promise, "T001"), says(promise, nil), tick(promise, "T002"), tick("no promise", "T003"))
	got, err := s.Run(t.Context())
	if err != nil || got.Status != tasks.SessionCompleted || got.IterationsRun != 4 || len(w.prompts) != 4 {
		t.Errorf("%+v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"1 T001 success", "2 T002 failure", "3 T002 success", "4 T003 success"}, sections(t, log)); diff != "" {
		t.Error(diff)
	}
}

// TestFailure22SameTaskForEver: a task that is never ticked is given up after
// three misses, which is on record once, and the next is begun.
func TestFailure22SameTaskForEver(t *testing.T) {
	t.Parallel()
	s, _, log := list(t, "- [ ] T001 One\n- [ ] T002 Two\n", says("I did it, really", nil))
	s.Limits.Iterations = 100
	got, err := s.Run(t.Context())
	if stop, ok := errors.AsType[*ralph.StopError](err); !ok || stop.Reason != ralph.StopStalled || got.IterationsRun != 6 {
		t.Errorf("%+v, %v", got, err)
	}
	want := []string{"1 T001 failure", "2 T001 failure", "3 T001 skipped", "4 T002 failure", "5 T002 failure", "6 T002 skipped"}
	if diff := cmp.Diff(want, sections(t, log)); diff != "" {
		t.Error(diff)
	}
	// The list is read anew: a task that was put before the others is next.
	s, w, _ := list(t, "- [ ] T002 Two\n", func(w *worker) (string, error) {
		return "ok", os.WriteFile(w.list, []byte("- [ ] T001 One\n- [x] T002 Two\n"), 0o644)
	}, tick("ok", "T001"))
	if got, err := s.Run(t.Context()); err != nil || got.TasksCompleted != 2 || !strings.Contains(w.prompts[1], "T001 One") {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestFailure23NoTask: what only looks like a task is not waited for, and is
// counted nowhere.
func TestFailure23NoTask(t *testing.T) {
	t.Parallel()
	const text = "- [2026-01-29] a date\n- [ ]T009 no space\n- [y] T009 no mark\n[ ] T009 no list\n\n" +
		"```sh\n- [ ] T009 fenced\n```\n\n    - [ ] T009 code\n\n<!-- - [ ] T009 comment -->\n> - [ ] T009 quoted\n\n" +
		"- [ ] T001 One\n- [ ] no ID\n\n## Success criteria\n\n- [ ] T009 It is fast\n- [ ] SC-001 It is small\n"
	s, w, _ := list(t, text, tick("ok", "T001"))
	got, err := s.Run(t.Context())
	want := tasks.Report{FeatureBranch: "001-shop", Status: "completed", MaxIterations: 10, IterationsRun: 1, TasksCompleted: 1}
	if diff := cmp.Diff(want, got, ignoreTimes); diff != "" || err != nil {
		t.Error(diff, err)
	}
	now, err := os.ReadFile(w.list)
	if diff := cmp.Diff(strings.Replace(text, "[ ] T001", "[x] T001", 1), string(now)); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestFailure24SameWords: a session that works is not stopped because the agent
// says the same after each task.
func TestFailure24SameWords(t *testing.T) {
	t.Parallel()
	steps := make([]func(*worker) (string, error), 12)
	for i := range steps {
		steps[i] = tick("Task done.", fmt.Sprintf("T%03d", i+1))
	}
	s, _, _ := list(t, numbered(12), steps...)
	s.Limits.Iterations = 12
	s.Limits.Stalls = 3
	s.Workspace = noWorkspace
	if got, err := s.Run(t.Context()); err != nil || got.TasksCompleted != 12 || got.IterationsRun != 12 {
		t.Errorf("%+v, %v", got, err)
	}

	// Nor because it says the same of one task and changes nothing, or nothing but
	// other boxes, as long as it is not told to look for stalls, or there are not so
	// many in a row: a box that is ticked ends the row.
	const same = "Task done."
	still := func(context.Context, string) (string, []string, error) { return "unchanged", nil, nil }
	steps = []func(*worker) (string, error){says(same, nil), says(same, nil), tick(same, "T002"), says(same, nil), tick(same, "T001")}
	for _, stalls := range []int{0, 3} {
		s, _, log := list(t, numbered(2), steps...)
		s.Limits.Iterations, s.Limits.Stalls, s.Misses, s.Workspace = 10, stalls, 6, still
		if got, err := s.Run(t.Context()); err != nil || got.TasksCompleted != 2 || got.IterationsRun != 5 {
			t.Errorf("stalls %d: %+v, %v", stalls, got, err)
		}
		if diff := cmp.Diff([]string{"1 T001 failure", "2 T001 failure", "3 T001 success", "4 T001 failure", "5 T001 success"}, sections(t, log)); diff != "" {
			t.Error(diff)
		}
	}
	loop := ralph.Local{Runner: ralph.Replay(same, same, same), Workspace: still,
		Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Reject("the box is open"), nil })}
	task := ralph.Task{ID: "T001", Prompt: "Do it.", Always: true, Limits: ralph.Limits{Iterations: 10, Stalls: 1}}
	if got, err := loop.Run(t.Context(), ralph.Start(task)); got.Stop != ralph.StopStalled {
		t.Errorf("a loop with Stalls ends with %q, %v", got.Stop, err)
	}
}

// TestFailure36AgentEdits: the agent may delete what the session writes, and the
// list; the session's own count stays, nothing is restored over the agent's work,
// and nothing uncommitted is touched. A list that is gone is no list that is done.
func TestFailure36AgentEdits(t *testing.T) {
	t.Parallel()
	s, w, log := list(t, three, tick("ok", "T001"), func(w *worker) (string, error) {
		dir := filepath.Dir(w.list)
		return "cleaned up\n\n<promise>COMPLETE</promise>", errors.Join(os.Remove(filepath.Join(dir, "progress.txt")), os.RemoveAll(filepath.Join(dir, ".ralph")), os.Remove(w.list))
	}, func(w *worker) (string, error) {
		text := strings.NewReplacer("[ ] T001", "[x] T001", "[ ] T002", "[x] T002").Replace(three)
		return "restored", os.WriteFile(w.list, []byte(text), 0o644)
	}, tick("ok", "T003"))
	dir := filepath.Dir(log)
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q", "-b", "main")
	for _, name := range []string{"committed.go", "staged.go", "work.go", ".ralph/log.jsonl"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("uncommitted\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	git("add", "committed.go")
	git("commit", "-q", "-m", "first")
	if err := os.WriteFile(filepath.Join(dir, "committed.go"), []byte("changed since\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git("add", "staged.go")
	// All that git keeps, and what is not committed.
	view := func() map[string]string {
		all := map[string]string{"status": git("status", "--porcelain", "--", ".", ":!tasks.md", ":!progress.txt", ":!.ralph"), "refs": git("log", "--all", "--oneline"), "stash": git("stash", "list")}
		for _, name := range []string{"committed.go", "staged.go", "work.go", ".git/index", ".git/HEAD"} {
			all[name] = read(t, filepath.Join(dir, name))
		}
		return all
	}
	before := view()
	file, err := progress.OpenJSONL(filepath.Join(t.TempDir(), "log.jsonl")) // outside the agent's tree
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s.Log = progress.Multi(s.Log, &progress.JSONL{W: file})
	got, err := s.Run(t.Context())
	want := tasks.Report{FeatureBranch: "main", Status: "completed", MaxIterations: 10, IterationsRun: 4, TasksCompleted: 3}
	if diff := cmp.Diff(want, got, ignoreTimes); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if !strings.Contains(w.prompts[2], "the task list can no longer be read") {
		t.Error(w.prompts[2])
	}
	// progress.txt is begun again; the log that is not in the tree has it all.
	if diff := cmp.Diff([]string{"1 T002 failure", "2 T002 success", "3 T003 success"}, sections(t, log)); diff != "" {
		t.Error(diff)
	}
	in, err := os.Open(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var ended []string
	for rec, err := range progress.ReadJSONL(in) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Kind == ralph.EventIterationEnded {
			ended = append(ended, rec.TaskID+" "+string(rec.Outcome))
		}
	}
	if diff := cmp.Diff([]string{"T001 success", "T002 failure", "T002 success", "T003 success"}, ended); diff != "" {
		t.Error(diff)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "work.go")); err != nil || string(text) != "uncommitted\n" {
		t.Errorf("%q, %v", text, err)
	}
	if diff := cmp.Diff(before, view()); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(dir, ".ralph")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what the agent deleted is there again: %v", err)
	}
}

// TestFailure36StaleMerge: a merge brings an old list back, in which a task is
// missing and another is open again. Neither is done because it once was, or is
// not named: the claim is rejected, and the tasks are asked for.
func TestFailure36StaleMerge(t *testing.T) {
	t.Parallel()
	const promise = "Merged.\n\n<promise>COMPLETE</promise>"
	merge := func(w *worker) (string, error) {
		return promise, os.WriteFile(w.list, []byte("- [ ] T001 One\n- [x] T002 Two\n"), 0o644)
	}
	s, w, log := list(t, three, tick("ok", "T001"), merge, tick("ok", "T001"))
	got, err := s.Run(t.Context())
	want := tasks.Report{FeatureBranch: "001-shop", Status: "failed", MaxIterations: 10, IterationsRun: 3, TasksCompleted: 2, TasksRemaining: 1}
	if diff := cmp.Diff(want, got, ignoreTimes); diff != "" {
		t.Error(diff)
	}
	if stop, ok := errors.AsType[*ralph.StopError](err); !ok || stop.Reason != ralph.StopStalled || !strings.Contains(stop.Detail, "no longer in the list: T003") {
		t.Error(err)
	}
	if !strings.Contains(w.prompts[2], "T001 One") || !strings.Contains(w.prompts[2], "2 tasks are open: T001, T003.") {
		t.Error(w.prompts[2])
	}
	if diff := cmp.Diff([]string{"1 T001 success", "2 T002 success", "3 T001 success"}, sections(t, log)); diff != "" {
		t.Error(diff)
	}
}
