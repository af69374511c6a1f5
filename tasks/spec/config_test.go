package spec_test

import (
	"encoding/json"
	"strings"
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
  learn: true
  writer:
    enabled: false
    max_iterations: 3
    completion_promise: WRITTEN
    verification_method: external
    verification_config: {command: make docs}
`, spec.Config{
			Disabled: true, TakePromises: true, MaxIterations: 12, Method: "semantic", Judge: "claude", JudgeModel: "haiku", Learn: true,
			Agents: []spec.AgentConfig{{Agent: "writer", Disabled: true, MaxIterations: 3, Promise: "WRITTEN", Method: "external", Config: json.RawMessage(`{"command":"make docs"}`)}},
		}},
		{"clients and rounds", "ralph:\n  coder: claude\n  reviewer: {client: codex, on_reject: coder, max_rounds: 2}\n  qa: {skip: true}\n", spec.Config{Agents: []spec.AgentConfig{
			{Agent: "coder", Client: "claude"}, {Agent: "reviewer", Client: "codex", OnReject: "coder", MaxRounds: 2}, {Agent: "qa", Skip: true},
		}}},
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

// TestIterations: how many iterations an agent usually has, and who has configured another
// number.
func TestIterations(t *testing.T) {
	t.Parallel()
	own := spec.Definition{ID: "T", Completion: &spec.Completion{Agents: []spec.AgentCriteria{{Agent: "coder", Criteria: spec.Criteria{MaxIterations: 15}}}}}
	for _, test := range []struct {
		name              string
		config            spec.Config
		def               spec.Definition
		agent             string
		usual, configured int
	}{
		{"nobody says", spec.Config{}, spec.Definition{}, "coder", 15, 0},
		{"another agent", spec.Config{}, own, "writer", 10, 0},
		{"the definition, the usual number", spec.Config{MaxIterations: 12}, own, "coder", 15, 15},
		{"the configuration", spec.Config{MaxIterations: 12}, spec.Definition{}, "qa", 5, 12},
		{"the agent's configuration", spec.Config{MaxIterations: 12, Agents: []spec.AgentConfig{{Agent: "qa", MaxIterations: 7}}}, spec.Definition{}, "qa", 5, 7},
		{"a single pass", spec.Config{Disabled: true}, own, "coder", 1, 1},
	} {
		usual, configured := test.config.Iterations(test.def, test.agent)
		if usual != test.usual || configured != test.configured {
			t.Errorf("%s: %d, %d; want %d, %d", test.name, usual, configured, test.usual, test.configured)
		}
		c, err := test.config.Task(test.def, test.agent)
		want := configured
		if want == 0 {
			want = usual
		}
		if err != nil || c.Limits.Iterations != want {
			t.Errorf("%s: the task has %d iterations (%v), want %d", test.name, c.Limits.Iterations, err, want)
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
		{"ralph:\n  codr: claude\n", `c:2:3: unknown agent "codr"; did you mean "coder"?`},
		{"ralph:\n  judgge: claude\n", `c:2:3: unknown key "judgge" in ralph; did you mean "judge"?`},
		{"ralph:\n  coder: ''\n", "c:2:10: ralph.coder is empty"},
		{"ralph:\n  coder: {client: [claude]}\n", "c:2:19: ralph.coder.client: expected text, found a list"},
		{"ralph:\n  qa: {max_rounds: 2}\n", "c:2:20: ralph.qa.max_rounds: it needs on_reject, the agent that a task goes back to"},
		{"ralph:\n  qa: {on_reject: coder, max_rounds: 0}\n", "c:2:38: ralph.qa.max_rounds: 0 is out of range; it must be between 1 and 2147483647"},
		{"ralph:\n  qa: {on_reject: codr}\n", `c:2:19: ralph.qa.on_reject: nothing is known of an agent "codr"; did you mean "coder"?`},
		{"ralph:\n  coder: {on_reject: qa}\n", "c:2:22: ralph.coder.on_reject: qa does not work before coder; the order is coder, reviewer, tester, qa"},
		{"ralph:\n  qa: {on_reject: qa}\n", "c:2:19: ralph.qa.on_reject: qa does not work before qa; the order is coder, reviewer, tester, qa"},
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

// What the task says beats what the configuration says of the agent, that beats what
// it says of all, and that beats what is built in.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	const (
		task   = "{promise: TASK, max_iterations: 21, verification_method: external, verification_config: {command: make}}"
		agent  = "  AGENT: {completion_promise: OWN, max_iterations: 22, verification_method: string_match}\n"
		global = "  default_max_iterations: 23\n  default_verification: semantic\n"
	)
	stated := spec.Criteria{Promise: "TASK", MaxIterations: 21, Method: "external", Config: json.RawMessage(`{"command":"make"}`)}
	for _, name := range []string{"coder", "docs"} {
		builtin := map[string]spec.Criteria{
			"coder": {Promise: "IMPLEMENTATION_COMPLETE", MaxIterations: 15},
			"docs":  {Promise: "COMPLETE", MaxIterations: 10},
		}[name]
		for _, test := range []struct {
			criteria, config string
			want             spec.Criteria
		}{
			{task, agent + global, stated},
			{task, agent, stated},
			{task, global, stated},
			{task, "", stated},
			{"{}", agent + global, spec.Criteria{Promise: "OWN", MaxIterations: 22, Method: "string_match"}},
			{"{}", agent, spec.Criteria{Promise: "OWN", MaxIterations: 22, Method: "string_match"}},
			{"{}", global, spec.Criteria{Promise: builtin.Promise, MaxIterations: 23, Method: "semantic"}},
			{"{}", "", builtin},
			{"", global, spec.Criteria{Promise: builtin.Promise, MaxIterations: 23, Method: "semantic"}},
			{"{max_iterations: 21}", agent + global, spec.Criteria{Promise: "OWN", MaxIterations: 21, Method: "string_match"}},
		} {
			config, err := spec.ParseConfig("c", []byte("ralph:\n  enabled: true\n"+strings.ReplaceAll(test.config, "AGENT", name)))
			if err != nil {
				t.Fatal(err)
			}
			text := shortTask
			if test.criteria != "" {
				text += "  " + name + ": " + test.criteria + "\n"
			}
			task, err := config.Task(parseOne(t, text), name)
			if err != nil {
				t.Fatal(err)
			}
			var kept struct{ Criteria spec.Criteria }
			if err := json.Unmarshal(task.Spec, &kept); err != nil {
				t.Fatal(err)
			}
			test.want.Description = "Complete the " + name + " stage of: a title"
			if diff := cmp.Diff(test.want, kept.Criteria); diff != "" {
				t.Errorf("%s %s %q (-want +got):\n%s", name, test.criteria, test.config, diff)
			}
		}
	}
}

func TestStages(t *testing.T) {
	t.Parallel()
	config, err := spec.ParseConfig("c", []byte("ralph:\n  docs: {max_iterations: 2}\n  tester: {skip: true}\n  coder: claude\n"))
	if err != nil {
		t.Fatal(err)
	}
	own := spec.Definition{ID: "A", Completion: &spec.Completion{Agents: []spec.AgentCriteria{{Agent: "release"}, {Agent: "coder"}}}}
	for _, test := range []struct {
		config spec.Config
		only   []string
		defs   []spec.Definition
		want   string // or the error
	}{
		{want: "coder reviewer tester qa"},
		{config: config, want: "coder reviewer qa docs"},
		{config: config, defs: []spec.Definition{{ID: "B"}, own}, want: "coder reviewer qa docs release"},
		{config: config, only: []string{"qa", "docs", "coder", "qa"}, want: "coder qa docs"},
		{config: config, only: []string{"tester"}, want: "tester"},
		{only: []string{"release"}, defs: []spec.Definition{own}, want: "release"},
		{only: []string{"coder", "reviewr"}, want: `spec: nothing is known of an agent "reviewr"; did you mean "reviewer"?`},
		{only: []string{"docs"}, want: `spec: nothing is known of an agent "docs"; known are coder, reviewer, tester, qa`},
		{config: spec.Config{Agents: []spec.AgentConfig{{Agent: "coder", Skip: true}, {Agent: "reviewer", Skip: true}, {Agent: "tester", Skip: true}, {Agent: "qa", Skip: true}}},
			want: "spec: each of the agents is skipped: coder, reviewer, tester, qa"},
	} {
		stages, err := test.config.Stages(test.only, test.defs...)
		got := strings.Join(stages, " ")
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%v: %s, want %s", test.only, got, test.want)
		}
	}
}

func TestOnReject(t *testing.T) {
	t.Parallel()
	config := spec.Config{Agents: []spec.AgentConfig{{Agent: "coder"}, {Agent: "reviewer", OnReject: "coder"}, {Agent: "qa", OnReject: "reviewer", MaxRounds: 1}}}
	for agent, want := range map[string]int{"coder": 0, "reviewer": 3, "qa": 1, "tester": 0} {
		if to, rounds := config.OnReject(agent); rounds != want || (to == "") != (want == 0) {
			t.Errorf("%s: %q, %d rounds, want %d", agent, to, rounds, want)
		}
	}
}
