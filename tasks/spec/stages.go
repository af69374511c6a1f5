package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/doc"
)

// Stages returns the agents through whose hands a task goes, in their order: coder,
// reviewer, tester, qa, then those that the configuration names, then those for which
// only the definitions have criteria. Those that are skipped are left out.
//
// If only is not empty, it says which agents there are, skipped or not, in no order:
// their order stays the one above, since a review before the code is written reviews
// nothing. It is an error if nothing is known of one of them, or if none is left.
func (c Config) Stages(only []string, defs ...Definition) ([]string, error) {
	var stages []string
	for _, agent := range c.order(defs) {
		if len(only) == 0 && !c.agent(agent).Skip || slices.Contains(only, agent) {
			stages = append(stages, agent)
		}
	}
	for _, agent := range only {
		if !slices.Contains(stages, agent) {
			return nil, leaving(fmt.Errorf("nothing is known of an agent %s%s", doc.Quote(agent), meant(agent, c.order(defs))))
		}
	}
	if len(stages) == 0 {
		return nil, leaving(fmt.Errorf("each of the agents is skipped: %s", strings.Join(c.order(defs), ", ")))
	}
	return stages, nil
}

// order are all agents that are known, in their order. The four that are built in are
// among them without being named: a configuration that says nothing has stages too.
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
		for _, a := range d.completion().Agents {
			add(a.Agent)
		}
	}
	return all
}

// defaultRounds is how often a task goes back where it is not said. It is bounded
// because two agents that disagree would send it back and forth until the money is
// gone.
const defaultRounds = 3

// OnReject returns the agent that a task goes back to if the stage of agent fails, "" =
// none, and how often it does at most: 3 where it is not said, and 0 if there is none.
func (c Config) OnReject(agent string) (to string, rounds int) {
	own := c.agent(agent)
	if own.OnReject == "" {
		return "", 0
	}
	return own.OnReject, cmp.Or(own.MaxRounds, defaultRounds)
}

// Client returns the client that does an agent's work, a preset's name or a command as
// it was written; "" = it is not said. What is done with it is for the program that
// runs it: a command that a file names should not be started without asking.
func (c Config) Client(agent string) string { return c.agent(agent).Client }
