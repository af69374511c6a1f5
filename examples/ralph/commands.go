package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// An action is what a command does, with its flags as they were given. One with
// flags that no other command takes also has a method own(*flag.FlagSet).
type action interface {
	common() *shared
	run(e env, args []string) error
}

// A plain action has no flags of its own.
type plain struct {
	shared
	do func(e env, s *shared, args []string) error
}

func (p *plain) run(e env, args []string) error { return p.do(e, &p.shared, args) }

func only(do func(e env, s *shared, args []string) error) func() action {
	return func() action { return &plain{do: do} }
}

type command struct {
	name, args string // args in brackets may be left out
	then       string // what follows them, after --
	takes      string // args in words; "" = too few of them are for the command to see
	short      string
	example    string
	hidden     bool
	action     func() action
}

// check reports too few or too many arguments.
func (c command) check(args []string) error {
	most := len(strings.Fields(c.args))
	least := most - strings.Count(c.args, "[")
	switch {
	case most == 0 && len(args) > 0:
		return fail(exitUsage, "%s takes no arguments", c.name)
	case most == least && len(args) != most:
		return fail(exitUsage, "%s takes %s, not %d arguments; 'ralph help %s' tells more", c.name, c.takes, len(args), c.name)
	case len(args) < least && c.takes != "":
		return fail(exitUsage, "%s takes %s; 'ralph help %s' tells more", c.name, c.takes, c.name)
	case len(args) > most:
		return fail(exitUsage, "%q is one argument too many; what has blanks in it needs quotes", args[most])
	}
	return nil
}

// A group is the first word of commands that have two.
const group = "task"

func commands() []command {
	mode := func(name string) func() action {
		return func() action { return &modeFlags{mode: name} }
	}
	return []command{
		{name: "plan", args: "[N]", action: mode("plan"), example: "ralph plan 3",
			short: "have the specifications turned into implementation_plan.md, in at most N iterations (10)"},
		{name: "build", args: "[N]", action: mode("build"), example: "ralph build 20 --verify 'go test ./...'",
			short: "have implementation_plan.md worked through, in at most N iterations (10)"},
		{name: "prompt", args: "FILE [N]", takes: "FILE and, if you like, N", action: mode("prompt"),
			short:   "run a prompt file until the work is verified, in at most N iterations (10)",
			example: "ralph prompt prompts/refactor.md 20 --verify 'go test ./...'"},
		{name: "run", args: "[FILE]", action: func() action { return &runFlags{} }, example: "ralph run specs/001-shop/tasks.md --max 20",
			short: "work off a task file, task by task: a list, definitions, a prd.json, Taskmaster's tasks.json or a Backlog.md folder; the commands that definitions name as their checks are run"},
		{name: "start", args: "[PROMPT]", then: " [-- CLIENT …]", action: func() action { return &startFlags{} }, example: "ralph start 'Fix all tests' --verify 'go test ./...' -- claude",
			short: "start a loop in a client's own session (claude, codex, gemini, copilot), which goes on until its claim is verified"},
		{name: "hook", args: "ACTION [CLIENT]", takes: "install or uninstall and, if you like, the CLIENT (claude)", action: only(hook), example: "ralph hook install claude",
			short: "put the hooks into a client's settings by which ralph start can attach to its sessions, with its commands /ralph, /cancel-ralph and /ralph-tasks; or take them out"},
		{name: "status", action: func() action { return &statusFlags{} }, example: "ralph status --watch",
			short: "show which loops run in this workspace, which were interrupted and which ended last"},
		{name: "cancel", args: "[ID]", action: func() action { return &cancelFlags{} }, example: "ralph cancel TASK-001",
			short: "cancel a loop, or those of a task, for good, whoever runs it"},
		{name: "pause", args: "ID", takes: "one ID", example: "ralph pause build", short: "have a loop wait when its iteration has ended, until ralph resume",
			action: steer(func(_ *shared, d *progress.Dir, l progress.Entry, _ []string) (progress.Entry, error) {
				return d.Pause(l.Loop, true)
			}, "%s is paused after %s")},
		{name: "stop", args: "ID", takes: "one ID", example: "ralph stop build", short: "end a loop after its iteration; ralph limit and ralph resume let it go on",
			action: steer(func(_ *shared, d *progress.Dir, l progress.Entry, _ []string) (progress.Entry, error) {
				return d.Stop(l.Loop)
			}, "%s stops after %s")},
		{name: "resume", args: "ID", takes: "one ID", action: only(resume), example: "ralph resume build",
			short: "go on with a loop: where it runs, if it is paused; here, if it was interrupted, has failed or was stopped by a limit that is higher now"},
		{name: "guide", args: "ID TEXT", takes: "ID and TEXT", example: "ralph guide build 'Use the standard library.'", short: "tell a loop's agent something with its next prompt",
			action: steer(func(_ *shared, d *progress.Dir, l progress.Entry, args []string) (progress.Entry, error) {
				return d.Guide(l.Loop, args[0])
			}, "%s is told with its next prompt, at %s now")},
		{name: "limit", args: "ID", takes: "one ID", example: "ralph limit build --max 20", short: "change how much a loop may spend, also of one that a limit has stopped",
			action: steer(func(s *shared, d *progress.Dir, l progress.Entry, _ []string) (progress.Entry, error) {
				return s.limited(d, l)
			}, "%s has other limits now, at %s")},
		{name: "verify", args: "FILE [TASK]", action: func() action { return &verifyFlags{} }, example: "ralph verify tasks.yaml TASK-001 --stage coder",
			short: "verify the work of a definition, without any agent; the commands that it names as its checks are run"},
		{name: "task create", args: "ID SPEC TITLE", takes: "ID, SPEC and TITLE", action: func() action { return &createFlags{} },
			short: "add a definition to a file", example: `ralph task create TASK-001 shop 'Add a cart' \
    --outcome 'Articles can be collected' \
    --acceptance 'POST /cart adds one' --coder-verify-cmd 'go test ./cart'`},
		{name: "task followup", args: "PARENT ID SPEC TITLE", takes: "PARENT, ID, SPEC and TITLE", action: func() action { return &createFlags{} },
			short: "add a definition that follows the task PARENT: it waits for that one, and names it", example: `ralph task followup TASK-001 TASK-002 shop 'Empty the cart' \
    --outcome 'Articles can be removed' --acceptance 'DELETE /cart removes all'`},
		{name: "task list", args: "FILE", takes: "one FILE", action: only(listTasks), example: "ralph task list tasks.yaml",
			short: "list the tasks of a task file in the order of the work, and how they stand"},
		{name: "task check", args: "FILE", takes: "one FILE", action: only(checkTasks), example: "ralph task check tasks.yaml --strict",
			short: "report everything that is wrong with a task file, and of each box, story or file whether it is a task, or why not"},
		{name: "task prompt", action: only(printPrompt), example: "ralph task prompt",
			short: "print what an agent must be told to write definitions"},
		{name: "log", args: "[FILE]", takes: "one FILE, an execution log or a progress.txt, or the ID of a loop", action: only(runLog), example: "ralph log .ralph/log.jsonl",
			short: "print an execution log, a progress.txt or what is on record of a loop as a table"},
		{name: "agents", action: only(runAgents), example: "ralph agents",
			short: "list the known agents, which are installed, and what each can tell"},
		{name: "demo", action: only(runDemo), example: "ralph demo", short: "see a loop at work: no key, no network"},
		{name: "demo-agent", hidden: true, action: only(runDemoAgent)},
		{name: "version", action: only(runVersion), example: "ralph version", short: "print the version"},
	}
}

