package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// A Method makes a verifier of a verification_config. The configuration is nil if none
// is given; the acceptance criteria are already filled in. [Env.Verifier] builds other
// methods that this one is made of.
//
// A key that the method does not know and a value it cannot use are errors: a verifier
// that is configured but cannot be built keeps the loop from starting. So is a nil
// verifier, and a panic is an error with its stack.
//
// It is called when a task is validated, prepared and verified, so it should be quick
// and do nothing but build. With one verifier for many loops it is called concurrently.
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

// A builtin is an entry of the table of built-in methods. A further method is one
// more entry, and one type with its keys, what must be given, what the agent is
// told of it, and how it is built.
type builtin struct {
	name string
	make func() settings
}

// Settings are the configuration of a method, read in two steps: first the fields, in
// the order of the text, then complete, which refuses what is missing or does not fit
// together in the mapping n that messages call what. One step would not do, since keys
// may come in any order.
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

// builtins is the table. Its order is the one in which methods are listed in messages
// and tried by guessMethod. It is a function and not a variable, so nobody can change
// it.
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

// methodNames are all methods, the built-in ones first, the program's own sorted, so
// that a message is the same each time.
func methodNames(methods Methods) []string {
	var all []string
	for _, b := range builtins() {
		all = append(all, b.name)
	}
	return append(all, slices.Sorted(maps.Keys(methods))...)
}

// unknownMethod lists what is known or names what was probably meant: a misspelt method
// must never become no verification at all.
func unknownMethod(name string, methods Methods) error {
	return fmt.Errorf("unknown verification method %s%s", doc.Quote(name), meant(name, methodNames(methods)))
}

// guessMethod returns the first built-in method that knows all keys of a configuration,
// or "". It is for configurations that stand alone, in a file that holds nothing else;
// nothing that is verified depends on it.
func guessMethod(config *doc.Node) string {
	for _, b := range builtins() {
		known := names(b.make().fields(&reader{}))
		if !slices.ContainsFunc(config.Keys, func(k *doc.Node) bool { return !slices.Contains(known, k.Text) }) {
			return b.name
		}
	}
	return ""
}

// A check is a method and its configuration. Criteria have one, and so do a stage, a
// guard and a held-out exam, which is how methods nest.
type check struct {
	method   string    // "" = none
	config   *doc.Node // nil = none was given
	settings settings  // nil = the method is not built in
}

// check reads the configuration of a method, which may be nil. They stand in n; what
// names the configuration in messages. Of a method that is not built in nothing is
// read: what its keys mean only its own [Method] knows.
func (r *reader) check(n, method, config *doc.Node, what string) check {
	c := check{method.Text, config, findBuiltin(method.Text)}
	if c.settings == nil {
		if !r.anyMethod && r.methods[c.method] == nil {
			r.refuse(method, "%v", unknownMethod(c.method, r.methods))
		}
		return c
	}
	// A method without a configuration may still miss something, as external does its
	// command; that is said at the place where the configuration would be.
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

// build makes the verifier. A program's own method comes before the built-in one of its
// name, and is foreign code: it may panic or return nothing, and both become errors.
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

// sentence joins what is said of a method, without the clauses that are empty.
func sentence(start string, clauses ...string) string {
	for _, c := range clauses {
		if c != "" {
			start += "; " + c
		}
	}
	return start
}

// clause is "" if there is nothing to name. What is named is cut to 200 bytes: the
// agent needs to know what is looked for, and a prompt has other things to say.
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
	return strings.TrimSpace(strings.ToValidUTF8(text[:most], "")) + "…"
}
