package spec

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/internal/file"
)

// A Config holds the defaults of a project: what is below ralph: in its configuration
// file. The zero value changes nothing of what [Definition.Task] does. It is a plain
// value and may be used concurrently. Where a key of the file is true by default, the
// field says the opposite, so that zero is what holds without a file.
type Config struct {
	// Disabled says that agents run once, without a loop (enabled: false).
	Disabled bool
	// MaxIterations is default_max_iterations, for agents for which neither the
	// task nor the configuration has a number. 0 = the agent's built-in one.
	MaxIterations int
	// Method is default_verification, for criteria without a method. "" = a
	// judge is asked about the acceptance criteria where there is one, else the
	// promise is enough.
	Method string
	// TakePromises takes the words around a promise as they are (verify_promises:
	// false). Otherwise they are looked at before any evidence: they must not say
	// that work is left, and a coder must mention a commit, a tester passing tests,
	// a reviewer approval.
	TakePromises bool
	// Judge and JudgeModel name the agent that judges. "" = none, and its own.
	Judge      string
	JudgeModel string
	// Learn says that loops take limits and lessons from what earlier ones have shown
	// (learn: true), see progress.Dir.Learn. For whoever runs them: nothing else here
	// changes by it.
	Learn bool
	// Agents are the agents' own defaults, in the order of the file.
	Agents []AgentConfig
}

// AgentConfig holds the defaults of one agent. What is zero is
// the default of [Definition.Criteria].
type AgentConfig struct {
	Agent    string
	Disabled bool
	// Skip leaves its stage out of a pipeline.
	Skip bool
	// Client is what does its work: a preset's name or a command; "" = it is not said.
	Client string
	// OnReject (on_reject) is the agent that a task goes back to if this one's stage fails;
	// "" = none. MaxRounds (max_rounds) is how often at most; 0 = 3.
	OnReject  string
	MaxRounds int
	// MaxIterations is its number of iterations; 0 = that of the project, or its own.
	MaxIterations int
	Promise       string // completion_promise
	// Method and Config are verification_method and verification_config.
	Method string
	Config json.RawMessage
}

// Enabled says whether an agent's work is looped. If not, it is done in one iteration,
// which is verified like any other: for work that gets no better by being repeated.
func (c Config) Enabled(agent string) bool {
	own, _ := c.agent(agent)
	return !c.Disabled && !own.Disabled
}

func (c Config) agent(name string) (AgentConfig, bool) {
	i := slices.IndexFunc(c.Agents, func(a AgentConfig) bool { return a.Agent == name })
	if i < 0 {
		return AgentConfig{}, false
	}
	return c.Agents[i], true
}

// LoadConfig reads a configuration file, which must be a regular one and is read
// bounded. The error wraps [fs.ErrNotExist] if it is not there. See [ParseConfig].
func LoadConfig(path string) (Config, error) {
	text, err := file.Read("configuration", path, doc.MaxText)
	if err != nil {
		return Config{}, leaving(err)
	}
	return ParseConfig(path, text)
}

// ParseConfig reads what is below ralph: in a configuration, YAML or JSON, and
// nothing else, for such files hold much that is not ours. There an unknown
// key, a wrong type and a number out of range are errors, one [*Problem] each,
// joined. Below ralph: a mapping under any other name is an agent's.
func ParseConfig(name string, text []byte) (Config, error) {
	d, err := doc.Parse(name, bytes.Clone(text))
	if err != nil {
		return Config{}, leaving(unread("", err))
	}
	var c Config
	r := reader{doc: d, anyMethod: true}
	switch {
	case len(d.Roots) > 1:
		r.bad(d.Roots[1], "a configuration is one document")
	case len(d.Roots) == 1 && d.Roots[0].Kind != doc.Map:
		r.expected(d.Roots[0], "", "a mapping")
	case len(d.Roots) == 1:
		r.misspeltRalph(d.Roots[0])
		if n := given(d.Roots[0], "ralph"); n != nil {
			r.mapping(n, "ralph", c.fields(&r), func(key, value *doc.Node) bool { return r.agentDefaults(&c, key, value) })
			r.rejects(c, n)
		}
	}
	if err := r.problems(); err != nil {
		return Config{}, leaving(err)
	}
	return c, nil
}

