package spec

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/ralph-loop/ralph/internal/doc"
)

// A Definition is a task as a person writes it down, with what done means. YAML and
// JSON use the same keys. Writing one and reading it back loses nothing: an empty list
// stays apart from none, numbers in metadata keep their digits.
//
// It is a plain value. The zero value marshals, but is not valid: a definition needs an
// ID and a title. What it points to is shared by copies, so copies may be read
// concurrently.
type Definition struct {
	// ID names the task for dependencies and on the record of every run. It is text:
	// 007 and 7 are two tasks.
	ID string
	// SpecID is spec_id: the feature that the task belongs to, for people.
	SpecID string
	Title  string
	// Description is what the agent is asked to do, [ralph.Task.Prompt].
	Description string
	// Status as it was written; "" counts as StatusTodo.
	Status Status
	// Priority: lower is more urgent, as in most trackers; 0 = none, which comes last.
	// See [ByPriority].
	Priority int

	// Dependencies are IDs of tasks that must be done before.
	Dependencies []string
	// Assignee is kept for people. Nothing here looks at it.
	Assignee string
	// CreatedAt and UpdatedAt are created_at and updated_at. A time without a zone is
	// read as UTC. They decide nothing.
	CreatedAt time.Time
	UpdatedAt time.Time

	// Metadata is whatever else people and programs keep with a task, each
	// value as JSON. It is not looked at.
	Metadata map[string]json.RawMessage
	// Iteration is how far the work has come, for people who read the file. No run goes
	// on from it: that is for the run's own record, which nobody edits.
	Iteration int

	// Completion says what done means. Nil = nothing is said; the defaults of
	// each agent apply.
	Completion *Completion
}

// fields are the keys of a definition, in the order in which they are written. One
// table serves reading, writing and the list of known keys in messages, so they cannot
// differ.
func (d *Definition) fields(r *reader) []field {
	completion := func(n *doc.Node, _ string) *Completion {
		c := r.completion(n)
		if d.Completion != nil {
			r.bad(n, "both completion and completion_spec are given; they are the same")
		}
		return &c
	}
	return []field{
		key("id", &d.ID, r.name),
		key("spec_id", &d.SpecID, r.name),
		key("title", &d.Title, r.text),
		key("description", &d.Description, r.text),
		key("status", (*string)(&d.Status), r.text),
		key("priority", &d.Priority, r.whole(math.MinInt, math.MaxInt)),
		key("dependencies", &d.Dependencies, r.names),
		key("assignee", &d.Assignee, r.text),
		key("created_at", &d.CreatedAt, r.time),
		key("updated_at", &d.UpdatedAt, r.time),
		key("metadata", &d.Metadata, r.values),
		key("iteration", &d.Iteration, r.whole(0, math.MaxInt)),
		key("completion", &d.Completion, completion),
		// An older name, which other programs still write. It is read and never
		// written.
		{"completion_spec", key("", &d.Completion, completion).read, nil}, // an older name, which other programs still write
	}
}

// definition reads a task. The ID is looked up before anything else, since every
// message about the task names it.
func (r *reader) definition(n *doc.Node) Definition {
	var d Definition
	if id := n.Get("id"); id != nil && id.Kind != doc.List && id.Kind != doc.Map {
		r.task = id.Written()
	}
	defer func() { r.task = "" }()
	r.required(n, "id")
	r.required(n, "title")
	r.mapping(n, "", d.fields(r), r.outdented)
	r.foreignStatus(n, d.Status)
	if n.Kind == doc.Map && d.Completion == nil {
		r.warn(n, "has no completion, so it is not said what done means; the defaults of each agent apply")
	}
	return d
}

// outdented says where a key of a completion belongs that is one level too high. That
// is the usual slip in YAML, and "unknown key" would send its author looking for a
// typo.
func (r *reader) outdented(key, _ *doc.Node) bool {
	if slices.Contains(completionKeys(), key.Text) || slices.Contains(knownAgents(), key.Text) {
		r.bad(key, "the key %s belongs below completion", doc.Quote(key.Text))
		return true
	}
	return false
}

