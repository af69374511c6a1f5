package spec_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/spec"
)

func parseOne(t *testing.T, text string) spec.Definition {
	t.Helper()
	f, err := spec.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f.Definitions()[0]
}

const shortTask = `
id: T1
title: a title
description: do it
completion:
  outcome: it is done
  acceptance_criteria: [first, "second & third"]
`

// What a loop gets of a definition.
func TestDefinitionTask(t *testing.T) {
	t.Parallel()
	d := parseOne(t, shortTask+`
  coder:
    promise: MADE
    description: it works
    verification_method: external
    verification_config: {command: make test, output_not_contains: FAIL}
    max_iterations: 7
    blocked: STUCK
    guard: [x_test.go]
`)
	got, err := d.Task("coder")
	if err != nil {
		t.Fatal(err)
	}
	want := ralph.Task{
		ID: "T1", Agent: "coder", Title: "a title", Prompt: "do it",
		Outcome: "it is done", Acceptance: []string{"first", "second & third"},
		Promise: "MADE", Success: "it works", Blocked: "STUCK",
		HowVerified: "external: the command `make test` must end with exit code 0; must not print FAIL; your answer must say that the work was committed",
		Limits:      ralph.Limits{Iterations: 7}, Method: "external",
		Spec: json.RawMessage(`{"v":1,"agent":"coder","verify_promises":true,"outcome":"it is done","acceptance_criteria":["first","second & third"],` +
			`"criteria":{"promise":"MADE","description":"it works","verification_method":"external",` +
			`"verification_config":{"command":"make test","output_not_contains":"FAIL"},"max_iterations":7,"blocked":"STUCK","guard":["x_test.go"]}}`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is not said is the agent's default.
func TestDefaults(t *testing.T) {
	t.Parallel()
	s4, err := spec.LoadConfig("testdata/definitions/s4_config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	other, err := spec.ParseConfig("c", []byte(`
ralph:
  default_max_iterations: 4
  default_verification: string_match
  coder: {max_iterations: 2, verification_method: external, verification_config: {command: make}}
  docs: {completion_promise: WRITTEN}
`))
	if err != nil {
		t.Fatal(err)
	}
	const own = "{verification_config: {command: go test}}"
	for _, test := range []struct {
		agent, criteria, text string
		config                spec.Config
		want                  spec.Criteria
	}{
		{agent: "coder", want: spec.Criteria{Promise: "IMPLEMENTATION_COMPLETE", MaxIterations: 15}},
		{agent: "reviewer", want: spec.Criteria{Promise: "REVIEW_PASSED", MaxIterations: 5}},
		{agent: "tester", want: spec.Criteria{Promise: "TESTS_PASSED", MaxIterations: 10}},
		{agent: "qa", want: spec.Criteria{Promise: "QA_PASSED", MaxIterations: 5}},
		{agent: "docs", want: spec.Criteria{Promise: "COMPLETE", MaxIterations: 10}},
		{agent: "coder", criteria: own, want: spec.Criteria{Promise: "IMPLEMENTATION_COMPLETE", MaxIterations: 15, Method: "external", Config: json.RawMessage(`{"command":"go test"}`)}},
		// The keys of a configuration are those of a method: the default of all is none for it.
		{agent: "coder", criteria: own, config: spec.Config{Method: "semantic"}, want: spec.Criteria{Promise: "IMPLEMENTATION_COMPLETE", MaxIterations: 15, Method: "external", Config: json.RawMessage(`{"command":"go test"}`)}},
		{agent: "reviewer", config: s4, want: spec.Criteria{Promise: "REVIEW_COMPLETE", MaxIterations: 5}},
		{agent: "tester", config: s4, want: spec.Criteria{Promise: "TESTS_COMPLETE", MaxIterations: 10}},
		{agent: "docs", config: s4, want: spec.Criteria{Promise: "COMPLETE", MaxIterations: 10}},
		{agent: "coder", config: other, want: spec.Criteria{Promise: "IMPLEMENTATION_COMPLETE", MaxIterations: 2, Method: "external", Config: json.RawMessage(`{"command":"make"}`)}},
		{agent: "coder", config: other, criteria: own, want: spec.Criteria{Promise: "IMPLEMENTATION_COMPLETE", MaxIterations: 2, Method: "external", Config: json.RawMessage(`{"command":"go test"}`)}},
		{agent: "coder", config: other, criteria: "{promise: P, max_iterations: 1, verification_method: string_match}", want: spec.Criteria{Promise: "P", MaxIterations: 1, Method: "string_match"}},
		{agent: "docs", config: other, want: spec.Criteria{Promise: "WRITTEN", MaxIterations: 4, Method: "string_match"}},
		{agent: "qa", config: other, want: spec.Criteria{Promise: "QA_PASSED", MaxIterations: 4, Method: "string_match"}},
	} {
		text := shortTask
		if test.criteria != "" {
			text += "  " + test.agent + ": " + test.criteria + "\n"
		}
		task, err := test.config.Task(parseOne(t, text), test.agent)
		if err != nil {
			t.Errorf("%s %s: %v", test.agent, test.criteria, err)
			continue
		}
		var kept struct{ Criteria spec.Criteria }
		if err := json.Unmarshal(task.Spec, &kept); err != nil {
			t.Fatal(err)
		}
		test.want.Description = "Complete the " + test.agent + " stage of: a title"
		if diff := cmp.Diff(test.want, kept.Criteria); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.agent, test.criteria, diff)
		}
		if task.Promise != test.want.Promise || task.Limits.Iterations != test.want.MaxIterations {
			t.Errorf("%s %s: the task has promise %q and %d iterations", test.agent, test.criteria, task.Promise, task.Limits.Iterations)
		}
	}
}

func TestTaskErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		criteria spec.Criteria
		want     string
	}{
		{spec.Criteria{Promise: "a\nb"}, `T1: coder.promise: promise "a\nb" has a line break; a promise is one line`},
		{spec.Criteria{Method: "external"}, "T1: coder.verification_config: command is missing"},
		{spec.Criteria{Method: "external", Config: json.RawMessage(`{"comand":"x"}`)}, `T1: unknown key "comand" in coder.verification_config; did you mean "command"?`},
		{spec.Criteria{Config: json.RawMessage(`{`)}, "T1: verification_config: this is not JSON"},
		{spec.Criteria{MaxIterations: -1}, "T1: coder.max_iterations: -1 is out of range"},
	} {
		d := spec.Definition{ID: "T1", Completion: &spec.Completion{Agents: []spec.AgentCriteria{{Agent: "coder", Criteria: test.criteria}}}}
		_, err := d.Task("coder")
		if err == nil || !strings.HasPrefix(err.Error(), "spec: "+test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

func TestAcceptanceCriteriaInjected(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ config, want string }{
		{`{"check_for":"{{acceptance_criteria}}"}`, `{"check_for":["a","{{acceptance_criteria}}"]}`},
		{`{"check_for":[" {{ acceptance_criteria }} ","c"]}`, `{"check_for":["a","{{acceptance_criteria}}","c"]}`},
		{`{"stages":[{"config":{"check_for":["0","{{acceptance_criteria}}"]}}]}`, `{"stages":[{"config":{"check_for":["0","a","{{acceptance_criteria}}"]}}]}`},
		{`{"prompt":"All of:\n{{acceptance_criteria}}\n{{.Name}} {{x}} {{"}`, `{"prompt":"All of:\n- a\n- {{acceptance_criteria}}\n{{.Name}} {{x}} {{"}`},
		{`{"p":"x {{acceptance_criteria"}`, `{"p":"x {{acceptance_criteria"}`},
		{`{"{{acceptance_criteria}}":1.50}`, `{"{{acceptance_criteria}}":1.50}`},
	} {
		d := spec.Definition{Completion: &spec.Completion{
			Acceptance: []string{"a", "{{acceptance_criteria}}"}, // what is filled in is not filled in again
			Agents:     []spec.AgentCriteria{{Agent: "qa", Criteria: spec.Criteria{Method: "mine", Config: json.RawMessage(test.config)}}},
		}}
		got, err := d.Criteria("qa")
		if err != nil {
			t.Errorf("%s: %v", test.config, err)
			continue
		}
		if diff := cmp.Diff(test.want, string(got.Config)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.config, diff)
		}
	}
}

func TestHowVerified(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ method, config, want string }{
		{"", "", ""},
		{"mine", `{"key":"secret"}`, "mine"},
		{"string_match", `{"contains":["a","b"],"excludes":"c"}`, "string_match: the promise; your answer must contain a; b; your answer must not contain c"},
		{"semantic", `{"check_for":["no\nkeys"],"negative_patterns":["TODO"]}`, "semantic: a judge reads your work; it checks no keys; your answer must not contain TODO"},
		{"external", `{"command":"make  \\\n test","success_exit_code":2,"output_contains":"ok","env":{"TOKEN":"x"}}`, "external: the command `make \\ test` must end with exit code 2; must print ok"},
		{"external", `{"command":["go","test"],"args":["./..."]}`, "external: the command `go test ./...` must end with exit code 0"},
		{"multi_stage", `{"stages":[{"name":"a","method":"external","config":{"command":"x"}},{"required":false}],"require_all":false}`, "multi_stage: one of a (external), unnamed (string_match, advisory) must pass"},
		{"contradictions", `{}`, "contradictions: your answer must not say that work is left"},
		{"guard", `{"files":["a_test.go"],"method":"external","config":{"command":"x"}}`, "guard: a_test.go must not change; external: the command `x` must end with exit code 0"},
		{"template", `{"name":"go-test"}`, "template: go-test"},
		{"external", `{"command":"curl -u me:pw -H 'Authorization: Bearer abc' --password=pw --api-key abc API_TOKEN=abc https://me:pw@host/x sk-1234567890abcdef https://host:80/x"}`,
			"external: the command `curl -u *** -H 'Authorization: Bearer ***' --password=*** --api-key *** API_TOKEN=*** https://me:[redacted:password]@host/x [redacted:openai] https://host:80/x` must end with exit code 0"},
	} {
		c := spec.Criteria{Method: test.method, Config: json.RawMessage(test.config)}
		if test.config == "" {
			c.Config = nil
		}
		d := spec.Definition{ID: "T1", Completion: &spec.Completion{Agents: []spec.AgentCriteria{{Agent: "docs", Criteria: c}}}}
		got, err := d.Task("docs")
		if err != nil {
			t.Errorf("%s %s: %v", test.method, test.config, err)
			continue
		}
		if diff := cmp.Diff(test.want, got.HowVerified); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.method, test.config, diff)
		}
	}
	long := spec.Criteria{Method: "external", Config: json.RawMessage(`{"command":"` + strings.Repeat("ä", 5000) + `"}`)}
	d := spec.Definition{Completion: &spec.Completion{Agents: []spec.AgentCriteria{{Agent: "docs", Criteria: long}}}}
	if got, err := d.Task("docs"); err != nil || len(got.HowVerified) > 410 {
		t.Errorf("%d bytes, %v", len(got.HowVerified), err)
	}
}

// One rule says what a secret looks like in what agents are told; in a command
// line the word before it says so too.
func TestHowVerifiedHidesSecrets(t *testing.T) {
	t.Parallel()
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
	for _, secret := range []string{
		"npm_" + letters[:36], "hf_" + letters[:34], "sk_live_" + letters[:24], "glrt-" + letters[:20],
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVPmB92K27uhbUJU1p1r", "AKIAIOSFODNN7EXAMPLE",
	} {
		for _, command := range []string{"deploy " + secret, "curl -H 'X: " + secret + "' u", "deploy --token " + secret, "TOKEN=" + secret + " make"} {
			text, err := json.Marshal(map[string]string{"command": command})
			if err != nil {
				t.Fatal(err)
			}
			d := spec.Definition{ID: "T1", Completion: &spec.Completion{Agents: []spec.AgentCriteria{{Agent: "docs", Criteria: spec.Criteria{Method: "external", Config: text}}}}}
			task, err := d.Task("docs")
			if err != nil || strings.Contains(task.HowVerified, secret) || !strings.Contains(string(task.Spec), secret) {
				t.Errorf("%s: %s, %v", command, task.HowVerified, err)
			}
		}
	}
}
