package spec

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/verify"
)

// Env is what verifiers are built with: what a definition does not say, because it
// depends on the machine or must not be left to a file. The zero value is valid: there
// is no judge, nothing is hidden and nothing is restricted.
//
// The functions in it are called by every verifier that is built, concurrently where
// loops run concurrently.
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
	// AcceptConfig has commands and templates take as it is now what their tools
	// read and what they run, see [verify.External].
	AcceptConfig bool
	// InheritEnv names the variables that commands and templates get, see
	// [verify.External]. Nil = the usual ones.
	InheritEnv []string
	// Sandbox restricts what commands and templates may do, see [verify.External].
	// Nil = nothing is restricted.
	Sandbox *ralph.Sandbox
	// Methods are the program's own methods.
	Methods Methods

	agent      string   // whose criteria are being built
	acceptance []string // of the task
	filled     bool     // the configuration comes from a Spec: what is in it was filled in
}

// Verifier builds the verifier of one method, for methods that are made of others and
// for programs without definitions; a task's is built by the function [Verifier].
// config is JSON, and nil = none. Nothing is run.
//
// An unknown method, a configuration that the method cannot use, and one in which
// {{acceptance_criteria}} is not filled in are errors.
func (e Env) Verifier(method string, config json.RawMessage) (v ralph.Verifier, err error) {
	defer func() { err = leaving(err) }()
	var n *doc.Node
	if len(config) > 0 {
		if n, err = doc.FromJSON(config); err != nil {
			return nil, unread(method, err)
		}
		if !e.filled && hasPlaceholder(n) {
			return nil, fmt.Errorf("%s: {{%s}} is not filled in", method, placeholder)
		}
	}
	if e.Methods[method] != nil {
		return check{method: method, config: n}.build(e)
	}
	r := reader{doc: &doc.Doc{}, anyMethod: true}
	c := r.check(doc.Mapping(), doc.String(method), n, method)
	if err := r.problems(); err != nil {
		return nil, err
	}
	return c.build(e)
}

// A TaskVerifier is the verifier of all tasks that have a Spec, see [Verifier]. It is a
// value, keeps nothing, and may be used concurrently. The zero value is
// Verifier(Env{}). Each call builds the verifier of its task anew, which is cheap,
// since building runs nothing.
type TaskVerifier struct{ env Env }

var _ ralph.Verifier = TaskVerifier{}

// Verifier returns a verifier that serves every task: it builds what the Spec
// of the claim's task describes, and asks that. One [ralph.Local], here or on any
// worker, can run all tasks of a file with it.
//
// Files to guard are guarded around the method. Without a method, a judge is
// asked about the task's acceptance criteria where there are some and env has a
// judge; otherwise the promise is enough, and the verdict says "unverified:
// promise only".
func Verifier(env Env) TaskVerifier { return TaskVerifier{env} }

// Verify implements [ralph.Verifier]. A task without a Spec, or with one that cannot be
// built, is an error and never a pass. So is a verifier that panics.
func (v TaskVerifier) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	verifier, err := v.build(c.Task)
	if err != nil {
		return ralph.Verdict{}, err
	}
	if c.Task.Dir == "" && v.env.Dir != "" {
		c.Task.Dir, c.Base = v.env.Dir, "" // which is of another folder
	}
	var verdict ralph.Verdict
	err = plugin.Call("spec: the verifier", func() (err error) { verdict, err = verifier.Verify(ctx, c); return })
	return verdict, err
}

// Validate builds the verifier of a task and has it validate the task, see
// [ralph.Verifier]. No check is run. Programs ask it before the first iteration: a
// verifier that cannot be built is found out then, and not when the agent claims to be
// done. The error wraps [ErrNoJudge] if that is what is missing.
func (v TaskVerifier) Validate(t ralph.Task) error {
	built, err := v.build(t)
	if err != nil {
		return err
	}
	t.Dir = cmp.Or(t.Dir, v.env.Dir)
	if valid, ok := built.(interface{ Validate(ralph.Task) error }); ok {
		err = valid.Validate(t)
	}
	if err != nil {
		return ofTask(t, err)
	}
	return nil
}

