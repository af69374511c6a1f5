package tasks_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks"
)

// TestKindOfTools: the files that tools write are known by their keys.
func TestKindOfTools(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       tasks.Kind
	}{
		{"prd.json", `{"user_stories":[]}`, tasks.KindPRD},
		{"feature_list.json", `[{"category":"ui","description":"a","steps":[],"passes":false}]`, tasks.KindPRD},
		{"features.json", `{"features":[{"name":"a"}]}`, tasks.KindPRD},
		{"a.json", `{"stories":[]}`, tasks.KindPRD},
		{"a.json", `{"tasks":[{"id":"T1","title":"a","passes":false}]}`, tasks.KindPRD},
		{"a.json", `{"tasks":[{"id":"T1","title":"a","status":"done","files":["x"]}]}`, tasks.KindPRD},
		{"a.json", `[{"id":"T1","title":"a","state":"done","mode":"x"}]`, tasks.KindPRD},
		{"a.json", `[{"description":"a"}]`, tasks.KindPRD},
		{"prd.json", `{"userStories":[`, tasks.KindPRD},
		{"tasks.json", `{"master":{"tasks":[]}}`, tasks.KindTaskmaster},
		{"tasks.json", `{"master":{"tasks":[{"id":1,"title":"a"}],"metadata":{}},"x":{"tasks":[]}}`, tasks.KindTaskmaster},
		{"tasks.json", `{"tasks":[{"id":1,"title":"a","status":"pending","testStrategy":""}]}`, tasks.KindTaskmaster},
		{"tasks.json", `{"tasks":[{"id":1,"title":"a","status":"pending","subtasks":[]}],"metadata":{}}`, tasks.KindTaskmaster},
		{"tasks.json", `{"tasks":[{"id":"T1","title":"a","status":"todo","completion":{"outcome":"x"}}]}`, tasks.KindDefinitions},
		{"tasks.json", `{"tasks":[{"id":"T1","titel":"a","status":"todo"}]}`, tasks.KindDefinitions},
		{"tasks.json", `{"tasks":[{"id":"T1","title":"a","status":"todo","dependencies":[],"priority":1}]}`, tasks.KindDefinitions},
		{"tasks.json", `{"tasks":3}`, tasks.KindDefinitions},
	} {
		path := write(t, tt.name, tt.text)
		if got, err := tasks.KindOf(path); got != tt.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", tt.text, got, err, tt.want)
		}
	}
	path := putTaskmaster(t, `{"tasks":[{"id":1,"title":"a","status":"pending"}]}`, "")
	if got, err := tasks.KindOf(path); got != tasks.KindTaskmaster || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestKindOfFolders: a folder is one of Backlog.md, or none.
func TestKindOfFolders(t *testing.T) {
	t.Parallel()
	task := map[string]string{"README.md": "# a", "task-1 - a.md": front("id: task-1", "title: a", "status: To Do")}
	none := putBacklog(t, boards, nil)
	if err := os.Remove(filepath.Join(none, "tasks")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]tasks.Kind{
		none:                       tasks.KindBacklog, // its reader says that it has no tasks
		putBacklog(t, boards, nil): tasks.KindBacklog,
		putBacklog(t, "", task):    tasks.KindBacklog,
		filepath.Join(putBacklog(t, boards, task), "tasks"):                      tasks.KindBacklog,
		putBacklog(t, "a: b\n", map[string]string{"tasks.md": "- [ ] T001 a\n"}): "",
		filepath.Dir(putBacklog(t, boards, task)):                                "",
		t.TempDir(): "",
	} {
		got, err := tasks.KindOf(path)
		if got != want || (err == nil) != (want != "") || err != nil && !strings.Contains(err.Error(), path+" is a directory: give the path of the file in it") {
			t.Errorf("%s: %q, %v; want %q", path, got, err, want)
		}
	}
}