func (d Definition) node() (*doc.Node, error) { return write(d.fields(&reader{})) }

// Changed returns the keys under which now says something else than d; what differs
// within a completion is named as completion.coder. Empty = both ask for the same. It
// is for programs that run what was agreed and want to know whether the file still says
// so.
//
// Status, iteration, updated_at and metadata are not compared: they are what programs
// write into the file while a task is worked on.
func (d Definition) Changed(now Definition) []string {
	for _, one := range []*Definition{&d, &now} {
		one.Status, one.Iteration, one.UpdatedAt, one.Metadata = "", 0, time.Time{}, nil
	}
	a, err := d.node()
	b, errNow := now.node()
	if err != nil || errNow != nil { // not from a file, and not to be written to one
		return names(d.fields(&reader{}))
	}
	var all []string
	for _, key := range differing(a, b) {
		within := []string(nil)
		if key == "completion" && d.Completion != nil && now.Completion != nil {
			within = differing(a.Get(key), b.Get(key))
		}
		for _, one := range within {
			all = append(all, inside(key, one))
		}
		if len(within) == 0 {
			all = append(all, key)
		}
	}
	return all
}

// differing are the keys under which two mappings do not hold the same. Their
// order matters not.
func differing(a, b *doc.Node) []string {
	var all []string
	for _, key := range slices.Concat(a.Keys, b.Keys) {
		x, y := a.Get(key.Text), b.Get(key.Text)
		if !slices.Contains(all, key.Text) && (x == nil || y == nil || !x.Equal(y)) {
			all = append(all, key.Text)
		}
	}
	return all
}

// MarshalJSON implements [json.Marshaler]. Zero values are left out; a list that is
// empty and not nil is written. It fails if metadata or a method's configuration is not
// valid JSON, or if two agents have the same name.
func (d Definition) MarshalJSON() ([]byte, error) { return toJSON(d.node()) }

// UnmarshalJSON implements [json.Unmarshaler]. Unknown keys and wrong types are errors;
// then d stays as it is. What is missing or out of range is for [Definition.Validate].
func (d *Definition) UnmarshalJSON(text []byte) error {
	return fromJSON("definition", text, d, (*reader).definition)
}

// MarshalYAML makes a Definition a value for package yaml. It fails as MarshalJSON
// does.
func (d Definition) MarshalYAML() (any, error) { return toYAML(d.node()) }

// UnmarshalYAML is UnmarshalJSON for package yaml.
func (d *Definition) UnmarshalYAML(y *yaml.Node) error {
	return fromYAML("definition", y, d, (*reader).definition)
}

// YAML returns the definition as a YAML document of its own, below the key task.
// [Create] begins a file with it, to which [File.Add] can add more. It fails as
// MarshalJSON does.
func (d Definition) YAML() ([]byte, error) {
	n, err := d.node()
	if err != nil {
		return nil, leaving(err)
	}
	text, err := belowTask(n).YAMLText()
	return text, leaving(err)
}

func belowTask(n *doc.Node) *doc.Node {
	wrapped := doc.Mapping()
	wrapped.Add("task", n)
	return wrapped
}

// Validate reports everything that keeps the definition from being used, as
// [File.Validate] does for a file; the problems have no place. Methods are known
// besides the built-in ones and may be nil. Dependencies are not looked up, for only a
// file or a program knows the other tasks.
func (d Definition) Validate(methods Methods) error {
	n, err := d.node()
	if err != nil {
		return leaving(err)
	}
	r := reader{doc: &doc.Doc{}, methods: methods}
	r.definition(n)
	return leaving(r.problems())
}

// A Completion says what done means for a task. In YAML and JSON each agent's criteria
// stand under the agent's name, beside outcome and acceptance_criteria. In a database
// it is a column of JSON. The zero value says nothing, and is NULL there.
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

