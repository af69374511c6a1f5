package main

import (
	or "cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
)

// taken reports why a command line, or several with && between, is none that our commands
// take.
func taken(line string) error {
	for part := range strings.SplitSeq(line, " && ") {
		args, err := splitWords(part)
		switch {
		case err != nil:
			return err
		case part == "git init":
			continue
		case args[0] != "ralph":
			return fmt.Errorf("%q begins with none of our commands", part)
		case len(args) == 1:
			continue
		}
		name, rest := commandFirst(args[1:])
		if isHelp(name) || name == "help" || name == "--version" || name == group && slices.ContainsFunc(rest, isHelp) {
			continue
		}
		at := slices.IndexFunc(commands(), func(c command) bool { return c.name == name })
		if at < 0 {
			return fmt.Errorf("%q: there is no command %q", part, name)
		}
		rest, err = newFlags(commands()[at]).parse(rest)
		if err == nil {
			err = commands()[at].check(rest)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", part, err)
		}
	}
	return nil
}

// suggested are the command lines that a person is told to run: behind "start with:",
// "anew with:" and "go on:", and what stands in quotes. Of one with quotes of its own nobody can tell where
// it ends.
func suggested(text string) (all []string) {
	for _, m := range regexp.MustCompile(`(?m)(?:start with|anew with|go on): ((?:git init && )?ralph.*?)\r?$|'(ralph [^'\n]*)'(?:\W|$)`).FindAllStringSubmatch(text, -1) {
		all = append(all, m[1]+m[2])
	}
	return all
}

// TestSuggested: what is told to be run is found, and what could not be run is.
func TestSuggested(t *testing.T) {
	t.Parallel()
	text := "records: x; go on: ralph resume 'a b'\nstart with: ralph run --agent-cmd COMMAND\r\nstart with: git init && ralph plan\n'ralph status' tells, and 'ralph resume 'a b'' too; 'ralph help task'"
	want := []string{"ralph resume 'a b'", "ralph run --agent-cmd COMMAND", "git init && ralph plan", "ralph status", "ralph help task"}
	if diff := cmp.Diff(want, suggested(text)); diff != "" {
		t.Error(diff)
	}
	for _, line := range want {
		if err := taken(line); err != nil {
			t.Error(err)
		}
	}
	for _, line := range []string{"ralph status --watch --agent-cmd COMMAND", "ralph resume", "ralph none", "ralph limit x --max 0", "go on", "git init && go on", "ralph resume a b", "ralph run 'x"} {
		if taken(line) == nil {
			t.Errorf("%q is taken", line)
		}
	}
}

// TestFurther: how a loop can have ended, and the command that goes on with it; each is one
// that our commands take, whatever the loop is called.
func TestFurther(t *testing.T) {
	t.Parallel()
	known, hour := 0.5, time.Hour
	limits := ralph.Limits{Iterations: 4, CostUSD: 1.5, Tokens: 100, Duration: hour}
	for _, tt := range []struct {
		end  ralph.State
		want string // behind "ralph limit LOOP"; "" = it is resumed, - = nothing goes on
	}{
		{end: ralph.State{}},
		{end: ralph.State{Stop: ralph.StopIterations}, want: "--max 8"},
		{end: ralph.State{Stop: ralph.StopIterations, Asked: 10}, want: "--max 10"},
		{end: ralph.State{Stop: ralph.StopIterations, Asked: math.MaxInt32}}, // a pipeline
		{end: ralph.State{Stop: ralph.StopCost, Usage: ralph.Usage{CostUSD: &known}}, want: "--max-cost 3"},
		{end: ralph.State{Stop: ralph.StopCost, Blind: "b", Usage: ralph.Usage{InputTokens: 7, OutputTokens: 3}}, want: "--max-cost 0 --max-tokens 20"},
		{end: ralph.State{Stop: ralph.StopCost, Blind: "b"}, want: "--max-cost 0 --max-duration 1h0m0s"},
		{end: ralph.State{Stop: ralph.StopCost, Blind: "b", Elapsed: 5*hour + 1}, want: "--max-cost 0 --max-duration 10h0m0s"},
		{end: ralph.State{Stop: ralph.StopTokens}, want: "--max-tokens 200"},
		{end: ralph.State{Stop: ralph.StopDuration}, want: "--max-duration 2h0m0s"},
		{end: ralph.State{Stop: ralph.StopFailed}}, {end: ralph.State{Stop: ralph.StopStalled}},
		{end: ralph.State{Stop: ralph.StopBlocked}}, {end: ralph.State{Stop: ralph.StopRateLimited}},
		{end: ralph.State{Stop: ralph.StopVerified}, want: "-"}, {end: ralph.State{Stop: ralph.StopCancelled}, want: "-"}, {end: ralph.State{Stop: ralph.StopInvalid}, want: "-"},
	} {
		for _, bounded := range []bool{true, false} {
			if tt.end.Task.Limits = limits; !bounded { // of a run whose tasks have their own
				tt.end.Task.Limits = ralph.Limits{}
			}
			for _, loop := range []string{"build", "prompt:my task.md", "it's;$(x)", "tasks.yaml/A.coder"} {
				s := &shared{dir: "my folder", state: "/s"}
				got, place := s.further(loop, tt.end), " --dir 'my folder' --state /s"
				want := "ralph resume " + word(loop) + place
				switch {
				case tt.want == "-":
					want = ""
				case !bounded && tt.end.Asked == 0 && tt.end.Blind == "":
				case tt.want != "":
					want = "ralph limit " + word(loop) + place + " " + tt.want + " && " + want
				}
				if got != want {
					t.Errorf("%s of %q, bounded %t: %q, want %q", tt.end.Stop, loop, bounded, got, want)
				}
				if err := taken(or.Or(got, "ralph")); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
