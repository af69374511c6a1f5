package spec

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/doc"
	"go.yaml.in/yaml/v4"
)

// A Completion says what done means for a task. In YAML and JSON each agent's criteria
// stand under the agent's name, beside outcome and acceptance_criteria. In a database
// it is a column of JSON. The zero value says nothing; in a database it is NULL.
type Completion struct {
	// Outcome is one sentence that can be checked.
	Outcome string
	// Acceptance is the list of requirements, acceptance_criteria.
	Acceptance []string
	// Agents holds the criteria of the agents that have some, in the order in
	// which they work. Any name will do.
	Agents []AgentCriteria
}

var (
	_ driver.Valuer = Completion{}
	_ sql.Scanner   = (*Completion)(nil)
)

// Agent returns the criteria of an agent. false = there are none, and the agent's
// defaults apply.
func (c Completion) Agent(name string) (Criteria, bool) {
	i := slices.IndexFunc(c.Agents, func(a AgentCriteria) bool { return a.Agent == name })
	if i < 0 {
		return Criteria{}, false
	}
	return c.Agents[i].Criteria, true
}

func (c *Completion) fields(r *reader) []field {
	return []field{
		key("outcome", &c.Outcome, r.text),
		key("acceptance_criteria", &c.Acceptance, func(n *doc.Node, what string) []string {
			all := r.texts(n, what)
			// A blank criterion is met by anything, and a judge that is asked about it
			// says so.
			for i, text := range all {
				if strings.TrimSpace(text) == "" && n.Items[i].Kind == doc.Text {
					r.refuse(n.Items[i], "acceptance_criteria[%d] is empty", i)
				}
			}
			return all
		}),
	}
}

func completionKeys() []string { return names(new(Completion).fields(&reader{})) }

// completion reads what stands below completion. A completion without a criterion says
// that something is done, and not when.
func (r *reader) completion(n *doc.Node) Completion {
	var c Completion
	r.required(n, "outcome")
	r.mapping(n, "completion", c.fields(r), func(key, value *doc.Node) bool { return r.agent(&c, key, value) })
	switch at := given(n, "acceptance_criteria"); {
	case n.Kind != doc.Map:
	case at == nil:
		r.refuse(n, "acceptance_criteria is missing; it lists what must be true when the task is done")
	// Nothing to fulfil is fulfilled at once.
	case at.Kind == doc.List && len(at.Items) == 0:
		r.refuse(at, "acceptance_criteria is empty; it needs at least one entry")
	}
	return c
}

// agent reads the criteria under an agent's name. Any name will do, but one
// that looks like a slip of the pen would leave an agent without its criteria.
//
// It is not a mistake to name an agent that nobody knows: roles differ from project to
// project.
func (r *reader) agent(c *Completion, key, value *doc.Node) bool {
	switch {
	case value.Kind == doc.Null:
		// Programs write null for an agent without criteria.
		return Nearest(key.Text, completionKeys()...) == ""
	case value.Kind != doc.Map || strings.TrimSpace(key.Text) == "":
		return false
	}
	r.agentName(key)
	criteria, _ := r.criteria(value, key.Text, key.Text)
	c.Agents = append(c.Agents, AgentCriteria{key.Text, criteria})
	return true
}

// agentName refuses a misspelt name of a known agent. A name that a known one begins is
// a name of its own, and so is one that only begins a known one (test). "coder2" is
// thus an agent of one's own, and "codr" a mistake.
func (r *reader) agentName(key *doc.Node) {
	name := Nearest(key.Text, knownAgents()...)
	begun := strings.HasPrefix(name, key.Text) && len(name)-len(key.Text) > max(1, len(key.Text)/3)
	if len(name) >= 4 && !strings.HasPrefix(key.Text, name) && !begun {
		r.bad(key, "unknown agent %s; did you mean %q?", doc.Quote(key.Text), name)
	}
}

func (c Completion) node() (*doc.Node, error) {
	n, err := write(c.fields(&reader{}))
	for _, a := range c.Agents {
		if err != nil {
			return nil, err
		}
		// It would be read back as something else.
		if slices.Contains(completionKeys(), a.Agent) || a.Agent == "" || n.Has(a.Agent) {
			return nil, fmt.Errorf("completion: %q cannot be the name of one more agent", a.Agent)
		}
		var criteria *doc.Node
		criteria, err = a.Criteria.node()
		n.Add(a.Agent, criteria)
	}
	return n, err
}

// MarshalJSON implements [json.Marshaler].
func (c Completion) MarshalJSON() ([]byte, error) { return toJSON(c.node()) }

// UnmarshalJSON implements [json.Unmarshaler]. Unknown keys and wrong types are
// errors.
func (c *Completion) UnmarshalJSON(text []byte) error {
	return fromJSON("completion", text, c, (*reader).completion)
}

// MarshalYAML makes a Completion a value for package yaml.
func (c Completion) MarshalYAML() (any, error) { return toYAML(c.node()) }

// UnmarshalYAML is UnmarshalJSON for package yaml.
func (c *Completion) UnmarshalYAML(y *yaml.Node) error {
	return fromYAML("completion", y, c, (*reader).completion)
}

// Value implements [driver.Valuer]: JSON as text, or NULL for the zero value.
func (c Completion) Value() (driver.Value, error) {
	if c.Outcome == "" && c.Acceptance == nil && c.Agents == nil {
		return nil, nil
	}
	text, err := c.MarshalJSON()
	return string(text), err
}

// Scan implements [sql.Scanner]: it reads JSON from text or bytes. NULL is the zero
// value. On an error the value stays as it was.
func (c *Completion) Scan(src any) error {
	var err error
	switch v := src.(type) {
	case nil:
		*c = Completion{}
	case string:
		err = c.UnmarshalJSON([]byte(v))
	case []byte:
		err = c.UnmarshalJSON(v)
	default:
		err = fmt.Errorf("a completion is a column of JSON text, found %T", src)
	}
	if err != nil {
		return fmt.Errorf("spec: completion column: %w", bare(err))
	}
	return nil
}
