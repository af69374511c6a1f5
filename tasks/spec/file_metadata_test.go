package spec_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks/spec"
)

// What a run writes down changes its own keys and no other byte, and is gone when it
// is taken back.
func TestSetMetadata(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, set, removed string }{
		{"none", "- id: A # c\n  status: todo\n  title: x\n- id: B\n",
			"- id: A # c\n  status: todo\n  metadata:\n    ralph:\n      stage: coder\n  title: x\n- id: B\n",
			"- id: A # c\n  status: todo\n  title: x\n- id: B\n"},
		{"nothing in it", "id: A\nmetadata: {} # c\ntitle: x\n", "id: A\nmetadata:\n  ralph:\n    stage: coder # c\ntitle: x\n", "id: A\ntitle: x\n"},
		{"others", "id: A\nmetadata:\n  owner: me # c\n  more: {a: 1}\n# of the title\ntitle: x\n",
			"id: A\nmetadata:\n  owner: me # c\n  more: {a: 1}\n  ralph:\n    stage: coder\n# of the title\ntitle: x\n",
			"id: A\nmetadata:\n  owner: me # c\n  more: {a: 1}\n# of the title\ntitle: x\n"},
		{"an earlier one", "id: A\nmetadata:\n  ralph: # c\n    stage: qa\n    iteration: 3\n  # of the owner\n  owner: me\n",
			"id: A\nmetadata:\n  ralph:\n    stage: coder\n  # of the owner\n  owner: me\n",
			"id: A\nmetadata:\n  # of the owner\n  owner: me\n"},
		{"brackets", "[{id: A, title: x, metadata: {owner: me}}, {id: B}]\n",
			"[{id: A, title: x, metadata: {owner: me, ralph: {\"stage\":\"coder\"}}}, {id: B}]\n",
			"[{id: A, title: x, metadata: {owner: me}}, {id: B}]\n"},
		{"JSON", "[\n  {\n    \"id\": \"A\",\n    \"metadata\": {\"owner\": [1]}\n  }\n]\n",
			"[\n  {\n    \"id\": \"A\",\n    \"metadata\": {\"owner\": [1], \"ralph\": {\"stage\":\"coder\"}}\n  }\n]\n",
			"[\n  {\n    \"id\": \"A\",\n    \"metadata\": {\"owner\": [1]}\n  }\n]\n"},
		{"JSON, none", `{"id":"A","title":"x"}`, `{"id":"A","metadata":{"ralph":{"stage":"coder"}},"title":"x"}`, `{"id":"A","title":"x"}`},
	} {
		f, err := spec.Parse("f", []byte(test.in))
		if err != nil {
			t.Fatal(test.name, err)
		}
		if err := f.SetMetadata("A", "ralph", json.RawMessage(`{"stage":"coder"}`)); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.set, string(f.Bytes())); diff != "" {
			t.Errorf("%s: set (-want +got):\n%s", test.name, diff)
		}
		if got := string(f.Definitions()[0].Metadata["ralph"]); got != `{"stage":"coder"}` {
			t.Errorf("%s: the definition has %s", test.name, got)
		}
		if err := f.SetMetadata("A", "ralph", nil); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.removed, string(f.Bytes())); diff != "" {
			t.Errorf("%s: removed (-want +got):\n%s", test.name, diff)
		}
		if err := f.SetMetadata("A", "ralph", nil); err != nil || string(f.Bytes()) != test.removed {
			t.Errorf("%s: removed again: %v\n%s", test.name, err, f.Bytes())
		}
	}
}

