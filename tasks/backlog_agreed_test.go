package tasks_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
)

// put writes files below a folder, and makes the folders they are in.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBacklogCompleted: what is done and has been moved to completed is done, and what is
// not done there is no task.
func TestBacklogCompleted(t *testing.T) {
	t.Parallel()
	dir := putBacklog(t, boards, map[string]string{
		"task-1 - a.md": front("id: task-1", "title: a", "status: To Do", "dependencies: [task-2, task-3]"),
		"task-4 - d.md": front("id: task-4", "title: d", "status: To Do"),
	})
	put(t, dir, map[string]string{
		"completed/task-2 - b.md":    front("id: task-2", "title: b", "status: Done"),
		"completed/task-3 - c.md":    front("id: task-3", "title: c", "status: To Do"),
		"completed/task-4 - copy.md": front("id: task-4", "title: copy", "status: Done"),
		"completed/README.md":        "# Done\n",
	})
	src := tasks.Backlog{Path: dir}
	items, err := src.Items(t.Context())
	if diff := cmp.Diff([]string{"[x] task-2 | b", "[ ] task-1 | a after task-2, task-3", "[ ] task-4 | d", "[x] task-4#2 | copy"}, lines(items)); diff != "" || err != nil {
		t.Error(err, diff)
	}
	all, err := src.Check(t.Context())
	want := []string{
		"2 task-1 : tasks/task-1 - a.md",
		"2 task-2 : completed/task-2 - b.md",
		`2 task-3 skipped: completed/task-3 - c.md; it is in the folder completed, but its status is "To Do"`,
		"2 task-4 : tasks/task-4 - d.md",
		"2 task-4#2 : completed/task-4 - copy.md; another file has the same id",
	}
	if diff := cmp.Diff(want, said(all)); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if got := src.FilenameOf("task-2"); got != filepath.Join(dir, "completed", "task-2 - b.md") {
		t.Error(got)
	}
}

// TestBacklogMoved: an agent may do with its task what Backlog.md does with those that are
// done.
func TestBacklogMoved(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]tasks.SessionStatus{"Done": tasks.SessionCompleted, "To Do": tasks.SessionFailed} {
		dir := putBacklog(t, boards, map[string]string{
			"task-1 - a.md": front("id: task-1", "title: a", "status: To Do"),
			"task-2 - b.md": front("id: task-2", "title: b", "status: To Do"),
		})
		src, err := tasks.OpenSource(dir)
		if err != nil {
			t.Fatal(err)
		}
		s := tasks.Session{Source: src, Dir: filepath.Dir(dir), Feature: "f", Limits: ralph.Limits{Iterations: 4}}
		s.Runner = ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			put(t, dir, map[string]string{"completed/" + req.Task + ".md": front("id: "+req.Task, "title: x", "status: "+status)})
			_ = os.Remove(src.(tasks.Backlog).FilenameOf(req.Task))
			return ralph.Response{Output: "ok"}, nil
		})
		if rep, err := s.Run(t.Context()); rep.Status != want {
			t.Errorf("%s: %+v, %v; want %s", status, rep, err, want)
		}
	}
}

// TestBacklogPlace: the agent is shown where the tasks lie that are to be done, and not
// where those that are done were moved to.
func TestBacklogPlace(t *testing.T) {
	t.Parallel()
	dir := putBacklog(t, boards, map[string]string{"task-2 - b.md": front("id: task-2", "title: b", "status: To Do")})
	put(t, dir, map[string]string{"completed/task-1.md": front("id: task-1", "title: a", "status: Done")})
	s := tasks.Session{
		Source: tasks.Backlog{Path: dir}, Dir: filepath.Dir(dir), Template: "Tasks: {TASKS_PATH}|", Limits: ralph.Limits{Iterations: 1},
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			if want := "Tasks: " + filepath.Join(dir, "tasks") + "|"; !strings.HasPrefix(req.Prompt, want) {
				t.Errorf("%.200s, want %s", req.Prompt, want)
			}
			return ralph.Response{Output: "ok"}, nil
		}),
	}
	if _, err := s.Run(t.Context()); err == nil {
		t.Error("nothing was done, and it was no error")
	}
}

// TestBacklogResolve: what an agent writes beside the tasks changes neither what is done
// nor which tasks there are.
func TestBacklogResolve(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T) (string, tasks.Backlog) {
		t.Helper()
		dir := putBacklog(t, "statuses: [To Do, Done]\n", map[string]string{"task-1 - a.md": front("id: task-1", "title: a", "status: Sealed")})
		src, err := tasks.Backlog{Path: filepath.Join(dir, "tasks")}.Resolve(t.Context())
		if diff := cmp.Diff(tasks.Backlog{Path: dir, Done: "Done", Statuses: []string{"To Do", "Done"}}, src); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
		return dir, src
	}
	done := front("id: task-1", "title: x", "status: Done")
	t.Run("words", func(t *testing.T) {
		t.Parallel()
		dir, src := open(t)
		put(t, dir, map[string]string{"config.yml": "statuses: [To Do, Done, Sealed]\n"})
		if items, err := src.Items(t.Context()); err != nil || items[0].Done {
			t.Error(items, err)
		}
	})
	t.Run("the first words", func(t *testing.T) {
		t.Parallel()
		dir := putBacklog(t, "", map[string]string{"task-1 - a.md": front("id: task-1", "title: a", "status: Sealed")})
		src, err := tasks.Backlog{Path: dir}.Resolve(t.Context())
		put(t, dir, map[string]string{"config.yml": "statuses: [To Do, Sealed]\n"})
		if items, errItems := src.Items(t.Context()); err != nil || errItems != nil || items[0].Done {
			t.Error(items, err, errItems)
		}
	})
	t.Run("a folder within", func(t *testing.T) {
		t.Parallel()
		dir, src := open(t)
		put(t, dir, map[string]string{"tasks/tasks/task-1.md": done})
		if items, err := src.Items(t.Context()); err != nil || items[0].Done {
			t.Error(items, err)
		}
	})
	for _, name := range []string{"tasks", "completed", "."} {
		t.Run("a link "+name, func(t *testing.T) {
			t.Parallel()
			dir, src := open(t)
			other := t.TempDir()
			put(t, other, map[string]string{"task-1.md": done, "tasks/task-1.md": done})
			path := filepath.Join(dir, name)
			if err := errors.Join(os.RemoveAll(path), os.Symlink(other, path)); err != nil {
				t.Fatal(err)
			}
			items, err := src.Items(t.Context())
			if err == nil || !strings.Contains(err.Error(), path+": it is a link that leads out of the folder") && !strings.Contains(err.Error(), path+" is a link now") {
				t.Error(items, err)
			}
			if name != "completed" && src.Tick("task-1") == nil || src.FilenameOf("task-2") != "" {
				t.Error("the link is followed")
			}
		})
	}
}

