package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// put writes a file into a folder of the test's own.
func put(t testing.TB, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// holds checks what is in a file.
func holds(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
}

func read(t *testing.T, src pipeline.Source) []spec.Definition {
	t.Helper()
	defs, err := src.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return defs
}

// order shows who waits for whom.
func order(defs []spec.Definition) string {
	var b strings.Builder
	for _, d := range defs {
		fmt.Fprintf(&b, "%s: %s", d.ID, strings.Join(d.Dependencies, " "))
		if d.Status == spec.StatusDone {
			b.WriteString(" (done)")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// speckit is the list of package tasks that has the shape that spec-kit writes.
func speckit(t *testing.T) string {
	t.Helper()
	archive, err := txtar.ParseFile("../testdata/lists/speckit.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return string(archive.Files[0].Data)
}

// Items marked [P] of one phase do not wait for each other; all else is in the order
// of the list.
func TestListOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, file, text string
		want             string
	}{
		{"no marks", "tasks.md", "- [x] T001 a\n- [ ] T002 b\n- [ ] T003 c\n", "T001:  (done)\nT002: T001\nT003: T002\n"},
		{"a group", "tasks.md", "- [ ] T001 a\n- [ ] T002 [P] b\n- [ ] T003 [P] c\n- [ ] T004 d\n", "T001: \nT002: T001\nT003: T001\nT004: T002 T003\n"},
		{"two groups", "tasks.md", "- [ ] T001 [P] a\n- [ ] T002 [P] b\n- [ ] T003 c\n- [ ] T004 [P] d\n- [ ] T005 [P] e\n",
			"T001: \nT002: \nT003: T001 T002\nT004: T003\nT005: T003\n"},
		{"two phases", "tasks.md", "## A\n- [ ] T001 [P] a\n- [ ] T002 [P] b\n## B\n- [ ] T003 [P] c\n- [ ] T004 [P] d\n",
			"T001: \nT002: \nT003: T001 T002\nT004: T001 T002\n"},
		{"below a phase", "tasks.md", "## A\n### Tests\n- [ ] T001 [P] a\n### Code\n- [ ] T002 [P] b\n", "T001: \nT002: T001\n"},
		{"done, but earlier ones are not", "tasks.md", "- [ ] T001 a\n- [ ] T002 [P] b\n- [x] T003 [P] c\n## B\n- [x] T004 d\n- [x] T005 e\n- [ ] T006 f\n- [ ] T007 g\n",
			"T001: \nT002: T001\nT003: T001 (done)\nT004: T002 T003 (done)\nT005: T004 T002 (done)\nT006: T005 T002\nT007: T006\n"},
		{"the same twice", "tasks.md", "- [ ] T001 a\n- [ ] T001 b\n", "T001: \nT001#2: T001\n"},
		{"spec-kit", "tasks.md", speckit(t),
			"T001:  (done)\nT002: T001 (done)\nT003: T001\nT012: T002 T003\nT013: T002 T003\nT014: T012 T013\nT015: T014\n"},
		{"stories", "prd.json", `{"userStories":[{"id":"B","title":"b","priority":2},{"id":"A","title":"a","priority":1},{"id":"C","title":"c"},{"id":"D","title":"d","priority":2,"passes":true}]}`,
			"A: \nB: A\nD: B (done)\nC: D B\n"},
	} {
		src, err := tasks.OpenSource(put(t, test.file, test.text))
		if err != nil {
			t.Fatal(test.name, err)
		}
		if diff := cmp.Diff(test.want, order(read(t, pipeline.List{Source: src}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// As a run works a list off, what is left waits for the same as before.
func TestListOrderStays(t *testing.T) {
	t.Parallel()
	list := pipeline.List{Source: tasks.ListFile{Path: put(t, "tasks.md", speckit(t))}}
	before := read(t, list)
	for i, d := range before {
		if err := list.Write(t.Context(), d.ID, pipeline.Update{Status: spec.StatusDone}); err != nil {
			t.Fatal(err)
		}
		for j, now := range read(t, list) {
			if keys := before[j].Changed(now); len(keys) > 0 {
				t.Errorf("when %s is done, %s has changed: %v", d.ID, now.ID, keys)
			}
			if done := now.Status == spec.StatusDone; j == i && !done {
				t.Errorf("%s is not done", now.ID)
			}
		}
	}
}

func TestListDefinitions(t *testing.T) {
	t.Parallel()
	list := put(t, "tasks.md", "## Phase 1: Setup\n- [ ] T001 [P] Write it\n  with care\n- [ ] T002\n- [ ] not a task\n")
	prd := put(t, "prd.json", `[{"id":"A","title":"Search","description":"As a buyer","acceptanceCriteria":["fast"," "],"priority":3}]`)
	for _, test := range []struct {
		src  tasks.Source
		want []spec.Definition
	}{
		{tasks.ListFile{Path: list}, []spec.Definition{
			{ID: "T001", Title: "Write it", Status: spec.StatusTodo, Description: "T001 Write it (in \"Phase 1: Setup\")\n\nwith care"},
			{ID: "T002", Title: "T002", Status: spec.StatusTodo, Dependencies: []string{"T001"}, Description: "T002  (in \"Phase 1: Setup\")"},
		}},
		{tasks.PRDFile{Path: prd}, []spec.Definition{
			{ID: "A", Title: "Search", Status: spec.StatusTodo, Priority: 3, Description: "A Search\n\nAs a buyer", Completion: &spec.Completion{Outcome: "Search", Acceptance: []string{"fast"}}},
		}},
	} {
		got := read(t, pipeline.List{Source: test.src})
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%T (-want +got):\n%s", test.src, diff)
		}
		for _, d := range got {
			if err := d.Validate(nil); err != nil {
				t.Error(err)
			}
		}
	}
	all := read(t, pipeline.List{Source: tasks.ListFile{Path: list, AllBoxes: true}})
	if diff := cmp.Diff("T001: \nT002: T001\nnot a task: T002\n", order(all)); diff != "" {
		t.Errorf("all boxes (-want +got):\n%s", diff)
	}
}

// Only that a task is done is written, and it is one byte of a list.
func TestListWrite(t *testing.T) {
	t.Parallel()
	const boxes = "- [ ] T001 [P] a\r\n- [ ] T002 [P] b\r\n- [ ] T003 [P] c\r\n"
	path := put(t, "tasks.md", boxes)
	list := pipeline.List{Source: tasks.ListFile{Path: path}}
	read(t, list)
	for _, s := range []spec.Status{spec.StatusTodo, spec.StatusRunning, spec.StatusFailed, spec.StatusSkipped} {
		u := pipeline.Update{Status: s, Iteration: 2, Running: &pipeline.Running{Stage: "coder"}, Failure: &pipeline.Failure{Stage: "coder"}}
		if err := list.Write(t.Context(), "T002", u); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	holds(t, path, boxes)
	for range 2 {
		if err := list.Write(t.Context(), "T002", pipeline.Update{Status: spec.StatusDone}); err != nil {
			t.Error(err)
		}
		holds(t, path, strings.Replace(boxes, "[ ] T002", "[x] T002", 1))
	}
	for id, want := range map[string]bool{"T001": true, "T002": false, "T009": false} {
		if got, err := list.Take(t.Context(), id); got != want || err != nil {
			t.Errorf("take %s: %t, %v", id, got, err)
		}
	}
	err := list.Write(t.Context(), "T009", pipeline.Update{Status: spec.StatusDone})
	if altered, ok := errors.AsType[*pipeline.AlteredError](err); !ok || altered.What != "removed" {
		t.Errorf("a task that is gone: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*pipeline.LostError](list.Write(t.Context(), "T001", pipeline.Update{Status: spec.StatusDone})); !ok {
		t.Error("a list that is gone is not lost")
	}
	if _, err := list.Take(t.Context(), "T001"); err == nil {
		t.Error("taken from a list that is gone")
	}
}

// A task is marked wherever it stands in a text, and nothing else differs: adjacent
// boxes of two branches too.
func TestListMark(t *testing.T) {
	t.Parallel()
	md := pipeline.List{Source: tasks.ListFile{Path: "tasks.md"}}
	prd := pipeline.List{Source: tasks.PRDFile{Path: "prd.json"}}
	for _, test := range []struct {
		name           string
		list           pipeline.List
		id, text, want string // "" = removed
	}{
		{"adjacent", md, "T002", "- [x] T001 [P] a\n- [ ] T002 [P] b\n- [ ] T003 [P] c\n", "- [x] T001 [P] a\n- [x] T002 [P] b\n- [ ] T003 [P] c\n"},
		{"moved and worded anew", md, "T001", "# New\r\n\r\n* [ ] T002 b\r\n* [ ] **T001** other words", "# New\r\n\r\n* [ ] T002 b\r\n* [x] **T001** other words"},
		{"marked before", md, "T001", "- [X] T001 a\n", "- [X] T001 a\n"},
		{"without an ID", md, "do it", "- [ ] T001 a\n- [ ] do it\n", "- [ ] T001 a\n- [x] do it\n"},
		{"the second", md, "T001#2", "- [ ] T001 a\n- [ ] T001 a\n", "- [ ] T001 a\n- [x] T001 a\n"},
		{"gone", md, "T001", "- [ ] T002 a\n", ""},
		{"story", prd, "B", `[{"id":"A","title":"a"},{"title":"b", "id":"B" , "passes" : false}]`, `[{"id":"A","title":"a"},{"title":"b", "id":"B" , "passes" : true}]`},
		{"story that says nothing", prd, "A", `[{"id":"A","title":"a"}]`, `[{"id":"A","title":"a","passes":true}]`},
	} {
		got, err := test.list.Mark(test.id, []byte(test.text))
		if _, removed := errors.AsType[*pipeline.AlteredError](err); removed != (test.want == "") || !removed && err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	for _, list := range []pipeline.List{md, prd} {
		if _, err := list.Mark("A", []byte("\xff")); err == nil || !strings.HasPrefix(err.Error(), "pipeline: "+list.Filename()+": ") {
			t.Errorf("no text: %v", err)
		}
	}
}

// What a program has elsewhere must be told what is done.
func TestListOfAnother(t *testing.T) {
	t.Parallel()
	none := pipeline.List{Source: tasks.SourceFunc(func(context.Context) ([]tasks.Item, error) { return []tasks.Item{{Key: "A"}}, nil })}
	if _, err := none.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "Tick(key string) error") {
		t.Errorf("a source without Tick: %v", err)
	}
	src := &tracker{items: []tasks.Item{{Key: "A", Text: "a"}, {Key: "B", Text: "b"}}}
	list := pipeline.List{Source: src}
	if got := order(read(t, list)); got != "A: \nB: A\n" || list.Filename() != "" {
		t.Errorf("%q in %q", got, list.Filename())
	}
	if err := list.Write(t.Context(), "B", pipeline.Update{Status: spec.StatusDone}); err != nil || !src.items[1].Done {
		t.Errorf("not told: %v", err)
	}
}

// A tracker is a source of a program's own.
type tracker struct{ items []tasks.Item }

func (t *tracker) Items(context.Context) ([]tasks.Item, error) { return t.items, nil }

func (t *tracker) Tick(key string) error {
	for i := range t.items {
		t.items[i].Done = t.items[i].Done || t.items[i].Key == key
	}
	return nil
}
