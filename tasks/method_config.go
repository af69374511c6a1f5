package tasks

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// The names of the built-in methods, S1's four first.
const (
	methodString         = "string_match"
	methodSemantic       = "semantic"
	methodExternal       = "external"
	methodMultiStage     = "multi_stage"
	methodContradictions = "contradictions"
	methodAgent          = "agent"
	methodGuard          = "guard"
	methodTemplate       = "template"
)

func builtinMethods() []string {
	return []string{methodString, methodSemantic, methodExternal, methodMultiStage, methodContradictions, methodAgent, methodGuard, methodTemplate}
}

func isBuiltin(name string) bool { return slices.Contains(builtinMethods(), name) }

// guessMethod returns the first built-in method that knows all keys of a
// configuration, or "". It is for configurations that stand alone.
func guessMethod(config *node) string {
	for _, name := range builtinMethods() {
		known := methodKeys(name)
		if !slices.ContainsFunc(config.keys, func(k *node) bool { return !slices.Contains(known, k.text) }) {
			return name
		}
	}
	return ""
}

// methodKeys are the keys of a built-in method's configuration.
func methodKeys(name string) []string {
	switch name {
	case methodString:
		return names(new(stringConfig).fields(nil))
	case methodSemantic:
		return names(new(semanticConfig).fields(nil))
	case methodExternal:
		return names(new(externalConfig).fields(nil))
	case methodMultiStage:
		return names(new(stagesConfig).fields(nil))
	case methodContradictions:
		return names(new(contradictionsConfig).fields(nil))
	case methodAgent:
		return names(new(agentConfig).fields(nil))
	case methodGuard:
		return names(new(guardConfig).fields(nil))
	case methodTemplate:
		return names(new(templateConfig).fields(nil))
	}
	return nil
}

// method checks the method and the configuration of criteria; n is the mapping
// they stand in, what its name in messages.
func (r *reader) method(n, method, config *node, what, agent string) {
	if config == nil && (method == nil || method.kind != nodeText) {
		return
	}
	name := ""
	if method != nil {
		name = method.text
	}
	switch {
	case method != nil && strings.TrimSpace(name) == "":
		r.refuse(method, "%s is empty; the methods are %s", inside(what, "verification_method"), strings.Join(builtinMethods(), ", "))
		return
	case name == "" && agent != "":
		if name = agentMethod(agent); name == "" {
			r.refuse(config, "%s has a verification_config but no verification_method", what)
			return
		}
	case name == "":
		if name = guessMethod(config); name == "" {
			name = methodExternal // to be told of its keys
		}
	}
	r.methodUse(n, method, name, config, inside(what, "verification_config"))
}

// methodUse checks the configuration of a method that is built in; others are
// looked up when it is known what the program has registered.
func (r *reader) methodUse(n, method *node, name string, config *node, what string) {
	if !isBuiltin(name) {
		if len(r.methods) <= maxProblems {
			r.methods = append(r.methods, methodUse{method, name, r.task})
		}
		return
	}
	if config == nil {
		empty := *n
		empty.keys, empty.items = nil, nil
		config = &empty
	}
	r.methodConfig(name, config, what)
}

// knownMethods refuses methods that are neither built in nor registered.
func (r *reader) knownMethods(methods Methods) {
	for _, use := range r.methods {
		if _, err := methods.find(use.name); err != nil {
			r.task = use.task
			r.refuse(use.node, "%v", err)
		}
	}
	r.task = ""
}

// methodConfig checks the configuration of a built-in method.
func (r *reader) methodConfig(name string, n *node, what string) {
	switch name {
	case methodString:
		r.stringConfig(n, what)
	case methodSemantic:
		r.semanticConfig(n, what)
	case methodExternal:
		r.externalConfig(n, what)
	case methodMultiStage:
		r.stagesConfig(n, what)
	case methodContradictions:
		r.contradictionsConfig(n, what)
	case methodAgent:
		r.agentConfig(n, what)
	case methodGuard:
		r.guardConfig(n, what)
	case methodTemplate:
		r.templateConfig(n, what)
	}
	r.placeholders(n, what)
}

// patterns reads texts to look for; a blank one would match anything.
func (r *reader) patterns(n *node, what string) []string {
	all := r.oneOrMore(n, what)
	for _, text := range all {
		if strings.TrimSpace(text) == "" {
			r.refuse(n, "%s: an entry is blank; it would match anything", what)
			break
		}
	}
	return all
}

type stringConfig struct{ contains, excludes []string }

func (c *stringConfig) fields(r *reader) []field {
	return []field{
		{"contains", func(n *node, what string) { c.contains = r.patterns(n, what) }},
		{"excludes", func(n *node, what string) { c.excludes = r.patterns(n, what) }},
	}
}

func (r *reader) stringConfig(n *node, what string) stringConfig {
	var c stringConfig
	r.mapping(n, what, c.fields(r), nil)
	return c
}

type semanticConfig struct {
	checkFor, negative []string
	model, fallback    string
}

