package tasks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// A Method makes a verifier of a verification_config. The configuration is nil
// if none is given; the acceptance criteria are already filled in. Env.Verifier
// builds other methods that this one is made of.
//
// A key that the method does not know and a value it cannot use are errors: a
// verifier that is configured but cannot be built keeps the loop from starting.
type Method func(config json.RawMessage, env Env) (ralph.Verifier, error)

// Methods are the verification methods of a program, by the names that
// definitions use (S1, custom verification plugins). Nil means the built-in ones:
//
//	string_match    contains, excludes: words of the answer; neither: the promise is enough
//	semantic        check_for, negative_patterns, model, fallback: a judge; see [verify.Semantic]
//	external        command (a shell line, or a list), args, success_exit_code, output_contains,
//	                output_not_contains, timeout (seconds), working_dir, env; see [verify.External]
//	multi_stage     stages (name, method, config, required), require_all, parallel; see [verify.MultiStage]
//	contradictions  patterns; see [verify.Contradictions]
//	agent           agent; see [verify.Agent]
//	guard           files, method, config: files that must not change; see [verify.Guard]
//	template        name, args; see [verify.Template]
//
// What is in the map comes first, so a built-in method can be given another
// implementation; it gets the same configuration.
type Methods map[string]Method

// find returns a method by its name.
func (m Methods) find(name string) (Method, error) {
	if method := m[name]; method != nil {
		return method, nil
	}
	if method := builtin(name); method != nil {
		return method, nil
	}
	known := append(builtinMethods(), slices.Sorted(maps.Keys(m))...)
	return nil, fmt.Errorf("unknown verification method %s%s", quoteShort(name), meant(name, known))
}

// Env is what verifiers are built with: what a definition does not say.
type Env struct {
	// Dir is the workspace of tasks that name none. "" = the current directory.
	Dir string
	// Judge returns the agent that answers for the method semantic. The model is
	// what the definition names; "" = the judge's own. Nil = there is no judge,
	// and a definition that asks for one cannot be built.
	Judge func(model string) (ralph.Runner, error)
	// Evidence gives the judge facts about the work, see [verify.Semantic]. It
	// may be nil.
	Evidence func(context.Context, ralph.Claim) (string, error)
	// Redact returns a text without its secrets; all that leaves a verifier
	// passes it, see [verify.External]. Nil = nothing is hidden.
	Redact func(string) string
	// Methods are the program's own methods.
	Methods Methods

	agent      string   // whose criteria are being built
	acceptance []string // of the task
	filled     bool     // the configuration comes from a Spec: what is in it was filled in
}

// Verifier builds the verifier of a method. An unknown method and a
// configuration that the method cannot use are errors.
func (e Env) Verifier(method string, config json.RawMessage) (ralph.Verifier, error) {
	m, err := e.Methods.find(method)
	if err != nil {
		return nil, err
	}
	v, err := m(config, e)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, fmt.Errorf("the verification method %s gave no verifier", quoteShort(method))
	}
	return v, nil
}

// Verifier builds the verifier of criteria whose configuration is complete, as
// [Definition.Criteria] returns it. Files to guard are guarded around it.
//
// Without a method, a judge is asked about the task's acceptance criteria where
// there are some and env has a judge (criteria on their own have none);
// otherwise the promise is enough, and the verdict says "unverified: promise
// only". A configuration without a method is an error.
func (c Criteria) Verifier(env Env) (ralph.Verifier, error) {
	v, err := c.method(env)
	if err != nil {
		return nil, err
	}
	v = guarded(v, c.Guard)
	if env.Dir == "" {
		return v, nil
	}
	return ralph.VerifierFunc(func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
		c.Task.Dir = cmp.Or(c.Task.Dir, env.Dir)
		return v.Verify(ctx, c)
	}), nil
}

