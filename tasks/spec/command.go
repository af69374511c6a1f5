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

// The methods that run a command.

// externalSettings are those of external. A command can be written in three ways, since
// all three are common: one line for the shell, a list of a program and its arguments,
// or a program with its arguments under args. Only the first involves a shell.
type externalSettings struct {
	shell string // a line for the shell, or the program if there are args
	// args are a program and its arguments, or only these while command is still to be
	// read.
	args []string
	// dir is a folder inside the workspace; "" = the workspace.
	dir string
	// env holds NAME=value, in the order in which they were written.
	env []string
	// timeout 0 = the default of [verify.External].
	timeout time.Duration
	// exitCode is the one that means success. Zero is both Go's default and the usual
	// one.
	exitCode           int
	contains, excludes []string
}

func (s *externalSettings) fields(r *reader) []field {
	return []field{
		{"command", func(n *doc.Node, what string) { s.command(r, n, what) }, nil},
		// Appended, since command may have put the beginning of the list there: the
		// order of keys in a mapping must not matter.
		{"args", func(n *doc.Node, what string) { s.args = append(s.args, r.names(n, what)...) }, nil},
		key("success_exit_code", &s.exitCode, r.whole(0, 255)),
		key("output_contains", &s.contains, r.patterns),
		key("output_not_contains", &s.excludes, r.patterns),
		key("timeout", &s.timeout, r.seconds),
		key("working_dir", &s.dir, r.text),
		key("env", &s.env, r.environment),
	}
}

// command reads one line for the shell, or a list of a program and its arguments. A
// text is never split at its blanks here: what a quote or a $ in it means only a shell
// knows.
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

// complete settles whether there is a shell. A command beside args is the name of a
// program, blanks included, even if args is empty: that is how a shell is avoided for a
// program without arguments.
func (s *externalSettings) complete(r *reader, n *doc.Node, what string) {
	if n.Has("args") && strings.TrimSpace(s.shell) != "" { // a program and its arguments, no shell
		s.args, s.shell = append([]string{s.shell}, s.args...), ""
	}
	r.needed(n, what, "command", strings.TrimSpace(s.shell) == "" && (len(s.args) == 0 || s.args[0] == ""), "")
}

// describe shows the command to the agent, which can then run it before it claims to be
// done. A secret in it is hidden first, and the line cut afterwards: half a secret that
// the cut leaves is no longer recognised as one.
func (s *externalSettings) describe() string {
	line := s.shell
	if line == "" {
		line = strings.Join(s.args, " ")
	}
	line = redact.CommandLine(strings.Join(strings.Fields(line), " ")) // before anything is cut
	return sentence(fmt.Sprintf(": the command `%s` must end with exit code %d", shorten(line, 200), s.exitCode),
		clause("must print", s.contains), clause("must not print", s.excludes))
}

// build caches the verifier: two stages that run the same test suite run it once for
// each attempt, see [verify.Cache].
func (s *externalSettings) build(env Env) (ralph.Verifier, error) {
	return verify.Cache(verify.External{
		Args: s.args, Shell: s.shell, Dir: s.dir, Env: s.env, Timeout: s.timeout,
		ExitCode: s.exitCode, Contains: s.contains, Excludes: s.excludes, Redact: env.Redact, AcceptConfig: env.AcceptConfig, InheritEnv: env.InheritEnv, Sandbox: env.Sandbox,
	}), nil
}

// templateSettings are those of template: the name of one of the checks that come with
// this module, and its arguments.
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

// complete has the template itself look at its arguments, so that a wrong one is found
// with its line in the file. Where a placeholder is still to be filled in, the
// arguments are not known yet; build looks at them then.
func (s *templateSettings) complete(r *reader, n *doc.Node, what string) {
	switch at := n.Get("name"); {
	// The wrong type was reported when the key was read.
	case at != nil && at.Kind != doc.Text:
	case strings.TrimSpace(s.name) == "":
		r.refuse(n, "%s: name is missing; it says which template", what)
	case !hasPlaceholder(n):
		if err := s.template().Validate(ralph.Task{}); err != nil {
			r.refuse(at, "%s: %v", what, err)
		}
	}
}

func (s *templateSettings) template() verify.Template {
	return verify.Template{Name: s.name, Args: s.args}
}

func (s *templateSettings) describe() string { return ": " + s.name }

// build validates again, with what was filled in for placeholders.
func (s *templateSettings) build(env Env) (ralph.Verifier, error) {
	v := s.template()
	v.Redact, v.AcceptConfig, v.InheritEnv, v.Sandbox = env.Redact, env.AcceptConfig, env.InheritEnv, env.Sandbox
	if err := v.Validate(ralph.Task{}); err != nil {
		return nil, err
	}
	return verify.Cache(v), nil
}
