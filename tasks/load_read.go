package tasks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// A reader makes definitions of nodes. What is wrong with their shape (unknown
// keys, wrong types) goes to wrong and keeps a text from being loaded; what is
// missing or out of range goes to invalid, for Validate.
type reader struct {
	doc  *document
	task string // the task being read, for messages

	wrong, invalid problems
	warnings       []string
	methods        []methodUse
}

// A methodUse is a method named in a text: whether it is known depends on what
// the program has registered.
type methodUse struct {
	node       *node
	name, task string
}

func (r *reader) problem(n *node, format string, args ...any) *Problem {
	p := r.doc.problem(n, format, args...)
	p.Task = r.task
	return p
}

func (r *reader) bad(n *node, format string, args ...any) { r.add(&r.wrong, n, format, args...) }

func (r *reader) refuse(n *node, format string, args ...any) { r.add(&r.invalid, n, format, args...) }

// add adds a problem, unless there are many: to find a place takes time.
func (r *reader) add(to *problems, n *node, format string, args ...any) {
	if !to.full() {
		to.add(r.problem(n, format, args...))
	}
}

// A field is a key that a mapping may have. A null value is as good as none.
type field struct {
	name string
	read func(n *node, what string)
}

func names(fields []field) []string {
	all := make([]string, len(fields))
	for i, f := range fields {
		all[i] = f.name
	}
	return all
}

// mapping reads the fields of a mapping. what names the mapping in messages; ""
// is the whole. other, which may be nil, is asked about unknown keys.
func (r *reader) mapping(n *node, what string, fields []field, other func(key, value *node) bool) {
	if n.kind != nodeMap {
		r.expected(n, what, "a mapping")
		return
	}
	for i, key := range n.keys {
		value := n.items[i]
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == key.text })
		switch {
		case at >= 0 && value.kind != nodeNull:
			fields[at].read(value, inside(what, key.text))
		case at >= 0, other != nil && other(key, value), r.wrong.full():
		default:
			in := ""
			if what != "" {
				in = " in " + what
			}
			r.bad(key, "unknown key %s%s%s", quoteShort(key.text), in, meant(key.text, names(fields)))
		}
	}
}

func inside(what, key string) string {
	if what == "" {
		return key
	}
	return what + "." + key
}

func (r *reader) definition(n *node) Definition {
	var d Definition
	if id := n.get("id"); id != nil && id.kind != nodeList && id.kind != nodeMap {
		r.task = cmp.Or(id.raw, id.text)
	}
	defer func() { r.task = "" }()
	completion := func(n *node, what string) {
		c := r.completion(n)
		if d.Completion != nil {
			r.bad(n, "both completion and completion_spec are given; they are the same")
		}
		d.Completion = &c
	}
	r.mapping(n, "", []field{
		{"id", func(n *node, what string) { d.ID = r.name(n, what) }},
		{"spec_id", func(n *node, what string) { d.SpecID = r.name(n, what) }},
		{"title", func(n *node, what string) { d.Title = r.text(n, what) }},
		{"description", func(n *node, what string) { d.Description = r.text(n, what) }},
		{"status", func(n *node, what string) { d.Status = Status(r.text(n, what)) }},
		{"priority", func(n *node, what string) { d.Priority = r.integer(n, what, math.MinInt, math.MaxInt) }},
		{"dependencies", func(n *node, what string) { d.Dependencies = r.ids(n, what) }},
		{"assignee", func(n *node, what string) { d.Assignee = r.text(n, what) }},
		{"created_at", func(n *node, what string) { d.CreatedAt = r.time(n, what) }},
		{"updated_at", func(n *node, what string) { d.UpdatedAt = r.time(n, what) }},
		{"metadata", func(n *node, what string) { d.Metadata = r.metadata(n, what) }},
		{"iteration", func(n *node, what string) { d.Iteration = r.integer(n, what, 0, math.MaxInt) }},
		{"completion", completion},
		{"completion_spec", completion}, // what S1's own program writes
	}, r.outdented)
	if n.kind != nodeMap {
		return d
	}
	r.required(n, "id", d.ID)
	r.required(n, "title", d.Title)
	if d.Completion == nil {
		r.warn(n, "has no completion, so it is not said what done means; the defaults of each agent apply")
	}
	return d
}

// outdented says where a key of a completion belongs that is one level too high.
func (r *reader) outdented(key, value *node) bool {
	if slices.Contains(completionKeys(), key.text) || slices.Contains(knownAgents(), key.text) {
		r.bad(key, "the key %s belongs below completion", quoteShort(key.text))
		return true
	}
	return false
}

// required refuses a key without which nothing can be done.
func (r *reader) required(n *node, key, value string) {
	if strings.TrimSpace(value) != "" {
		return
	}
	if at := n.get(key); at != nil {
		r.refuse(at, "%s is empty", key)
	} else {
		r.refuse(n, "%s is missing", key)
	}
}

func (r *reader) warn(n *node, format string, args ...any) {
	if len(r.warnings) < maxProblems {
		r.warnings = append(r.warnings, r.problem(n, format, args...).Error())
	}
}