// Prepare returns the task with a record of what must stay as it is now, before the
// first iteration: hashes of the files that its Spec guards (guard, and the method of
// that name), and what else its verifier wants to compare with later, see
// [verify.Snapshot]. Drivers call it when a loop starts, see [ralph.Verifier].
//
// A task that guards nothing is returned unchanged. So is one whose verifier cannot be
// built; the error for that comes from Validate.
func (v TaskVerifier) Prepare(ctx context.Context, t ralph.Task) (ralph.Task, error) {
	if ctx.Err() != nil {
		return t, context.Cause(ctx)
	}
	if _, err := agreed(t); err != nil {
		return t, ofTask(t, err)
	}
	built, err := v.build(t)
	p, ok := built.(interface {
		Prepare(context.Context, ralph.Task) (ralph.Task, error)
	})
	if err != nil || !ok {
		return t, nil // Validate says why it cannot be built
	}
	dir, prepared := t.Dir, t
	prepared.Dir = cmp.Or(t.Dir, v.env.Dir)
	if prepared, err = p.Prepare(ctx, prepared); err != nil {
		return t, ofTask(t, err)
	}
	prepared.Dir = dir
	return prepared, nil
}

// Takes returns the longest time that the checks of a task may take, stages added up; 0
// = it is not said, or nothing can be built, and negative = any. A loop without a
// time-out of its own gives a verification at least that, so that a suite which is
// known to run for half an hour is not cut off by a default.
func (v TaskVerifier) Takes(t ralph.Task) time.Duration {
	built, err := v.build(t)
	if err != nil {
		return 0
	}
	if timed, ok := built.(interface {
		Takes(ralph.Task) time.Duration
	}); ok {
		return timed.Takes(t)
	}
	return 0
}

// Evidence reports whether the verifier of a task looks at more than the words of the
// answer: a command, a judge, files. Programs use it to tell people how much a verdict
// is worth. For a Spec that cannot be read Evidence returns true: that is an error
// anyway, to which a warning would add nothing.
func (v TaskVerifier) Evidence(t ralph.Task) bool {
	a, err := agreed(t)
	if err != nil {
		return true
	}
	judged := v.env.Judge != nil && len(a.acceptance) > 0
	return len(a.guard) > 0 || a.check.method != stringMatch && (a.check.method != "" || judged)
}

// Starts returns the commands that the checks of a task run, and the judge's, as
// lines for people, see [verify.External.Starts]. It runs nothing.
func (v TaskVerifier) Starts(t ralph.Task) []string {
	built, err := v.build(t)
	if s, ok := built.(interface{ Starts(ralph.Task) []string }); ok && err == nil {
		return s.Starts(t)
	}
	return nil
}

// ofTask names the task in an error: one verifier serves all of them.
func ofTask(t ralph.Task, err error) error {
	return leaving(fmt.Errorf("task %s: %w", t.ID, bare(err)))
}

// build makes the verifier of a task's Spec.
func (v TaskVerifier) build(t ralph.Task) (ralph.Verifier, error) {
	a, err := agreed(t)
	if err != nil {
		return nil, ofTask(t, err)
	}
	env := v.env
	env.Dir = cmp.Or(t.Dir, env.Dir)
	env.agent, env.acceptance, env.filled = a.agent, a.acceptance, true
	method, err := a.build(env)
	if err != nil {
		return nil, ofTask(t, err)
	}
	built := guarded(method, a.guard)
	if a.verifyPromises {
		if built, err = afterPromise(built, env); err != nil {
			return nil, ofTask(t, err)
		}
	}
	return built, nil
}

// build makes the verifier of the method, or of its absence. A configuration alone is
// refused here although a reader of files guesses its method: with a guess a promise
// might pass that the author wanted tested.
func (a agreement) build(env Env) (ralph.Verifier, error) {
	switch {
	case a.check.method != "":
		return a.check.build(env)
	case a.check.config != nil:
		return nil, errors.New("there is a verification_config but no verification_method")
	case env.Judge != nil && len(a.acceptance) > 0:
		return env.Verifier(semantic, nil)
	}
	return verify.String{}, nil
}

