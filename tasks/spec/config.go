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
// file. What a definition says wins over them; of the defaults, those of one agent win
// over those of all, and what is built in comes last. The zero value changes nothing of
// what [Definition.Task] does.
//
// It is a plain value: methods do not change it, so it may be used concurrently.
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

// AgentConfig holds the defaults of one agent. What is zero is the default of
// [Definition.Criteria], and what is set holds only where a definition says nothing.
type AgentConfig struct {
	// Agent is the name that definitions use. Any name will do.
	Agent string
	// Disabled has the agent run once, without a loop (enabled: false), as in Config.
	Disabled bool
	// Skip leaves the agent's stage out of a pipeline, see [Config.Stages].
	Skip bool
	// Client is what does the agent's work: a preset's name or a command. "" = it is
	// not said.
	Client string
	// OnReject is on_reject: the agent that a task goes back to if this one's stage
	// fails. "" = none, and the task has failed then.
	OnReject string
	// MaxRounds is max_rounds: how often a task goes back so, at most. 0 = 3.
	MaxRounds int
	// MaxIterations is the number of iterations for tasks that do not say. 0 =
	// Config's.
	MaxIterations int
	// Promise is completion_promise, one line. "" = the agent's built-in one.
	Promise string
	// Method and Config are verification_method and verification_config.
	Method string
	Config json.RawMessage
}

// Enabled says whether an agent's work is looped. If not, the work is done in one
// iteration, which is verified like any other: switching the loop off is no way to
// switch the verification off.
func (c Config) Enabled(agent string) bool {
	return !c.Disabled && !c.agent(agent).Disabled
}

// agent returns the defaults of an agent; the zero value, which changes nothing, if the
// configuration has none.
func (c Config) agent(name string) AgentConfig {
	if i := slices.IndexFunc(c.Agents, func(a AgentConfig) bool { return a.Agent == name }); i >= 0 {
		return c.Agents[i]
	}
	return AgentConfig{}
}

// LoadConfig reads a configuration file, which must be a regular one of at most 4 MiB:
// a pipe in its place would keep the program waiting, and a device would never end. The
// error wraps [io/fs.ErrNotExist] if there is no such file; whether that is a mistake
// is for the caller to say. See [ParseConfig].
func LoadConfig(path string) (Config, error) {
	text, err := file.Read("configuration", path, doc.MaxText)
	if err != nil {
		return Config{}, leaving(err)
	}
	return ParseConfig(path, text)
}

// ParseConfig reads what is below ralph: in a configuration, YAML or JSON; name is used
// in messages. Everything else in the text is left alone, for such a file usually
// belongs to other programs too. A text without ralph: is the zero Config.
//
// Below ralph: nothing is ignored. An unknown key, a wrong type and a number out of
// range are errors, one [*Problem] each, joined: a misspelt limit that is skipped in
// silence is found out by the bill. A mapping under any other name is an agent's,
// whatever the name; one that is nearly a known agent's is an error.
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
		// Before the section itself: without it there would be nothing to read, and so
		// nothing to complain about.
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

// misspeltRalph refuses a section that was clearly meant to be ours. A name alone is
// not enough to say so, since the rest of the file is other programs'; one of our keys
// must be in it as well.
func (r *reader) misspeltRalph(n *doc.Node) {
	for i, key := range n.Keys {
		if key.Text != "ralph" && Nearest(key.Text, "ralph") != "" && n.Items[i].Has("default_max_iterations", "verify_promises", "default_verification", "coder") {
			r.bad(key, "unknown key %s; did you mean %q?", doc.Quote(key.Text), "ralph")
		}
	}
}

// fields are the keys of a configuration. Switches that are on unless somebody turns
// them off are kept as their opposites, so that the zero Config is the default.
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

// fields are the keys of one agent's defaults. They have the names that criteria use
// where there is such a key, so that what was found to work for a task can be moved
// here.
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

// agentDefaults reads what stands under an agent's name, and reports whether it took
// it. A text is short for client: and is accepted under the names of known agents only:
// under any other name it is more likely a misspelt key of the section.
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
	// It was taken only if the name was already refused as a misspelt agent's.
	// Otherwise the caller says that the key is unknown.
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

// rejects refuses agents to which no task could go back. Found only in the middle of a
// run, such a mistake would leave the task failed after the work was paid for.
func (r *reader) rejects(c Config, n *doc.Node) {
	// The agents known here are those of the configuration. Agents that only
	// definitions name are not among them: a configuration is read before any
	// definition.
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
