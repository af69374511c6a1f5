package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// doors are the ways into a loop.
var doors = []string{"plan", "build", "prompt", "run", "start"}

// lacking is why a door lacks flags that another one has.
var lacking = []struct{ doors, flags, why string }{
	{"plan build prompt start", "all-boxes criteria optional tag template progress spec slots worktrees stages stage follow unverified repair include", "they are about task files, which `run` works off"},
	{"run", "promise match blocked max-blocked", "definitions say them, for each agent; of a list the boxes count"},
	{"run", "always", "the boxes of a list are looked at after each iteration, and a definition's checks are run when its agent claims to be done"},
	{"run", "strict", "tasks that remain always make the exit code 3"},
	{"plan build prompt run", "max-iterations completion-promise", "they are `--max` and `--promise` here; `start` calls them as clients' own loop commands do"},
	{"start", "max promise", "they are `--max-iterations` and `--completion-promise` here, as clients' own loop commands call them"},
	{"plan build prompt run", "session hook-timeout", "they are about a client's own session"},
	{"start", "agent agent-cmd format model config trust sandbox", "the client and its flags stand behind `--`; it runs as you would start it, with your settings"},
	{"start", "max-cost max-tokens prices", "clients tell their hooks neither cost nor tokens"},
	{"start", "timeout idle-timeout", "a person may sit at the client, and types when they like"},
	{"start", "always", "a turn that ends without a claim is followed by the next in any case"},
	{"start", "strict", "a loop that is not verified always makes the exit code 3"},
	{"start", "id new share", "the session is the loop's name, and its user decides what else works there; a session that has no active loop begins one"},
	{"start", "log dry-run learn", "the prompt is what the session's user says, and what came of it is on record: `ralph log ID`"},
	{"start", "quiet verbose json", "the client has the terminal; `ralph status --json` tells programs how the loop stands"},
}

// others are commands that begin no loop of their own, with all their flags that a door has.
var others = []struct{ command, flags, why string }{
	{"resume", "dir state notify quiet verbose json", "it gives the command line again that began the loop, so it takes only where that is found and how this run is shown; `ralph limit` changes what the loop may spend"},
	{"hook", "dir hook-timeout", "it only puts hooks into a client's settings, or takes them out; all else is said to `start`"},
}

// flagsOf are the flags of a command that are shown, by name.
func flagsOf(name string) []string {
	at := slices.IndexFunc(commands(), func(c command) bool { return c.name == name })
	return slices.Sorted(slices.Values(newFlags(commands()[at]).names()))
}

// differences is the part of FLAGS.md that says where the doors differ, and why.
func differences() string {
	var page strings.Builder
	page.WriteString("\n## Where the ways into a loop differ\n\n`plan`, `build`, `prompt`, `run` and `start` take the same flags, but for these.\n\n| no | have | because |\n| --- | --- | --- |\n")
	flags := func(names string) string { return "`--" + strings.ReplaceAll(names, " ", "`, `--") + "`" }
	for _, l := range lacking {
		page.WriteString("| " + strings.ReplaceAll(l.doors, " ", ", ") + " | " + flags(l.flags) + " | " + l.why + " |\n")
	}
	page.WriteString("\n")
	for _, o := range others {
		page.WriteString("- `" + o.command + "` takes " + flags(o.flags) + ": " + o.why + ".\n")
	}
	return page.String()
}

// TestDoors: whichever way a loop is begun, it takes the same flags; where it does not,
// FLAGS.md says why, and nothing else.
func TestDoors(t *testing.T) {
	t.Parallel()
	has, all := map[string][]string{}, map[string]bool{}
	for _, door := range doors {
		has[door] = flagsOf(door)
		for _, name := range has[door] {
			all[name] = true
		}
	}
	told := map[string]int{}
	for _, l := range lacking {
		for door := range strings.FieldsSeq(l.doors) {
			for name := range strings.FieldsSeq(l.flags) {
				told[door+" --"+name]++
			}
		}
	}
	want := map[string]int{}
	for _, door := range doors {
		for name := range all {
			if !slices.Contains(has[door], name) {
				want[door+" --"+name] = 1
			}
		}
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("flags that doors lack, and for which a reason is told:\n%s", diff)
	}
	for _, o := range others {
		names := slices.DeleteFunc(flagsOf(o.command), func(name string) bool { return !all[name] })
		if diff := cmp.Diff(slices.Sorted(strings.FieldsSeq(o.flags)), names); diff != "" {
			t.Errorf("%s: %s", o.command, diff)
		}
	}
}
