package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/process"
)

// validate checks the flags that say who works, before anything is looked for.
func (f *flags) validate() error {
	if f.agent != "" && f.agentCmd != "" {
		return fail(exitUsage, "--agent and --agent-cmd exclude each other")
	}
	switch {
	case !(f.maxCost >= 0) || math.IsInf(f.maxCost, 0):
		return fail(exitUsage, "--max-cost is an amount in USD, 0 or more, not %v", f.maxCost)
	case f.timeout < 0:
		return fail(exitUsage, "--timeout is a time, 0 or more, not %v", f.timeout)
	case f.idleTimeout < 0:
		return fail(exitUsage, "--idle-timeout is a time, 0 or more, not %v", f.idleTimeout)
	}
	if f.agentCmd != "" {
		if _, err := splitWords(f.agentCmd); err != nil {
			return fail(exitUsage, "--agent-cmd: %w", err)
		}
	}
	if f.format != "" && !strings.Contains(", "+formats()+", ", ", "+f.format+", ") {
		return fail(exitUsage, "--format: unknown format %q; the known ones are %s", f.format, formats())
	}
	return nil
}

// command returns the agent that the flags name, else the one of the config, else
// the first one installed. A config's values win over a preset's, one by one; an
// agent named by a flag is that agent and nothing else. A program with a path is
// looked for in the current folder if a flag names it, in the project if the
// config does, since that file does not change with where ralph is started.
func (f *flags) command(e env, c config, project string) (*ralph.Command, error) {
	var cmd *ralph.Command
	var err error
	from := "."
	switch {
	case f.agentCmd != "":
		cmd = &ralph.Command{ModelFlag: "--model"}
		cmd.Args, err = splitWords(f.agentCmd)
	case f.agent != "":
		if cmd, err = ralph.Preset(f.agent); err != nil {
			err = fmt.Errorf("--agent: %s", unprefixed(err))
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
		cmd.Args[0] = filepath.Join(from, cmd.Args[0])
		if cmd.Args[0], err = filepath.Abs(cmd.Args[0]); err != nil { // the agent works elsewhere
			return nil, err
		}
	}
	if f.format != "" {
		cmd.Format = ralph.Format(f.format)
	}
	cmd.Model, cmd.IdleTimeout = f.model, f.idleTimeout
	if _, err := exec.LookPath(cmd.Args[0]); err != nil && !f.dryRun {
		return nil, fail(exitConfig, "agent %s is not installed, or not in PATH: %w", cmd.Args[0], err)
	}
	return cmd, nil
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
		return nil, fmt.Errorf("config: AGENT_TYPE: %s", unprefixed(err))
	}
	dialect := cmd.Format
	program, args := cmd.Args[:1], cmd.Args[1:]
	if c["AGENT_CLI"] != "" {
		if program, err = configWords(c["AGENT_CLI"]); err != nil {
			return nil, fmt.Errorf("config: AGENT_CLI: %w", err)
		}
	}
	if v, ok := c["AGENT_ARGS"]; ok {
		args = nil
		if strings.TrimSpace(v) != "" {
			if args, err = configWords(v); err != nil {
				return nil, fmt.Errorf("config: AGENT_ARGS: %w", err)
			}
		}
	}
	cmd.Args = append(append([]string{}, program...), args...)
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

// runner returns the agent, with the filters of the config.
func (s *session) runner() (ralph.Runner, error) {
	cmd, err := s.command(s.env, s.config, s.project)
	if err != nil {
		return nil, err
	}
	if s.agent != "" || s.agentCmd != "" {
		return cmd, nil // the config's filters are for the config's agent
	}
	response, display := s.config["AGENT_RESPONSE_FILTER"], s.config["AGENT_DISPLAY_FILTER"]
	if response != "" {
		if _, err := exec.LookPath("jq"); err != nil {
			return nil, fail(exitConfig, "config: AGENT_RESPONSE_FILTER needs jq, which is not installed, or not in PATH")
		}
		if out, err := exec.CommandContext(s.ctx, "jq", "-n", "empty | "+jqFilter(response)).CombinedOutput(); err != nil {
			return nil, fail(exitConfig, "config: AGENT_RESPONSE_FILTER: %s", clean(string(out)))
		}
	}
	if response == "" && display == "" {
		return cmd, nil
	}
	return &filtered{Command: cmd, response: response, display: display}, nil
}

// runAgents prints a table of the known agents.
func runAgents(e env, _ *flags, args []string) error {
	if len(args) > 0 {
		return fail(exitUsage, "agents takes no arguments")
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tPROGRAM\tVERSION\tCOST\tTOKENS\tSESSION\tRATE LIMITS")
	for _, name := range ralph.Presets() {
		c, err := ralph.Preset(name)
		if err != nil {
			return err
		}
		tells := c.Format.Capabilities()
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, c.Args[0], version(e.ctx, c),
			yes(tells.Cost), yes(tells.Tokens), yes(tells.Session), yes(tells.RateLimits))
	}
	return w.Flush()
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "-"
}

// version is what an agent's program says of its version, on one line. Nothing of
// it is left running.
func version(ctx context.Context, c *ralph.Command) string {
	path, err := exec.LookPath(c.Args[0])
	if err != nil {
		return "not installed"
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var out strings.Builder
	exit, err := process.Run(ctx, process.Cmd{
		Args: []string{path, "--version"}, Env: append(os.Environ(), c.Env...), Grace: time.Second,
		Stdout: &limited{to: &out, left: 4 << 10},
	})
	line, _, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
	if line = clean(line); err != nil || exit.Code != 0 || line == "" {
		return "installed"
	}
	return strings.ToValidUTF8(line[:min(len(line), 40)], "")
}

// unprefixed is an error of the library in the middle of one of this program's.
func unprefixed(err error) string { return strings.TrimPrefix(err.Error(), "ralph: ") }

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
