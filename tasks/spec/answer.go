package spec

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/verify"
)

// The methods that look at the answer alone, or have a judge look at the work. Words are
// cheap to check and easy to say: they are for what nothing else can tell, and beside
// evidence.

// stringSettings are those of string_match. Without any of them the promise alone is
// enough, which is the explicit choice to take the agent's word.
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

// What must not be there is told, too: an agent that can read the rule need not guess
// it.
func (s *stringSettings) describe() string {
	return sentence(": the promise", clause("your answer must contain", s.contains), clause("your answer must not contain", s.excludes))
}

func (s *stringSettings) build(Env) (ralph.Verifier, error) {
	return verify.String{Contains: s.contains, Excludes: s.excludes}, nil
}

// contradictionsSettings are those of contradictions. The patterns come beside those
// that package verify has, and do not replace them.
type contradictionsSettings struct {
	plain
	patterns []string
}

func (s *contradictionsSettings) fields(r *reader) []field {
	return []field{key("patterns", &s.patterns, r.patterns)}
}

// describe names no pattern: a list of forbidden words teaches an agent to avoid the
// words.
func (s *contradictionsSettings) describe() string {
	return ": your answer must not say that work is left"
}

func (s *contradictionsSettings) build(Env) (ralph.Verifier, error) {
	return verify.Contradictions{Patterns: s.patterns}, nil
}

// agentSettings are those of agent. "" = the rule of the agent whose criteria these
// are.
type agentSettings struct {
	plain
	agent string
}

func (s *agentSettings) fields(r *reader) []field {
	return []field{key("agent", &s.agent, func(n *doc.Node, what string) string {
		agent := r.text(n, what)
		if n.Kind == doc.Text && !hasRule(agent) {
			r.refuse(n, "%s: %v", what, noRule(agent))
		}
		return agent
	})}
}

// describe says nothing: what the rule asks for is said wherever there is one, see
// asks.
func (s *agentSettings) describe() string { return "" }

// build uses the rule of the agent that is named, else of the agent whose
// criteria these are.
func (s *agentSettings) build(env Env) (ralph.Verifier, error) {
	agent := s.agent
	// So the same criteria can be copied from one agent to another.
	if agent == "" {
		agent = env.agent
	}
	if !hasRule(agent) {
		return nil, noRule(agent)
	}
	return verify.Agent(agent), nil
}

// rules are the agents for which [verify.Agent] has a rule, and what it asks for. They
// stand here for what agents are told, and must say what package verify asks.
func rules() []struct{ agent, asks string } {
	return []struct{ agent, asks string }{
		{"coder", "your answer must say that the work was committed"},
		{"tester", "your answer must report the tests that pass"},
		{"reviewer", "your answer must say that the review passed"},
	}
}

// ruled are the names of agents that have a rule.
func ruled() (agents []string) {
	for _, r := range rules() {
		agents = append(agents, r.agent)
	}
	return agents
}

// hasRule reports whether an agent has a rule. Others are free to say what they like.
func hasRule(agent string) bool { return slices.Contains(ruled(), agent) }

// asks is what an agent is told of its rule, "" if there is none.
func asks(agent string) string {
	if i := slices.Index(ruled(), agent); i >= 0 {
		return rules()[i].asks
	}
	return ""
}

// noRule is the error for an agent without a rule. It is one where the rule was asked
// for by name: a check that checks nothing would pass everything.
func noRule(agent string) error {
	return fmt.Errorf("there is no rule for %s%s", doc.Quote(agent), meant(agent, ruled()))
}

// ErrNoJudge is wrapped by the error for a method that needs a judge where [Env] has
// none. A program can tell it from other mistakes, and say how a judge is configured:
// the definition itself is right.
var ErrNoJudge = errors.New("no judge is configured")

// semanticSettings are those of semantic. maxBytes bounds what the judge is shown; 0 =
// as [verify.Semantic] has it.
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
		key("max_bytes", &s.maxBytes, r.whole(1, math.MaxInt)),
		// A judge that cannot be asked is no pass; only somebody who says so in so many
		// words gets the agent's own word instead.
		key("fallback", &s.fallback, func(n *doc.Node, what string) string {
			fallback := r.text(n, what)
			if n.Kind == doc.Text && fallback != stringMatch {
				r.refuse(n, "%s: the judge can only be replaced by %s, found %s", what, stringMatch, doc.Quote(fallback))
			}
			return fallback
		}),
	}
}

func (s *semanticSettings) describe() string {
	return sentence(": a judge reads your work", clause("it checks", s.checkFor), clause("your answer must not contain", s.negative))
}

// build needs no judge where there are only negative patterns to look for.
// Without anything to look for, the task's acceptance criteria are what is asked
// about.
//
// An answer is judged once for each attempt, however often the method stands in the
// criteria: a judge is paid like the agent.
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
	// A nil runner would be found out when the first claim is judged, after hours.
	if v.Judge == nil {
		return nil, fmt.Errorf("there is no judge for the model %s", doc.Quote(s.model))
	}
	if s.fallback == stringMatch {
		v.Fallback = verify.String{}
	}
	return verify.Cache(v), nil
}