// misspeltRalph refuses a section that was clearly meant to be ours. A section that
// only looks like it may be another program's, so the keys in it are asked, too.
func (r *reader) misspeltRalph(n *doc.Node) {
	for i, key := range n.Keys {
		if key.Text != "ralph" && Nearest(key.Text, "ralph") != "" && n.Items[i].Has("default_max_iterations", "verify_promises", "default_verification", "coder") {
			r.bad(key, "unknown key %s; did you mean %q?", doc.Quote(key.Text), "ralph")
		}
	}
}

func (c *Config) fields(r *reader) []field {
	return []field{
		key("enabled", &c.Disabled, r.not),
		key("default_max_iterations", &c.MaxIterations, r.whole(1, math.MaxInt32)),
		key("default_verification", &c.Method, r.nonBlank),
		key("verify_promises", &c.TakePromises, r.not),
		key("judge", &c.Judge, r.nonBlank),
		key("judge_model", &c.JudgeModel, r.nonBlank),
		key("learn", &c.Learn, r.boolean),
	}
}

func (a *AgentConfig) fields(r *reader) []field {
	return []field{
		key("enabled", &a.Disabled, r.not),
		key("skip", &a.Skip, r.boolean),
		key("client", &a.Client, r.nonBlank),
		key("on_reject", &a.OnReject, r.nonBlank),
		key("max_rounds", &a.MaxRounds, r.whole(1, math.MaxInt32)),
		key("max_iterations", &a.MaxIterations, r.whole(1, math.MaxInt32)),
		key("completion_promise", &a.Promise, r.text),
		key(methodKey, &a.Method, r.text),
		key(configKey, &a.Config, r.raw),
	}
}

// agentDefaults reads what stands under an agent's name. A text under the name of a
// known agent is its client. It is the short form for those who only want to say which
// client is the coder.
func (r *reader) agentDefaults(c *Config, key, n *doc.Node) bool {
	client := n.Kind == doc.Text
	if n.Kind != doc.Map && !client || strings.TrimSpace(key.Text) == "" {
		return false
	}
	wrong := len(r.wrong)
	r.agentName(key)
	a := AgentConfig{Agent: key.Text}
	what := inside("ralph", key.Text)
	switch {
	case client && slices.Contains(knownAgents(), key.Text):
		a.Client = r.nonBlank(n, what)
		c.Agents = append(c.Agents, a)
		return true
	case client:
		return len(r.wrong) > wrong
	}
	r.mapping(n, what, a.fields(r), nil)
	if at := n.Get("completion_promise"); isText(at) {
		r.promise(at, inside(what, "completion_promise"), ralph.Task{Promise: a.Promise})
	}
	if a.Config != nil { // a method alone is for the configurations of definitions
		r.criteriaCheck(n, what, key.Text)
	}
	c.Agents = append(c.Agents, a)
	return true
}

// rejects refuses agents to which no task could go back. Found out in the middle of a
// run it would be too late.
func (r *reader) rejects(c Config, n *doc.Node) {
	order := c.order(nil)
	for _, a := range c.Agents {
		own := n.Get(a.Agent)
		at := slices.Index(order, a.OnReject)
		switch what := inside("ralph", a.Agent); {
		case a.OnReject == "" && a.MaxRounds > 0:
			r.refuse(own.Get("max_rounds"), "%s.max_rounds: it needs on_reject, the agent that a task goes back to", what)
		case a.OnReject == "":
		case at < 0:
			r.refuse(own.Get("on_reject"), "%s.on_reject: nothing is known of an agent %s%s", what, doc.Quote(a.OnReject), meant(a.OnReject, order))
		case at >= slices.Index(order, a.Agent):
			r.refuse(own.Get("on_reject"), "%s.on_reject: %s does not work before %s; the order is %s", what, a.OnReject, a.Agent, strings.Join(order, ", "))
		}
	}
}
