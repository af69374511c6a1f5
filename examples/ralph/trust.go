package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// Files in a repository can name commands. Those of somebody else are started only
// after a person has seen them: once for each definition, until its commands or
// criteria change.

// A stranger is something in a file that starts commands.
type stranger struct {
	name   string // for people
	starts []string
	digest string // of the file's path, and of all that decides what is started
}

func newStranger(name, file string, starts []string, parts ...string) stranger {
	sum := sha256.New()
	for _, part := range append([]string{resolved(file)}, parts...) {
		fmt.Fprintf(sum, "%d %s\n", len(part), part)
	}
	hide := redact()
	for i, start := range starts {
		starts[i] = hide.String(start)
	}
	return stranger{name, starts, hex.EncodeToString(sum.Sum(nil))}
}

// stranger is what a task of a file starts. A judge that a flag names is not the
// file's.
func (c criteria) stranger(file, name string, task ralph.Task) stranger {
	if c.judge != "" {
		c.env.Judge = func(string) (ralph.Runner, error) { return ralph.Replay(), nil }
	}
	starts := c.verifier().Starts(task)
	return newStranger(name, file, starts, append(slices.Clone(starts), deciding(task.Spec))...)
}

// deciding is what of a Spec decides about what is started. What a configuration alone may
// change and starts nothing is left out: what is agreed to once holds with any.
func deciding(text json.RawMessage) string {
	var all, criteria map[string]json.RawMessage
	if json.Unmarshal(text, &all) != nil || json.Unmarshal(all["criteria"], &criteria) != nil {
		return string(text)
	}
	all["criteria"], all["verify_promises"], criteria["promise"], criteria["max_iterations"] = nil, nil, nil, nil
	return fmt.Sprintf("%s %s", all, criteria) // by their keys, in order
}

// trusted asks for consent to what has not been agreed to, or refuses. What was
// agreed to is remembered.
func (s *shared) trusted(e env, file string, all ...stranger) error {
	if s.dryRun || os.Getenv("RALPH_TRUST") == "1" {
		return nil
	}
	known, place := trustFile()
	var asked []stranger
	for _, one := range all {
		if len(one.starts) > 0 && !known[one.digest] {
			known[one.digest] = true
			asked = append(asked, one)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	defer e.aloud()()
	out := e.stderr
	if screen, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0); err == nil && tty(e.stdin) && !tty(e.stderr) {
		defer screen.Close()
		out = screen // there the person is who is asked
	}
	fmt.Fprintf(out, "ralph: %s names commands that this starts, with your rights:\n", line(file))
	showStarts(out, asked)
	if !s.trust {
		if err := e.consent(out); err != nil {
			return err
		}
	}
	e.remember(place, asked)
	return nil
}

func showStarts(w io.Writer, all []stranger) {
	for _, one := range all {
		for _, start := range one.starts {
			fmt.Fprintf(w, "  %s: %s\n", line(one.name), line(start))
		}
	}
}

const howToTrust = "look at them, then run this again with --trust, which is remembered, or with RALPH_TRUST=1 in the environment"

// consent asks the person at the terminal.
func (e env) consent(out io.Writer) error {
	if !tty(e.stdin) || !tty(out) {
		return fail(exitConfig, "nobody has agreed to these commands; %s", howToTrust)
	}
	fmt.Fprint(out, "Start them? [y/N] ")
	text, err := bufio.NewReader(e.stdin).ReadString('\n')
	if e.ctx.Err() != nil {
		return err
	}
	text = strings.ToLower(strings.TrimSpace(text))
	return unless(text == "y" || text == "yes", exitConfig, "not agreed to; nothing was started")
}

const maxTrust = 16 << 20

// trustFile reads what was agreed to: one line each, beginning with the digest.
func trustFile() (known map[string]bool, place string) {
	known = map[string]bool{}
	dir, err := progress.WorkspaceDir(".")
	if err != nil {
		return known, ""
	}
	place = filepath.Join(filepath.Dir(dir.Path), "trust")
	text, _ := ralph.ReadFile(place, maxTrust) // what cannot be read was not agreed to
	for entry := range strings.Lines(string(text)) {
		digest, _, _ := strings.Cut(strings.TrimSpace(entry), " ")
		known[digest] = true
	}
	return known, place
}

func (e env) remember(place string, all []stranger) {
	var text strings.Builder
	for _, one := range all {
		fmt.Fprintf(&text, "%s %s\n", one.digest, line(one.name))
	}
	err := (&progress.Dir{Path: filepath.Dir(place)}).Make()
	if err == nil {
		_, err = progress.File{Path: place}.Write([]byte(text.String()))
	}
	if err != nil {
		e.say("warning: that was agreed to cannot be written down: %v", err)
	}
}

// stranger is what a config file starts if no flag names the agent: its own
// program, arguments and filters. A known agent as it is needs no consent.
func (c config) stranger(file string, cmd *ralph.Command) stranger {
	var starts, parts []string
	if c["AGENT_CLI"] != "" || c["AGENT_ARGS"] != "" {
		starts = append(starts, strings.Join(cmd.Args, " "))
	}
	if filter := c["AGENT_RESPONSE_FILTER"]; filter != "" {
		starts = append(starts, "jq "+filter)
	}
	if filter := c["AGENT_DISPLAY_FILTER"]; filter != "" {
		starts = append(starts, filter)
	}
	for _, name := range []string{"AGENT_TYPE", "AGENT_CLI", "AGENT_ARGS", "AGENT_RESPONSE_FILTER", "AGENT_DISPLAY_FILTER"} {
		parts = append(parts, c[name])
	}
	return newStranger("agent", file, starts, parts...)
}

// created remembers what the user has written with the command line.
func (f *createFlags) created(e env) {
	project, _, err := f.workspace(e.ctx)
	c, bad := f.criteria(project)
	if err != nil || bad != nil {
		return // run will say so, and ask
	}
	_, place := trustFile()
	var all []stranger
	for _, stage := range stagesOf(f.def) {
		if task, err := c.task(f.def, stage); err == nil {
			all = append(all, c.stranger(f.file, f.def.ID+"."+stage, task))
		}
	}
	e.remember(place, all)
}
