package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

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
		{0, "says that it is blocked"},
		{1, "says that it is blocked"},
		{3, "says that it is blocked, 2 of 3"},
		{-1, "says that it is blocked, 2 times in a row"},
	} {
		s := ralph.Start(ralph.Task{ID: "t", Blocked: "STUCK", Limits: ralph.Limits{Blocked: tt.most}})
		if s.Blocked = 1; tt.most == 0 || tt.most == 1 {
			s.Blocked = 0
		}
		got := viewed(t, ralph.Event{Kind: ralph.EventLoopStarted, State: &s}, ralph.Event{Kind: ralph.EventIterationStarted, Iteration: blocked.Iteration}, blocked)
		if want := "12:00:00 iteration 1/10\n12:00:00 iteration 1/10: " + tt.want + "\n"; got != want {
			t.Errorf("%d: %q, want %q", tt.most, got, want)
		}
	}
	got := viewed(t, ralph.Event{Kind: ralph.EventLearned, Text: "8 iterations\x1b[2J, as 95 of 100 loops needed"}, ralph.Event{Kind: ralph.EventPaused, Loop: "my task"})
	if want := "12:00:00 learned: 8 iterations, as 95 of 100 loops needed\nralph: 'my task' is paused; 'ralph resume 'my task'' lets it go on\n12:00:00 paused\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// viewed is what is shown of events, at noon.
func viewed(t *testing.T, events ...ralph.Event) string {
	t.Helper()
	var out strings.Builder
	v := (&shared{}).view(env{ctx: t.Context(), stderr: &outlet{Writer: &out}}, nil)
	v.Zone = time.UTC
	for _, ev := range events {
		ev.Time = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
		if err := v.log.Append(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	v.close()
	return out.String()
}
