package tasks

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"
)

// A Definition is a task as a person writes it down, with what done means (S1).
// YAML and JSON use the same keys. Writing one and reading it back loses
// nothing: an empty list stays apart from none, numbers in metadata keep their
// digits.
type Definition struct {
	ID          string
	SpecID      string // spec_id: the feature that the task belongs to
	Title       string
	Description string
	Status      Status
	Priority    int // lower is more urgent, as the documents use it

	Dependencies []string // IDs of tasks that must be done before
	Assignee     string
	CreatedAt    time.Time // created_at; a time without a zone is UTC
	UpdatedAt    time.Time // updated_at

	// Metadata is whatever else people and programs keep with a task, each
	// value as JSON. It is not looked at.
	Metadata  map[string]json.RawMessage
	Iteration int

	// Completion says what done means. Nil = nothing is said; the defaults of
	// each agent apply.
	Completion *Completion
}

// Status says how far a task is. Other values than the known ones are kept as
// they are and taken as [StatusTodo].
type Status string

const (
	StatusTodo    Status = "todo"
	StatusRunning Status = "running"
	StatusDone    Status = "done"
	StatusFailed  Status = "failed"
	StatusSkipped Status = "skipped"
)

// Known says whether s is one of the constants.
func (s Status) Known() bool {
	switch s {
	case StatusTodo, StatusRunning, StatusDone, StatusFailed, StatusSkipped:
		return true
	}
	return false
}

// Effective is s if it is known, else StatusTodo.
func (s Status) Effective() Status {
	if s.Known() {
		return s
	}
	return StatusTodo
}

// node is the definition with S1's keys in S1's order.
func (d Definition) node() (*node, error) {
	n := &node{kind: nodeMap, offset: -1}
	n.addText("id", d.ID)
	n.addText("spec_id", d.SpecID)
	n.addText("title", d.Title)
	n.addText("description", d.Description)
	n.addText("status", string(d.Status))
	n.addInt("priority", d.Priority)
	n.addTexts("dependencies", d.Dependencies)
	n.addText("assignee", d.Assignee)
	n.addTime("created_at", d.CreatedAt)
	n.addTime("updated_at", d.UpdatedAt)
	if d.Metadata != nil {
		m := &node{kind: nodeMap, offset: -1}
		for _, key := range slices.Sorted(maps.Keys(d.Metadata)) {
			if err := m.addJSON(key, d.Metadata[key]); err != nil {
				return nil, err
			}
		}
		n.add("metadata", m)
	}
	n.addInt("iteration", d.Iteration)
	if d.Completion != nil {
		c, err := d.Completion.node()
		if err != nil {
			return nil, err
		}
		n.add("completion", c)
	}
	return n, nil
}

func (n *node) addInt(key string, i int) {
	if i != 0 {
		n.add(key, &node{kind: nodeInt, text: strconv.Itoa(i), offset: -1})
	}
}

func (n *node) addTime(key string, t time.Time) {
	if !t.IsZero() {
		n.addText(key, t.UTC().Format(time.RFC3339Nano))
	}
}

// addJSON appends a key with a value that is JSON, unless that is nil.
func (n *node) addJSON(key string, raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	value, err := readJSON(key, raw)
	if err != nil {
		return err
	}
	n.add(key, value)
	return nil
}

// readJSON reads a value that came without a file. An error names it.
func readJSON(what string, raw []byte) (*node, error) {
	doc := &document{text: raw, json: true}
	n, err := doc.parseJSON(raw)
	if err != nil {
		return nil, &Problem{Text: what + ": " + err.Error()}
	}
	return n, nil
}

// MarshalJSON implements [json.Marshaler].
func (d Definition) MarshalJSON() ([]byte, error) {
	n, err := d.node()
	if err != nil {
		return nil, err
	}
	return n.json(), nil
}

// UnmarshalJSON implements [json.Unmarshaler]. Unknown keys and wrong types are
// errors.
func (d *Definition) UnmarshalJSON(text []byte) error {
	n, err := readJSON("definition", text)
	if err != nil {
		return err
	}
	r := reader{doc: &document{}}
	got := r.definition(n)
	if err := r.wrong.join(); err != nil {
		return err
	}
	*d = got
	return nil
}

// MarshalYAML makes a Definition a value for package yaml.
func (d Definition) MarshalYAML() (any, error) {
	n, err := d.node()
	if err != nil {
		return nil, err
	}
	return n.yaml(), nil
}

// UnmarshalYAML is UnmarshalJSON for package yaml.
func (d *Definition) UnmarshalYAML(y *yaml.Node) error {
	doc := &document{}
	n, err := doc.convert(y, 0, false)
	if err != nil {
		return err
	}
	r := reader{doc: doc}
	got := r.definition(n)
	if err := r.wrong.join(); err != nil {
		return err
	}
	*d = got
	return nil
}

// YAML returns the definition as a YAML document of its own, below the key
// task, as S1 writes it.
func (d Definition) YAML() ([]byte, error) {
	n, err := d.node()
	if err != nil {
		return nil, err
	}
	wrapped := &node{kind: nodeMap, offset: -1}
	wrapped.add("task", n)
	return wrapped.yamlText()
}

func (n *node) yamlText() ([]byte, error) {
	return yaml.Dump(n.yaml(), yaml.WithIndent(2), yaml.WithCompactSeqIndent(false), yaml.WithLineWidth(-1), yaml.WithQuotePreference(yaml.QuoteDouble))
}

// Validate reports everything that keeps the definition from being used, as
// [File.Validate] does for a file. Dependencies are not looked up.
func (d Definition) Validate(methods Methods) error {
	text, err := d.MarshalJSON()
	if err != nil {
		return err
	}
	n, err := readJSON("definition", text)
	if err != nil {
		return err
	}
	r := reader{doc: &document{}}
	r.definition(n)
	r.knownMethods(methods)
	return append(r.wrong, r.invalid...).join()
}
