package spec_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ralph-loop/ralph/tasks/spec"
)

// The flag has this name so that other test files of the package can have one.
var updateDefinitions = flag.Bool("update-definitions", false, "rewrite testdata/definitions/*.txtar")

// Every published snippet of the format loads as it stands and is valid.
func TestS1Snippets(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"s1_complete.yaml":            "task TASK-001",
		"s1_task_list.yaml":           "task TASK-001",
		"s1_string_match.yaml":        "coder string_match",
		"s1_semantic.yaml":            "reviewer semantic",
		"s1_external.yaml":            "tester external, reviewer external, coder external, qa external",
		"s1_multi_stage.yaml":         "qa multi_stage",
		"s1_options_semantic.yaml":    "semantic",
		"s1_options_external.yaml":    "external",
		"s1_options_multi_stage.yaml": "multi_stage",
	}
	files, err := filepath.Glob("testdata/definitions/s1_*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, path := range files {
		f, err := spec.Load(path)
		if err != nil {
			t.Errorf("Load: %v", err)
			continue
		}
		if err := f.Validate(); err != nil {
			t.Errorf("%s: Validate: %v", path, err)
		}
		if len(f.Warnings) > 0 {
			t.Errorf("%s: warnings %q", path, f.Warnings)
		}
		got[filepath.Base(path)] = content(f)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// content is what a file holds, in short.
func content(f *spec.File) string {
	var all []string
	for _, d := range f.Definitions() {
		all = append(all, "task "+d.ID)
	}
	for _, c := range f.Fragments() {
		if c.Outcome != "" || c.Acceptance != nil {
			all = append(all, fmt.Sprintf("completion %q %q", c.Outcome, c.Acceptance))
		}
		for _, a := range c.Agents {
			switch {
			case a.Agent == "" && a.Criteria.Promise == "" && a.Criteria.Method == "":
				all = append(all, "config")
			default:
				all = append(all, strings.TrimSpace(a.Agent+" "+a.Criteria.Method))
			}
		}
	}
	return strings.Join(all, ", ")
}

// What the complete example says is what is read.
func TestS1Complete(t *testing.T) {
	t.Parallel()
	f, err := spec.Load("testdata/definitions/s1_complete.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := f.Definitions()[0]
	c := d.Completion
	d.Completion = nil
	want := spec.Definition{
		ID: "TASK-001", SpecID: "auth-feature", Title: "Implement JWT authentication",
		Description: "Add JWT-based authentication to all API endpoints.\nInclude login, logout, and token refresh functionality.\n",
		Priority:    1, Dependencies: []string{},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var agents []string
	for _, a := range c.Agents {
		agents = append(agents, fmt.Sprint(a.Agent, " ", a.Criteria.Promise, " ", a.Criteria.Method, " ", a.Criteria.MaxIterations))
	}
	wantAgents := []string{"coder AUTH_IMPLEMENTED external 15", "reviewer AUTH_REVIEWED semantic 5", "tester AUTH_TESTS_PASS external 10", "qa AUTH_QA_COMPLETE multi_stage 5"}
	if diff := cmp.Diff(wantAgents, agents); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	if len(c.Acceptance) != 7 || c.Outcome != "All API endpoints require valid JWT tokens for access" {
		t.Errorf("outcome %q, acceptance %q", c.Outcome, c.Acceptance)
	}
	tester, _ := c.Agent("tester")
	wantConfig := `{"command":"pytest tests/test_auth.py -v --cov=src/auth --cov-fail-under=80","success_exit_code":0,"output_not_contains":"FAILED"}`
	if diff := cmp.Diff(wantConfig, string(tester.Config)); diff != "" {
		t.Errorf("tester's config (-want +got):\n%s", diff)
	}
}

func TestParseShapes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"a definition", "id: A\ntitle: a\n", "task A"},
		{"task:", "task:\n  id: A\n  title: a\n", "task A"},
		{"version and tasks:", "version: 1\ntasks:\n- id: A\n  title: a\n- task:\n    id: B\n    title: b\n", "task A, task B"},
		{"a list", "- {id: A, title: a}\n- {id: 7, title: b}\n", "task A, task 7"},
		{"documents", "---\nid: A\ntitle: a\n---\n# nothing\n---\n- id: B\n  title: b\n...\n", "task A, task B"},
		{"JSON", `{"tasks": [{"id": "A", "title": "a"}]}`, "task A"},
		{"JSON list with BOM and CRLF", "\ufeff[\r\n{\"id\": \"A\", \"title\": \"\\u00e4\"}]\r\n", "task A"},
		{"YAML with BOM and CRLF", "\ufeffid: A\r\ntitle: a\r\n", "task A"},
		{"numbers as IDs", "- {id: 007, title: a}\n- {id: 1.10, title: b, dependencies: [007]}\n", "task 007, task 1.10"},
		{"numbers", "id: A\ntitle: a\npriority: +0x1F\niteration: 1_0\n", "task A"},
		{"merges", "- &a {id: A, title: a}\n- &b {id: Q, title: b, priority: 1}\n- {<<: [*b, *a], id: B}\n- {<<: *a, id: C}\n", "task A, task Q, task B, task C"},
		{"a merge", "- &a {id: A, title: a}\n- {<<: *a, id: B}\n", "task A, task B"},
		{"completion", "completion:\n  outcome: o\n  acceptance_criteria: [a]\n  docs: {promise: P}\n", `completion "o" ["a"], docs`},
		{"inside of completion", "outcome: o\nacceptance_criteria: [a]\n", `completion "o" ["a"]`},
		{"one agent's", "promise: P\nverification_method: string_match\n", "string_match"},
		{"any agent's", "writer:\n  promise: P\n  verification_method: string_match\n", "writer string_match"},
		{"config", "command: make test\n", "external"},
		{"null is nothing", "id: A\ntitle: a\nspec_id:\ncompletion: {outcome: o, acceptance_criteria: [a], coder: null, tester: ~}\n", "task A"},
		{"completion_spec", "id: A\ntitle: a\ncompletion_spec: {outcome: o, acceptance_criteria: [a]}\n", "task A"},
	} {
		f, err := spec.Parse("f", []byte(test.text))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, content(f)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if err := f.Validate(); err != nil {
			t.Errorf("%s: Validate: %v", test.name, err)
		}
		if diff := cmp.Diff(test.text, string(f.Bytes())); diff != "" {
			t.Errorf("%s: Bytes (-want +got):\n%s", test.name, diff)
		}
	}
}

