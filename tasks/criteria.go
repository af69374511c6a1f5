package tasks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ralph-loop/ralph"
)

// A preset is what holds for an agent that a definition says nothing about:
// S1's table of defaults.
type preset struct {
	iterations int
	promise    string
	method     string
}

// agentPreset returns the zero preset for agents that S1 does not name.
func agentPreset(agent string) preset {
	switch agent {
	case "coder":
		return preset{15, "IMPLEMENTATION_COMPLETE", methodExternal}
	case "reviewer":
		return preset{5, "REVIEW_PASSED", methodSemantic}
	case "tester":
		return preset{10, "TESTS_PASSED", methodExternal}
	case "qa":
		return preset{5, "QA_PASSED", methodMultiStage}
	}
	return preset{}
}

// agentMethod is the method that the configuration of an agent is for, if the
// definition does not say; "" = none.
func agentMethod(agent string) string {
	return agentPreset(agent).method
}

func hasRule(agent string) bool { return slices.Contains(stageRules(), agent) }

// Criteria returns what holds for an agent: what the definition says, and the
// agent's defaults for what it does not say (S1): the promise (coder
// IMPLEMENTATION_COMPLETE, reviewer REVIEW_PASSED, tester TESTS_PASSED, qa
// QA_PASSED, others [ralph.DefaultPromise]), the number of iterations (15, 5, 10,
// 5, others 10), and the method where there is a configuration without one
// (external, semantic, external, multi_stage). Acceptance criteria are filled
// in where the configuration has {{acceptance_criteria}}.
//
// Without a method and a configuration, Method stays empty: what is to be done
// then depends on whether there is a judge, see [Criteria.Verifier].
func (d Definition) Criteria(agent string) (Criteria, error) { return Config{}.criteria(d, agent) }

func (c Config) criteria(d Definition, agent string) (Criteria, error) {
	var got Criteria
	if d.Completion != nil {
		got, _ = d.Completion.Agent(agent)
	}
	own, _ := c.agent(agent)
	p := agentPreset(agent)
	got.Promise = cmp.Or(got.Promise, own.Promise, p.promise, ralph.DefaultPromise)
	got.MaxIterations = cmp.Or(got.MaxIterations, own.MaxIterations, p.iterations, c.MaxIterations, 10)
	if got.Description == "" && agent != "" {
		got.Description = "Complete the " + agent + " stage of: " + cmp.Or(d.Title, d.ID)
	}
	switch {
	case got.Method == "" && got.Config != nil:
		got.Method = cmp.Or(own.Method, p.method)
	case got.Method == "":
		got.Method = cmp.Or(own.Method, c.Method)
	}
	if got.Config == nil && got.Method == own.Method {
		got.Config = own.Config
	}
	var err error
	got.Config, err = inject(got.Config, d.acceptance())
	return got, err
}

func (d Definition) acceptance() []string {
	if d.Completion == nil {
		return nil
	}
	return d.Completion.Acceptance
}

// Task returns what a loop runs for one agent's part of the definition, with
// the agent's defaults where it says nothing (see [Definition.Criteria]). Its
// Spec holds all that a worker needs to build the verifier, see [Verifier].
//
// The error says what is wrong with the agent's criteria or with the task as a
// whole. Whether a method is known and can be run is found out by [Build].
func (d Definition) Task(agent string) (ralph.Task, error) { return Config{}.Task(d, agent) }

// Task is [Definition.Task] with the defaults of a configuration. An agent that
// is not enabled runs once.
func (c Config) Task(d Definition, agent string) (ralph.Task, error) {
	criteria, err := c.criteria(d, agent)
	if err != nil {
		return ralph.Task{}, d.wrap(err)
	}
	if err := criteria.check(d.ID, agent); err != nil {
		return ralph.Task{}, err
	}
	s := spec{V: specVersion, Agent: agent, VerifyPromises: c.VerifyPromises, Acceptance: d.acceptance(), Criteria: criteria}
	if d.Completion != nil {
		s.Outcome = d.Completion.Outcome
	}
	text, err := s.encode()
	if err != nil {
		return ralph.Task{}, d.wrap(err)
	}
	if !c.Enabled(agent) {
		criteria.MaxIterations = 1
	}
	t := ralph.Task{
		ID: d.ID, Agent: agent, Title: d.Title, Prompt: d.Description,
		Outcome: s.Outcome, Acceptance: slices.Clone(s.Acceptance),
		Promise: criteria.Promise, Success: criteria.Description,
		HowVerified: howVerified(criteria.Method, criteria.Config), Blocked: criteria.Blocked,
		Limits: ralph.Limits{Iterations: criteria.MaxIterations}, Spec: text,
	}
	if err := t.Validate(); err != nil {
		return ralph.Task{}, d.wrap(err)
	}
	return t, nil
}

// wrap names the task in an error.
func (d Definition) wrap(err error) error { return fmt.Errorf("%s: %w", cmp.Or(d.ID, "task"), err) }

// check reports what is wrong with criteria that may not come from a file.
func (c Criteria) check(task, agent string) error {
	n, err := c.node()
	if err != nil {
		return err
	}
	r := reader{doc: &document{}, task: task}
	r.criteria(n, cmp.Or(agent, "criteria"), agent)
	return append(r.wrong, r.invalid...).join()
}

// A spec is what is kept of a definition in Task.Spec.
type spec struct {
	V              int      `json:"v"`
	Agent          string   `json:"agent,omitempty"`
	VerifyPromises bool     `json:"verify_promises,omitempty"`
	Outcome        string   `json:"outcome,omitempty"`
	Acceptance     []string `json:"acceptance_criteria,omitempty"`
	Criteria       Criteria `json:"criteria"`
}

const specVersion = 1

func (s spec) encode() (json.RawMessage, error) { return plainJSON(s) }
