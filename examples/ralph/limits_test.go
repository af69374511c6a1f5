package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// TestLimitsPage: what LIMITS.md says of flags and clients is so.
func TestLimitsPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("LIMITS.md")
	if err != nil {
		t.Fatal(err)
	}
	taken := map[string][]string{}
	for _, c := range commands() {
		taken[c.name] = newFlags(c).names()
	}
	for _, flag := range []string{"max", "max-cost", "max-tokens", "max-duration", "stalls", "timeout", "idle-timeout", "verify-timeout", "prices"} {
		for _, c := range []string{"plan", "build", "prompt", "run", "demo"} {
			if !slices.Contains(taken[c], flag) {
				t.Errorf("%s has no --%s", c, flag)
			}
		}
		if !bytes.Contains(text, []byte("--"+flag)) {
			t.Errorf("the page does not tell of --%s", flag)
		}
	}
	for command, without := range map[string][]string{"start": {"max-cost", "max-tokens", "prices"}, "run": {"max-blocked"}} {
		for _, flag := range without {
			if slices.Contains(taken[command], flag) {
				t.Errorf("%s has --%s", command, flag)
			}
		}
	}
	yes := map[bool]string{true: "yes"}
	for _, f := range ralph.Formats() {
		c := f.Capabilities()
		row := strings.Join([]string{"|", string(f), "|", yes[c.Cost], "|", yes[c.Tokens], "|", yes[c.Model], "|", yes[c.Live], "|"}, " ")
		if row = strings.ReplaceAll(row, "  ", " "); !bytes.Contains(text, []byte("\n"+row+"\n")) {
			t.Errorf("the page has no row %q", row)
		}
	}
	if !strings.Contains(runCommand(t, "help", "run"), ralph.PricesDate) {
		t.Error("ralph help run does not tell of which day the prices are")
	}
}

// TestShowLimits: what a loop has learned, and how often in a row it is blocked.
func TestShowLimits(t *testing.T) {
	t.Parallel()
	blocked := ralph.Event{Kind: ralph.EventIterationEnded, Iteration: ralph.Iteration{Number: 1, Attempt: 1, Blocked: true}}
	for _, tt := range []struct {
		most int
		want string
	}{
		{0, "-- iteration 1: says that it is blocked, 0s\n"},
		{1, "-- iteration 1: says that it is blocked, 0s\n"},
		{3, "-- iteration 1: says that it is blocked, 2 of 3, 0s\n"},
		{-1, "-- iteration 1: says that it is blocked, 2 times in a row, 0s\n"},
	} {
		var out bytes.Buffer
		s := ralph.Start(ralph.Task{ID: "t", Blocked: "STUCK", Limits: ralph.Limits{Blocked: tt.most}})
		if s.Blocked = 1; tt.most == 0 || tt.most == 1 {
			s.Blocked = 0
		}
		view := env{ctx: t.Context(), stderr: &out}.viewed(s.Task, ralph.ProgressLogFunc(func(context.Context, ralph.Event) error { return nil }))
		for _, ev := range []ralph.Event{{Kind: ralph.EventLoopStarted, State: &s}, {Kind: ralph.EventIterationStarted, Iteration: blocked.Iteration}, blocked} {
			if err := view.Append(t.Context(), ev); err != nil {
				t.Fatal(err)
			}
		}
		if got := out.String(); got != "\n== iteration 1\n"+tt.want {
			t.Errorf("%d: %q, want %q", tt.most, got, tt.want)
		}
	}
	var out bytes.Buffer
	show(&out, ralph.Task{}, ralph.Event{Kind: ralph.EventLearned, Text: "8 iterations\x1b[2J, as 95 of 100 loops needed"}, ralph.State{})
	if got := out.String(); got != "-- learned: 8 iterations, as 95 of 100 loops needed\n" {
		t.Errorf("%q", got)
	}
}