// testdata/definitions/problems.txtar holds texts and what is said of them: each
// file name.yaml is followed by name.want.
func TestProblems(t *testing.T) {
	t.Parallel()
	const path = "testdata/definitions/problems.txtar"
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		in, want := archive.Files[i], &archive.Files[i+1]
		var got strings.Builder
		f, err := spec.Parse(in.Name, in.Data)
		if err == nil {
			err = f.Validate()
			for _, w := range f.Warnings {
				got.WriteString("warning: " + w + "\n")
			}
			if err != nil {
				got.WriteString("loaded\n")
			}
		}
		if err != nil {
			got.WriteString(err.Error() + "\n")
		}
		if *updateDefinitions {
			want.Data = []byte(got.String())
		} else if diff := cmp.Diff(string(want.Data), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in.Name, diff)
		}
	}
	if *updateDefinitions {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every problem is a value with its place.
func TestProblemValues(t *testing.T) {
	t.Parallel()
	_, err := spec.Parse("t.yaml", []byte("- id: A\n  titel: a\n"))
	p, ok := errors.AsType[*spec.Problem](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	want := spec.Problem{File: "t.yaml", Line: 2, Column: 3, Task: "A", Text: `unknown key "titel"; did you mean "title"?`}
	if diff := cmp.Diff(want, *p); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// No text can take all memory, run anything, or bring the program down.
func TestParseBounds(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("a: &a [x,x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c <= 'j'; c++ {
		fmt.Fprintf(&bomb, "%c: &%c [*%c%s]\n", c, c, c-1, strings.Repeat(fmt.Sprintf(",*%c", c-1), 9))
	}
	long := "a: &a " + strings.Repeat("x", 1<<20) + "\nmetadata: [*a" + strings.Repeat(",*a", 100) + "]\n"
	for _, test := range []struct{ name, text, want string }{
		{"aliases of aliases", bomb.String(), "aliases count each time"},
		{"aliases of a long text", long, "aliases count each time"},
		{"an alias in itself", "&a [*a]\n", "f:1"},
		{"lists in YAML", strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "nested more than 100 deep"},
		{"lists in JSON", strings.Repeat("[", 5000) + "1" + strings.Repeat("]", 5000), "nested more than 100 deep"},
		{"mappings", strings.Repeat("{a: ", 300) + strings.Repeat("}", 300), "nested more than 100 deep"},
		{"a large file", "id: A\ntitle: " + strings.Repeat("x", 9<<20), "is the most that is read"},
		{"a tag", "id: !!python/object/apply:os.system [id]\n", "plain data"},
		{"a tag on text", "id: !sh id\n", "plain data"},
		{"a tag on a mapping", "!set {id: A}\n", "plain data"},
		{"not UTF-8", "id: A\ntitle: \xff\n", "f:2:8: the file is not UTF-8"},
		{"a control character", "id: A\ntitle: \x00\n", "f:2:8: there is a control character"},
	} {
		_, err := spec.Parse("f", []byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %.200v, want %s", test.name, err, test.want)
		}
		if err != nil && len(err.Error()) > 10_000 {
			t.Errorf("%s: the message has %d bytes", test.name, len(err.Error()))
		}
	}
}

// A great many mistakes do not take a great deal of time or text.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	_, err := spec.Parse("f", []byte(strings.Repeat("- {id: [], x: 1, <: y}\n", 20_000)))
	if err == nil {
		t.Fatal("no error")
	}
	if n := strings.Count(err.Error(), "\n"); n != 100 || !strings.HasSuffix(err.Error(), "and more") {
		t.Errorf("%d lines, the last %.80q", n+1, err.Error()[len(err.Error())-80:])
	}
}

func TestLoadMissing(t *testing.T) {
	t.Parallel()
	_, err := spec.Load(filepath.Join(t.TempDir(), "none.yaml"))
	if !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "spec: task file ") {
		t.Errorf("got %v", err)
	}
}

// What YAML writes in many ways is one value of JSON; what JSON cannot say is text.
func TestYAMLValues(t *testing.T) {
	t.Parallel()
	d := parseOne(t, `
id: A
metadata:
  a: [.5, 1_000, 0x1F, 0o17, +7, -.inf, .nan, 1e400, 1.50]
  b: [True, yes, ~, null, 2026-01-01, !!binary aGk=, "1"]
  1: {2: x}
`)
	got := map[string]string{}
	for key, value := range d.Metadata {
		got[key] = string(value)
	}
	want := map[string]string{
		"a": `[0.5,1000,31,15,7,"-.inf",".nan",1e400,1.50]`,
		"b": `[true,"yes",null,null,"2026-01-01","aGk=","1"]`,
		"1": `{"2":"x"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A cycle of many tasks is found, and told in short.
func TestLongCycle(t *testing.T) {
	t.Parallel()
	const n = 10_000
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "- {id: T%d, title: t, dependencies: [T%d], completion: {outcome: o, acceptance_criteria: [a]}}\n", i, (i+1)%n)
	}
	f, err := spec.Parse("f", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	err = f.Validate()
	if err == nil || strings.Count(err.Error(), " → ") != 21 || !strings.HasSuffix(err.Error(), "T18 → T19 → … → T0") {
		t.Errorf("got %v", err)
	}
}
