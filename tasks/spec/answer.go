package spec

import (
	"fmt"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/verify"
)

// The methods that look at the words of the answer alone.

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

func (s *stringSettings) describe() string {
	return sentence(": the promise", clause("your answer must contain", s.contains), clause("your answer must not contain", s.excludes))
}

func (s *stringSettings) build(Env) (ralph.Verifier, error) {
	return verify.String{Contains: s.contains, Excludes: s.excludes}, nil
}

type contradictionsSettings struct {
	plain
	patterns []string
}

func (s *contradictionsSettings) fields(r *reader) []field {
	return []field{key("patterns", &s.patterns, r.patterns)}
}

func (s *contradictionsSettings) describe() string {
	return ": your answer must not say that work is left"
}

func (s *contradictionsSettings) build(Env) (ralph.Verifier, error) {
	return verify.Contradictions{Patterns: s.patterns}, nil
}

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

func (s *agentSettings) describe() string { return "" }

// build uses the rule of the agent that is named, else of the agent whose
// criteria these are.
func (s *agentSettings) build(env Env) (ralph.Verifier, error) {
	agent := s.agent
	if agent == "" {
		agent = env.agent
	}
	if !hasRule(agent) {
		return nil, noRule(agent)
	}
	return verify.Agent(agent), nil
}

// ruled are the agents for which [verify.Agent] has a rule.
func ruled() []string { return []string{"coder", "tester", "reviewer"} }

func hasRule(agent string) bool { return slices.Contains(ruled(), agent) }

func noRule(agent string) error {
	return fmt.Errorf("there is no rule for %s%s", doc.Quote(agent), meant(agent, ruled()))
}
