package tasks

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// builtin returns a built-in method, or nil.
func builtin(name string) Method {
	switch name {
	case methodString:
		return buildString
	case methodSemantic:
		return buildSemantic
	case methodExternal:
		return buildExternal
	case methodMultiStage:
		return buildStages
	case methodContradictions:
		return buildContradictions
	case methodAgent:
		return buildAgent
	case methodGuard:
		return buildGuard
	case methodTemplate:
		return buildTemplate
	}
	return nil
}

// configOf reads a method's configuration; nothing in it may be wrong.
func configOf[T any](method string, config json.RawMessage, read func(r *reader, n *node, what string) T) (T, error) {
	n := &node{kind: nodeMap, offset: -1}
	var zero T
	if len(config) > 0 {
		var err error
		if n, err = readJSON(method, config); err != nil {
			return zero, err
		}
	}
	r := reader{doc: &document{}}
	c := read(&r, n, method)
	r.placeholders(n, method)
	if err := append(r.wrong, r.invalid...).join(); err != nil {
		return zero, err
	}
	return c, nil
}

func buildString(config json.RawMessage, _ Env) (ralph.Verifier, error) {
	c, err := configOf(methodString, config, (*reader).stringConfig)
	return verify.String{Contains: c.contains, Excludes: c.excludes}, err
}

// ErrNoJudge is wrapped by the error for a method that needs a judge where
// [Env] has none.
var ErrNoJudge = errors.New("no judge is configured")

// buildSemantic needs no judge where there are only negative patterns to look
// for (S1 has such a stage). Without anything to look for, the task's acceptance
// criteria are what is asked about.
func buildSemantic(config json.RawMessage, env Env) (ralph.Verifier, error) {
	c, err := configOf(methodSemantic, config, (*reader).semanticConfig)
	if err != nil {
		return nil, err
	}
	criteria := c.checkFor
	if len(criteria) == 0 {
		if len(c.negative) > 0 {
			return verify.Semantic{Excludes: c.negative}, nil
		}
		criteria = env.acceptance
	}
	if len(criteria) == 0 {
		return nil, errors.New("semantic: there is nothing to check for: no check_for, and no acceptance_criteria")
	}
	if env.Judge == nil {
		return nil, fmt.Errorf("semantic: %w", ErrNoJudge)
	}
	judge, err := env.Judge(c.model)
	if err != nil {
		return nil, fmt.Errorf("semantic: judge: %w", err)
	}
	if judge == nil {
		return nil, fmt.Errorf("semantic: there is no judge for the model %s", quoteShort(c.model))
	}
	v := verify.Semantic{Judge: judge, Criteria: criteria, Excludes: c.negative, Evidence: env.Evidence, Redact: env.Redact}
	if c.fallback == methodString {
		v.Fallback = verify.String{}
	}
	return verify.Cache(v), nil
}

func buildExternal(config json.RawMessage, env Env) (ralph.Verifier, error) {
	c, err := configOf(methodExternal, config, (*reader).externalConfig)
	if err != nil {
		return nil, err
	}
	return verify.Cache(verify.External{
		Args: c.args, Shell: c.shell, Dir: c.dir, Env: c.env, Timeout: c.timeout,
		ExitCode: c.exitCode, Contains: c.contains, Excludes: c.excludes, Redact: env.Redact,
	}), nil
}

// buildStages builds equal stages once, so that a command that several of them
// run runs once for each attempt (S1, verification caching).
func buildStages(config json.RawMessage, env Env) (ralph.Verifier, error) {
	c, err := configOf(methodMultiStage, config, (*reader).stagesConfig)
	if err != nil {
		return nil, err
	}
	type key struct{ method, config string }
	built := make(map[key]ralph.Verifier, len(c.stages))
	all := verify.MultiStage{Any: c.anyOne, Parallel: c.parallel}
	for i, s := range c.stages {
		raw := s.config.rawJSON()
		k := key{s.method, string(raw)}
		v := built[k]
		if v == nil {
			if v, err = env.Verifier(s.method, raw); err != nil {
				return nil, fmt.Errorf("multi_stage: stage %d (%s): %w", i+1, s.name, err)
			}
			built[k] = v
		}
		all.Stages = append(all.Stages, verify.Stage{Name: s.name, Verifier: v, Advisory: s.advisory})
	}
	return all, nil
}

// rawJSON is the configuration as JSON; nil stays nil.
func (n *node) rawJSON() json.RawMessage {
	if n == nil {
		return nil
	}
	return n.json()
}

func buildContradictions(config json.RawMessage, _ Env) (ralph.Verifier, error) {
	c, err := configOf(methodContradictions, config, (*reader).contradictionsConfig)
	return verify.Contradictions{Patterns: c.patterns}, err
}

// buildAgent uses the rule of the agent that is named, else of the agent whose
// criteria these are.
func buildAgent(config json.RawMessage, env Env) (ralph.Verifier, error) {
	c, err := configOf(methodAgent, config, (*reader).agentConfig)
	if err != nil {
		return nil, err
	}
	if c.agent == "" {
		c.agent = env.agent
	}
	if !hasRule(c.agent) {
		return nil, fmt.Errorf("agent: there is no rule for %s%s", quoteShort(c.agent), meant(c.agent, stageRules()))
	}
	return verify.Agent(c.agent), nil
}

func buildGuard(config json.RawMessage, env Env) (ralph.Verifier, error) {
	c, err := configOf(methodGuard, config, (*reader).guardConfig)
	if err != nil {
		return nil, err
	}
	var v ralph.Verifier = verify.String{}
	if c.method != "" {
		if v, err = env.Verifier(c.method, c.config.rawJSON()); err != nil {
			return nil, fmt.Errorf("guard: %w", err)
		}
	}
	return guarded(v, c.files), nil
}

// guarded adds a guard, if there is something to guard.
func guarded(v ralph.Verifier, globs []string) ralph.Verifier {
	if len(globs) == 0 {
		return v
	}
	return verify.Guard{Verifier: v, Globs: globs}
}

func buildTemplate(config json.RawMessage, env Env) (ralph.Verifier, error) {
	c, err := configOf(methodTemplate, config, (*reader).templateConfig)
	if err != nil {
		return nil, err
	}
	v := verify.Template{Name: c.name, Args: c.args, Redact: env.Redact}
	if err := v.Validate(ralph.Task{}); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return verify.Cache(v), nil
}

// checkTemplate says what is wrong with the use of a template.
func checkTemplate(name string, args []string) error {
	return verify.Template{Name: name, Args: args}.Validate(ralph.Task{})
}

// afterPromise has the words of the answer looked at before the evidence (S4's
// verify_promises): it must not say that work is left, and must say what S4
// wants of that agent, where it has a rule.
func afterPromise(v ralph.Verifier, env Env) (ralph.Verifier, error) {
	contradictions, err := env.Verifier(methodContradictions, nil)
	if err != nil {
		return nil, err
	}
	stages := []verify.Stage{{Name: "no contradictions", Verifier: contradictions}}
	if hasRule(env.agent) {
		rule, err := env.Verifier(methodAgent, nil)
		if err != nil {
			return nil, err
		}
		stages = append(stages, verify.Stage{Name: "the rule for " + env.agent, Verifier: rule})
	}
	return verify.MultiStage{Stages: append(stages, verify.Stage{Name: "verification", Verifier: v})}, nil
}
