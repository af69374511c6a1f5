package spec_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// What stands in the file stays as it is; the new task is laid out like it.
func TestAdd(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, added string }{
		{"a list", "- id: A # c\n  title: a\n", "- id: B\n  title: b\n  dependencies:\n    - A\n"},
		{"tasks:", "version: 1\ntasks:\n  # c\n  - id: A\n    title: a\n", "  - id: B\n    title: b\n    dependencies:\n      - A\n"},
		{"no line end", "- id: A", "\n- id: B\n  title: b\n  dependencies:\n    - A\n"},
		{"CRLF", "- id: A\r\n", "- id: B\r\n  title: b\r\n  dependencies:\r\n    - A\r\n"},
		{"one task", "task:\n  id: A\n", "---\ntask:\n  id: B\n  title: b\n  dependencies:\n    - A\n"},
		{"something after the list", "tasks:\n- id: A\nversion: 1\n", "---\ntask:\n  id: B\n  title: b\n  dependencies:\n    - A\n"},
		{"braces", "[{id: A}]\n", "---\ntask:\n  id: B\n  title: b\n  dependencies:\n    - A\n"},
		{"JSON", `[{"id":"A"}<>]`, `,{"id":"B","title":"b","dependencies":["A"]}`},
		{"JSON over lines", "{\"tasks\": [\n  {\"id\": \"A\"}<>\n]}\n", ",\n  {\n    \"id\": \"B\",\n    \"title\": \"b\",\n    \"dependencies\": [\n      \"A\"\n    ]\n  }"},
	} {
		before, after, found := strings.Cut(test.in, "<>")
		f, err := spec.Parse("f", []byte(before+after))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Add(spec.Definition{ID: "B", Title: "b", Dependencies: []string{"A"}}); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		want := before + test.added + after
		if !found {
			want = test.in + test.added
		}
		if diff := cmp.Diff(want, string(f.Bytes())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if got := content(f); got != "task A, task B" {
			t.Errorf("%s: the file holds %s", test.name, got)
		}
	}
}

// A definition with everything in it, too.
func TestAddFull(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"- id: A\n", "tasks:\n    - id: A\n", "id: A\n", "[\n\t{\"id\": \"A\"}\n]"} {
		f, err := spec.Parse("f", []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		d := full()
		d.Completion.Acceptance[2] = "c\r\nd"
		f.Methods = spec.Methods{"mine": func(json.RawMessage, spec.Env) (ralph.Verifier, error) { return nil, nil }}
		if err := f.Add(d); err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if diff := cmp.Diff(d, f.Definitions()[1]); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}

func TestAddRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, in string
		def      spec.Definition
		want     string
	}{
		{"not valid", "- id: A", spec.Definition{Title: "b"}, "spec: id is missing"},
		{"known", "- id: A", spec.Definition{ID: "A", Title: "a"}, "f: A: the file has a task of this ID"},
		{"one in JSON", `{"id": "A"}`, spec.Definition{ID: "B", Title: "b"}, "f: B: it cannot be added: the file holds no list of tasks"},
		{"an agent without a name", "- id: A", spec.Definition{ID: "B", Completion: &spec.Completion{Agents: []spec.AgentCriteria{{}}}}, `spec: completion: "" cannot be the name of one more agent`},
	} {
		f, err := spec.Parse("f", []byte(test.in))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Add(test.def); err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
		if string(f.Bytes()) != test.in {
			t.Errorf("%s: the text changed: %q", test.name, f.Bytes())
		}
	}
}
