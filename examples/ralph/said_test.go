//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// meanings are the exit codes, and a word that says what each means.
func meanings() map[int]string {
	return map[int]string{
		exitOK: "verified", exitConfig: "configuration", exitUsage: "usage", exitNotVerified: "not verified", exitAgent: "the agent failed", exitGit: "git",
		exitSignal + int(syscall.SIGINT): "interrupted", exitSignal + int(syscall.SIGTERM): "interrupted",
	}
}

// TestPageExitCodes: where all exit codes are listed, each stands beside what it means, and
// none is missing but those of signals.
func TestPageExitCodes(t *testing.T) {
	t.Parallel()
	number, codes := regexp.MustCompile(`\d+`), meanings()
	lists := map[string][][]string{"help": nil, "docs/unattended.md": tableOnPage(t, "unattended.md", "exit code"), "COMMANDS.md": tableOnPage(t, "../COMMANDS.md", "code")}
	for item := range strings.SplitSeq(exitCodes, "; ") {
		lists["help"] = append(lists["help"], []string{number.FindString(item), item})
	}
	for where, rows := range lists {
		listed := map[int]bool{}
		for _, row := range rows {
			for _, digits := range number.FindAllString(row[0], -1) {
				var code int
				fmt.Sscan(digits, &code)
				word := codes[code]
				if code == exitSignal && where != "docs/unattended.md" {
					word = "interrupted"
				}
				if listed[code] = true; word == "" || !strings.Contains(strings.Join(row[1:], " "), word) {
					t.Errorf("%s: %d does not mean %q", where, code, row[1:])
				}
			}
		}
		for code := range exitGit + 1 {
			if !listed[code] {
				t.Errorf("%s: nothing is said of %d", where, code)
			}
		}
	}
}

// said are the numbers and names of the code that pages have in their sentences: what a
// page must say, word for word.
func said(t *testing.T) map[string][]string {
	t.Helper()
	hook := &ralph.Hook{Store: &ralph.MemoryStore{}, Verifier: verify.String{}, Inject: func(context.Context, string, string) error { return nil }}
	session, err := hook.Start(t.Context(), "s", ralph.Task{Prompt: "x"})
	if err != nil {
		t.Fatal(err)
	}
	of := session.State.Task
	s := bare(t)
	idle := &ralph.Local{Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
		return ralph.Response{Output: "Hm."}, nil
	}), Verifier: verify.String{}}
	end, _ := idle.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "x"})) // it ends at the limit
	iterations, agents := end.Iteration, strings.Join(slices.Sorted(slices.Values(ralph.Presets())), ", ")
	return map[string][]string{
		"../../README.md": {
			fmt.Sprintf("(exit code %d), or 20 iterations were not enough (exit code %d)", exitOK, exitNotVerified),
			"Agents: " + agents + ".",
		},
		"COMMANDS.md": {
			fmt.Sprintf("N is the number of iterations (%d)", iterations),
			"Agents: " + agents + ", and with",
			fmt.Sprintf("and not counted (exit code %d)", exitNotVerified),
		},
		"LIMITS.md": {
			fmt.Sprintf("\n%d iterations. Each limit", iterations),
			fmt.Sprintf("as the only bound that you give is refused (exit %d)", exitUsage),
			fmt.Sprintf("mistake is exit %d, with its line", exitConfig),
			fmt.Sprintf("and ends after 24 hours in all with exit %d.", exitAgent),
			fmt.Sprintf("a missing key or no credit, ends with exit %d at once", exitAgent),
		},
		"PIPELINES.md":      {fmt.Sprintf("(a client that is not installed, or not logged in) ends the run with exit code %d", exitAgent)},
		"SESSIONS.md":       {fmt.Sprintf("Exit codes are those of every command: %d verified, %d not.", exitOK, exitNotVerified)},
		"../../SECURITY.md": {fmt.Sprintf("After exit code %d look at the file first", exitNotVerified), "an `init` or `TestMain` that exits 0"},
		"FILES.md":          {fmt.Sprintf("exit code %d", exitConfig)},
		"docs/goal.md":      {"`npm test` exits 0"},
		"docs/runner.md":    {fmt.Sprintf("exit code %d", exitAgent)},
		"docs/bash-loop.md": {
			fmt.Sprintf("the argument `20` (%d if you say nothing)", iterations),
			fmt.Sprintf("**It ends**: after %d iterations if nothing is said", iterations),
			fmt.Sprintf("so many more tries after the first (%d)", s.Limits.Retries),
			"`--agent`; " + agents + " |",
			fmt.Sprintf("the exit code is %d if a check was asked\n  for, and %d as in the old scripts if none was (`--strict`: %[1]d)", exitNotVerified, exitOK),
			fmt.Sprintf("Exit code %d: the check has passed", exitOK),
		},
		"docs/configuration.md": {fmt.Sprintf("is begun again; then exit %d. 0 = never", exitAgent)},
		"docs/other-loops.md": {
			fmt.Sprintf("`--promise`, `--max` (%d) |", iterations),
			fmt.Sprintf("`--max` (%d); an item is given up", iterations),
		},
		"docs/session-hook.md": {
			fmt.Sprintf("the same; %s if you say nothing", of.Promise),
			fmt.Sprintf("the same; %d if you say nothing", of.Limits.Iterations),
		},
		"docs/spec-kit.md": {fmt.Sprintf("exit code %d says that\n  something remains", exitNotVerified)},
		"docs/unattended.md": {
			fmt.Sprintf("a second run in a folder where one works is refused (exit %d)", exitConfig),
			fmt.Sprintf("of a loop that is over it says so, and exits with %d if it was verified", exitOK),
			fmt.Sprintf("SuccessExitStatus=%d %d", exitNotVerified, exitSignal+int(syscall.SIGTERM)),
		},
	}
}

// bare is what a loop of a mode has without any flag or configuration.
func bare(t *testing.T) ralph.Task {
	t.Helper()
	s := session{modeFlags: &modeFlags{}}
	_, state, err := s.loop(nil, "x")
	if err != nil {
		t.Fatal(err)
	}
	return state.Task
}

// TestPageSays: pages say what the code has, and no exit code that nobody compares.
func TestPageSays(t *testing.T) {
	t.Parallel()
	compared, loose := said(t), regexp.MustCompile(`(?i)\bexits? (?:code |codes |status |with )?\d+`)
	for _, page := range ourPages(t) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, want := range compared[page] {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q", page, want)
			}
			text = strings.ReplaceAll(text, want, "")
		}
		delete(compared, page)
		prose := regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(text, "") // what is run is compared there
		if page == "FLAGS.md" {
			continue // TestFlagsPage
		}
		for _, code := range loose.FindAllString(prose, -1) {
			t.Errorf("%s: %q is compared with nothing", page, code)
		}
	}
	for page := range compared {
		t.Errorf("%s is none of our pages", page)
	}
}