func (c Criteria) method(env Env) (ralph.Verifier, error) {
	if c.Config != nil {
		n, err := readJSON("verification_config", c.Config)
		if err != nil {
			return nil, err
		}
		if !env.filled && hasPlaceholder(n) {
			return nil, fmt.Errorf("verification_config: {{%s}} is not filled in", placeholder)
		}
	}
	switch {
	case c.Method != "":
		return env.Verifier(c.Method, c.Config)
	case c.Config != nil:
		return nil, errors.New("there is a verification_config but no verification_method")
	case env.Judge != nil && len(env.acceptance) > 0:
		return env.Verifier(methodSemantic, nil)
	}
	return verify.String{}, nil
}

// Build returns the verifier that a task's Spec describes. Programs call it
// before the first iteration: a verifier that cannot be built is found out then,
// and not when the agent claims to be done. A task without a Spec is an error.
func Build(t ralph.Task, env Env) (ralph.Verifier, error) {
	s, err := decodeSpec(t)
	if err != nil {
		return nil, err
	}
	env.agent, env.acceptance, env.filled = s.Agent, s.Acceptance, true
	v, err := s.Criteria.Verifier(env)
	if err == nil && s.VerifyPromises {
		v, err = afterPromise(v, env)
	}
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", t.ID, err)
	}
	return v, nil
}

// Verifier returns a verifier that serves every task: it builds what the Spec
// of the claim's task describes (see [Build]), and asks that. One
// [ralph.Local], here or on any worker, can run all tasks of a file with it.
//
// A task without a Spec, or with one that cannot be built, is an error and
// never a pass.
func Verifier(env Env) ralph.Verifier {
	return ralph.VerifierFunc(func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
		v, err := Build(c.Task, env)
		if err != nil {
			return ralph.Verdict{}, err
		}
		return v.Verify(ctx, c)
	})
}

// Snapshot returns the task with the hashes of the files that its Spec guards
// (guard, and the method of that name), as they are now in its workspace: call
// it before the first iteration. A task that guards nothing is returned as it is.
// See [verify.Snapshot].
func Snapshot(t ralph.Task, env Env) (ralph.Task, error) {
	s, err := decodeSpec(t)
	if err != nil {
		return t, err
	}
	globs := slices.Clone(s.Criteria.Guard)
	if s.Criteria.Config != nil {
		n, err := readJSON("verification_config", s.Criteria.Config)
		if err != nil {
			return t, err
		}
		globs = append(globs, guardedBy(s.Criteria.Method, n)...)
	}
	if len(globs) == 0 {
		return t, nil
	}
	dir := t.Dir
	t.Dir = cmp.Or(t.Dir, env.Dir)
	t, err = verify.Snapshot(t, globs...)
	t.Dir = dir
	return t, err
}

// guardedBy returns the files that a method and its stages guard.
func guardedBy(method string, config *node) []string {
	if config == nil {
		return nil
	}
	r := reader{doc: &document{}}
	switch method {
	case methodGuard:
		c := r.guardConfig(config, "")
		return append(slices.Clone(c.files), guardedBy(c.method, c.config)...)
	case methodMultiStage:
		var all []string
		for _, s := range r.stagesConfig(config, "").stages {
			all = append(all, guardedBy(s.method, s.config)...)
		}
		return all
	}
	return nil
}

// decodeSpec reads a task's Spec.
func decodeSpec(t ralph.Task) (spec, error) {
	if len(t.Spec) == 0 {
		return spec{}, fmt.Errorf("task %s: it has no spec, so there is nothing to build a verifier from", t.ID)
	}
	var version struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(t.Spec, &version); err != nil {
		return spec{}, fmt.Errorf("task %s: spec: %w", t.ID, err)
	}
	if version.V != specVersion {
		return spec{}, fmt.Errorf("task %s: spec: version %d is not known here; known is %d", t.ID, version.V, specVersion)
	}
	var s spec
	dec := json.NewDecoder(bytes.NewReader(t.Spec))
	dec.DisallowUnknownFields() // what is not understood here may be a condition
	if err := dec.Decode(&s); err != nil {
		return spec{}, fmt.Errorf("task %s: spec: %w", t.ID, err)
	}
	return s, nil
}

func plainJSON(s spec) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
