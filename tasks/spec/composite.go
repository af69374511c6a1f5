package spec

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/verify"
)

// The methods that are made of others.

// stagesSettings are those of multi_stage.
type stagesSettings struct {
	stages []stage
	// anyOne is require_all, turned round: the zero value must be the strict one.
	anyOne bool
	// parallel is how many stages run at the same time, as in [verify.MultiStage]; the
	// keys true and false mean all at once and one after the other.
	parallel int
}

// A stage is one entry of stages. It is required unless it says otherwise, which is why
// the opposite is kept.
type stage struct {
	name     string
	check    check
	advisory bool
}

func (s *stagesSettings) fields(r *reader) []field {
	return []field{
		key("stages", &s.stages, func(n *doc.Node, what string) []stage { return list(r, n, what, "a list", r.stage) }),
		key("require_all", &s.anyOne, r.not),
		key("parallel", &s.parallel, func(n *doc.Node, what string) int {
			if n.Kind == doc.Bool {
				return map[string]int{"true": -1}[n.Text] // all at once
			}
			return r.whole(0, 1000)(n, what)
		}),
	}
}

// stage reads one stage. A stage with only a name is string_match: the promise, by
// itself. A config without a method is refused instead of guessed at: the guess would
// decide what is verified.
func (r *reader) stage(n *doc.Node, what string) stage {
	var s stage
	var method string
	var config *doc.Node
	r.mapping(n, what, []field{
		key("name", &s.name, r.name),
		key("method", &method, r.text),
		key("config", &config, r.tree),
		key("required", &s.advisory, r.not),
	}, nil)
	switch at := given(n, "method"); {
	// Reported already, as is a method that is no text.
	case n.Kind != doc.Map:
	case at == nil && config != nil && len(config.Keys) > 0:
		r.refuse(n, "%s has a config but no method", what)
	case at == nil:
		s.check = r.check(n, doc.String(stringMatch), nil, what)
	case isText(at) && strings.TrimSpace(method) == "":
		r.refuse(at, "%s is empty", inside(what, "method"))
	case isText(at):
		s.check = r.check(n, at, config, inside(what, "config"))
	}
	return s
}

// complete refuses stages that are all advisory. An empty set of conditions could be
// read as "always passes" or as "never passes"; neither is what anybody means.
func (s *stagesSettings) complete(r *reader, n *doc.Node, what string) {
	r.needed(n, what, "stages", len(s.stages) == 0, "; it needs at least one stage")
	if len(s.stages) > 0 && !slices.ContainsFunc(s.stages, func(s stage) bool { return !s.advisory }) {
		r.refuse(n.Get("stages"), "%s: no stage is required, so nothing could ever be verified", inside(what, "stages"))
	}
}

// describe names the stages and their methods, but not what each of them wants: the
// text has to fit into a prompt, and the verdict's feedback tells the rest.
func (s *stagesSettings) describe() string {
	stages := make([]string, len(s.stages))
	for i, s := range s.stages {
		if stages[i] = s.name; s.name == "" {
			stages[i] = "unnamed"
		}
		stages[i] += " (" + s.check.method
		if s.advisory {
			stages[i] += ", advisory"
		}
		stages[i] += ")"
	}
	which := map[bool]string{false: "all", true: "one"}[s.anyOne]
	return ": " + which + " of " + strings.Join(stages, ", ") + " must pass"
}

// build makes one verifier for stages of the same method and configuration. Verifiers
// that run something are cached, so a command that several stages share runs once for
// each attempt. Configurations are compared as text, so the same keys in another order
// build a second verifier: that costs time and changes no verdict.
func (s *stagesSettings) build(env Env) (ralph.Verifier, error) {
	type key struct{ method, config string }
	built := make(map[key]ralph.Verifier, len(s.stages))
	all := verify.MultiStage{Any: s.anyOne, Parallel: s.parallel}
	for i, s := range s.stages {
		k := key{s.check.method, string(s.check.config.JSON())}
		if built[k] == nil {
			v, err := s.check.build(env)
			if err != nil {
				return nil, fmt.Errorf("stage %d (%s): %w", i+1, s.name, err)
			}
			built[k] = v
		}
		all.Stages = append(all.Stages, verify.Stage{Name: s.name, Verifier: built[k], Advisory: s.advisory})
	}
	return all, nil
}

