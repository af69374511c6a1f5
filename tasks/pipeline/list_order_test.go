package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// An item waits for its parts and for what it comes after, beside what keeps the order;
// where people state what waits for what, for that alone.
func TestListWaits(t *testing.T) {
	t.Parallel()
	items := func(items ...tasks.Item) tasks.Source { return &tracker{items: items} }
	for _, test := range []struct {
		name string
		src  tasks.Source
		want string
	}{
		{"parts", items(tasks.Item{Key: "1"}, tasks.Item{Key: "1.1", Parent: "1"}, tasks.Item{Key: "1.2", Parent: "1"}, tasks.Item{Key: "2"}),
			"1.1: \n1.2: 1.1\n1: 1.2 1.1\n2: 1\n"},
		{"parts beside each other", items(tasks.Item{Key: "1", Parallel: true}, tasks.Item{Key: "1.1", Parent: "1", Parallel: true}, tasks.Item{Key: "1.2", Parent: "1", Parallel: true}, tasks.Item{Key: "2", Parallel: true}),
			"1.1: \n1.2: \n1: 1.1 1.2\n2: \n"},
		{"after", items(tasks.Item{Key: "1", After: []string{"3", "none"}, Parallel: true}, tasks.Item{Key: "2", Parallel: true}, tasks.Item{Key: "3", Parallel: true}),
			"2: \n3: \n1: 3\n"},
		{"a circle", items(tasks.Item{Key: "1", After: []string{"2"}, Parallel: true}, tasks.Item{Key: "2", After: []string{"1"}, Parallel: true}), "1: \n2: 1\n"},
		{"a list", tasks.ListFile{Path: put(t, "tasks.md", "- [ ] 1. A\n  - [ ] 1.1 B\n  - [x] 1.2 C\n- [ ] 2. D\n")}, "1.1: \n1.2: 1.1 (done)\n1: 1.2 1.1\n2: 1\n"},
		{"Taskmaster", tasks.TaskmasterFile{Path: put(t, "tasks.json", `{"tasks":[{"id":1,"title":"a","status":"pending","dependencies":[3]},
			{"id":2,"title":"b","status":"pending","dependencies":[],"subtasks":[{"id":1,"title":"c","status":"pending","dependencies":[]}]},
			{"id":3,"title":"d","status":"done","dependencies":[]}]}`)}, "2.1: \n2: 2.1\n3:  (done)\n1: 3\n"},
	} {
		list := pipeline.List{Source: test.src}
		before := read(t, list)
		if diff := cmp.Diff(test.want, order(before)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
			continue
		}
		for _, d := range before { // what is left stays as it was, also where others have begun with it
			if err := test.src.(interface{ Tick(string) error }).Tick(d.ID); err != nil {
				t.Fatal(err)
			}
			if src, ok := test.src.(*tracker); ok {
				src.items[0].Doing = true
			}
			for _, now := range read(t, list) {
				i := slices.IndexFunc(before, func(was spec.Definition) bool { return was.ID == now.ID })
				if keys := before[i].Changed(now); len(keys) > 0 {
					t.Errorf("%s: when %s is done, %s has changed: %v", test.name, d.ID, now.ID, keys)
				}
			}
		}
	}
	whole := read(t, pipeline.List{Source: items(tasks.Item{Key: "1", ID: "1", Text: "A"}, tasks.Item{Key: "1.1", ID: "1.1", Parent: "1", Text: "B"})})[1]
	if !strings.Contains(whole.Description, "1 A\n\nIts parts are tasks of their own, and are done") || !strings.HasSuffix(whole.Description, "\n- [x] 1.1 B") {
		t.Errorf("the whole: %q", whole.Description)
	}
}

// What a template says of the end of the work, and of what there is to read, is the
// source's.
func TestListTold(t *testing.T) {
	t.Parallel()
	path := put(t, "tasks.md", "- [ ] T1 a\n")
	design := filepath.Join(filepath.Dir(path), "design.md")
	if err := os.WriteFile(design, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		src    tasks.Source
		values map[string]string
		want   string
	}{
		{tasks.ListFile{Path: path}, nil, "tick its box in " + path + `: "[ ]" becomes "[x]"; ` + design},
		{tasks.ListFile{Path: path}, map[string]string{"DOCUMENTS": "d", "HOW_DONE": "h"}, "h; d"},
		{&tracker{items: []tasks.Item{{Key: "T1"}}}, map[string]string{"SPEC_PATH": "s.md"}, "mark it as done where the tasks are kept; s.md, if it is there"},
	} {
		l := pipeline.List{Source: test.src}
		text, err := l.Prompt("{HOW_DONE}; {DOCUMENTS}", test.values)(pipeline.Stage{Definition: read(t, l)[0]})(t.Context(), ralph.Start(ralph.Task{Prompt: "x"}))
		if got, _, _ := strings.Cut(text, "\n"); got != test.want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, test.want)
		}
	}
}

// A folderSource has each item in a file of its own: "open", and "done" when it is.
type folderSource struct{ dir string }

func (f folderSource) Items(context.Context) (items []tasks.Item, err error) {
	entries, err := os.ReadDir(f.dir)
	for _, e := range entries {
		text, errRead := os.ReadFile(f.FilenameOf(e.Name()))
		items, err = append(items, tasks.Item{ID: e.Name(), Key: e.Name(), Text: e.Name(), Parallel: true, Done: string(text) == "done\n"}), errors.Join(err, errRead)
	}
	return items, err
}

func (f folderSource) Tick(key string) error {
	return os.WriteFile(f.FilenameOf(key), []byte("done\n"), 0o644)
}
func (f folderSource) Filename() string             { return "" }
func (f folderSource) FilenameOf(key string) string { return filepath.Join(f.dir, key) }
func (f folderSource) Mark(_ string, text []byte) ([]byte, error) {
	if string(text) != "open\n" {
		return nil, fmt.Errorf("%q was given", text)
	}
	return []byte("done\n"), nil
}

// TestListOfFiles: where each task is in a file of its own, that one is marked in the
// commit that brings the work, and what agents do to any of them is dropped.
func TestListOfFiles(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"todo/A": "open\n", "todo/B": "open\n", "todo/C": "open\n"})
	a := &agents{do: func(_ context.Context, req ralph.Request) (string, error) {
		sh(t, req.Dir, "echo x >"+req.Task+"; echo mine >todo/A; echo done >todo/"+req.Task+"; git add -A; git commit -qm work")
		return claim(req), nil
	}}
	p := &pipeline.Pipeline{
		Source: pipeline.List{Source: folderSource{filepath.Join(dir, "todo")}}, Dir: dir, Runner: a.runner,
		Record: record(t), Stages: []string{"coder"}, Rules: pipeline.Rules{Slots: 2, Merge: true},
	}
	if _, err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"A": "x", "B": "x", "C": "x", "todo/A": "done", "todo/B": "done", "todo/C": "done"}
	if diff := cmp.Diff(want, there(t, dir, "main")); diff != "" {
		t.Errorf("on main (-want +got):\n%s", diff)
	}
	for commit := range strings.FieldsSeq(sh(t, dir, "git log --first-parent --format=%h main~3..main")) { // each marks its own
		if said := sh(t, dir, "git diff --name-only "+commit+"^ "+commit); strings.Count(said, "\n") != 1 || !strings.HasSuffix(said, "todo/"+said[:1]) {
			t.Errorf("%s brings\n%s", commit, said)
		}
	}
	sound(t, dir)
}
