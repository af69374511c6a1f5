package spec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/doc"
)

// defaults are what holds for an agent that a definition says nothing about. Agents of
// other names have the zero value, and with it what loops have by default.
type defaults struct {
	agent      string
	iterations int
	promise    string
	method     string // of a configuration without one
	// asks is what the agent is told of the rule that [verify.Agent] has for its answer;
	// "" = there is none that can fail. Agents are told because a rule about words is
	// otherwise a riddle: good work would be rejected for a report that happens not to
	// mention the commit.
	asks string
}

// agentDefaults are in the order in which the agents work. Those who look at work get
// fewer iterations than those who do it: a review that did not come to an end in five
// will not in fifteen.
func agentDefaults() []defaults {
	return []defaults{
		{"coder", 15, "IMPLEMENTATION_COMPLETE", external, "your answer must say that the work was committed"},
		{"reviewer", 5, "REVIEW_PASSED", semantic, "your answer must say that the review passed"},
		{"tester", 10, "TESTS_PASSED", external, "your answer must report the tests that pass"},
		{"qa", 5, "QA_PASSED", "multi_stage", ""},
	}
}

// defaultsOf returns zero defaults for agents that are not known.
func defaultsOf(agent string) defaults {
	if i := slices.Index(knownAgents(), agent); i >= 0 {
		return agentDefaults()[i]
	}
	return defaults{}
}

func knownAgents() []string {
	var all []string
	for _, d := range agentDefaults() {
		all = append(all, d.agent)
	}
	return all
}

// Criteria returns what holds for an agent: what the definition says, and the
// agent's defaults for what it does not say: the promise (coder
// IMPLEMENTATION_COMPLETE, reviewer REVIEW_PASSED, tester TESTS_PASSED, qa
// QA_PASSED, others [ralph.DefaultPromise]), the number of iterations (15, 5, 10,
// 5, others 10), and the method where there is a configuration without one
// (external, semantic, external, multi_stage). Acceptance criteria are filled
// in where the configuration has {{acceptance_criteria}}.
//
// Without a method and a configuration, Method stays empty: what is to be done
// then depends on whether there is a judge, see [Verifier].
func (d Definition) Criteria(agent string) (Criteria, error) {
	c, n, err := Config{}.criteria(d, agent)
	if err != nil {
		return Criteria{}, leaving(err)
	}
	c.Config = n.Get(configKey).JSON()
	return c, nil
}

// criteria returns what holds for an agent, also as a tree, in which the acceptance
// criteria are filled in.
//
// A configuration of the project goes with the method it was written for. Where the
// task names another method it is left out, and not tried on that one.
func (c Config) criteria(d Definition, agent string) (Criteria, *doc.Node, error) {
	got, _ := d.completion().Agent(agent)
	own, preset := c.agent(agent), defaultsOf(agent)
	got.Promise = cmp.Or(got.Promise, own.Promise, preset.promise, ralph.DefaultPromise)
	usual, configured := c.iterations(got, agent)
	got.MaxIterations = cmp.Or(configured, usual)
	if got.Description == "" && agent != "" {
		got.Description = "Complete the " + agent + " stage of: " + cmp.Or(d.Title, d.ID)
	}
	switch {
	case got.Method == "" && got.Config != nil:
		got.Method = cmp.Or(own.Method, preset.method)
	case got.Method == "":
		got.Method = cmp.Or(own.Method, c.Method)
	}
	if got.Config == nil && got.Method == own.Method {
		got.Config = own.Config
	}
	n, err := got.node()
	if err != nil {
		return got, nil, err
	}
	if config := n.Get(configKey); config != nil {
		inject(config, d.completion().Acceptance)
	}
	return got, n, nil
}

// Iterations returns how many iterations an agent usually has (coder 15, reviewer 5,
// tester 10, qa 5, others 10), and how many the definition or the configuration gives
// it; 0 = neither says. An agent that is not enabled has 1, and that is configured.
//
// The two are apart for programs that may change the usual number, as those do which
// learn from earlier loops, but not what a person has written down.
func (c Config) Iterations(d Definition, agent string) (usual, configured int) {
	if !c.Enabled(agent) {
		return 1, 1
	}
	got, _ := d.completion().Agent(agent)
	return c.iterations(got, agent)
}

func (c Config) iterations(got Criteria, agent string) (usual, configured int) {
	return cmp.Or(defaultsOf(agent).iterations, 10), cmp.Or(got.MaxIterations, c.agent(agent).MaxIterations, c.MaxIterations)
}

// completion is what the definition says of being done; the zero value says nothing.
func (d Definition) completion() Completion {
	if d.Completion == nil {
		return Completion{}
	}
	return *d.Completion
}

// Task returns what a loop runs for one agent's part of the definition, with the
// agent's defaults where it says nothing (see [Definition.Criteria]). Its Spec holds
// all that a worker needs to build the verifier, see [Verifier].
//
// Before any evidence the words of the answer are looked at: they must not say that
// work is left, and a coder must mention a commit, a tester passing tests, a reviewer
// approval; see [Config].
//
// It is an error if the agent's criteria, or the task as a whole, cannot be used.
// Whether the method is known, and can be built, [TaskVerifier.Validate] says: which
// methods there are is known only where the verifier is.
func (d Definition) Task(agent string) (ralph.Task, error) { return Config{}.Task(d, agent) }

// Task is [Definition.Task] with the defaults of a configuration. An agent that is not
// enabled runs once.
func (c Config) Task(d Definition, agent string) (ralph.Task, error) {
	t, err := c.task(d, agent)
	if p, ok := errors.AsType[*Problem](err); err != nil && (!ok || p.Task == "" && d.ID != "") {
		err = fmt.Errorf("%s: %w", cmp.Or(d.ID, "task"), err)
	}
	return t, leaving(err)
}

// task reads the criteria again from the tree that it puts into Spec, and takes all
// else from what it read: what the agent is told and what is verified are then the same
// text.
func (c Config) task(d Definition, agent string) (ralph.Task, error) {
	_, n, err := c.criteria(d, agent)
	if err != nil {
		return ralph.Task{}, err
	}
	r := reader{doc: &doc.Doc{}, task: d.ID, anyMethod: true}
	criteria, check := r.criteria(n, cmp.Or(agent, "criteria"), agent)
	if err := r.problems(); err != nil {
		return ralph.Task{}, err
	}
	done := d.completion()
	a := agreement{
		version: agreementVersion, agent: agent, verifyPromises: !c.TakePromises, criteria: n,
		outcome: done.Outcome, acceptance: slices.Clone(done.Acceptance),
	}
	t := ralph.Task{
		ID: d.ID, Agent: agent, Title: d.Title, Prompt: d.Description,
		Outcome: a.outcome, Acceptance: a.acceptance,
		Promise: criteria.Promise, Success: criteria.Description,
		HowVerified: shorten(strings.Join(strings.Fields(check.describe()), " "), 400), Blocked: criteria.Blocked,
		Limits: ralph.Limits{Iterations: criteria.MaxIterations}, Method: criteria.Method,
	}
	// What is not said here would be a trap: a rule about words that the agent is never
	// told.
	if asked := defaultsOf(agent).asks; a.verifyPromises && asked != "" {
		t.HowVerified = strings.TrimPrefix(sentence(t.HowVerified, asked), "; ")
	}
	if !c.Enabled(agent) {
		t.Limits.Iterations = 1
	}
	if t.Spec, err = a.encode(); err != nil {
		return ralph.Task{}, err
	}
	if err := t.Validate(); err != nil {
		return ralph.Task{}, err
	}
	return t, nil
}
