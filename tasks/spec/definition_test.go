package spec_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// full is a definition with everything in it, hard texts and numbers included.
func full() spec.Definition {
	return spec.Definition{
		ID: "007", SpecID: "spec", Title: "true", Description: "two\nlines: & <more> \u2028 \x01 \"'\n\n", Status: "in review", Priority: -3,
		Dependencies: []string{"12", "null"}, Assignee: "~",
		CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), UpdatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Metadata: map[string]json.RawMessage{
			"number": json.RawMessage(`1.50`), "large": json.RawMessage(`123456789012345678901234567890`), "exp": json.RawMessage(`1e400`),
			"text": json.RawMessage(`"yes"`), "null": json.RawMessage(`null`), "deep": json.RawMessage(`{"z":[1,{"a":"<&>"}],"a":{}}`), "<<": json.RawMessage(`[]`),
			"": json.RawMessage(`false`), "2026-01-01": json.RawMessage(`"2026-01-01"`),
		},
		Iteration: 2,
		Completion: &spec.Completion{
			Outcome: "- o", Acceptance: []string{"a: b", " # c", ""},
			Agents: []spec.AgentCriteria{
				{Agent: "qa", Criteria: spec.Criteria{Promise: "P", Description: "d", Method: "external", Config: json.RawMessage(`{"command":"a && b","timeout":1.5}`), MaxIterations: 3, Blocked: "B", Guard: []string{"*_test.go"}}},
				{Agent: "coder", Criteria: spec.Criteria{Method: "mine", Config: json.RawMessage(`{}`)}},
				{Agent: "on", Criteria: spec.Criteria{Guard: []string{}}},
			},
		},
	}
}

func TestDefinitionRoundTrip(t *testing.T) {
	t.Parallel()
	empty := spec.Definition{Dependencies: []string{}, Metadata: map[string]json.RawMessage{}, Completion: &spec.Completion{Acceptance: []string{}}}
	for _, d := range []spec.Definition{full(), empty, {}} {
		sameAgain(t, d)
		text, err := d.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if d.ID == "" {
			continue
		}
		f, err := spec.Parse("f", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff([]spec.Definition{d}, f.Definitions()); diff != "" {
			t.Errorf("through a file (-want +got):\n%s\n%s", diff, text)
		}
	}
}

// The keys stand in one order, the same in JSON and YAML.
func TestDefinitionKeys(t *testing.T) {
	t.Parallel()
	d := full()
	d.Metadata, d.Completion.Agents = map[string]json.RawMessage{"a": json.RawMessage("1")}, d.Completion.Agents[:1]
	d.Description, d.Title, d.Dependencies = "d", "t", []string{"T2"}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		t.Fatal(err)
	}
	want := `{"id":"007","spec_id":"spec","title":"t","description":"d","status":"in review","priority":-3,"dependencies":["T2"],"assignee":"~",` +
		`"created_at":"2026-01-02T03:04:05.000000006Z","updated_at":"2026-01-02T03:04:05Z","metadata":{"a":1},"iteration":2,` +
		`"completion":{"outcome":"- o","acceptance_criteria":["a: b"," # c",""],` +
		`"qa":{"promise":"P","description":"d","verification_method":"external","verification_config":{"command":"a && b","timeout":1.5},"max_iterations":3,"blocked":"B","guard":["*_test.go"]}}}` + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	text, err := d.YAML()
	if err != nil {
		t.Fatal(err)
	}
	wantYAML := `task:
  id: "007"
  spec_id: spec
  title: t
  description: d
  status: in review
  priority: -3
  dependencies:
    - T2
  assignee: "~"
  created_at: "2026-01-02T03:04:05.000000006Z"
  updated_at: "2026-01-02T03:04:05Z"
  metadata:
    a: 1
  iteration: 2
  completion:
    outcome: "- o"
    acceptance_criteria:
      - "a: b"
      - " # c"
      - ""
    qa:
      promise: P
      description: d
      verification_method: external
      verification_config:
        command: a && b
        timeout: 1.5
      max_iterations: 3
      blocked: B
      guard:
        - "*_test.go"
`
	if diff := cmp.Diff(wantYAML, string(text)); diff != "" {
		t.Errorf("YAML (-want +got):\n%s", diff)
	}
}

func TestDefinitionUnmarshalErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{`{"id":"A","titel":"x"}`, `A: unknown key "titel"; did you mean "title"?`},
		{`{"id":"A","priority":"1"}`, `A: priority: expected a whole number, found the text "1"`},
		{`[1]`, `expected a mapping, found a list`},
	} {
		d := spec.Definition{ID: "before"}
		if err := json.Unmarshal([]byte(test.text), &d); err == nil || err.Error() != "spec: "+test.want {
			t.Errorf("JSON %s: got %v, want %s", test.text, err, test.want)
		}
		if err := yaml.Unmarshal([]byte(test.text), &d); err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("YAML %s: got %v, want %s", test.text, err, test.want)
		}
		if d.ID != "before" {
			t.Errorf("%s: changed by an error: %+v", test.text, d)
		}
	}
}

func TestDefinitionValidate(t *testing.T) {
	t.Parallel()
	d := full()
	d.Completion.Acceptance = []string{"a"}
	if err := d.Validate(spec.Methods{"mine": func(json.RawMessage, spec.Env) (ralph.Verifier, error) { return nil, nil }}); err != nil {
		t.Errorf("a valid one: %v", err)
	}
	d.Title = " "
	want := "007: title is empty\n007: unknown verification method \"mine\"; known are string_match, semantic, external, multi_stage, contradictions, agent, guard, template, held_out"
	if err := d.Validate(nil); err == nil || err.Error() != "spec: "+want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCompletionColumn(t *testing.T) {
	t.Parallel()
	want := *full().Completion
	value, err := want.Value()
	if err != nil {
		t.Fatal(err)
	}
	text, ok := value.(string)
	if !ok {
		t.Fatalf("the value is a %T", value)
	}
	for _, src := range []any{text, []byte(text)} {
		var got spec.Completion
		if err := got.Scan(src); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T (-want +got):\n%s", src, diff)
		}
	}
	null, err := spec.Completion{}.Value()
	if err != nil || null != nil {
		t.Errorf("the zero value is %v, %v", null, err)
	}
	got := want
	if err := got.Scan(nil); err != nil || got.Outcome != "" || got.Agents != nil {
		t.Errorf("NULL is %+v, %v", got, err)
	}
	for _, test := range []struct {
		src  any
		want string
	}{
		{5, "a completion is a column of JSON text, found int"},
		{`{"outcom": "x"}`, `completion column: unknown key "outcom" in completion; did you mean "outcome"?`},
		{``, "completion column: completion: this is not JSON"},
	} {
		kept := want
		if err := kept.Scan(test.src); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %s", test.src, err, test.want)
		}
		if diff := cmp.Diff(want, kept); diff != "" {
			t.Errorf("%v: changed by an error (-want +got):\n%s", test.src, diff)
		}
	}
}

// A completion or criteria alone are read and written too.
func TestCompletionAlone(t *testing.T) {
	t.Parallel()
	want := *full().Completion
	text, err := yaml.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got spec.Completion
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("YAML (-want +got):\n%s\n%s", diff, text)
	}
	if err := yaml.Unmarshal([]byte("outcom: x"), &got); err == nil || !strings.Contains(err.Error(), `did you mean "outcome"?`) {
		t.Errorf("got %v", err)
	}
	criteria := want.Agents[0].Criteria
	if text, err = json.Marshal(criteria); err != nil {
		t.Fatal(err)
	}
	var back spec.Criteria
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(criteria, back); diff != "" {
		t.Errorf("criteria (-want +got):\n%s", diff)
	}
	if _, err := json.Marshal(spec.Criteria{Config: json.RawMessage("{")}); err == nil {
		t.Error("a configuration that is not JSON: no error")
	}
}

// The names of agents are keys beside others, so they cannot be just anything.
func TestCompletionAgentNames(t *testing.T) {
	t.Parallel()
	for _, agents := range [][]spec.AgentCriteria{{{Agent: "outcome"}}, {{Agent: ""}}, {{Agent: "a"}, {Agent: "a"}}} {
		if _, err := (spec.Completion{Agents: agents}).Value(); err == nil {
			t.Errorf("%v: no error", agents)
		}
	}
}
