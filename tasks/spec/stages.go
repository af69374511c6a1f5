package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/doc"
)

// Stages returns the agents that work on a task, one after the other, in their order:
// coder, reviewer, tester, qa, then those that the configuration names, then those for
// which only the definitions have criteria. Those that are skipped are left out. If
// only is not empty, it says which agents there are, skipped or not; their order stays
// the same. It is an error if nothing is known of one of them, or if none is left.
func (c Config) Stages(only []string, defs ...Definition) ([]string, error) {
	var stages []string
	for _, agent := range c.order(defs) {
		own, _ := c.agent(agent)
		// Who names an agent wants it, whatever the configuration leaves out.
		if len(only) == 0 && !own.Skip || slices.Contains(only, agent) {
			stages = append(stages, agent)
		}
	}
	for _, agent := range only {
		if !slices.Contains(stages, agent) {
			return nil, leaving(fmt.Errorf("nothing is known of an agent %s%s", doc.Quote(agent), meant(agent, c.order(defs))))
		}
	}
	// A pipeline without stages would call every task done.
	if len(stages) == 0 {
		return nil, leaving(fmt.Errorf("each of the agents is skipped: %s", strings.Join(c.order(defs), ", ")))
	}
	return stages, nil
}

// order are all agents that are known, in their order. It depends on nothing but what
// was read, so all workers agree on it.
func (c Config) order(defs []Definition) []string {
	all := knownAgents()
	add := func(agent string) {
		if !slices.Contains(all, agent) {
			all = append(all, agent)
		}
	}
	for _, a := range c.Agents {
		add(a.Agent)
	}
	for _, d := range defs {
		if d.Completion != nil {
			for _, a := range d.Completion.Agents {
				add(a.Agent)
			}
		}
	}
	return all
}

// defaultRounds is how often a task goes back where it is not said. Agents that have
// not agreed by then do not agree by themselves.
const defaultRounds = 3

// OnReject returns the agent that a task goes back to if the stage of agent fails, "" =
// none, and how often at most that happens to one task. Without such an agent rounds is
// 0.
func (c Config) OnReject(agent string) (to string, rounds int) {
	own, _ := c.agent(agent)
	if own.OnReject == "" {
		return "", 0
	}
	if own.MaxRounds == 0 {
		own.MaxRounds = defaultRounds
	}
	return own.OnReject, own.MaxRounds
}

// Client returns the client that does an agent's work, "" = it is not said. What the
// name means is for the caller: [ralph.Preset], or a program.
func (c Config) Client(agent string) string {
	own, _ := c.agent(agent)
	return own.Client
}