func dispatch(e env, args []string) error {
	if len(args) == 0 {
		usage(e.stderr, "")
		return fail(exitUsage, "no command")
	}
	name, args := commandFirst(args)
	if name == "help" && len(args) > 0 {
		name, _ = commandFirst(args)
		args = []string{"--help"}
	}
	switch {
	case name == "help" || isHelp(name):
		usage(e.stdout, "")
		return nil
	case name == group && slices.ContainsFunc(args, isHelp):
		usage(e.stdout, group+" ")
		return nil
	case name == group:
		return fail(exitUsage, "task takes create, followup, list, check or prompt; 'ralph help task' tells more")
	case name == "-version" || name == "--version":
		name = "version"
	}
	for _, c := range commands() {
		if c.name != name {
			continue
		}
		f := newFlags(c)
		rest, err := f.parse(args)
		if err == nil && f.help {
			f.usage(e.stdout)
			return nil
		}
		if err == nil {
			err = c.check(rest)
		}
		if err == nil {
			s := f.do.common()
			e.verb, s.resumed, s.once = c.name, e.resumes, e.once()
			err = f.do.run(e, rest)
		}
		return err
	}
	if verb, ok := strings.CutPrefix(name, group+" "); ok {
		return fail(exitUsage, "unknown: %s%s", name, didYouMean(verb, "", names(group+" ")))
	}
	return fail(exitUsage, "unknown command %q%s; 'ralph --help' lists them", name, didYouMean(name, "", names("")))
}

// names are the commands that are shown and begin so, without that beginning.
func names(begin string) []string {
	var all []string
	for _, c := range commands() {
		if name, ok := strings.CutPrefix(c.name, begin); ok && !c.hidden {
			name, _, _ = strings.Cut(name, " ")
			all = append(all, name)
		}
	}
	return slices.Compact(all)
}

// commandFirst finds the name of a command, of one word or two, among flags that
// may stand before it, and returns what else there is.
func commandFirst(args []string) (string, []string) {
	at, ok := nextWord(args, 0)
	if !ok {
		return args[0], args[1:]
	}
	name, rest := args[at], slices.Delete(slices.Clone(args), at, at+1)
	if name != group {
		return name, rest
	}
	if at, ok = nextWord(rest, at); ok {
		name += " " + rest[at]
		return name, slices.Delete(rest, at, at+1)
	}
	return name, rest
}

// nextWord finds the first argument that is no flag of any command, and no flag's
// value.
func nextWord(args []string, at int) (int, bool) {
	for at < len(args) && strings.HasPrefix(args[at], "-") {
		name, _, valued := cutFlag(args[at])
		var fl *flag.Flag
		for _, c := range commands() {
			fl = cmp.Or(fl, newFlags(c).Lookup(name))
		}
		if fl == nil {
			return 0, false
		}
		if at++; !valued && takesValue(fl) {
			at++
		}
	}
	return at, at < len(args)
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// usage lists the commands that begin so.
func usage(w io.Writer, begin string) {
	if begin == "" {
		fmt.Fprintln(w, wrap("ralph runs a coding agent in a loop until it claims that the task is done and a check agrees.", 0))
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "Usage: ralph %sCOMMAND [FLAGS]\n\nCommands:\n", begin)
	for _, c := range commands() {
		if strings.HasPrefix(c.name, begin) && !c.hidden {
			fmt.Fprintf(w, "  %-12s %s\n", c.name, wrap(c.short, 15))
		}
	}
	fmt.Fprintf(w, "\n'ralph help %sCOMMAND' tells more.\n", begin)
	if begin == "" {
		fmt.Fprintf(w, "\nExample: ralph demo\n\nExit codes: %s\n", wrap(exitCodes, 12))
	}
}

func runVersion(e env, _ *shared, _ []string) error {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	fmt.Fprintf(e.stdout, "ralph %s (state version %d)\n", version, ralph.Version)
	return nil
}
