package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
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
	examples   string // two of them, a blank line between
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
		{name: "plan", args: "[N]", action: mode("plan"), examples: "ralph plan 3\n\nralph plan --agent claude --max-cost 2",
			short: "have the specifications turned into implementation_plan.md, in at most N iterations (10)"},
		{name: "build", args: "[N]", action: mode("build"), examples: "ralph build 20 --verify 'go test ./...'\n\nralph build --max-duration 8h --notify 'notify-send ralph'",
			short: "have implementation_plan.md worked through, in at most N iterations (10)"},
		{name: "prompt", args: "FILE [N]", takes: "FILE and, if you like, N", action: mode("prompt"),
			short:    "run a prompt file until the work is verified, in at most N iterations (10)",
			examples: "ralph prompt prompts/refactor.md 20 --verify 'go test ./...'\n\nralph prompt task.md --agent codex --guard '**/*_test.go' --verify make"},
		{name: "run", args: "[FILE] [N]", action: func() action { return &runFlags{} }, examples: "ralph run specs/001-shop/tasks.md 20\n\nralph run tasks.yaml --slots 3 --worktrees --max-cost 20",
			short: "work off a task file, task by task, N being --max: a list, definitions, a prd.json, Taskmaster's tasks.json or a Backlog.md folder; the commands that definitions name as their checks are run"},
		{name: "start", args: "[PROMPT]", then: " [-- CLIENT …]", action: func() action { return &startFlags{} }, examples: "ralph start 'Fix all tests' --verify 'go test ./...' -- claude\n\nralph start --verify 'make check' --max-iterations 20 -- codex",
			short: "start a loop in a client's own session (claude, codex, gemini, copilot), which goes on until its claim is verified"},
		{name: "hook", args: "ACTION [CLIENT]", takes: "install or uninstall and, if you like, the CLIENT (claude)", action: only(hook), examples: "ralph hook install claude\n\nralph hook uninstall claude --dir ../shop",
			short: "put the hooks into a client's settings by which ralph start can attach to its sessions, with its commands /ralph, /cancel-ralph and /ralph-tasks; or take them out"},
		{name: "status", action: func() action { return &statusFlags{} }, examples: "ralph status --watch\n\nralph status --json",
			short: "show which loops run in this workspace, which were interrupted and which ended last"},
		{name: "cancel", args: "[ID]", action: func() action { return &cancelFlags{} }, examples: "ralph cancel TASK-001\n\nralph cancel --all",
			short: "cancel a loop, or those of a task, for good, whoever runs it"},
		{name: "pause", args: "ID", takes: "one ID", examples: "ralph pause build\n\nralph pause TASK-001 --dir ../shop", short: "have a loop wait when its iteration has ended, until ralph resume",
			action: steer(func(_ *shared, d *progress.Dir, l progress.Entry, _ []string) (progress.Entry, error) {
				return d.Pause(l.Loop, true)
			}, "%s is paused after %s")},
		{name: "stop", args: "ID", takes: "one ID", examples: "ralph stop build\n\nralph stop TASK-001", short: "end a loop after its iteration; ralph limit and ralph resume let it go on",
			action: steer(func(_ *shared, d *progress.Dir, l progress.Entry, _ []string) (progress.Entry, error) {
				return d.Stop(l.Loop)
			}, "%s stops after %s")},
		{name: "resume", args: "ID", takes: "one ID", action: only(resume), examples: "ralph resume build\n\nralph resume tasks.yaml",
			short: "go on with a loop: where it runs, if it is paused; here, if it was interrupted, has failed or was stopped by a limit that is higher now"},
		{name: "guide", args: "ID TEXT", takes: "ID and TEXT", examples: "ralph guide build 'Use the standard library.'\n\nralph guide TASK-001 'Leave the generated files alone.'", short: "tell a loop's agent something with its next prompt",
			action: steer(func(_ *shared, d *progress.Dir, l progress.Entry, args []string) (progress.Entry, error) {
				return d.Guide(l.Loop, args[0])
			}, "%s is told with its next prompt, at %s now")},
		{name: "limit", args: "ID", takes: "one ID", examples: "ralph limit build --max 20\n\nralph limit TASK-001 --max-cost 10 --max-duration 12h", short: "change how much a loop may spend, also of one that a limit has stopped",
			action: steer(func(s *shared, d *progress.Dir, l progress.Entry, _ []string) (progress.Entry, error) {
				return s.limited(d, l)
			}, "%s has other limits now, at %s")},
		{name: "verify", args: "FILE [TASK]", action: func() action { return &verifyFlags{} }, examples: "ralph verify tasks.yaml TASK-001 --stage coder\n\nralph verify tasks.yaml --dry-run",
			short: "verify the work of a definition, without any agent; the commands that it names as its checks are run"},
		{name: "task create", args: "ID SPEC TITLE", takes: "ID, SPEC and TITLE", action: func() action { return &createFlags{} },
			short: "add a definition to a file", examples: `ralph task create TASK-001 shop 'Add a cart' \
    --outcome 'Articles can be collected' \
    --acceptance 'POST /cart adds one' --coder-verify-cmd 'go test ./cart'

ralph task create TASK-003 shop 'Pay' --outcome 'A cart can be paid' \
    --acceptance 'POST /pay takes a cart' --file shop.yaml`},
		{name: "task followup", args: "PARENT ID SPEC TITLE", takes: "PARENT, ID, SPEC and TITLE", action: func() action { return &createFlags{} },
			short: "add a definition that follows the task PARENT: it waits for that one, and names it", examples: `ralph task followup TASK-001 TASK-002 shop 'Empty the cart' \
    --outcome 'Articles can be removed' \
    --acceptance 'DELETE /cart removes all'

ralph task followup TASK-001 TASK-004 shop 'Cart limits' \
    --outcome 'A cart holds 100 articles at most' \
    --acceptance 'The 101st is refused'`},
		{name: "task list", args: "FILE", takes: "one FILE", action: only(listTasks), examples: "ralph task list tasks.yaml\n\nralph task list TODO.md --all-boxes",
			short: "list the tasks of a task file in the order of the work, and how they stand"},
		{name: "task check", args: "FILE", takes: "one FILE", action: only(checkTasks), examples: "ralph task check tasks.yaml --strict\n\nralph task check specs/001-shop/tasks.md",
			short: "report everything that is wrong with a task file, and of each box, story or file whether it is a task, or why not"},
		{name: "task prompt", action: only(printPrompt), examples: "ralph task prompt\n\nralph task prompt > AGENTS-tasks.md",
			short: "print what an agent must be told to write definitions"},
		{name: "log", args: "[FILE]", action: func() action { return &logFlags{} }, examples: "ralph log .ralph/log.jsonl\n\nralph log build --follow",
			short: "print an execution log, a session log, a progress.txt or what is on record of a loop, by its ID (the last one here), as a table; other text is shown as it is"},
		{name: "agents", action: only(runAgents), examples: "ralph agents\n\nralph agents | grep -v 'not installed'",
			short: "list the known agents, which are installed, and what each can tell"},
		{name: "demo", action: only(runDemo), examples: "ralph demo\n\nralph demo --agent claude --max-cost 0.5", short: "see a loop at work: no key, no network"},
		{name: "demo-agent", hidden: true, action: only(runDemoAgent)},
		{name: "completion", args: "SHELL", takes: "one SHELL: " + strings.Join(shells(), ", "), action: only(runCompletion),
			short: "print what makes a shell complete commands, flags, values and the names of loops", examples: `source <(ralph completion bash)

ralph completion fish > ~/.config/fish/completions/ralph.fish`},
		{name: "complete", then: " [-- WORD …]", hidden: true, action: func() action { return &completing{} }},
		{name: "version", action: only(runVersion), examples: "ralph version\n\nralph --version", short: "print the version"},
	}
}

