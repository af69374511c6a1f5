package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// command returns the agent that the flags name, else the one of the config, else
// the first one installed. A config's values win over a preset's, one by one; an
// agent named by a flag is that agent and nothing else. A program with a path is
// looked for in the current folder if a flag names it, in the project if the
// config does, since that file does not change with where ralph is started.
func (f *shared) command(e env, c config, project string) (*ralph.Command, error) {
	var cmd *ralph.Command
	var err error
	from := "."
	switch {
	case f.agentCmd != "":
		cmd = &ralph.Command{ModelFlag: "--model"}
		cmd.Args, err = splitWords(f.agentCmd)
	case f.agent != "":
		if cmd, err = ralph.Preset(f.agent); err != nil {
			err = fail(exitConfig, "--agent: %w", err)
		}
	case c["AGENT_TYPE"] != "" || c["AGENT_CLI"] != "":
		cmd, err = c.command(c["AGENT_TYPE"])
		from = project
	default:
		name := installed()
		if name == "" {
			return nil, fail(exitConfig, "no known agent is installed (%s); name one with --agent-cmd", strings.Join(ralph.Presets(), ", "))
		}
		e.say("using agent %s, the first one installed", name)
		cmd, err = c.command(name)
	}
	if err != nil {
		return nil, fail(exitConfig, "%w", err)
	}
	if strings.ContainsRune(cmd.Args[0], filepath.Separator) && !filepath.IsAbs(cmd.Args[0]) {
		cmd.Args[0] = absolute(filepath.Join(from, cmd.Args[0])) // the agent works elsewhere
	}
	if f.format != "" {
		cmd.Format = ralph.Format(f.format)
	}
	cmd.Model, cmd.IdleTimeout, cmd.Verbose = f.model, f.idleTimeout, f.verbose
	cmd.Sandbox, cmd.Prices = f.agentBox(cmd, project), f.table
	if _, err := exec.LookPath(cmd.Args[0]); errors.Is(err, exec.ErrNotFound) && !f.dryRun { // its words say the same
		return nil, fail(exitConfig, "agent %s is not installed, or not in PATH%.0w", cmd.Args[0], err)
	} else if err != nil && !f.dryRun {
		return nil, fail(exitConfig, "agent %s cannot be started: %w", cmd.Args[0], errors.Unwrap(err))
	}
	return cmd, f.bounded("", cmd)
}

// command returns the agent of a kind, "" = the one that AGENT_CLI names, with
// the config's own values.
func (c config) command(kind string) (*ralph.Command, error) {
	if kind == "" {
		kind = "text"
		if _, err := ralph.Preset(filepath.Base(c["AGENT_CLI"])); err == nil {
			kind = filepath.Base(c["AGENT_CLI"])
		}
	}
	cmd, err := ralph.Preset(kind)
	if err != nil {
		return nil, fail(exitConfig, "config: AGENT_TYPE: %w", err)
	}
	dialect := cmd.Format
	program, args := cmd.Args[:1], cmd.Args[1:]
	if v := c["AGENT_CLI"]; v != "" {
		if program, err = configWords(v); err == nil && len(program) == 0 {
			err = errBlank
		}
		if err != nil {
			return nil, fmt.Errorf("config: AGENT_CLI: %w", err)
		}
	}
	if v, ok := c["AGENT_ARGS"]; ok {
		if args, err = configWords(v); err != nil {
			return nil, fmt.Errorf("config: AGENT_ARGS: %w", err)
		}
	}
	cmd.Args = slices.Concat(program, args)
	switch v := c["AGENT_OUTPUT_FORMAT"]; v {
	case "":
	case "text":
		cmd.Format = ralph.FormatText
	case "json":
		if cmd.Format = dialect; dialect == ralph.FormatText && c["AGENT_RESPONSE_FILTER"] == "" {
			return nil, errors.New("config: AGENT_OUTPUT_FORMAT is json, but AGENT_TYPE is text: name the agent whose dialect it is, or an AGENT_RESPONSE_FILTER")
		}
	default:
		return nil, fmt.Errorf("config: AGENT_OUTPUT_FORMAT is json or text, not %q", v)
	}
	return cmd, nil
}

// jqFilter applies an expression to each line that is JSON; others, notices and
// standard error among them, are skipped and do not end it. The brackets keep the
// question mark, in jq 1.6, from hiding the expression's own errors.
func jqFilter(expression string) string { return "[fromjson?][] | (" + expression + ")" }

// jqLineFailed is jq's exit code when the expression could not be applied to some
// line, a number among objects for one.
const jqLineFailed = 5

