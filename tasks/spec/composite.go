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

// The methods that are made of others. They read what is inside of them by the same
// reader, so a mistake three levels deep is told with its line like any other.

// stagesSettings are those of multi_stage. Its zero value asks all stages, one after
// the other. parallel is how many run at the same time, negative = all.
type stagesSettings struct {
	stages   []stage
	anyOne   bool
	parallel int
}

// A stage is one of them. An advisory one is told and decides nothing (required:
// false).
type stage struct {
	name     string
	check    check
	advisory bool
}

// fields keeps the opposite of require_all and required, so that what is left out is
// the strict choice.
func (s *stagesSettings) fields(r *reader) []field {
	return []field{
		key("stages", &s.stages, func(n *doc.Node, what string) []stage { return list(r, n, what, "a list", r.stage) }),
		key("require_all", &s.anyOne, r.not),
		key("parallel", &s.parallel, func(n *doc.Node, what string) int {
			// true and false are how most people would write it; a number is for those
			// who share a machine.
			if n.Kind == doc.Bool {
				return map[string]int{"true": -1}[n.Text] // all at once
			}
			return r.whole(0, 1000)(n, what)
		}),
	}
}

// stage reads a stage. One without a method is a string_match, as a definition without
// one is; a config without a method is refused, for it was meant for something.
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
	case n.Kind != doc.Map:
	// To guess the method by the keys would change its meaning with each key that is
	// added.
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

// complete refuses stages of which none is required: they would pass whatever they
// find, and look like a check.
func (s *stagesSettings) complete(r *reader, n *doc.Node, what string) {
	r.needed(n, what, "stages", len(s.stages) == 0, "; it needs at least one stage")
	// An empty list was refused above.
	if len(s.stages) > 0 && !slices.ContainsFunc(s.stages, func(s stage) bool { return !s.advisory }) {
		r.refuse(n.Get("stages"), "%s: no stage is required, so nothing could ever be verified", inside(what, "stages"))
	}
}

// describe names the stages and not what is in them: one command of many would be taken
// for all that counts. An advisory stage is named as that, or agents spend iterations
// on it.
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
	// Which of the two it is changes what an agent should do first.
	which := map[bool]string{false: "all", true: "one"}[s.anyOne]
	return ": " + which + " of " + strings.Join(stages, ", ") + " must pass"
}

// build builds equal stages once, so that a command that several of them run
// runs once for each attempt.
//
// Equal means the same method with the same configuration, whatever their names. The
// error says which stage it is, by its number and its name, for names may be missing.
func (s *stagesSettings) build(env Env) (ralph.Verifier, error) {
	type key struct{ method, config string }
	built := make(map[key]ralph.Verifier, len(s.stages))
	all := verify.MultiStage{Any: s.anyOne, Parallel: s.parallel}
	for i, s := range s.stages {
		// As JSON, so that layout and order of the keys make no difference.
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
// method the files alone are guarded, and the promise is enough for the rest.
type guardSettings struct {
	files  []string
	method string
	config *doc.Node // nil = none
	check  check
}

// fields takes files as paths and globs, of which one alone need not be a list.
func (s *guardSettings) fields(r *reader) []field {
	return []field{
		key("files", &s.files, r.patterns),
		key("method", &s.method, r.text),
		key("config", &s.config, r.tree),
	}
}

// complete refuses a guard of nothing, and a config that no method would read.
func (s *guardSettings) complete(r *reader, n *doc.Node, what string) {
	r.needed(n, what, "files", len(s.files) == 0, "")
	switch {
	case s.method != "":
		s.check = r.check(n, n.Get("method"), s.config, inside(what, "config"))
	case s.config != nil:
		r.refuse(s.config, "%s has a config but no method", what)
	}
}

// describe tells the agent which files are not its: most of them are left alone once
// that is said.
func (s *guardSettings) describe() string {
	text := ": " + strings.Join(s.files, ", ") + " must not change"
	if s.check.method != "" {
		text += "; " + s.check.describe()
	}
	return text
}

// build puts the guard around the other method, so that a changed exam is found before
// it is run.
func (s *guardSettings) build(env Env) (ralph.Verifier, error) {
	if s.check.method == "" {
		return guarded(verify.String{}, s.files), nil
	}
	v, err := s.check.build(env)
	return guarded(v, s.files), err
}

// guarded adds a guard, if there is something to guard. A guard of nothing would be
// refused when it is asked.
func guarded(v ralph.Verifier, globs []string) ralph.Verifier {
	if len(globs) == 0 {
		return v
	}
	return verify.Guard{Verifier: v, Globs: globs}
}

// heldOutSettings name an exam that the agent has not seen, and what runs it. A path
// that is not absolute is from the workspace on, which it must lead out of. An exam in
// the workspace is one that the agent can read, and so not held out.
type heldOutSettings struct {
	exam    string
	include []string
	reveal  verify.Reveal
	method  string
	config  *doc.Node // nil = none
	check   check
}

func (s *heldOutSettings) fields(r *reader) []field {
	return []field{
		key("exam", &s.exam, r.text),
		key("include", &s.include, r.patterns),
		{"reveal", func(n *doc.Node, what string) { s.reveal = r.reveal(n, what) }, nil},
		key("method", &s.method, r.text),
		key("config", &s.config, r.tree),
	}
}

// reveal reads how much the agent is told. Counts is what is told if nothing is said:
// enough to know how far it is, and too little to write code for the exam alone.
func (r *reader) reveal(n *doc.Node, what string) verify.Reveal {
	known := []string{string(verify.RevealPassed), "counts", string(verify.RevealNames), string(verify.RevealAll)}
	text := r.text(n, what)
	switch {
	// What is no text was refused by the reader.
	case text == "counts" || n.Kind != doc.Text:
		return verify.RevealCounts
	case !slices.Contains(known, text):
		r.refuse(n, "%s: %s is none of %s%s", what, doc.Quote(text), strings.Join(known, ", "), meant(text, known))
	}
	return verify.Reveal(text)
}

// complete refuses an exam without a method that runs it.
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

// build makes the path of the exam absolute, for the copy of the workspace in which it
// runs lies elsewhere.
func (s *heldOutSettings) build(env Env) (ralph.Verifier, error) {
	v, err := s.check.build(env)
	exam := s.exam
	// Relative paths are for task files that are shared: each person has the exam
	// beside the workspace.
	if !filepath.IsAbs(exam) {
		exam = filepath.Join(env.Dir, exam)
	}
	return verify.HeldOut{Verifier: v, Exam: exam, Include: s.include, Reveal: s.reveal}, err
}