// TestBacklogNamed: the file that is named by an id is the one that has it, and the
// others need not be read for that.
func TestBacklogNamed(t *testing.T) {
	t.Parallel()
	dir := putBacklog(t, boards, map[string]string{
		"0.md":            front("id: task-1", "title: twin", "status: To Do"),
		"TASK-1 - a.md":   front("id: task-1", "title: a", "status: To Do"),
		"task-1 - b.md":   front("id: task-9", "title: b", "status: To Do"),
		"task-10 - c.md":  front("id: task-10", "title: c", "status: To Do"),
		"task-2.md":       front("id: task-2", "title: d", "status: To Do"),
		"task-2 moved.md": front("id: task-3", "title: e", "status: To Do"),
	})
	src, err := tasks.Backlog{Path: dir}.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	items, err := src.Items(t.Context())
	if diff := cmp.Diff([]string{"[ ] task-1 | a", "[ ] task-1#2 | twin", "[ ] task-2 | d", "[ ] task-3 | e", "[ ] task-9 | b", "[ ] task-10 | c"}, lines(items)); diff != "" || err != nil {
		t.Error(err, diff)
	}
	names := func() (all []string) {
		for _, it := range items {
			all = append(all, it.Key+": "+filepath.Base(src.FilenameOf(it.Key)))
		}
		return all
	}
	want := []string{"task-1: TASK-1 - a.md", "task-1#2: 0.md", "task-2: task-2.md", "task-3: task-2 moved.md", "task-9: task-1 - b.md", "task-10: task-10 - c.md"}
	if diff := cmp.Diff(want, names()); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(filepath.Join(dir, "tasks", "z.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "tasks", "z.md"), 1<<30); err != nil { // it takes no room, and nobody reads it
		t.Fatal(err)
	}
	want[1], want[3], want[4] = "task-1#2: .", "task-3: .", "task-9: ."
	if diff := cmp.Diff(want, names()); diff != "" {
		t.Error(diff)
	}
	if err := src.Tick("task-2"); err != nil || !strings.Contains(read(t, filepath.Join(dir, "tasks", "task-2.md")), "status: Done") {
		t.Error(err)
	}
	for _, key := range []string{"task-1", "task-22", ""} {
		if none, ok := errors.AsType[*tasks.NoItemError](func() error { _, err := src.Mark(key, []byte(front("id: task-2"))); return err }()); !ok || none.Key != key {
			t.Errorf("%q is another one", key)
		}
	}
}

// TestBacklogBudget: the files together are bounded too.
func TestBacklogBudget(t *testing.T) {
	t.Parallel()
	dir := putBacklog(t, "", map[string]string{"a.md": "", "b.md": ""})
	for _, name := range []string{"a.md", "b.md"} {
		if err := os.Truncate(filepath.Join(dir, "tasks", name), 40<<20); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := (tasks.Backlog{Path: dir}).Items(t.Context()); err == nil || !strings.Contains(err.Error(), "b.md has more than 25165824 bytes") {
		t.Error(err)
	}
}

// TestBacklogTurn: the turn of a part is the better one of its own and that of its task.
func TestBacklogTurn(t *testing.T) {
	t.Parallel()
	task := func(id, priority string) string {
		return front("id: "+id, "title: "+id, "status: To Do", "priority: "+priority)
	}
	items, err := tasks.Backlog{Path: putBacklog(t, "", map[string]string{
		"1.md": task("task-1", "medium"), "2.md": task("task-2", "low"), "2.1.md": task("task-2.1", "high"),
		"3.md": task("task-3", "high"), "3.1.md": task("task-3.1", "low"),
	})}.Items(t.Context())
	var got []string
	for _, it := range items {
		got = append(got, it.Key)
	}
	if diff := cmp.Diff([]string{"task-2.1", "task-3.1", "task-3", "task-1", "task-2"}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// TestBacklogQuotedKey: a key in quotes below the status is left alone.
func TestBacklogQuotedKey(t *testing.T) {
	t.Parallel()
	src := tasks.Backlog{Done: "Done"}
	got, err := src.Mark("task-1", []byte(front("id: task-1", "status: To Do", `"my key": x`)))
	if diff := cmp.Diff(front("id: task-1", "status: Done", `"my key": x`), string(got)); diff != "" || err != nil {
		t.Error(err, diff)
	}
}
