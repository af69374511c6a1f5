package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// A Method makes a verifier of a verification_config. The configuration is nil
// if none is given; the acceptance criteria are already filled in. Env.Verifier
// builds other methods that this one is made of.
//
// A key that the method does not know and a value it cannot use are errors: a verifier
// that is configured but cannot be built keeps the loop from starting. It may be called
// concurrently, runs nothing and asks nobody: drivers build verifiers to find out
// whether they can be built.
type Method func(config json.RawMessage, env Env) (ralph.Verifier, error)

// Methods are a program's own verification methods, by the names that
// definitions use. Nil means that there are only the built-in ones:
//
//	string_match    contains, excludes: words of the answer; neither: the promise is enough
//	semantic        check_for, negative_patterns, model, fallback, max_bytes: a judge; see [verify.Semantic]
//	external        command (a shell line, or a list), args, success_exit_code, output_contains,
//	                output_not_contains, timeout (seconds), working_dir, env; see [verify.External]
//	multi_stage     stages (name, method, config, required), require_all, parallel; see [verify.MultiStage]
//	contradictions  patterns; see [verify.Contradictions]
//	agent           agent; see [verify.Agent]
//	guard           files, method, config: files that must not change; see [verify.Guard]
//	template        name, args; see [verify.Template]
//	held_out        exam, include, reveal (passed, counts, names, all), method, config: an exam that the
//	                agent has not seen, a folder outside the workspace; see [verify.HeldOut]
//
// What is in the map comes first, so a built-in method can be given another
// implementation; it gets the same configuration.
type Methods map[string]Method

// A builtin is an entry of the table of built-in methods. A further method is one more
// entry, and one type with its keys, what must be given, what the agent is told of it,
// and how it is built. It is a table because methods come and go, and nothing else
// should have to know them by name.
type builtin struct {
	name string
	make func() settings
}

// Settings are the configuration of a method, read: first the fields, then complete,
// which refuses what is missing or does not fit together in the mapping n that messages
// call what. It has four methods because they answer four questions, at different
// times: read, check, tell, build.
type settings interface {
	fields(r *reader) []field
	complete(r *reader, n *doc.Node, what string)
	describe() string // what follows the method's name for the agent
	build(env Env) (ralph.Verifier, error)
}

// The names of methods that stand for others or for none.
const (
	stringMatch    = "string_match"
	semantic       = "semantic"
	external       = "external"
	contradictions = "contradictions"
	agentRule      = "agent"
)

func builtins() []builtin {
	return []builtin{
		{stringMatch, func() settings { return new(stringSettings) }},
		{semantic, func() settings { return new(semanticSettings) }},
		{external, func() settings { return new(externalSettings) }},
		{"multi_stage", func() settings { return new(stagesSettings) }},
		{contradictions, func() settings { return new(contradictionsSettings) }},
		{agentRule, func() settings { return new(agentSettings) }},
		{"guard", func() settings { return new(guardSettings) }},
		{"template", func() settings { return new(templateSettings) }},
		{"held_out", func() settings { return new(heldOutSettings) }},
	}
}

// plain is part of settings in which nothing can be missing.
type plain struct{}

func (plain) complete(*reader, *doc.Node, string) {}

// findBuiltin returns new settings of a built-in method, or nil.
func findBuiltin(name string) settings {
	if i := slices.Index(methodNames(nil), name); i >= 0 {
		return builtins()[i].make()
	}
	return nil
}

// methodNames are all methods, the built-in ones first.
func methodNames(methods Methods) []string {
	var all []string
	for _, b := range builtins() {
		all = append(all, b.name)
	}
	return append(all, slices.Sorted(maps.Keys(methods))...)
}

// unknownMethod is an error and no default: a check that nobody knows would otherwise
// be no check.
func unknownMethod(name string, methods Methods) error {
	return fmt.Errorf("unknown verification method %s%s", doc.Quote(name), meant(name, methodNames(methods)))
}

// guessMethod returns the first built-in method that knows all keys of a
// configuration, or "". It is for configurations that stand alone.
func guessMethod(config *doc.Node) string {
	for _, b := range builtins() {
		known := names(b.make().fields(&reader{}))
		if !slices.ContainsFunc(config.Keys, func(k *doc.Node) bool { return !slices.Contains(known, k.Text) }) {
			return b.name
		}
	}
	return ""
}

// A check is a method and its configuration, which criteria have, a stage and a
// guard.
type check struct {
	method   string    // "" = none
	config   *doc.Node // nil = none was given
	settings settings  // nil = the method is not built in
}

// check reads the configuration of a method, which may be nil. They stand in n;
// what names the configuration in messages.
func (r *reader) check(n, method, config *doc.Node, what string) check {
	c := check{method.Text, config, findBuiltin(method.Text)}
	if c.settings == nil {
		if !r.anyMethod && r.methods[c.method] == nil {
			r.refuse(method, "%v", unknownMethod(c.method, r.methods))
		}
		return c
	}
	if config == nil {
		config = n.Empty()
	}
	r.mapping(config, what, c.settings.fields(r), nil)
	if config.Kind == doc.Map {
		if what == "" {
			what = c.method
		}
		c.settings.complete(r, config, what)
	}
	r.placeholders(config, what)
	return c
}

// describe tells the agent how its claim will be checked.
func (c check) describe() string {
	if c.settings == nil {
		return c.method
	}
	return c.method + c.settings.describe()
}

// build makes the verifier.
func (c check) build(env Env) (ralph.Verifier, error) {
	var v ralph.Verifier
	var err error
	own := env.Methods[c.method]
	switch {
	case own != nil:
		err = plugin.Call("the verification method "+doc.Quote(c.method), func() (err error) {
			v, err = own(c.config.JSON(), env)
			return bare(err)
		})
	case c.settings == nil:
		err = unknownMethod(c.method, env.Methods)
	default:
		if v, err = c.settings.build(env); err != nil {
			err = fmt.Errorf("%s: %w", c.method, err)
		}
	}
	if err == nil && v == nil {
		err = fmt.Errorf("the verification method %s gave no verifier", doc.Quote(c.method))
	}
	return v, err
}

// sentence joins what is said of a method.
func sentence(start string, clauses ...string) string {
	for _, c := range clauses {
		if c != "" {
			start += "; " + c
		}
	}
	return start
}

// clause is one thing that is said of a method; "" if there is nothing to say.
func clause(verb string, texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return verb + " " + shorten(strings.Join(texts, "; "), 200)
}

// shorten cuts a text to a number of bytes, at a rune border.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strings.TrimSpace(text[:cut]) + "…"
}
