package tasks_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks"
)

// putBacklog makes a folder of Backlog.md: front matter by the name of the file, with the
// text below it after an empty line.
func putBacklog(t *testing.T, config string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "backlog")
	err := os.MkdirAll(filepath.Join(dir, "tasks"), 0o700)
	if config != "" {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "config.yml"), []byte(config), 0o600))
	}
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "tasks", name), []byte(text), 0o640))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// front is a file with this front matter.
func front(rows ...string) string { return "---\n" + strings.Join(rows, "\n") + "\n---\n" }

const boards = "project_name: \"x\"\nstatuses: [\"To Do\", \"In Progress\", \"Awaiting Merge\", \"Done\"]\n"

// TestBacklog: in the order of the board, parts and predecessors first.
func TestBacklog(t *testing.T) {
	t.Parallel()
	dir := putBacklog(t, boards, map[string]string{
		"task-10 - Ten.md":     front("id: task-10", "title: Ten", "status: To Do"),
		"task-2 - Two.md":      front("id: task-2", "title: 'Two: it''s'", "status: Awaiting Merge", "assignee: @me", "dependencies: []"),
		"task-3 - Three.md":    front("id: task-3", "title: >-", "  Three", "  lines", "status: \"In Progress\"", "priority: high", "dependencies:", "  - TASK-010", "  - task-99"),
		"task-4 - Four.md":     front("id: task-4", "title: Four: unquoted", "status: To Do", "ordinal: 2000"),
		"task-5 - Five.md":     front("id: task-5", "title: Five", "status: To Do", "ordinal: 1000"),
		"task-5.1 - Part.md":   front("id: task-5.1", "title: Part", "status: To Do", "parent_task_id: TASK-5"),
		"task-5.2 - Part 2.md": front("id: task-5.2", "title: Part 2", "status: Done"),
		"task-6 - Six.md":      front("id: task-6", "title: Six", "status: Cancelled"),
		"task-7 - Seven.md":    front("id: task-7", "title: Seven", "status: Tested"),
		"task-8 - Eight.md":    front("id: task-8", "title: Eight"),
		"task-8b - Eight.md":   front("id: task-8", "title: Again", "status: Done"),
		"README.md":            "# Read me\n",
		"doc.md":               front("title: A document"),
		"notes.txt":            "x",
	})
	src := tasks.Backlog{Path: dir}
	items, err := src.Items(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"[ ] task-5.1 | Part of task-5",
		"[x] task-5.2 | Part 2 of task-5",
		"[ ] task-5 | Five",
		"[ ] task-4 | Four: unquoted",
		"[-] task-2 | Two: it's",
		"[ ] task-7 | Seven",
		"[ ] task-8 | Eight",
		"[x] task-8#2 | Again",
		"[ ] task-10 | Ten",
		"[-] task-3 | Three lines after task-10, task-99",
	}
	if diff := cmp.Diff(want, lines(items)); diff != "" {
		t.Error(diff)
	}
	all, err := src.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want = []string{
		"1 README.md no_front: tasks/README.md; it has no front matter",
		"1 doc.md no_front: tasks/doc.md; its front matter has no id",
		"2 task-2 : tasks/task-2 - Two.md",
		"2 task-3 waits: tasks/task-3 - Three.md; for task-10; it depends on task-99, which is not in this folder: not waited for",
		"2 task-4 : tasks/task-4 - Four.md",
		"2 task-5 waits: tasks/task-5 - Five.md; for task-5.1",
		"2 task-5.1 : tasks/task-5.1 - Part.md",
		"2 task-5.2 : tasks/task-5.2 - Part 2.md",
		`2 task-6 skipped: tasks/task-6 - Six.md; its status is "Cancelled"`,
		`2 task-7 : tasks/task-7 - Seven.md; its status "Tested" is not known, and taken for open`,
		"2 task-8 : tasks/task-8 - Eight.md",
		"2 task-8#2 : tasks/task-8b - Eight.md; another file has the same id",
		"2 task-10 : tasks/task-10 - Ten.md",
	}
	if diff := cmp.Diff(want, said(all)); diff != "" {
		t.Error(diff)
	}
	if got := src.FilenameOf("task-8#2"); got != filepath.Join(dir, "tasks", "task-8b - Eight.md") || src.FilenameOf("x") != "" || src.Filename() != "" {
		t.Error(got)
	}
	if _, err := src.Mark("task-8#2", []byte(front("id: task-8"))); err != nil {
		t.Error(err)
	}
	if got, want := src.HowDone(items[0]), `set status to "Done" in the front matter of `+filepath.Join(dir, "tasks", "task-5.1 - Part.md"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestBacklogText: what the sections of a file say.
func TestBacklogText(t *testing.T) {
	t.Parallel()
	text := front("id: task-1", "title: One", "status: To Do") + `
## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
What to do.

## A heading within
` + "```\n## no heading\n```" + `
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
- [ ] #1 It works
- [x] #2 It is
  tested
<!-- AC:END -->

## Definition of Done
- [ ] Lint passes

## Context
Why.

## Implementation Plan (Optional)
1. Think

## Implementation Notes
Was hard.
`
	for _, text := range []string{text, strings.ReplaceAll(text, "\n", "\r\n")} {
		items, err := tasks.Backlog{Path: putBacklog(t, boards, map[string]string{"a.md": text})}.Items(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := "What to do.\n\n## A heading within\n```\n## no heading\n```\n\nContext:\nWhy.\n\nImplementation plan:\n1. Think"
		if diff := cmp.Diff(want, items[0].Details); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"It works", "It is tested", "Lint passes"}, items[0].Acceptance); diff != "" {
			t.Error(diff)
		}
	}
}

// TestBacklogTick: one value of one file is another one.
func TestBacklogTick(t *testing.T) {
	t.Parallel()
	for was, want := range map[string]string{
		"status: To Do":              "status: Done",
		"status: 'In Progress'  # x": "status: 'Done'  # x",
		`status: "To Do"`:            `status: "Done"`,
		"status:":                    "status: Done",
		"Status : open":              "Status : Done",
		"status: Done":               "status: Done",
		"status: closed":             "status: closed",
		"labels: [a]":                "labels: [a]",
	} {
		for _, end := range []string{"\n", "\r\n"} {
			rows := func(status string) string {
				return strings.ReplaceAll("\ufeff"+front("id: task-1", "title: a: b", status, "assignee: @me", "labels: ['x',  y]")+"\nstatus: To Do\n", "\n", end)
			}
			after := rows(want)
			if !strings.HasPrefix(strings.ToLower(was), "status") {
				after = strings.Replace(after, "id: task-1"+end, "id: task-1"+end+"status: Done"+end, 1)
			}
			dir := putBacklog(t, boards, map[string]string{"task-1 - a.md": rows(was)})
			src := tasks.Backlog{Path: filepath.Join(dir, "tasks")}
			for range 2 { // the second time nothing is written
				if err := src.Tick("task-1"); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(after, read(t, filepath.Join(dir, "tasks", "task-1 - a.md"))); diff != "" {
					t.Error(diff)
				}
			}
			if items, err := src.Items(t.Context()); err != nil || !items[0].Done {
				t.Errorf("%v, %v", lines(items), err)
			}
		}
	}
	dir := putBacklog(t, "", map[string]string{"a.md": front("id: task-1", "title: a", "status: |", "  open")})
	if err := (tasks.Backlog{Path: dir}).Tick("task-1"); err == nil || !strings.Contains(err.Error(), `line 4: the value of "status" cannot be changed in place: write it as status: Done`) {
		t.Error(err)
	}
	if none, ok := errors.AsType[*tasks.NoItemError](tasks.Backlog{Path: dir}.Tick("task-2")); !ok || none.Key != "task-2" {
		t.Error("there is no task-2")
	}
}

// TestBacklogDone: the word for what is done is the project's.
func TestBacklogDone(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		"":                                       "Done",
		boards:                                   "Done",
		"a: b\n":                                 "Done",
		"statuses:\n  - Offen\n  - \"Fertig\"\n": "Fertig",
		"statuses: [To Do, Done, Archived]\n":    "Done",
		"statuses: [To Do, In Progress, Review]\n":     "Review",
		"statuses: [To Do, \"Done: really\"]\nx: @y\n": "Done: really",
	} {
		dir := putBacklog(t, config, map[string]string{"a.md": front("id: a-1", "title: a", "status: To Do")})
		src, err := tasks.Backlog{Path: dir}.Resolve(t.Context())
		if err != nil || src.Done != want {
			t.Errorf("%q: %q, %v; want %q", config, src.Done, err, want)
		}
		if err := src.Tick("a-1"); err != nil {
			t.Error(err)
		}
		if items, err := (tasks.Backlog{Path: dir}).Items(t.Context()); err != nil || !items[0].Done {
			t.Errorf("%q: it is not done in %s (%v)", config, read(t, filepath.Join(dir, "tasks", "a.md")), err)
		}
	}
}

