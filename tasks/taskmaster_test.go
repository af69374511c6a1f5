package tasks_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks"
)

const taskmaster = `{
  "master": {
    "tasks": [
      {"id": 1, "title": "Set up", "description": "Module", "details": "go mod init", "testStrategy": "go build", "status": "done", "priority": "high", "dependencies": [],
       "subtasks": [{"id": 1, "title": "Old", "status": "pending", "dependencies": []}]},
      {"id": 2, "title": "Later", "status": "pending", "priority": "low", "dependencies": [1], "subtasks": []},
      {"id": 3, "title": "Parser", "status": "pending", "dependencies": [1, 2], "subtasks": [
        {"id": 1, "title": "Lexer", "status": "done", "dependencies": []},
        {"id": 2, "title": "Tree", "status": "pending", "dependencies": [3, "3.1"]},
        {"id": 3, "title": "Tokens", "status": "pending", "dependencies": [1], "acceptanceCriteria": "All tokens"}]},
      {"id": "4", "title": "Not now", "status": "deferred", "dependencies": [], "subtasks": [{"id": 1, "title": "Part", "status": "pending"}]},
      {"id": 5, "title": "Write", "status": "pending", "priority": "high", "dependencies": ["1", 4]},
      {"id": 6, "title": "Review", "status": "review", "priority": "low", "dependencies": []}
    ],
    "metadata": {"created": "2025-06-13T23:52:56.848Z"}
  },
  "other": {"tasks": [{"id": 1, "title": "Other", "status": "pending"}]}
}
`

// putTaskmaster makes a project of Taskmaster.
func putTaskmaster(t *testing.T, text, state string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), ".taskmaster")
	path := filepath.Join(dir, "tasks", "tasks.json")
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o640))
	if state != "" {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "state.json"), []byte(state), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTaskmaster: in the order in which Taskmaster hands its tasks out, subtasks before
// their task.
func TestTaskmaster(t *testing.T) {
	t.Parallel()
	src := tasks.TaskmasterFile{Path: putTaskmaster(t, taskmaster, "")}
	items, err := src.Items(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"[x] 1 | Set up",
		"[ ] 5 | Write after 1, 4",
		"[-] 6 | Review",
		"[ ] 2 | Later after 1",
		"[x] 3.1 | Lexer of 3",
		"[ ] 3.3 | Tokens of 3 after 3.1",
		"[ ] 3.2 | Tree of 3 after 3.3, 3.1",
		"[ ] 3 | Parser after 1, 2",
	}
	if diff := cmp.Diff(want, lines(items)); diff != "" {
		t.Error(diff)
	}
	if it := items[0]; it.Details != "Module\n\ngo mod init\n\nTest strategy: go build" || it.Priority != 2 || it.Line != 4 {
		t.Errorf("%+v", it)
	}
	if diff := cmp.Diff([]string{"All tokens"}, items[5].Acceptance); diff != "" {
		t.Error(diff)
	}
	all, err := src.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want = []string{
		"4 1",
		"5 1.1 skipped: it is a part of 1, which is done",
		"6 2",
		"7 3 waits: for 2, 3.3, 3.2",
		"8 3.1",
		"9 3.2 waits: for 2, 3.3",
		"10 3.3 waits: for 2",
		`11 4 skipped: "status" is "deferred"`,
		`11 4.1 skipped: it is a part of 4: "status" is "deferred"`,
		`12 5 : it comes after "4", which is no task: not waited for`,
		"13 6",
	}
	if diff := cmp.Diff(want, said(all)); diff != "" {
		t.Error(diff)
	}
}