// runner returns the agent, with the filters of the config if it is the config's.
func (s *session) runner() (*ralph.Command, error) {
	cmd, err := s.command(s.env, s.config, s.project)
	if err != nil || s.agent != "" || s.agentCmd != "" {
		return cmd, err
	}
	its := s.config.stranger(s.configFile, cmd)
	if s.dryRun { // not even jq is started, to read the filter
		showStarts(s.stderr, []stranger{its})
		return cmd, nil
	}
	if err := s.trusted(s.env, s.configFile, its); err != nil {
		return nil, err
	}
	cmd.Filter = ralph.Filter{ResponseName: "AGENT_RESPONSE_FILTER", DisplayName: "AGENT_DISPLAY_FILTER", Skipped: jqLineFailed}
	if response := s.config["AGENT_RESPONSE_FILTER"]; response != "" {
		if _, err := exec.LookPath("jq"); err != nil {
			return nil, fail(exitConfig, "config: AGENT_RESPONSE_FILTER needs jq, which is not installed, or not in PATH")
		}
		if out, err := exec.CommandContext(s.ctx, "jq", "-n", "empty | "+jqFilter(response)).CombinedOutput(); err != nil {
			return nil, fail(exitConfig, "config: AGENT_RESPONSE_FILTER: %s", line(string(out)))
		}
		cmd.Filter.Response = []string{"jq", "-Rr", "--unbuffered", jqFilter(response)}
	}
	if display := s.config["AGENT_DISPLAY_FILTER"]; display != "" {
		cmd.Filter.Display = []string{"/bin/sh", "-c", display}
	}
	return cmd, nil
}

// ready asks an agent's own check of its login, if it has one: a run that cannot work is
// not begun. One that cannot be asked may work.
func (e env) ready(agent ralph.Runner) error {
	cmd, ok := agent.(*ralph.Command)
	if !ok {
		return nil
	}
	if err := cmd.Ready(e.ctx); errors.Is(err, ralph.ErrLogin) {
		return fail(exitAgent, "%w", err)
	}
	return nil
}

// canBegin asks the agent and the judges of a run: what an agent does for a judge that
// cannot work costs as much.
func (s *shared) canBegin(e env, agent ralph.Runner) error {
	if err := e.ready(agent); err != nil {
		return err
	}
	for _, judge := range s.judges {
		if err := e.ready(judge); err != nil {
			return fail(exitAgent, "the judge: %w", err)
		}
	}
	return nil
}

// runAgents prints a table of the known agents.
func runAgents(e env, _ *shared, _ []string) error {
	yes := map[bool]string{true: "yes"}
	rows := [][]string{{"AGENT", "PROGRAM", "VERSION", "COST", "TOKENS", "SESSION", "RATE LIMITS", "LOGIN"}}
	for _, name := range ralph.Presets() {
		c, err := ralph.Preset(name)
		if err != nil {
			return err
		}
		version, err := c.Version(e.ctx)
		switch {
		case errors.Is(err, exec.ErrNotFound):
			version = "not installed"
		case err != nil:
			version = "installed"
		}
		tells := c.Format.Capabilities()
		login := map[bool]string{true: "no"}[errors.Is(c.Ready(e.ctx), ralph.ErrLogin)] // nothing else is certain
		rows = append(rows, []string{name, c.Args[0], short(version, 40), yes[tells.Cost], yes[tells.Tokens], yes[tells.Session], yes[tells.RateLimits], login})
	}
	return columns(e.stdout, rows)
}

// installed returns the first preset whose program is found, "" = none.
func installed() string {
	for _, name := range ralph.Presets() {
		if c, err := ralph.Preset(name); err == nil {
			if _, err := exec.LookPath(c.Args[0]); err == nil {
				return name
			}
		}
	}
	return ""
}

// confined is a sandbox in which such folders may be written to, beside the workspace
// and a temporary folder; nil without --sandbox. No one may write to what is on
// record.
func (s *shared) confined(write ...string) *ralph.Sandbox {
	if s.sandbox == "" {
		return nil
	}
	box := &ralph.Sandbox{Write: write, Require: s.sandbox == "require"}
	if dir, err := progress.WorkspaceDir("."); err == nil {
		box.Protect = append(box.Protect, filepath.Dir(dir.Path))
	}
	if s.state != "" {
		box.Protect = append(box.Protect, absolute(s.state))
	}
	return box
}

// agentBox is the agent's: its client's folders, the tools' caches, and the repository
// if the workspace is a linked work tree. An exam is hidden.
func (s *shared) agentBox(c *ralph.Command, project string) *ralph.Sandbox {
	box := s.confined(slices.Concat(ralph.ClientFolders(c.Format), ralph.ToolFolders(), repository(project))...)
	if box == nil || s.dryRun {
		return box
	}
	if s.exam != "" {
		box.Hide = []string{absolute(s.exam)}
	}
	for _, dir := range box.Write { // what is not there cannot be granted, and a client's first run makes it
		if filepath.Base(dir) == ".cache" || slices.Contains(ralph.ClientFolders(c.Format), dir) && !strings.Contains(filepath.Base(dir), ".json") {
			os.MkdirAll(dir, 0o700)
		}
	}
	return box
}

// checkBox is that of checks: the tools' caches.
func (s *shared) checkBox() *ralph.Sandbox { return s.confined(ralph.ToolFolders()...) }

// repository is where the repository of a linked work tree is, which git writes to.
// The repository must know the work tree: its .git alone is the agent's to write.
func repository(project string) []string {
	own := filepath.Join(resolved(project), ".git")
	text, err := ralph.ReadFile(own, 1<<12)
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok || !filepath.IsAbs(dir) || filepath.Base(filepath.Dir(dir)) != "worktrees" {
		return nil
	}
	back, err := ralph.ReadFile(filepath.Join(dir, "gitdir"), 1<<12)
	if err != nil || resolved(strings.TrimSpace(string(back))) != own {
		return nil
	}
	return []string{filepath.Dir(filepath.Dir(dir))}
}
