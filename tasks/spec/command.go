package spec

import (
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/verify"
)

// The methods that run a command: the strongest evidence there is, and the only kind that
// an agent cannot talk its way around.

// externalSettings are those of external. A time-out of 0 is the one that
// [verify.External] has, and an exit code of 0 is success, as everywhere.
type externalSettings struct {
	shell              string   // a line for the shell, or the program if there are args
	args               []string // a program and its arguments, or only these
	dir                string
	env                []string
	timeout            time.Duration
	exitCode           int
	contains, excludes []string
}

// fields reads command and args by hand, since they depend on each other: one is
// completed by the other, in whichever order they stand.
func (s *externalSettings) fields(r *reader) []field {
	return []field{
		{"command", func(n *doc.Node, what string) { s.command(r, n, what) }, nil},
		{"args", func(n *doc.Node, what string) { s.args = append(s.args, r.names(n, what)...) }, nil},
		key("success_exit_code", &s.exitCode, r.whole(0, 255)),
		key("output_contains", &s.contains, r.patterns),
		key("output_not_contains", &s.excludes, r.patterns),
		key("timeout", &s.timeout, r.seconds),
		key("working_dir", &s.dir, r.text),
		key("env", &s.env, r.environment),
	}
}

// command is one line for the shell, or a list of a program and its arguments. A line
// goes to the shell, with all that a shell does; a list is a program, and nothing in it
// is interpreted. Which of the two is meant shows by the type and is never guessed.
func (s *externalSettings) command(r *reader, n *doc.Node, what string) {
	switch n.Kind {
	case doc.Text:
		s.shell = n.Text
	case doc.List:
		s.args = append(r.names(n, what), s.args...)
	default:
		r.expected(n, what, "text or a list of texts")
	}
}

// complete makes one program of command and args. A program with args but without any
// text is refused: it would run nothing, and running nothing succeeds.
func (s *externalSettings) complete(r *reader, n *doc.Node, what string) {
	// A shell line with args behind it would have them quoted by nobody.
	if n.Has("args") && strings.TrimSpace(s.shell) != "" { // a program and its arguments, no shell
		s.args, s.shell = append([]string{s.shell}, s.args...), ""
	}
	r.needed(n, what, "command", strings.TrimSpace(s.shell) == "" && (len(s.args) == 0 || s.args[0] == ""), "")
}

// describe tells the agent the command, so that it can run that itself before it
// claims. Secrets are taken out of the whole line first: cut in the middle one would
// not be known any more, and the prompt goes to a stranger's server.
func (s *externalSettings) describe() string {
	line := s.shell
	if line == "" {
		line = strings.Join(s.args, " ")
	}
	line = redact.CommandLine(strings.Join(strings.Fields(line), " ")) // before anything is cut
	return sentence(fmt.Sprintf(": the command `%s` must end with exit code %d", shorten(line, 200), s.exitCode),
		clause("must print", s.contains), clause("must not print", s.excludes))
}

// build caches the verifier for the attempt, so that a command which stands in several
// stages runs once.
func (s *externalSettings) build(env Env) (ralph.Verifier, error) {
	return verify.Cache(verify.External{
		Args: s.args, Shell: s.shell, Dir: s.dir, Env: s.env, Timeout: s.timeout,
		ExitCode: s.exitCode, Contains: s.contains, Excludes: s.excludes, Redact: env.Redact, AcceptConfig: env.AcceptConfig, InheritEnv: env.InheritEnv, Sandbox: env.Sandbox,
	}), nil
}

// templateSettings are those of template: the name of one of the commands that package
// verify knows, and what it is given.
type templateSettings struct {
	name string
	args []string
}

func (s *templateSettings) fields(r *reader) []field {
	return []field{
		key("name", &s.name, r.text),
		key("args", &s.args, r.names),
	}
}

// complete finds out at once whether there is such a template, except where acceptance
// criteria are still to be filled in: then nobody can know yet.
func (s *templateSettings) complete(r *reader, n *doc.Node, what string) {
	switch at := n.Get("name"); {
	case at != nil && at.Kind != doc.Text:
	case strings.TrimSpace(s.name) == "":
		r.refuse(n, "%s: name is missing; it says which template", what)
	case !hasPlaceholder(n):
		if err := s.template().Validate(ralph.Task{}); err != nil {
			r.refuse(at, "%s: %v", what, err)
		}
	}
}

// template is the verifier as far as the configuration says.
func (s *templateSettings) template() verify.Template {
	return verify.Template{Name: s.name, Args: s.args}
}

func (s *templateSettings) describe() string { return ": " + s.name }

// build asks again what complete has asked, for by now everything is filled in.
func (s *templateSettings) build(env Env) (ralph.Verifier, error) {
	v := s.template()
	v.Redact, v.AcceptConfig, v.InheritEnv, v.Sandbox = env.Redact, env.AcceptConfig, env.InheritEnv, env.Sandbox
	if err := v.Validate(ralph.Task{}); err != nil {
		return nil, err
	}
	return verify.Cache(v), nil
}
