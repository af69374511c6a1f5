package spec

import (
	"errors"
	"fmt"
	"math"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/verify"
)

// The methods that look at the answer alone, or have a judge look at the work.

// stringSettings are those of string_match. Without contains and excludes they are
// valid: the promise alone is then taken as enough, and the verdict carries a warning
// that says so. That is a choice which somebody wrote down, unlike a method that was
// forgotten.
type stringSettings struct {
	plain
	contains, excludes []string
}

func (s *stringSettings) fields(r *reader) []field {
	return []field{
		key("contains", &s.contains, r.patterns),
		key("excludes", &s.excludes, r.patterns),
	}
}

// describe begins with the promise, for [verify.String] rejects a claim without one
// whatever else is in the answer.
func (s *stringSettings) describe() string {
	return sentence(": the promise", clause("your answer must contain", s.contains), clause("your answer must not contain", s.excludes))
}

func (s *stringSettings) build(Env) (ralph.Verifier, error) {
	return verify.String{Contains: s.contains, Excludes: s.excludes}, nil
}

// contradictionsSettings may name patterns of their own. They are looked for beside the
// built-in ones and never replace them, so a project that adds one loses nothing.
type contradictionsSettings struct {
	plain
	patterns []string
}

func (s *contradictionsSettings) fields(r *reader) []field {
	return []field{key("patterns", &s.patterns, r.patterns)}
}

// describe says the rule and keeps the patterns to itself: an agent that is shown the
// words learns to avoid the words, not to finish the work.
func (s *contradictionsSettings) describe() string {
	return ": your answer must not say that work is left"
}

func (s *contradictionsSettings) build(Env) (ralph.Verifier, error) {
	return verify.Contradictions{Patterns: s.patterns}, nil
}

// agentSettings name the agent whose rule is asked for; "" is the agent whose criteria
// these are, which is known only when the verifier is built.
type agentSettings struct {
	plain
	agent string
}

func (s *agentSettings) fields(r *reader) []field {
	return []field{key("agent", &s.agent, func(n *doc.Node, what string) string {
		agent := r.text(n, what)
		if n.Kind == doc.Text && defaultsOf(agent).asks == "" {
			r.refuse(n, "%s: %v", what, noRule(agent))
		}
		return agent
	})}
}

// describe adds nothing: [Definition.Task] tells every agent what its own rule asks
// for.
func (s *agentSettings) describe() string { return "" }

// build uses the rule of the agent that is named, else the rule of the agent whose
// criteria these are. An agent without a rule is an error here and not a pass, since
// somebody has asked for a check that does not exist.
func (s *agentSettings) build(env Env) (ralph.Verifier, error) {
	agent := s.agent
	if agent == "" {
		agent = env.agent
	}
	if defaultsOf(agent).asks == "" {
		return nil, noRule(agent)
	}
	return verify.Agent(agent), nil
}

// noRule lists the agents that have one, see defaults.
func noRule(agent string) error {
	return fmt.Errorf("there is no rule for %s%s", doc.Quote(agent), meant(agent, []string{"coder", "tester", "reviewer"}))
}

// ErrNoJudge is wrapped by the error for a method that needs a judge where [Env] has
// none. Programs test for it with [errors.Is] to say how a judge is configured with
// them, which this package cannot know.
var ErrNoJudge = errors.New("no judge is configured")

// semanticSettings are those of semantic. All of them are optional: what there is to
// check may come from the task's acceptance criteria, which are not known while the
// configuration is read.
type semanticSettings struct {
	plain
	checkFor, negative []string
	model, fallback    string
	maxBytes           int
}

func (s *semanticSettings) fields(r *reader) []field {
	return []field{
		key("check_for", &s.checkFor, r.patterns),
		key("negative_patterns", &s.negative, r.patterns),
		key("model", &s.model, r.text),
		// There is no value for "no bound", although [verify.Semantic] has one: what a
		// file of a stranger may send to a paid model stays bounded.
		key("max_bytes", &s.maxBytes, r.whole(1, math.MaxInt)),
		key("fallback", &s.fallback, func(n *doc.Node, what string) string {
			fallback := r.text(n, what)
			if n.Kind == doc.Text && fallback != stringMatch {
				r.refuse(n, "%s: the judge can only be replaced by %s, found %s", what, stringMatch, doc.Quote(fallback))
			}
			return fallback
		}),
	}
}

// describe does not name the model: an agent has no use for it.
func (s *semanticSettings) describe() string {
	return sentence(": a judge reads your work", clause("it checks", s.checkFor), clause("your answer must not contain", s.negative))
}

// build needs no judge where there are only negative patterns, which are looked for
// without one. Where nothing at all is named, the judge is asked about the task's
// acceptance criteria: that is what a person means who writes "semantic" and no more.
//
// The verifier is cached, because a judge costs money and several stages may ask it
// about the same answer.
func (s *semanticSettings) build(env Env) (ralph.Verifier, error) {
	v := verify.Semantic{Criteria: s.checkFor, Excludes: s.negative, Evidence: env.Evidence, Redact: env.Redact, MaxBytes: s.maxBytes}
	if len(v.Criteria) == 0 {
		if len(s.negative) > 0 {
			return v, nil
		}
		v.Criteria = env.acceptance
	}
	if len(v.Criteria) == 0 {
		return nil, errors.New("there is nothing to check for: no check_for, and no acceptance_criteria")
	}
	// Without a judge the fallback is not used in its place: a fallback is for a judge
	// that failed once, and here every verification would silently be one of words.
	if env.Judge == nil {
		return nil, ErrNoJudge
	}
	err := plugin.Call("Env.Judge", func() (err error) {
		v.Judge, err = env.Judge(s.model)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	if v.Judge == nil {
		return nil, fmt.Errorf("there is no judge for the model %s", doc.Quote(s.model))
	}
	if s.fallback == stringMatch {
		v.Fallback = verify.String{}
	}
	return verify.Cache(v), nil
}
