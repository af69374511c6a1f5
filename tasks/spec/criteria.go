package spec

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/doc"
)

// AgentCriteria are the criteria for one agent's part of a task. A list of them keeps
// the order of the file, which a map would lose: agents that are not built in work in
// that order, see [Config.Stages].
type AgentCriteria struct {
	Agent    string
	Criteria Criteria
}

// Criteria say when one agent's part of a task is done and how that is checked. What is
// left out is the agent's default, see [Definition.Criteria]; the zero value leaves out
// everything.
type Criteria struct {
	// Promise is the text of the completion promise, one line, without its tag.
	Promise string
	// Description is what success means, for the agent.
	Description string

	// Method is verification_method, and Config is verification_config, what
	// the method needs, as JSON. See [Methods].
	Method string
	Config json.RawMessage

	// MaxIterations is the number of iterations. 0 = the agent's default.
	MaxIterations int

	// Blocked is a second promise: "I cannot go on". "" = none.
	Blocked string
	// Guard are paths and globs of files that the agent must not change: the
	// exam it is to pass. The task file may be one of them: what writes a status
	// into it does that before the loop starts, and when it has ended. See
	// [TaskVerifier.Prepare].
	Guard []string
}

// The names of the method and its configuration in criteria.
const (
	methodKey = "verification_method"
	configKey = "verification_config"
)

// fields are the keys of criteria. The configuration is kept as JSON and not as the
// settings of its method, for which methods there are is known only to the program that
// builds the verifier.
func (c *Criteria) fields(r *reader) []field {
	return []field{
		key("promise", &c.Promise, r.text),
		key("description", &c.Description, r.text),
		key(methodKey, &c.Method, r.text),
		key(configKey, &c.Config, r.raw),
		key("max_iterations", &c.MaxIterations, r.whole(0, math.MaxInt32)),
		key("blocked", &c.Blocked, r.text),
		key("guard", &c.Guard, r.oneOrMore),
	}
}

// criteriaKeys are the keys by which a mapping is recognised as criteria.
func criteriaKeys() []string { return names(new(Criteria).fields(&reader{})) }

// criteria reads the criteria of an agent and the check that they ask for; the agent is
// "" if it is not known. The check is read although only building a verifier needs it:
// a mistake in a configuration then has a line in the file and is found while somebody
// is looking at it.
func (r *reader) criteria(n *doc.Node, what, agent string) (Criteria, check) {
	var c Criteria
	r.mapping(n, what, c.fields(r), nil)
	if n.Kind != doc.Map {
		return c, check{}
	}
	t := ralph.Task{Promise: c.Promise}
	if at := n.Get("promise"); isText(at) && !r.promise(at, inside(what, "promise"), t) {
		t.Promise = "" // reported already
	}
	if at := n.Get("blocked"); isText(at) {
		t.Blocked = at.Text
		r.promise(at, inside(what, "blocked"), t)
	}
	return c, r.criteriaCheck(n, what, agent)
}

// isText also guards against a second message about a value whose type was wrong.
func isText(n *doc.Node) bool { return n != nil && n.Kind == doc.Text }

// promise refuses a promise that no answer could ever hold, by the rule that loops use
// themselves ([ralph.Task.Validate]): with a rule of its own a file could be valid here
// and refused by the loop.
func (r *reader) promise(at *doc.Node, what string, t ralph.Task) (ok bool) {
	err := t.Validate()
	switch {
	case at.Text == "":
		r.refuse(at, "%s is empty", what)
	case err != nil:
		r.refuse(at, "%s: %s", what, strings.TrimPrefix(err.Error(), "ralph: task: "))
	default:
		return true
	}
	return false
}

// criteriaCheck reads the method and the configuration of criteria. A configuration
// without a method belongs to the agent's default method. Of an agent that is not known
// the default is not known either; the configuration is then read as that of the method
// whose keys it has, to find mistakes in it, and the check stays without a method.
func (r *reader) criteriaCheck(n *doc.Node, what, agent string) check {
	method, config := given(n, methodKey), given(n, configKey)
	if config != nil && config.Kind != doc.Map {
		config = nil // reported already
	}
	where := inside(what, configKey)
	switch {
	case isText(method) && strings.TrimSpace(method.Text) == "":
		r.refuse(method, "%s is empty; the methods are %s", inside(what, methodKey), strings.Join(methodNames(nil), ", "))
	case isText(method):
		return r.check(n, method, config, where)
	case config == nil:
	case agent == "":
		name := guessMethod(config)
		if name == "" {
			// With this method's keys in the message: it is the one that most
			// definitions use.
			name = external
		}
		r.check(n, doc.String(name), config, where)
		return check{config: config}
	default:
		if name := defaultsOf(agent).method; name != "" {
			return r.check(n, doc.String(name), config, where)
		}
		r.refuse(config, "%s has a verification_config but no verification_method", what)
	}
	return check{}
}

// given returns the value of a key, nil if there is none or it is null. Programs that
// write such files often write null for what they do not have.
func given(n *doc.Node, key string) *doc.Node {
	if value := n.Get(key); value != nil && value.Kind != doc.Null {
		return value
	}
	return nil
}

func (c Criteria) node() (*doc.Node, error) { return write(c.fields(&reader{})) }

// MarshalJSON implements [json.Marshaler]. Zero values are left out; a list that is
// empty and not nil is written. It fails if Config is not valid JSON.
func (c Criteria) MarshalJSON() ([]byte, error) { return toJSON(c.node()) }

// UnmarshalJSON implements [json.Unmarshaler]. Wrong types and unknown keys are errors,
// also those in the configuration of a built-in method; then c stays as it is. What is
// missing or out of range is not an error here, see [File.Validate].
func (c *Criteria) UnmarshalJSON(text []byte) error {
	return fromJSON("criteria", text, c, func(r *reader, n *doc.Node) Criteria {
		criteria, _ := r.criteria(n, "", "")
		return criteria
	})
}