// TestTaskmasterTags: which tasks are meant.
func TestTaskmasterTags(t *testing.T) {
	t.Parallel()
	const (
		a = `{"id":1,"title":"a","status":"pending"}`
		b = `{"id":1,"title":"b","status":"pending"}`
	)
	for name, tt := range map[string]struct{ text, state, tag, want string }{
		"no tags":                     {`{"tasks":[` + a + `]}`, "", "", "a"},
		"no tags, master":             {`{"tasks":[` + a + `],"metadata":{}}`, "", "master", "a"},
		"master":                      {`{"x":{"tasks":[` + b + `]},"master":{"tasks":[` + a + `]}}`, "", "", "a"},
		"the current one":             {`{"x":{"tasks":[` + b + `]},"master":{"tasks":[` + a + `]}}`, `{"currentTag":"x"}`, "", "b"},
		"the current one is gone":     {`{"x":{"tasks":[` + b + `]},"master":{"tasks":[` + a + `]}}`, `{"currentTag":"y"}`, "", "a"},
		"the chosen one":              {`{"x":{"tasks":[` + b + `]},"master":{"tasks":[` + a + `]}}`, `{"currentTag":"master"}`, "x", "b"},
		"the only one":                {`{"x":{"tasks":[` + b + `]}}`, "", "", "b"},
		"several":                     {`{"x":{"tasks":[` + a + `]},"y":{"tasks":[` + b + `]}}`, "", "", `there are several tags, and none is the current one: say which (--tag; in Go Tag): "x", "y"`},
		"an unknown one":              {`{"x":{"tasks":[` + a + `]},"y":{"tasks":[` + b + `]}}`, "", "z", `there is no tag "z": there are "x", "y"`},
		"none":                        {`{"x":{}}`, "", "", "there are no tasks of Taskmaster in it"},
		"an empty one":                {`{"x":{"tasks":[]}}`, "", "", "tasks is empty: have Taskmaster write tasks into it"},
		"a state that cannot be read": {`{"x":{"tasks":[` + b + `]},"master":{"tasks":[` + a + `]}}`, `{`, "", "a"},
		"a list":                      {`[` + a + `]`, "", "", "there are no tasks of Taskmaster in it"},
		"a tag twice":                 {`{"x":{"tasks":[` + a + `]},` + "\n" + `"x":{"tasks":[` + b + `]}}`, "", "", `line 2, column 1: a second "x"`},
		"tasks without a tag, too":    {`{"tasks":[` + a + `],` + "\n" + `"master":{"tasks":[` + b + `]}}`, "", "master", `line 2, column 1: the tasks of "master" stand here, and tasks without a tag, which are master's too, in line 1: take out those that are not meant`},
		"tasks twice":                 {`{"tasks":[` + a + `],"tasks":[` + b + `]}`, "", "", `column 52: a second "tasks"`},
		"no JSON":                     {`{"x":`, "", "", "line 1, column 6: bad JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := tasks.TaskmasterFile{Path: putTaskmaster(t, tt.text, tt.state), Tag: tt.tag}
			items, err := src.Items(t.Context())
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), src.Path) {
					t.Errorf("%v, want %s", err, tt.want)
				}
				return
			}
			if len(items) != 1 || items[0].Text != tt.want {
				t.Errorf("%v, want %s", lines(items), tt.want)
			}
		})
	}
	old := filepath.Join(t.TempDir(), "tasks", "tasks.json") // beside which a state.json is another program's
	text := `{"x":{"tasks":[` + b + `]},"master":{"tasks":[` + a + `]}}`
	if err := errors.Join(os.Mkdir(filepath.Dir(old), 0o700), os.WriteFile(old, []byte(text), 0o600),
		os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(old)), "state.json"), []byte(`{"currentTag":"x"}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if src, err := (tasks.TaskmasterFile{Path: old}).Resolve(t.Context()); err != nil || src.Tag != "master" {
		t.Error(src.Tag, err)
	}
	two := tasks.TaskmasterFile{Path: putTaskmaster(t, `{"tasks":[],"master":{"tasks":[]}}`, "")}
	if src, err := two.Resolve(t.Context()); err == nil || !strings.Contains(err.Error(), two.Path+": line 1, column 13: the tasks of") {
		t.Error(src, err)
	}
	tags, err := tasks.TaskmasterFile{Path: putTaskmaster(t, taskmaster, "")}.Tags()
	if diff := cmp.Diff([]string{"master", "other"}, tags); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// TestTaskmasterResolve: what an agent writes into state.json does not change which tasks
// are worked on.
func TestTaskmasterResolve(t *testing.T) {
	t.Parallel()
	path := putTaskmaster(t, taskmaster, `{"currentTag":"other"}`)
	src, err := tasks.OpenSource(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tasks.Source(tasks.TaskmasterFile{Path: path, Tag: "other"}), src); diff != "" {
		t.Error(diff)
	}
}

// TestTaskmasterTick: one value of the file becomes "done", that of the task of this tag.
func TestTaskmasterTick(t *testing.T) {
	t.Parallel()
	path := putTaskmaster(t, taskmaster, "")
	src := tasks.TaskmasterFile{Path: path}
	for _, step := range [][3]string{
		{"3.2", `"title": "Tree", "status": "pending"`, `"title": "Tree", "status": "done"`},
		{"6", `"status": "review"`, `"status": "done"`},
		{"4", `"status": "deferred"`, `"status": "done"`},
		{"1", "", ""},
	} {
		want := strings.Replace(read(t, path), step[1], step[2], 1)
		if err := src.Tick(step[0]); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, read(t, path)); diff != "" {
			t.Error(diff)
		}
	}
	src.Tag = "other"
	if err := src.Tick("1"); err != nil || !strings.Contains(read(t, path), `"title": "Other", "status": "done"`) {
		t.Error(err, read(t, path))
	}
	if got, want := src.HowDone(tasks.Item{ID: "1", Key: "1"}), `set "status" of the task "1" to "done" in `+path+`, below the tag "other"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if none, ok := errors.AsType[*tasks.NoItemError](src.Tick("3.2")); !ok || none.Key != "3.2" {
		t.Error("3.2 is not in this tag")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestTaskmasterBegun: the subtasks of what is in progress come first, as with Taskmaster.
func TestTaskmasterBegun(t *testing.T) {
	t.Parallel()
	src := tasks.TaskmasterFile{Path: putTaskmaster(t, `{"tasks":[{"id":1,"title":"a","status":"pending","priority":"high"},
{"id":2,"title":"b","status":"in-progress","priority":"low","subtasks":[{"id":1,"title":"c","status":"pending"}]}]}`, ""), Tag: "master"}
	items, err := src.Items(t.Context())
	if diff := cmp.Diff([]string{"[ ] 2.1 | c of 2", "[-] 2 | b", "[ ] 1 | a"}, lines(items)); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if got, want := src.HowDone(items[0]), `set "status" of the task "2.1" to "done" in `+src.Path; got != want {
		t.Errorf("%s, want %s", got, want) // and no tag, since there is none in the file
	}
}

// TestTaskmasterTwins: Taskmaster itself has written subtasks of one id.
func TestTaskmasterTwins(t *testing.T) {
	t.Parallel()
	src := tasks.TaskmasterFile{Path: putTaskmaster(t, `{"tasks":[{"id":1,"title":"a","status":"pending","subtasks":[
{"id":1,"title":"b","status":"done"},
{"id":1,"title":"c","status":"pending"}]}]}`, "")}
	items, err := src.Items(t.Context())
	if diff := cmp.Diff([]string{"[x] 1.1 | b of 1", "[ ] 1.1#2 | c of 1", "[ ] 1 | a"}, lines(items)); diff != "" || err != nil {
		t.Fatal(err, diff)
	}
	if got, want := src.HowDone(items[1]), `set "status" of the task "1.1" (c) to "done" in `+src.Path; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if err := src.Tick("1.1#2"); err != nil || !strings.Contains(read(t, src.Path), `"title":"c","status":"done"`) {
		t.Error(err, read(t, src.Path))
	}
}

// FuzzTaskmaster: to tick a task changes its status and nothing else, and it is done then.
func FuzzTaskmaster(f *testing.F) {
	f.Add([]byte(taskmaster))
	f.Add([]byte(`{"tasks":[{"id":1,"title":"a","subtasks":[{"id":1,"title":"b","subtasks":[{"id":"x","title":"c","status":null}]}]}]}`))
	f.Add([]byte(`{"tasks":[{"title":"a","done":false,"status":"wip"},{"title":"a","passes":null}]}`))
	src := tasks.TaskmasterFile{Tag: "master"}
	f.Fuzz(func(t *testing.T, text []byte) {
		marked, err := src.Mark("1", text)
		if err != nil {
			return
		}
		checkRest(t, text, marked)
		if !json.Valid([]byte(strings.TrimPrefix(string(marked), "\ufeff"))) {
			t.Fatalf("no JSON: %s", marked)
		}
		again, err := src.Mark("1", marked)
		if err != nil || string(again) != string(marked) {
			t.Fatalf("%v: it is not done in %s", err, marked)
		}
	})
}
