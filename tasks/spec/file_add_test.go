package spec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/tasks/spec"
)

func TestFileAdd(t *testing.T) {
	t.Parallel()
	const def = "completion:\n    outcome: o\n    acceptance_criteria: [a]\n"
	added := spec.Definition{ID: "T9", Title: "Ninth: \"quoted\"", Description: "Two\nlines.\n", Dependencies: []string{"T1"}, Completion: &spec.Completion{
		Outcome: "it works", Acceptance: []string{"one", "- two"},
		Agents: []spec.AgentCriteria{{Agent: "coder", Criteria: spec.Criteria{Promise: "CODED", Method: "external", Config: []byte(`{"command":"go test ./..."}`)}}},
	}}
	for name, old := range map[string]string{
		"nothing":                  "",
		"a comment":                "# tasks\n",
		"a list":                   "# tasks\n- id: T1\n  title: First # it is\n",
		"a list, without an end":   "- id: T1\n  title: First",
		"an indented list":         "  - id: T1\n    title: First\n",
		"tasks":                    "tasks:\n  - id: T1\n    title: First\n",
		"tasks, not indented":      "tasks:\n- id: T1\n  title: First\n",
		"one task":                 "task:\n  id: T1\n  title: First\n  " + def,
		"a task without a wrapper": "id: T1\ntitle: First\n",
		"documents":                "id: T1\ntitle: First\n---\nid: T2\ntitle: Second\n",
		"CRLF":                     "- id: T1\r\n  title: First\r\n",
		"JSON list":                "[\n  {\"id\": \"T1\", \"title\": \"First\"}\n]\n",
		"JSON, empty list":         "[]",
		"JSON tasks":               "{\"tasks\": [{\"id\": \"T1\", \"title\": \"First\"}]}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := "spec.yaml"
			if strings.Contains(name, "JSON") {
				file = "spec.json"
			}
			f, err := spec.Parse(file, []byte(old))
			if err != nil {
				if strings.TrimSpace(old) == "" || strings.HasPrefix(old, "#") || old == "[]" {
					t.Skip("an empty file does not load") // see ralph task create
				}
				t.Fatal(err)
			}
			before := f.Definitions()
			if err := f.Add(added); err != nil {
				t.Fatal(err)
			}
			again, err := spec.Parse(file, f.Bytes())
			if err != nil {
				t.Fatalf("%v\n%s", err, f.Bytes())
			}
			if diff := cmp.Diff(append(before, added), again.Definitions()); diff != "" {
				t.Errorf("%s\n%s", diff, f.Bytes())
			}
			if !strings.HasPrefix(string(f.Bytes()), strings.TrimRight(old, "]} \n\r")) {
				t.Errorf("what stood there was changed:\n%s", f.Bytes())
			}
			if err := f.Add(added); err == nil {
				t.Error("the ID is given twice")
			}
			if err := f.Add(spec.Definition{ID: "T10"}); err == nil {
				t.Error("a definition without a title is added")
			}
		})
	}
}

func TestFileReady(t *testing.T) {
	t.Parallel()
	f, err := spec.Parse("t.yaml", []byte(`
- {id: A, title: a, status: done}
- {id: B, title: b, dependencies: [A], priority: 2}
- {id: C, title: c, dependencies: [A, B]}
- {id: D, title: d, status: failed}
- {id: E, title: e, dependencies: [D]}
- {id: F, title: f, status: running, priority: 1}
- {id: G, title: g, status: backlog}
- {id: H, title: h, status: skipped}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range f.Ready() {
		got = append(got, d.ID)
	}
	if diff := cmp.Diff([]string{"F", "B", "G"}, got); diff != "" {
		t.Error(diff)
	}
}
