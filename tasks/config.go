package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// A Config holds the defaults of a project: what is below ralph: in its
// configuration file (S1, S4). The zero value changes nothing of what
// [Definition.Task] does.
type Config struct {
	// Disabled says that agents run once, without a loop (enabled: false).
	Disabled bool
	// MaxIterations is default_max_iterations, for agents without a number of
	// their own. 0 = 10.
	MaxIterations int
	// Method is default_verification, for criteria without a method. "" = a
	// judge is asked about the acceptance criteria where there is one, else the
	// promise is enough.
	Method string
	// VerifyPromises has the answer's words looked at before any evidence (S4):
	// they must not say that work is left, and a coder must mention a commit, a
	// tester passing tests, a reviewer approval.
	VerifyPromises bool
	// Judge and JudgeModel name the agent that judges. "" = none, and its own.
	Judge      string
	JudgeModel string
	// Agents are the agents' own defaults, in the order of the file.
	Agents []AgentConfig
}

// AgentConfig holds the defaults of one agent. What is zero is S1's default.
type AgentConfig struct {
	Agent         string
	Disabled      bool
	MaxIterations int
	Promise       string // completion_promise
	// Method and Config are verification_method and verification_config.
	Method string
	Config json.RawMessage
}

// Enabled says whether an agent's work is looped. If not, it is done in one
// iteration, which is verified like any other.
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

// LoadConfig reads a configuration file. See [ParseConfig].
func LoadConfig(path string) (Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	defer f.Close() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return Config{}, fmt.Errorf("configuration %s: %w", path, err)
	}
	return ParseConfig(path, text)
}

// ParseConfig reads what is below ralph: in a configuration, YAML or JSON, and
// nothing else, for such files hold much that is not ours. There an unknown
// key, a wrong type and a number out of range are errors, one [*Problem] each,
// joined. Below ralph: a mapping under any other name is an agent's.
//
// VerifyPromises is true unless the file says no (S4), also if it says nothing.
func ParseConfig(name string, text []byte) (Config, error) {
	doc := &document{name: name, text: bytes.Clone(text), file: true}
	roots, err := doc.parse()
	if err != nil {
		return Config{}, err
	}
	c := Config{VerifyPromises: true}
	r := reader{doc: doc}
	switch {
	case len(roots) > 1:
		r.bad(roots[1], "a configuration is one document")
	case len(roots) == 1 && roots[0].kind != nodeMap:
		r.expected(roots[0], "", "a mapping")
	case len(roots) == 1:
		r.misspeltRalph(roots[0])
		if n := roots[0].get("ralph"); n != nil && n.kind != nodeNull {
			r.config(&c, n)
		}
	}
	if err := append(r.wrong, r.invalid...).join(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// misspeltRalph refuses a section that was clearly meant to be ours.
func (r *reader) misspeltRalph(n *node) {
	for i, key := range n.keys {
		if key.text != "ralph" && nearest(key.text, []string{"ralph"}) != "" && n.items[i].kind == nodeMap && n.items[i].has("default_max_iterations", "verify_promises", "default_verification", "coder") {
			r.bad(key, "unknown key %s; did you mean %q?", quoteShort(key.text), "ralph")
		}
	}
}

func (r *reader) config(c *Config, n *node) {
	r.mapping(n, "ralph", []field{
		{"enabled", func(n *node, what string) { c.Disabled = !r.boolean(n, what) }},
		{"default_max_iterations", func(n *node, what string) { c.MaxIterations = r.integer(n, what, 1, math.MaxInt32) }},
		{"default_verification", func(n *node, what string) { c.Method = r.nonBlank(n, what) }},
		{"verify_promises", func(n *node, what string) { c.VerifyPromises = r.boolean(n, what) }},
		{"judge", func(n *node, what string) { c.Judge = r.nonBlank(n, what) }},
		{"judge_model", func(n *node, what string) { c.JudgeModel = r.nonBlank(n, what) }},
	}, func(key, value *node) bool { return r.agentDefaults(c, key, value) })
}

func (r *reader) nonBlank(n *node, what string) string {
	text := r.text(n, what)
	if n.kind == nodeText && strings.TrimSpace(text) == "" {
		r.refuse(n, "%s is empty", what)
	}
	return text
}

func (r *reader) agentDefaults(c *Config, key, n *node) bool {
	if n.kind != nodeMap || strings.TrimSpace(key.text) == "" {
		return false
	}
	if name := misspelt(key.text, knownAgents()); name != "" {
		r.bad(key, "unknown agent %s; did you mean %q?", quoteShort(key.text), name)
	}
	a := AgentConfig{Agent: key.text}
	var method, config, promise *node
	what := inside("ralph", key.text)
	r.mapping(n, what, []field{
		{"enabled", func(n *node, what string) { a.Disabled = !r.boolean(n, what) }},
		{"max_iterations", func(n *node, what string) { a.MaxIterations = r.integer(n, what, 1, math.MaxInt32) }},
		{"completion_promise", func(n *node, what string) { promise, a.Promise = n, r.text(n, what) }},
		{"verification_method", func(n *node, what string) { method, a.Method = n, r.text(n, what) }},
		{"verification_config", func(n *node, what string) {
			if config = r.configuration(n, what); config != nil {
				a.Config = n.json()
			}
		}},
	}, nil)
	if promise != nil && promise.kind == nodeText {
		r.promise(promise, inside(what, "completion_promise"), a.Promise, "")
	}
	if a.Config != nil { // a method alone is for the configurations of definitions
		r.method(n, method, config, what, key.text)
	}
	c.Agents = append(c.Agents, a)
	return true
}