// TestBacklogErrors: what is no folder of Backlog.md, or cannot be read.
func TestBacklogErrors(t *testing.T) {
	t.Parallel()
	empty := putBacklog(t, boards, nil)
	large := putBacklog(t, boards, map[string]string{"a.md": ""})
	if err := os.Truncate(filepath.Join(large, "tasks", "a.md"), 1<<30); err != nil { // it takes no room
		t.Fatal(err)
	}
	many := make(map[string]string)
	for i := range 10_001 {
		many[fmt.Sprintf("%d.md", i)] = ""
	}
	for path, want := range map[string]string{
		"":                                    "no path of a folder of Backlog.md is given",
		filepath.Join(t.TempDir(), "nowhere"): "file does not exist",
		t.TempDir():                           "is no folder of Backlog.md: there is no folder tasks in it",
		empty:                                 "there is no task in it",
		large:                                 "has more than 67108864 bytes",
		putBacklog(t, boards, many):           "there are more than 10000 files in it",
	} {
		items, err := tasks.Backlog{Path: path}.Items(t.Context())
		if err == nil || items != nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v, %v; want %s", items, err, want)
		}
	}
}

// FuzzFrontMatter: to tick a task changes one line of its file at most, or adds one, and
// the task is done then.
func FuzzFrontMatter(f *testing.F) {
	for _, status := range []string{"status: To Do", "status: 'a'", `status: "b" # c`, "status: |\n  d", "status: [a]", "title: x", "Status : &a b", "status:\n", "status: {a: b}"} {
		f.Add([]byte(front("id: task-1", status, "title: a: b", "dependencies:", "- task-2")))
	}
	f.Add([]byte("---\nid: task-1")) // nothing closes it
	src := tasks.Backlog{Done: "Done"}
	f.Fuzz(func(t *testing.T, text []byte) {
		marked, err := src.Mark("task-1", text)
		if err != nil {
			return
		}
		was, is := strings.SplitAfter(string(text), "\n"), strings.SplitAfter(string(marked), "\n")
		from := 0
		for from < min(len(was), len(is)) && was[from] == is[from] {
			from++
		}
		tail := 0
		for tail < min(len(was), len(is))-from && was[len(was)-1-tail] == is[len(is)-1-tail] {
			tail++
		}
		if len(is)-tail-from > 1 {
			t.Fatalf("%q became %q", was[from:len(was)-tail], is[from:len(is)-tail])
		}
		again, err := src.Mark("task-1", marked)
		if err != nil || string(again) != string(marked) {
			t.Fatalf("%v: it is not done in %q", err, marked)
		}
	})
}
