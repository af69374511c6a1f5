package tasks

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"
)

// A Completion says what done means for a task (S1). In YAML and JSON each
// agent's criteria stand under the agent's name, beside outcome and
// acceptance_criteria. In a database it is a column of JSON (S1, option A).
type Completion struct {
	// Outcome is one sentence that can be checked.
	Outcome string
	// Acceptance is the list of requirements, acceptance_criteria.
	Acceptance []string
	// Agents holds the criteria of the agents that have some, in the order in
	// which they work. Any name will do.
	Agents []AgentCriteria
}

// AgentCriteria are the criteria for one agent's part of a task.
type AgentCriteria struct {
	Agent    string
	Criteria Criteria
}

// Criteria say when one agent's part of a task is done and how that is checked.
// What is left out is the agent's default, see [Definition.Task].
type Criteria struct {
	Promise     string // the text of the completion promise
	Description string // what success means, for the agent

	// Method is verification_method, and Config is verification_config, what
	// the method needs, as JSON. See [Methods].
	Method string
	Config json.RawMessage

	// MaxIterations is the number of iterations. 0 = the agent's default.
	MaxIterations int

	// Blocked is a second promise: "I cannot go on". "" = none.
	Blocked string
	// Guard are paths and globs of files that the agent must not change: the
	// exam it is to pass. See [Snapshot].
	Guard []string
}

var (
	_ driver.Valuer = Completion{}
	_ sql.Scanner   = (*Completion)(nil)
)

// Agent returns the criteria of an agent.
func (c Completion) Agent(name string) (Criteria, bool) {
	i := slices.IndexFunc(c.Agents, func(a AgentCriteria) bool { return a.Agent == name })
	if i < 0 {
		return Criteria{}, false
	}
	return c.Agents[i].Criteria, true
}

func (c Completion) node() (*node, error) {
	n := &node{kind: nodeMap, offset: -1}
	n.addText("outcome", c.Outcome)
	n.addTexts("acceptance_criteria", c.Acceptance)
	for _, a := range c.Agents {
		if slices.Contains(completionKeys(), a.Agent) || a.Agent == "" || n.has(a.Agent) {
			return nil, fmt.Errorf("completion: %q cannot be the name of one more agent", a.Agent)
		}
		criteria, err := a.Criteria.node()
		if err != nil {
			return nil, err
		}
		n.add(a.Agent, criteria)
	}
	return n, nil
}

func (c Criteria) node() (*node, error) {
	n := &node{kind: nodeMap, offset: -1}
	n.addText("promise", c.Promise)
	n.addText("description", c.Description)
	n.addText("verification_method", c.Method)
	if err := n.addJSON("verification_config", c.Config); err != nil {
		return nil, err
	}
	n.addInt("max_iterations", c.MaxIterations)
	n.addText("blocked", c.Blocked)
	n.addTexts("guard", c.Guard)
	return n, nil
}

// MarshalJSON implements [json.Marshaler].
func (c Completion) MarshalJSON() ([]byte, error) {
	n, err := c.node()
	if err != nil {
		return nil, err
	}
	return n.json(), nil
}

// UnmarshalJSON implements [json.Unmarshaler]. Unknown keys and wrong types are
// errors.
func (c *Completion) UnmarshalJSON(text []byte) error {
	n, err := readJSON("completion", text)
	if err != nil {
		return err
	}
	r := reader{doc: &document{}}
	got := r.completion(n)
	if err := r.wrong.join(); err != nil {
		return err
	}
	*c = got
	return nil
}

// MarshalYAML makes a Completion a value for package yaml.
func (c Completion) MarshalYAML() (any, error) {
	n, err := c.node()
	if err != nil {
		return nil, err
	}
	return n.yaml(), nil
}

// UnmarshalYAML is UnmarshalJSON for package yaml.
func (c *Completion) UnmarshalYAML(y *yaml.Node) error {
	doc := &document{}
	n, err := doc.convert(y, 0, false)
	if err != nil {
		return err
	}
	r := reader{doc: doc}
	got := r.completion(n)
	if err := r.wrong.join(); err != nil {
		return err
	}
	*c = got
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (c Criteria) MarshalJSON() ([]byte, error) {
	n, err := c.node()
	if err != nil {
		return nil, err
	}
	return n.json(), nil
}

// UnmarshalJSON implements [json.Unmarshaler]. Unknown keys and wrong types are
// errors.
func (c *Criteria) UnmarshalJSON(text []byte) error {
	n, err := readJSON("criteria", text)
	if err != nil {
		return err
	}
	r := reader{doc: &document{}}
	got := r.criteria(n, "", "")
	if err := r.wrong.join(); err != nil {
		return err
	}
	*c = got
	return nil
}

// Value implements [driver.Valuer]: JSON as text, or NULL for the zero value.
func (c Completion) Value() (driver.Value, error) {
	if c.Outcome == "" && c.Acceptance == nil && c.Agents == nil {
		return nil, nil
	}
	text, err := c.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return string(text), nil
}

// Scan implements [sql.Scanner]: it reads JSON from text or bytes. NULL is the
// zero value.
func (c *Completion) Scan(src any) error {
	var text []byte
	switch v := src.(type) {
	case nil:
		*c = Completion{}
		return nil
	case string:
		text = []byte(v)
	case []byte:
		text = v
	default:
		return fmt.Errorf("tasks: a completion is a column of JSON text, found %T", src)
	}
	var got Completion
	if err := got.UnmarshalJSON(text); err != nil {
		return fmt.Errorf("tasks: completion column: %w", err)
	}
	*c = got
	return nil
}