func dispatch(e env, args []string) error {
	if len(args) == 0 {
		return e.home()
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
			err = cmp.Or(c.check(rest), f.do.common().notifies())
		}
		if err == nil {
			s := f.do.common()
			e.verb, s.resumed, s.once = c.name, e.resumes, e.once()
			e.stderr.(*outlet).quiet.Store(s.quiet || s.json)
			if err = f.do.run(e, rest); s.notify != "" && !s.dryRun {
				s.tell(e, err)
			}
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
		_, words := flagOf(args[at])
		if words == 0 {
			return 0, false
		}
		at += words
	}
	return at, at < len(args)
}

// flagOf is the flag of any command that a word of a command line is, and how many words
// it has with its value: 0 = it is none.
func flagOf(arg string) (name string, words int) {
	name, _, valued := cutFlag(arg)
	for _, c := range commands() {
		if fl := newFlags(c).Lookup(name); fl != nil && strings.HasPrefix(arg, "-") {
			return name, map[bool]int{true: 2, false: 1}[!valued && takesValue(fl)]
		}
	}
	return "", 0
}

// sparing is a command line without some flags; of "", without numbers that are arguments.
func sparing(args []string, spare ...string) (kept []string) {
	for len(args) > 0 && args[0] != "--" {
		name, words := flagOf(args[0])
		_, err := strconv.Atoi(args[0])
		part := args[:min(max(words, 1), len(args))]
		if args = args[len(part):]; !slices.Contains(spare, name) || words == 0 && err != nil {
			kept = append(kept, part...)
		}
	}
	return append(kept, args...)
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
		fmt.Fprintf(w, "\nExamples:\n  ralph\n  ralph demo\n\nExit codes: %s\nPages: https://github.com/ralph-loop/ralph/tree/main/examples/ralph/docs\n", wrap(exitCodes, 12))
	}
}

// runVersion prints what was built from what, and by which Go.
func runVersion(e env, _ *shared, _ []string) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{Main: debug.Module{Version: "unknown"}}
	}
	fmt.Fprintf(e.stdout, "ralph %s (%s%s; state version %d)\n", info.Main.Version, commitOf(info), runtime.Version(), ralph.Version)
	return nil
}

// commitOf says which commit something was built from, "" = its version says as much. One
// that go install has made knows it from its version alone, if that is of no tag.
func commitOf(info *debug.BuildInfo) string {
	is := map[string]string{}
	for _, s := range info.Settings {
		is[s.Key] = s.Value
	}
	commit := is["vcs.revision"]
	if parts := strings.Split(info.Main.Version, "-"); commit == "" && strings.HasPrefix(parts[0], "v") {
		if len(parts) < 3 || len(parts[len(parts)-1]) != 12 { // v1.2.3, and not v0.0.0-20260102030405-0123456789ab
			return ""
		}
		commit, _, _ = strings.Cut(parts[len(parts)-1], "+")
	}
	return "commit " + cmp.Or(commit, "unknown") + map[string]string{"true": ", modified"}[is["vcs.modified"]] + "; "
}