// afterPromise has the words of the answer looked at before the evidence: it must
// not say that work is left, and must say what is wanted of that agent, where
// there is a rule.
func afterPromise(v ralph.Verifier, env Env) (ralph.Verifier, error) {
	var words verify.MultiStage
	for _, before := range []struct{ name, method string }{{"no contradictions", contradictions}, {"the rule for " + env.agent, agentRule}} {
		if before.method == agentRule && !hasRule(env.agent) {
			continue
		}
		rule, err := env.Verifier(before.method, nil)
		if err != nil {
			return nil, err
		}
		words.Stages = append(words.Stages, verify.Stage{Name: before.name, Verifier: rule})
	}
	return afterWords{words, v}, nil
}

// afterWords asks for the evidence when the words of the answer have passed. The
// checks of the evidence come first, for they are what a verdict is about.
type afterWords struct {
	words    verify.MultiStage
	evidence ralph.Verifier
}

// Verify implements [ralph.Verifier].
func (a afterWords) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	words, err := a.words.Verify(ctx, c)
	if err != nil || !words.Passed {
		words.Checks = append(slices.Clone(words.Checks), ralph.Check{Name: "verification", Status: ralph.CheckSkipped, Detail: "not run, for the words of the answer did not pass"})
		return words, err
	}
	c.Checks = slices.Concat(c.Checks, words.Checks)
	v, err := a.evidence.Verify(ctx, c)
	v.Checks = slices.Concat(v.Checks, words.Checks)
	return v, err
}

// Validate asks the evidence.
func (a afterWords) Validate(t ralph.Task) error {
	if valid, ok := a.evidence.(interface{ Validate(ralph.Task) error }); ok {
		return valid.Validate(t)
	}
	return nil
}

// Prepare has the evidence prepare the task.
func (a afterWords) Prepare(ctx context.Context, t ralph.Task) (ralph.Task, error) {
	if p, ok := a.evidence.(interface {
		Prepare(context.Context, ralph.Task) (ralph.Task, error)
	}); ok {
		return p.Prepare(ctx, t)
	}
	return t, nil
}

// Takes is that of the evidence.
func (a afterWords) Takes(t ralph.Task) time.Duration {
	if timed, ok := a.evidence.(interface {
		Takes(ralph.Task) time.Duration
	}); ok {
		return timed.Takes(t)
	}
	return 0
}

// Starts is that of the evidence.
func (a afterWords) Starts(t ralph.Task) []string {
	if s, ok := a.evidence.(interface{ Starts(ralph.Task) []string }); ok {
		return s.Starts(t)
	}
	return nil
}

// An agreement is what is kept of a definition in Task.Spec, so that any worker
// can build the verifier of the task.
type agreement struct {
	version        int
	agent          string
	verifyPromises bool
	outcome        string
	acceptance     []string
	criteria       *doc.Node // filled in
	guard          []string  // read from criteria, as is check
	check          check
}

const agreementVersion = 1

func (a *agreement) fields(r *reader) []field {
	return []field{
		key("v", &a.version, r.whole(agreementVersion, agreementVersion)),
		key("agent", &a.agent, r.text),
		key("verify_promises", &a.verifyPromises, r.boolean),
		key("outcome", &a.outcome, r.text),
		key("acceptance_criteria", &a.acceptance, r.texts),
		key("criteria", &a.criteria, r.tree),
	}
}

// encode makes the text of Task.Spec. An empty list of criteria is left out, so that
// what asks for the same has the same text.
func (a agreement) encode() (json.RawMessage, error) {
	if len(a.acceptance) == 0 {
		a.acceptance = nil
	}
	return toJSON(write(a.fields(&reader{})))
}

// agreed reads a task's Spec. What is not understood may be a condition that a newer
// version has added, so it is an error: an older worker must not verify by less.
func agreed(t ralph.Task) (agreement, error) {
	var a agreement
	if len(t.Spec) == 0 {
		return a, errors.New("it has no Spec, so there is nothing to build a verifier from")
	}
	n, err := doc.FromJSON(t.Spec)
	if err != nil {
		return a, unread("Spec", err)
	}
	r := reader{doc: &doc.Doc{}, anyMethod: true}
	r.mapping(n, "Spec", a.fields(&r), nil)
	if n.Kind == doc.Map && a.version != agreementVersion {
		return a, fmt.Errorf("the version %d of its Spec is not known here; known is %d", a.version, agreementVersion)
	}
	if a.criteria != nil {
		var criteria Criteria
		criteria, a.check = r.criteria(a.criteria, "Spec.criteria", a.agent)
		a.guard = criteria.Guard
	}
	return a, r.problems()
}