// guardSettings name files that must not change, and what else must hold. Without a
// method the promise is enough beside the guard.
type guardSettings struct {
	files  []string
	method string
	config *doc.Node // nil = none
	check  check
}

func (s *guardSettings) fields(r *reader) []field {
	return []field{
		key("files", &s.files, r.patterns),
		key("method", &s.method, r.text),
		key("config", &s.config, r.tree),
	}
}

// complete reads the inner method here and not among the fields: method and config may
// come in either order, and one is needed to read the other.
func (s *guardSettings) complete(r *reader, n *doc.Node, what string) {
	r.needed(n, what, "files", len(s.files) == 0, "")
	switch {
	case s.method != "":
		s.check = r.check(n, n.Get("method"), s.config, inside(what, "config"))
	case s.config != nil:
		r.refuse(s.config, "%s has a config but no method", what)
	}
}

// describe names the files: an agent that does not know of a guard meets it as a
// rejection which it cannot explain.
func (s *guardSettings) describe() string {
	text := ": " + strings.Join(s.files, ", ") + " must not change"
	if s.check.method != "" {
		text += "; " + s.check.describe()
	}
	return text
}

func (s *guardSettings) build(env Env) (ralph.Verifier, error) {
	if s.check.method == "" {
		return guarded(verify.String{}, s.files), nil
	}
	v, err := s.check.build(env)
	return guarded(v, s.files), err
}

// guarded puts a guard around a verifier if there is something to guard. A guard
// without globs would not be harmless: it accepts whatever snapshot the task carries.
func guarded(v ralph.Verifier, globs []string) ralph.Verifier {
	if len(globs) == 0 {
		return v
	}
	return verify.Guard{Verifier: v, Globs: globs}
}

// heldOutSettings name an exam that the agent has not seen, and what runs it. A
// relative path begins at the workspace and must lead out of it, for what lies inside
// the agent can read.
type heldOutSettings struct {
	exam    string
	include []string
	reveal  verify.Reveal
	method  string
	config  *doc.Node // nil = none
	check   check
}

// fields has reveal without a pointer to write back: in a definition a configuration is
// kept as it was read, and never built from these settings.
func (s *heldOutSettings) fields(r *reader) []field {
	return []field{
		key("exam", &s.exam, r.text),
		key("include", &s.include, r.patterns),
		{"reveal", func(n *doc.Node, what string) { s.reveal = r.reveal(n, what) }, nil},
		key("method", &s.method, r.text),
		key("config", &s.config, r.tree),
	}
}

// reveal reads how much of the result the agent is told. In the file the default has a
// name, "counts", although it is Go's zero value "": a person who wants to write it
// down needs a word for it.
func (r *reader) reveal(n *doc.Node, what string) verify.Reveal {
	known := []string{string(verify.RevealPassed), "counts", string(verify.RevealNames), string(verify.RevealAll)}
	text := r.text(n, what)
	switch {
	case text == "counts" || n.Kind != doc.Text:
		return verify.RevealCounts
	case !slices.Contains(known, text):
		r.refuse(n, "%s: %s is none of %s%s", what, doc.Quote(text), strings.Join(known, ", "), meant(text, known))
	}
	return verify.Reveal(text)
}

// complete requires a method, unlike a guard: an exam that nothing runs decides
// nothing.
func (s *heldOutSettings) complete(r *reader, n *doc.Node, what string) {
	r.needed(n, what, "exam", strings.TrimSpace(s.exam) == "", "")
	r.needed(n, what, "method", strings.TrimSpace(s.method) == "", "; it says what runs the exam")
	if s.method != "" {
		s.check = r.check(n, n.Get("method"), s.config, inside(what, "config"))
	}
}

// describe does not say how the exam is run, nor where it is: a command may name
// its files.
func (s *heldOutSettings) describe() string {
	return ": " + s.check.method + ", run in a copy of the workspace with an exam that you have not seen"
}

// build resolves a relative exam against the workspace of this machine, which is why a
// definition can be written once for workers that keep their workspaces elsewhere.
func (s *heldOutSettings) build(env Env) (ralph.Verifier, error) {
	v, err := s.check.build(env)
	exam := s.exam
	if !filepath.IsAbs(exam) {
		exam = filepath.Join(env.Dir, exam)
	}
	return verify.HeldOut{Verifier: v, Exam: exam, Include: s.include, Reveal: s.reveal}, err
}
