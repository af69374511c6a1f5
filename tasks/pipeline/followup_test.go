package pipeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

const done = "  completion: {outcome: o, acceptance_criteria: [a]}\n"

// What an agent proposes is read as a task file is, and what is wrong with it has its
// place.
func TestReadFollowups(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 21 {
		fmt.Fprintf(&many, "- id: N%d\n  title: n\n%s", i, done)
	}
	for _, test := range []struct{ name, text, ids, want string }{
		{"none", "", "", ""},
		{"one", "task:\n  id: N\n  title: n\n  completion: {outcome: o, acceptance_criteria: [a]}\n", "N", ""},
		{"several", "- id: N\n  title: n\n  dependencies: [B]\n" + done + "- id: M\n  title: m\n  dependencies: [N]\n" + done, "N M", ""},
		{"JSON", `[{"id":"N","title":"n","completion":{"outcome":"o","acceptance_criteria":["a"]}}]`, "N", ""},
		{"without criteria", "- id: N\n  title: n\n" + done + "- id: M\n  title: m\n", "", "FILE:4:3: M: has no completion; its outcome and its acceptance_criteria say what done means"},
		{"without an outcome", "- id: N\n  title: n\n  completion: {acceptance_criteria: [a]}\n", "", "FILE:3:15: N: outcome is missing"},
		{"after nothing known", "- id: N\n  title: n\n  dependencies: [X]\n" + done, "", `FILE:3:18: N: depends on "X", which is not a task of this file`},
		{"a slip of the pen", "- id: N\n  titel: n\n" + done, "", `FILE:2:3: N: unknown key "titel"; did you mean "title"?`},
		{"no tasks", "# nothing\n", "", "FILE: there is no task in it"},
		{"only criteria", "outcome: o\nacceptance_criteria: [a]\n", "", "pipeline: follow-ups FILE: there is more in it than tasks; each has an id and a title"},
		{"too many", many.String(), "", "pipeline: follow-ups FILE: 21 tasks are proposed; at most 20 are taken"},
		{"too long", "# " + strings.Repeat("x", 64<<10), "", "pipeline: follow-ups FILE has more than 65536 bytes, which is the most that is read"},
	} {
		f := &pipeline.File{Path: put(t, "tasks.yaml", three)}
		read(t, f)
		path := filepath.Join(t.TempDir(), "followup.yaml")
		if test.text != "" {
			path = put(t, "followup.yaml", test.text)
		}
		defs, err := f.ReadFollowups(t.Context(), path)
		got := ""
		if err != nil {
			got = strings.ReplaceAll(err.Error(), path, "FILE")
		}
		if got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
		var ids []string
		for _, d := range defs {
			ids = append(ids, d.ID)
		}
		if diff := cmp.Diff(test.ids, strings.Join(ids, " ")); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		holds(t, f.Path, three)
	}
	f := &pipeline.File{Path: put(t, "tasks.yaml", three)}
	read(t, f)
	if _, err := f.ReadFollowups(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder is read")
	}
}

// What is added follows its parent, and is not taken for somebody else's.
func TestAddFollowups(t *testing.T) {
	t.Parallel()
	path := put(t, "tasks.yaml", three[:strings.Index(three, "\n- {id: C")]+"- {id: A-F1, title: Four}\n")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := &pipeline.File{Path: path}
	read(t, f)
	proposed, err := f.ReadFollowups(t.Context(), put(t, "followup.yaml", "- id: N\n  title: n\n  status: done\n  iteration: 9\n  metadata: {owner: me, ralph: {stage: qa}, ralph_failure: 1, parent: X}\n"+done+
		"- id: B\n  title: another B\n  dependencies: [N, A]\n"+done+"- id: A-F2\n  title: m\n"+done+"- id: O\n  title: o\n  dependencies: [A-F2, B]\n"+done))
	if err != nil {
		t.Fatal(err)
	}
	added, err := f.AddFollowups(t.Context(), "A", proposed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("N: A\nA-F3: N A\nA-F2: A\nO: A-F2 B A\n", order(added)); diff != "" {
		t.Error(diff)
	}
	for _, d := range added {
		if d.Status != spec.StatusTodo || d.Iteration != 0 || d.CreatedAt.IsZero() || string(d.Metadata["parent"]) != `"A"` || d.Metadata["ralph"] != nil || d.Metadata["ralph_failure"] != nil {
			t.Errorf("added as %+v", d)
		}
	}
	if string(added[0].Metadata["owner"]) != `"me"` || string(proposed[0].Metadata["parent"]) != `"X"` {
		t.Error("metadata is lost, or that of the proposal is changed")
	}
	after, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(after), string(before)) {
		t.Errorf("what stood there was changed: %v\n%s", err, after)
	}
	if altered, others, err := f.Changes(t.Context()); len(altered)+len(others) > 0 || err != nil {
		t.Errorf("%v, %v, %v", altered, order(others), err)
	}
	again := read(t, &pipeline.File{Path: path})
	if diff := cmp.Diff(added, again[3:]); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if ok, err := f.Take(t.Context(), "N"); !ok || err != nil {
		t.Errorf("not taken: %v", err)
	}
	// One may follow what was itself added.
	if more, err := f.AddFollowups(t.Context(), "A-F3", proposed[:1]); err != nil || order(more) != "A-F3-F1: A-F3\n" {
		t.Errorf("%v, %v", order(more), err)
	}
}

// A proposal that is not in order adds nothing, nor do those beside it.
func TestAddFollowupsRefused(t *testing.T) {
	t.Parallel()
	good := spec.Definition{ID: "N", Title: "n", Completion: &spec.Completion{Outcome: "o", Acceptance: []string{"a"}}}
	empty, missing, unnamed, itself := good, good, good, good
	itself.ID, itself.Dependencies = "M", []string{"M"}
	empty.ID, empty.Completion = "M", &spec.Completion{Outcome: "o"}
	missing.ID, missing.Dependencies = "M", []string{"X"}
	unnamed.ID, unnamed.Title = "M", ""
	for _, test := range []struct {
		parent string
		bad    spec.Definition
		want   string
	}{
		{"X", good, `pipeline: there is no task "X" in FILE that others could follow`},
		{"A", empty, "pipeline: M: a task that follows another needs an outcome and at least one acceptance criterion"},
		{"A", missing, `pipeline: M depends on "X", which is no task of FILE`},
		{"A", itself, "FILE:29:5: M: the tasks wait for each other: M → M"},
		{"A", unnamed, "spec: M: title is missing"},
	} {
		f := &pipeline.File{Path: put(t, "tasks.yaml", three[:strings.Index(three, "\n- {id: C")])}
		read(t, f)
		added, err := f.AddFollowups(t.Context(), test.parent, []spec.Definition{good, test.bad})
		if err == nil || strings.ReplaceAll(err.Error(), f.Path, "FILE") != test.want || added != nil {
			t.Errorf("added %d, %v, want %s", len(added), err, test.want)
		}
		holds(t, f.Path, three[:strings.Index(three, "\n- {id: C")])
		if _, err := f.Take(t.Context(), "N"); err == nil {
			t.Error("what was not added can be taken")
		}
	}
}
