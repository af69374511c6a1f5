package spec_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks/spec"
)

func TestParseConfig(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       spec.Config
	}{
		{"nothing", "", spec.Config{}},
		{"nothing of ours", "agents: {claude: 1}\nother: [x]\n", spec.Config{}},
		{"an empty section", "ralph:\n", spec.Config{}},
		{"JSON", `{"ralph": {"verify_promises": false}}`, spec.Config{TakePromises: true}},
		{"yes", "ralph: {verify_promises: true}\n", spec.Config{}},
		{"everything", `
other: {ralph: {x: 1}}
ralph:
  enabled: false
  default_max_iterations: 12
  default_verification: semantic
  verify_promises: false
  judge: claude
  judge_model: haiku
  writer:
    enabled: false
    max_iterations: 3
    completion_promise: WRITTEN
    verification_method: external
    verification_config: {command: make docs}
`, spec.Config{
			Disabled: true, TakePromises: true, MaxIterations: 12, Method: "semantic", Judge: "claude", JudgeModel: "haiku",
			Agents: []spec.AgentConfig{{Agent: "writer", Disabled: true, MaxIterations: 3, Promise: "WRITTEN", Method: "external", Config: json.RawMessage(`{"command":"make docs"}`)}},
		}},
	} {
		got, err := spec.ParseConfig("c", []byte(test.text))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestParseConfigErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{"ralph:\n  verify_promise: true\n", `c:2:3: unknown key "verify_promise" in ralph; did you mean "verify_promises"?`},
		{"ralph:\n  codr: {max_iterations: 1}\n", `c:2:3: unknown agent "codr"; did you mean "coder"?`},
		{"ralph:\n  coder: {max_iteration: 1}\n", `c:2:11: unknown key "max_iteration" in ralph.coder; did you mean "max_iterations"?`},
		{"ralph:\n  coder: {max_iterations: 0}\n", "c:2:27: ralph.coder.max_iterations: 0 is out of range; it must be between 1 and 2147483647"},
		{"ralph:\n  coder: {completion_promise: ''}\n", "c:2:31: ralph.coder.completion_promise is empty"},
		{"ralph:\n  enabled: maybe\n", `c:2:12: ralph.enabled: expected true or false, found the text "maybe"`},
		{"ralph:\n  coder: {verification_method: external, verification_config: {comand: x}}\n",
			"c:2:63: ralph.coder.verification_config: command is missing\nc:2:64: unknown key \"comand\" in ralph.coder.verification_config; did you mean \"command\"?"},
		{"ralph: on\n", `c:1:8: ralph: expected a mapping, found the text "on"`},
		{"ralhp:\n  coder: {max_iterations: 1}\n", `c:1:1: unknown key "ralhp"; did you mean "ralph"?`},
		{"- ralph\n", "c:1:1: expected a mapping, found a list"},
		{"a: 1\n---\nb: 1\n", "c:3:1: a configuration is one document"},
	} {
		if _, err := spec.ParseConfig("c", []byte(test.text)); err == nil || err.Error() != test.want {
			t.Errorf("%q:\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

func TestConfigEnabled(t *testing.T) {
	t.Parallel()
	off := spec.Config{Agents: []spec.AgentConfig{{Agent: "qa", Disabled: true}}}
	if !off.Enabled("coder") || off.Enabled("qa") || (spec.Config{Disabled: true}).Enabled("coder") {
		t.Error("wrong agents are enabled")
	}
	d := spec.Definition{ID: "T1", Title: "Do it"}
	for agent, want := range map[string]int{"coder": 15, "qa": 1} {
		if task, err := off.Task(d, agent); err != nil || task.Limits.Iterations != want {
			t.Errorf("%s: %d iterations, want %d (%v)", agent, task.Limits.Iterations, want, err)
		}
	}
}