// What cannot be changed alone is not changed at all.
func TestSetMetadataRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, value, want string }{
		{"id: B\n", "1", `f: there is no task "A"`},
		{"- {id: A}\n- {id: A}\n", "1", "f:2:3: A: the ID is given twice, so it is not clear which task is meant"},
		{"- {id: A, metadata: &m {a: 1}}\n- {id: B, metadata: *m}\n", "1", "f:1:21: A: metadata cannot be changed without changing more than it"},
		{"- {id: A, metadata: &m {ralph: 1}}\n- {id: B, metadata: *m}\n", "", "f:1:21: A: metadata cannot be changed without changing more than it"},
		{"id: A\n", "{", "spec: ralph: this is not JSON"},
	} {
		f, err := spec.Parse("f", []byte(test.in))
		if err != nil {
			t.Fatal(err)
		}
		var value json.RawMessage
		if test.value != "" {
			value = json.RawMessage(test.value)
		}
		if err := f.SetMetadata("A", "ralph", value); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%q: got %v, want %s", test.in, err, test.want)
		}
		if string(f.Bytes()) != test.in {
			t.Errorf("%q: changed to %q", test.in, f.Bytes())
		}
	}
}

func TestSetUpdatedAt(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 13, 0, 0, 5, time.FixedZone("", 3600))
	for in, want := range map[string]string{
		"id: A\nstatus: todo # c\ntitle: x\n":                    "id: A\nstatus: todo # c\nupdated_at: 2026-01-31T12:00:00Z\ntitle: x\n",
		"id: A\nupdated_at: '2025-01-01' # c\n":                  "id: A\nupdated_at: '2026-01-31T12:00:00Z' # c\n",
		"[{id: A, iteration: 2}]\n":                              "[{id: A, iteration: 2, updated_at: 2026-01-31T12:00:00Z}]\n",
		`{"id": "A"}`:                                            `{"id": "A", "updated_at": "2026-01-31T12:00:00Z"}`,
		"id: A\nupdated_at: 2026-01-31T13:00:00+01:00 # as is\n": "id: A\nupdated_at: 2026-01-31T12:00:00Z # as is\n",
	} {
		f, err := spec.Parse("f", []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.SetUpdatedAt("A", at); err != nil {
			t.Errorf("%q: %v", in, err)
		}
		if diff := cmp.Diff(want, string(f.Bytes())); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
		if got := f.Definitions()[0].UpdatedAt; !got.Equal(at.Truncate(time.Second)) {
			t.Errorf("%q: read back as %s", in, got)
		}
	}
}

// Definitions that are to be added may depend on what is there, and say what done
// means.
func TestValidateAdditions(t *testing.T) {
	t.Parallel()
	there := []spec.Definition{{ID: "TASK-10"}}
	const done = "\n  completion: {outcome: o, acceptance_criteria: [a]}\n"
	for _, test := range []struct{ in, want string }{
		{"- id: N\n  title: n\n  dependencies: [TASK-10, M]" + done + "- id: M\n  title: m" + done, ""},
		{"- id: TASK-10\n  title: n\n  dependencies: [TASK-10]" + done, ""}, // the one that is there
		{"- id: N\n  title: n\n  dependencies: [X]" + done, `f:3:18: N: depends on "X", which is not a task of this file`},
		{"- id: N\n  title: n\n- id: M\n  title: m" + done, "f:1:3: N: has no completion; its outcome and its acceptance_criteria say what done means"},
		{"- id: N\n  title: n\n  completion: {acceptance_criteria: [a]}\n", "f:3:15: N: outcome is missing"},
		{"- id: N\n  title: n\n  completion: {outcome: o, acceptance_criteria: []}\n", "f:3:49: N: acceptance_criteria is empty; it needs at least one entry"},
		{"- id: N\n  title: n" + done + "- id: N\n  title: m" + done, `f:4:7: N: the ID "N" is given twice: task 1 on line 1 has it too`},
		{"- title: n" + done, "f:1:3: id is missing"},
	} {
		f, err := spec.Parse("f", []byte(test.in))
		if err != nil {
			t.Fatal(err)
		}
		err = f.ValidateAdditions(there)
		if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
			t.Errorf("%q:\n got %v\nwant %s", test.in, err, test.want)
		}
	}
}