func (r *reader) ids(n *node, what string) []string {
	all := make([]string, 0, len(n.items))
	for i, item := range r.list(n, what) {
		all = append(all, r.name(item, fmt.Sprintf("%s[%d]", what, i)))
	}
	return all
}

func (r *reader) metadata(n *node, what string) map[string]json.RawMessage {
	if n.kind != nodeMap {
		r.expected(n, what, "a mapping")
		return nil
	}
	m := make(map[string]json.RawMessage, len(n.keys))
	for i, key := range n.keys {
		m[key.text] = n.items[i].json()
	}
	return m
}

func completionKeys() []string { return []string{"outcome", "acceptance_criteria"} }

// knownAgents are S1's.
func knownAgents() []string { return []string{"coder", "reviewer", "tester", "qa"} }

func (r *reader) completion(n *node) Completion {
	var c Completion
	fields := []field{
		{"outcome", func(n *node, what string) { c.Outcome = r.text(n, what) }},
		{"acceptance_criteria", func(n *node, what string) {
			c.Acceptance = r.texts(n, what)
			for i, text := range c.Acceptance {
				if strings.TrimSpace(text) == "" && n.items[i].kind == nodeText {
					r.refuse(n.items[i], "acceptance_criteria[%d] is empty", i)
				}
			}
		}},
	}
	r.mapping(n, "completion", fields, func(key, value *node) bool { return r.agent(&c, key, value) })
	if n.kind != nodeMap {
		return c
	}
	r.required(n, "outcome", c.Outcome)
	if at := n.get("acceptance_criteria"); at == nil || at.kind == nodeNull {
		r.refuse(n, "acceptance_criteria is missing; it lists what must be true when the task is done")
	} else if at.kind == nodeList && len(at.items) == 0 {
		r.refuse(at, "acceptance_criteria is empty; it needs at least one entry")
	}
	return c
}

// agent reads the criteria under an agent's name. Any name will do, but one
// that looks like a slip of the pen would leave an agent without its criteria.
func (r *reader) agent(c *Completion, key, value *node) bool {
	switch {
	case value.kind == nodeNull:
		// S1's program writes null for an agent without criteria.
		return nearest(key.text, completionKeys()) == ""
	case value.kind != nodeMap || strings.TrimSpace(key.text) == "":
		return false
	}
	if name := misspelt(key.text, knownAgents()); name != "" {
		r.bad(key, "unknown agent %s; did you mean %q?", quoteShort(key.text), name)
	}
	c.Agents = append(c.Agents, AgentCriteria{key.text, r.criteria(value, key.text, key.text)})
	return true
}

// misspelt returns the name that was meant, if word is a misspelt one rather
// than a name of its own. A known name with something after it is.
func misspelt(word string, known []string) string {
	name := nearest(word, known)
	if name == "" || word == name || strings.HasPrefix(word, name) || len(name) < 4 {
		return ""
	}
	return name
}

func criteriaKeys() []string {
	return []string{"promise", "description", "verification_method", "verification_config", "max_iterations", "blocked", "guard"}
}

// criteria reads the criteria of an agent; "" is one that is not known.
func (r *reader) criteria(n *node, what, agent string) Criteria {
	var c Criteria
	var method, config *node
	r.mapping(n, what, []field{
		{"promise", func(n *node, what string) { c.Promise = r.text(n, what) }},
		{"description", func(n *node, what string) { c.Description = r.text(n, what) }},
		{"verification_method", func(n *node, what string) { method, c.Method = n, r.text(n, what) }},
		{"verification_config", func(n *node, what string) {
			if config = r.configuration(n, what); config != nil {
				c.Config = n.json()
			}
		}},
		{"max_iterations", func(n *node, what string) { c.MaxIterations = r.integer(n, what, 0, math.MaxInt32) }},
		{"blocked", func(n *node, what string) { c.Blocked = r.text(n, what) }},
		{"guard", func(n *node, what string) { c.Guard = r.oneOrMore(n, what) }},
	}, nil)
	if n.kind == nodeMap {
		r.promises(n, c, what)
		r.method(n, method, config, what, agent)
	}
	return c
}

// promises refuses promises that no answer could ever hold.
func (r *reader) promises(n *node, c Criteria, what string) {
	if at := n.get("promise"); at != nil && at.kind == nodeText {
		r.promise(at, inside(what, "promise"), at.text, "")
	}
	if at := n.get("blocked"); at != nil && at.kind == nodeText {
		promise := c.Promise
		if (ralph.Task{Promise: promise}).Validate() != nil {
			promise = "" // reported already
		}
		r.promise(at, inside(what, "blocked"), promise, at.text)
	}
}

func (r *reader) promise(at *node, what, promise, blocked string) {
	if at.text == "" {
		r.refuse(at, "%s is empty", what)
	} else if err := (ralph.Task{Promise: promise, Blocked: blocked}).Validate(); err != nil {
		r.refuse(at, "%s: %s", what, strings.TrimPrefix(err.Error(), "ralph: task: "))
	}
}