// TestKindOfStrangers: what is not read is refused by its name, with what can be done.
func TestKindOfStrangers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{".beads/issues.jsonl", `{"id":"bd-1"}`, "it seems to be the database of beads"},
		{"task-complexity-report.json", `{}`, "it seems to be Taskmaster's report on complexity; its tasks are in .taskmaster/tasks/tasks.json: name that"},
		{"report.json", `{"meta":{},"complexityAnalysis":[]}`, "Taskmaster's report on complexity"},
		{".taskmaster/state.json", `{"currentTag":"master"}`, "a setting of Taskmaster"},
		{"other.json", `{"currentTag":"master","lastSwitched":"2026-01-02","branchTagMapping":{}}`, "a setting of Taskmaster"},
		{".taskmaster/tasks/task_001.txt", "# Task ID: 1", "a copy of one task that Taskmaster writes"},
		{"package.json", `{"name":"x"}`, "a setting of a package"},
		{"other.json", `{"name":"x","version":"1","scripts":{}}`, "a setting of a package"},
		{".vscode/tasks.json", `{"version":"2.0.0","tasks":[{"label":"a"}]}`, "a setting of VS Code"},
		{"sprint-status.yaml", "a: b\n", "BMAD's list of stories and their status"},
		{"s.yaml", "x: 1\ndevelopment_status:\n  epic-1: done\n", "BMAD's list of stories and their status"},
		{"epics.md", "# Epics\n", "BMAD's epics, which have no boxes"},
		{"all.md", "## Epic 1: A\n### Story 1.1: B\n", "BMAD's epics, which have no boxes"},
		{"1.1.login.md", "# Story 1.1: Login\n## Acceptance Criteria\n1. a\n", "a story of BMAD without boxes"},
		{"spec.md", "# Spec\n", "a specification or plan without boxes; the tasks are in the tasks.md beside it: name that"},
		{"requirements.md", "# R\n", "a document of Kiro without boxes"},
		{"proposal.md", "# P\n", "a proposal of OpenSpec without boxes"},
		{"backlog/tasks/task-1 - a.md", front("id: task-1", "title: a", "status: To Do"), "one task of Backlog.md; name the folder"},
		{"a.jsonl", `{}`, "is not known by its name"},
	} {
		path := filepath.Join(t.TempDir(), tt.name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(tt.text), 0o600)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			kind, err := tasks.KindOf(path)
			if kind != "" || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %q, %v; want %s", tt.name, kind, err, tt.want)
			}
		}
	}
	for name, text := range map[string]string{ // boxes are what counts
		"spec.md": "- [ ] T001 a\n", "epics.md": "## Epic 1\n### Story 1\n- [x] T001 a\n", "plan.md": "", "other.md": "# Story\n",
	} {
		if kind, err := tasks.KindOf(write(t, name, text)); kind != tasks.KindList || err != nil {
			t.Errorf("%s: %q, %v", name, kind, err)
		}
	}
}

// TestKindSource: a kind's source at a path, and what OpenSource makes of it.
func TestKindSource(t *testing.T) {
	t.Parallel()
	backlog := putBacklog(t, boards, map[string]string{"a.md": front("id: a-1", "title: a", "status: To Do")})
	master := putTaskmaster(t, taskmaster, "")
	for _, tt := range []struct {
		kind        tasks.Kind
		path        string
		want, after tasks.Source
	}{
		{tasks.KindBacklog, backlog, tasks.Backlog{Path: backlog}, tasks.Backlog{Path: backlog, Done: "Done", Statuses: []string{"To Do", "In Progress", "Awaiting Merge", "Done"}}},
		{tasks.KindTaskmaster, master, tasks.TaskmasterFile{Path: master}, tasks.TaskmasterFile{Path: master, Tag: "master"}},
		{tasks.KindList, "tasks.md", tasks.ListFile{Path: "tasks.md"}, nil},
		{tasks.KindPRD, "prd.json", tasks.PRDFile{Path: "prd.json"}, nil},
		{tasks.KindDefinitions, "tasks.yaml", nil, nil},
	} {
		if diff := cmp.Diff(tt.want, tt.kind.Source(tt.path)); diff != "" {
			t.Error(diff)
		}
		if tt.after == nil {
			continue
		}
		src, err := tasks.OpenSource(tt.path)
		if diff := cmp.Diff(tt.after, src); diff != "" || err != nil {
			t.Error(err, diff)
		}
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(tt.path, link); err != nil {
			t.Fatal(err)
		}
		if tt.kind == tasks.KindTaskmaster {
			link += ".json"
			if err := os.Symlink(tt.path, link); err != nil {
				t.Fatal(err)
			}
		}
		src, err = tasks.OpenSource(link)
		if diff := cmp.Diff(tt.after, src); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
}
