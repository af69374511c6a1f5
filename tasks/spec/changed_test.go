package spec_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/tasks/spec"
)

// What somebody else has done to a task is named by its keys; what is written
// down while it is worked on is nobody's criteria.
func TestDefinitionChanged(t *testing.T) {
	t.Parallel()
	const was = `
- id: A
  title: One
  dependencies: [B]
  completion:
    outcome: o
    acceptance_criteria: [a, b]
    coder: {promise: P, guard: [x], verification_method: external, verification_config: {command: c, timeout: 1m}}
    tester: {promise: T}
- {id: B, title: Two}
`
	for _, test := range []struct{ name, old, new, want string }{
		{"nothing", "", "", ""},
		{"quotes, comments and layout", "title: One", `"title": 'One'   # the first`, ""},
		{"what is written down", "title: One", "title: One\n  status: done\n  iteration: 3\n  updated_at: 2026-01-02\n  metadata: {by: me}", ""},
		{"the older name", "completion:", "completion_spec:", ""},
		{"stages in another order", "tester: {promise: T}", "tester: {promise: T}\n    qa: null", ""},
		{"title", "title: One", "title: 1st", "title"},
		{"description", "title: One", "title: One\n  description: more", "description"},
		{"dependencies", "[B]", "[]", "dependencies"},
		{"outcome", "outcome: o", "outcome: p", "completion.outcome"},
		{"a criterion less", "[a, b]", "[a]", "completion.acceptance_criteria"},
		{"criteria in another order", "[a, b]", "[b, a]", "completion.acceptance_criteria"},
		{"command", "command: c", "command: 'true'", "completion.coder"},
		{"guard", "guard: [x], ", "", "completion.coder"},
		{"promise", "promise: T", "promise: U", "completion.tester"},
		{"a stage less", "    tester: {promise: T}\n", "", "completion.tester"},
		{"a stage more", "tester: {promise: T}", "tester: {promise: T}\n    qa: {}", "completion.qa"},
		{"no completion", was[strings.Index(was, "  completion"):strings.Index(was, "- {id: B")], "", "completion"},
		{"several", "title: One\n  dependencies: [B]", "title: 1st\n  priority: 1", "title dependencies priority"},
	} {
		before, err := spec.Parse("t.yaml", []byte(was))
		if err != nil {
			t.Fatal(err)
		}
		after, err := spec.Parse("t.yaml", []byte(strings.Replace(was, test.old, test.new, 1)))
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		a, b := before.Definitions()[0], after.Definitions()[0]
		if got := strings.Join(a.Changed(b), " "); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		if forth, back := len(a.Changed(b)), len(b.Changed(a)); forth != back {
			t.Errorf("%s: %d keys, and %d the other way round", test.name, forth, back)
		}
	}
}