// Agent returns the criteria of an agent as they were written, without any defaults,
// and whether there are some. See [Definition.Criteria] for what holds.
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
			for i, text := range all {
				if strings.TrimSpace(text) == "" && n.Items[i].Kind == doc.Text {
					r.refuse(n.Items[i], "acceptance_criteria[%d] is empty", i)
				}
			}
			return all
		}),
	}
}

// completionKeys are the keys that are not names of agents.
func completionKeys() []string { return names(new(Completion).fields(&reader{})) }

// completion reads what stands below completion. Whoever writes one must say what done
// means: without an outcome and a criterion an agent would only be told to try harder.
func (r *reader) completion(n *doc.Node) Completion {
	var c Completion
	r.required(n, "outcome")
	r.mapping(n, "completion", c.fields(r), func(key, value *doc.Node) bool { return r.agent(&c, key, value) })
	switch at := given(n, "acceptance_criteria"); {
	case n.Kind != doc.Map:
	case at == nil:
		r.refuse(n, "acceptance_criteria is missing; it lists what must be true when the task is done")
	case at.Kind == doc.List && len(at.Items) == 0:
		r.refuse(at, "acceptance_criteria is empty; it needs at least one entry")
	}
	return c
}

// agent reads the criteria under an agent's name. Any name will do, but one
// that looks like a slip of the pen would leave an agent without its criteria.
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

// agentName refuses a misspelt name of a known agent. Names of people's own must stay
// possible: one that begins with a known name (tester-2) is a name of its own, and so
// is one that is only the beginning of a known one (test).
func (r *reader) agentName(key *doc.Node) {
	name := Nearest(key.Text, knownAgents()...)
	begun := strings.HasPrefix(name, key.Text) && len(name)-len(key.Text) > max(1, len(key.Text)/3)
	if len(name) >= 4 && !strings.HasPrefix(key.Text, name) && !begun {
		r.bad(key, "unknown agent %s; did you mean %q?", doc.Quote(key.Text), name)
	}
}

// node writes agents beside the keys of the completion, so an agent that has the name
// of such a key, or of another agent, cannot be written.
func (c Completion) node() (*doc.Node, error) {
	n, err := write(c.fields(&reader{}))
	for _, a := range c.Agents {
		if err != nil {
			return nil, err
		}
		if slices.Contains(completionKeys(), a.Agent) || a.Agent == "" || n.Has(a.Agent) {
			return nil, fmt.Errorf("completion: %q cannot be the name of one more agent", a.Agent)
		}
		var criteria *doc.Node
		criteria, err = a.Criteria.node()
		n.Add(a.Agent, criteria)
	}
	return n, err
}

// MarshalJSON implements [json.Marshaler]. It fails if a method's configuration is not
// valid JSON, or if an agent has no name, that of another one, or that of another key.
func (c Completion) MarshalJSON() ([]byte, error) { return toJSON(c.node()) }

// UnmarshalJSON implements [json.Unmarshaler]. Unknown keys and wrong types are errors;
// then c stays as it is. A mapping under an unknown key is an agent's criteria.
func (c *Completion) UnmarshalJSON(text []byte) error {
	return fromJSON("completion", text, c, (*reader).completion)
}

// MarshalYAML makes a Completion a value for package yaml. It fails as MarshalJSON
// does.
func (c Completion) MarshalYAML() (any, error) { return toYAML(c.node()) }

// UnmarshalYAML is UnmarshalJSON for package yaml.
func (c *Completion) UnmarshalYAML(y *yaml.Node) error {
	return fromYAML("completion", y, c, (*reader).completion)
}

// Value implements [driver.Valuer]: JSON as text, or NULL for the zero value. It is
// text and not bytes, since some drivers store bytes as binary data, which a database's
// JSON functions do not read.
func (c Completion) Value() (driver.Value, error) {
	if c.Outcome == "" && c.Acceptance == nil && c.Agents == nil {
		return nil, nil
	}
	text, err := c.MarshalJSON()
	return string(text), err
}

// Scan implements [sql.Scanner]: it reads JSON from text or bytes; NULL is the zero
// value. What cannot be read is an error and leaves c as it is, for a row that lost its
// criteria must not pass for a task without any.
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