func (c *semanticConfig) fields(r *reader) []field {
	return []field{
		{"check_for", func(n *node, what string) { c.checkFor = r.patterns(n, what) }},
		{"negative_patterns", func(n *node, what string) { c.negative = r.patterns(n, what) }},
		{"model", func(n *node, what string) { c.model = r.text(n, what) }},
		{"fallback", func(n *node, what string) {
			if c.fallback = r.text(n, what); n.kind == nodeText && c.fallback != methodString {
				r.refuse(n, "%s: the judge can only be replaced by %s, found %s", what, methodString, quoteShort(c.fallback))
			}
		}},
	}
}

func (r *reader) semanticConfig(n *node, what string) semanticConfig {
	var c semanticConfig
	r.mapping(n, what, c.fields(r), nil)
	return c
}

type externalConfig struct {
	shell              string
	args               []string
	dir                string
	env                []string
	timeout            time.Duration
	exitCode           int
	contains, excludes []string
}

func (c *externalConfig) fields(r *reader) []field {
	return []field{
		{"command", func(n *node, what string) { c.command(r, n, what) }},
		{"args", func(n *node, what string) { c.args = append(c.args, r.words(n, what)...) }},
		{"success_exit_code", func(n *node, what string) { c.exitCode = r.integer(n, what, 0, 255) }},
		{"output_contains", func(n *node, what string) { c.contains = r.patterns(n, what) }},
		{"output_not_contains", func(n *node, what string) { c.excludes = r.patterns(n, what) }},
		{"timeout", func(n *node, what string) { c.timeout = r.seconds(n, what) }},
		{"working_dir", func(n *node, what string) { c.dir = r.text(n, what) }},
		{"env", func(n *node, what string) { c.env = r.environment(n, what) }},
	}
}

// command is one line for the shell, or a list of a program and its arguments.
func (c *externalConfig) command(r *reader, n *node, what string) {
	switch {
	case n.kind == nodeText:
		c.shell = n.text
	case n.kind == nodeList:
		c.args = append(r.words(n, what), c.args...)
	default:
		r.expected(n, what, "text or a list of texts")
	}
}

func (r *reader) externalConfig(n *node, what string) externalConfig {
	var c externalConfig
	r.mapping(n, what, c.fields(r), nil)
	if n.kind != nodeMap {
		return c
	}
	if n.get("args") != nil && strings.TrimSpace(c.shell) != "" { // a program and its arguments, no shell
		c.args, c.shell = append([]string{c.shell}, c.args...), ""
	}
	switch at := n.get("command"); {
	case at == nil:
		r.refuse(n, "%s: command is missing", orMethod(what, methodExternal))
	case strings.TrimSpace(c.shell) == "" && (len(c.args) == 0 || c.args[0] == "") && (at.kind == nodeText || at.kind == nodeList):
		r.refuse(at, "%s is empty", inside(what, "command"))
	}
	return c
}

// orMethod names a configuration in messages: by its place, else by its method.
func orMethod(what, method string) string {
	if what == "" {
		return method
	}
	return what
}

// words reads a list of arguments, which may be numbers.
func (r *reader) words(n *node, what string) []string {
	items := r.list(n, what)
	if n.kind != nodeList {
		return nil
	}
	all := make([]string, len(items))
	for i, item := range items {
		switch item.kind {
		case nodeText, nodeInt, nodeFloat:
			all[i] = item.text
		default:
			r.expected(item, what+"["+strconv.Itoa(i)+"]", "text")
		}
	}
	return all
}

// maxTimeout bounds how long one command may take: a week.
const maxTimeout = 7 * 24 * time.Hour

// seconds reads a time as a number of seconds (S1) or as Go writes it, "5m".
func (r *reader) seconds(n *node, what string) time.Duration {
	var d time.Duration
	switch n.kind {
	case nodeInt, nodeFloat:
		d = maxTimeout + 1
		if f, err := strconv.ParseFloat(n.text, 64); err == nil && f <= maxTimeout.Seconds() {
			d = time.Duration(max(f, -1) * float64(time.Second))
		}
	case nodeText:
		var err error
		if d, err = time.ParseDuration(n.text); err != nil {
			r.expected(n, what, "a number of seconds, or a duration like 5m")
			return 0
		}
	default:
		r.expected(n, what, "a number of seconds, or a duration like 5m")
		return 0
	}
	if d <= 0 || d > maxTimeout {
		r.refuse(n, "%s: %s is out of range; it must be more than 0 and at most a week", what, quoteShort(n.text))
	}
	return d
}

func (r *reader) environment(n *node, what string) []string {
	if n.kind != nodeMap {
		r.expected(n, what, "a mapping of names to values")
		return nil
	}
	var env []string
	for i, key := range n.keys {
		value := n.items[i]
		switch {
		case key.text == "" || strings.ContainsAny(key.text, "=\x00"):
			r.refuse(key, "%s: %s is not the name of an environment variable", what, quoteShort(key.text))
		case value.kind == nodeList || value.kind == nodeMap:
			r.expected(value, inside(what, key.text), "text")
		default:
			env = append(env, key.text+"="+value.text)
		}
	}
	return env
}
