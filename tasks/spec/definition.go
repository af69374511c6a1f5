package spec

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/doc"
	"go.yaml.in/yaml/v4"
)

// A Definition is a task as a person writes it down, with what done means. YAML and
// JSON use the same keys. Writing one and reading it back loses nothing: an empty list
// stays apart from none, numbers in metadata keep their digits. It is a plain value;
// copies share its slices, its map and Completion, which are not to be changed.
type Definition struct {
	// ID and Title are required. SpecID (spec_id) names the feature, or the specification,
	// that the task belongs to. Description is what the agent is told.
	ID          string
	SpecID      string
	Title       string
	Description string
	// Status says how far it is; "" = todo. A lower Priority is more urgent; 0 = none, which
	// comes last.
	Status   Status
	Priority int

	// Dependencies are the IDs of tasks that must be done before.
	Dependencies []string
	Assignee     string
	// CreatedAt and UpdatedAt (created_at, updated_at) are in UTC; a time without a zone is
	// read as UTC. Zero = not said.
	CreatedAt time.Time
	UpdatedAt time.Time

	// Metadata is whatever else people and programs keep with a task, each
	// value as JSON. It is not looked at.
	Metadata map[string]json.RawMessage
	// Iteration is how many iterations the last stage took, for people.
	Iteration int

	// Completion says what done means. Nil = nothing is said; the defaults of
	// each agent apply.
	Completion *Completion
}

// Status says how far a task is. Values that are not known are kept as they are, and
// taken as [StatusTodo]: a file with words of its own can still be read, and
// [File.Warnings] says so.
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
	return slices.Contains([]Status{StatusTodo, StatusRunning, StatusDone, StatusFailed, StatusSkipped}, s)
}

// Effective is s if it is known, else StatusTodo. That errs to doing a task again,
// rather than to taking for done what nobody has verified.
func (s Status) Effective() Status {
	if s.Known() {
		return s
	}
	return StatusTodo
}

// meantStatus are words that people and programs write for a status. They are only for
// a hint: to take "complete" for done would be a guess about somebody's work.
func meantStatus() [][]string {
	return [][]string{
		{string(StatusTodo), "to do", "open", "pending", "new", "ready", "planned", "backlog", "not started"},
		{string(StatusRunning), "in progress", "doing", "started", "active", "working"},
		{string(StatusDone), "complete", "completed", "finished", "closed", "passed", "verified", "success"},
		{string(StatusFailed), "error", "broken", "blocked"},
		{string(StatusSkipped), "cancelled", "canceled", "ignored", "deferred", "wontfix"},
	}
}

// unknownStatus warns of a status that is none: a task that somebody takes for
// done would be run again.
func (r *reader) unknownStatus(n *doc.Node, s Status) {
	if s == "" || s.Known() || len(r.warnings) >= maxProblems {
		return
	}
	var known, all []string
	for _, words := range meantStatus() {
		known, all = append(known, words[0]), append(all, words...)
	}
	end := "; known are " + strings.Join(known, ", ")
	near := Nearest(string(s), all...)
	for _, words := range meantStatus() {
		if slices.Contains(words, near) {
			end = "; did you mean " + strconv.Quote(words[0]) + "?"
		}
	}
	r.warnings = append(r.warnings, r.problem(n.Get("status"), "the status %s is not known and taken as todo%s", doc.Quote(string(s)), end).Error())
}

// fields are the keys of a definition, in the order in which they are written.
//
// Reading and writing, the hints for misspelt keys and what counts as a change all go
// by this one table.
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
		{"completion_spec", key("", &d.Completion, completion).read, nil}, // an older name, which other programs still write
	}
}

// definition reads a task. What is wrong does not end it: all mistakes of a file are
// told at once.
func (r *reader) definition(n *doc.Node) Definition {
	var d Definition
	// The messages name the task by what stands there, even if it is no valid ID.
	if id := n.Get("id"); id != nil && id.Kind != doc.List && id.Kind != doc.Map {
		r.task = id.Written()
	}
	defer func() { r.task = "" }()
	r.required(n, "id")
	r.required(n, "title")
	r.mapping(n, "", d.fields(r), r.outdented)
	r.unknownStatus(n, d.Status)
	// It can be run, so it is no mistake; but the promise alone may then be enough.
	if n.Kind == doc.Map && d.Completion == nil && len(r.warnings) < maxProblems {
		r.warnings = append(r.warnings, r.problem(n, "has no completion, so it is not said what done means; the defaults of each agent apply").Error())
	}
	return d
}

// outdented says where a key of a completion belongs that is one level too high. It is
// the most frequent slip with indented text, and "unknown key" alone would not help.
func (r *reader) outdented(key, _ *doc.Node) bool {
	if slices.Contains(completionKeys(), key.Text) || slices.Contains(knownAgents(), key.Text) {
		r.bad(key, "the key %s belongs below completion", doc.Quote(key.Text))
		return true
	}
	return false
}

func (d Definition) node() (*doc.Node, error) { return write(d.fields(&reader{})) }

// Changed returns the keys under which now says something else than d; what
// differs within a completion is named as completion.coder. Status, iteration,
// updated_at and metadata are what is written down while a task is worked on, and
// not compared. Empty = both ask for the same.
func (d Definition) Changed(now Definition) []string {
	// These belong to whoever works on the task, and change all the time.
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

// MarshalJSON implements [json.Marshaler].
func (d Definition) MarshalJSON() ([]byte, error) { return toJSON(d.node()) }

// UnmarshalJSON implements [json.Unmarshaler]. Unknown keys and wrong types are
// errors.
func (d *Definition) UnmarshalJSON(text []byte) error {
	return fromJSON("definition", text, d, (*reader).definition)
}

// MarshalYAML makes a Definition a value for package yaml.
func (d Definition) MarshalYAML() (any, error) { return toYAML(d.node()) }

// UnmarshalYAML is UnmarshalJSON for package yaml.
func (d *Definition) UnmarshalYAML(y *yaml.Node) error {
	return fromYAML("definition", y, d, (*reader).definition)
}

// YAML returns the definition as a YAML document of its own, below the key task: a file
// with one task, which [Parse] reads. It is an error if a value in Metadata is no JSON.
func (d Definition) YAML() ([]byte, error) {
	n, err := d.node()
	if err != nil {
		return nil, leaving(err)
	}
	text, err := belowTask(n).YAMLText()
	return text, leaving(err)
}

// belowTask puts a definition below the key task, which says to a reader what the
// document is.
func belowTask(n *doc.Node) *doc.Node {
	wrapped := doc.Mapping()
	wrapped.Add("task", n)
	return wrapped
}

// Validate reports everything that keeps the definition from being used, as
// [File.Validate] does for a file. Dependencies are not looked up. It runs nothing and
// reads no other file.
func (d Definition) Validate(methods Methods) error {
	n, err := d.node()
	if err != nil {
		return leaving(err)
	}
	r := reader{doc: &doc.Doc{}, methods: methods}
	r.definition(n)
	return leaving(r.problems())
}
