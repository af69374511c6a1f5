package progress_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestLogTableEnds: a log of loops has ended when none of them goes on; one of a run of
// many tasks does not tell its end, so that it is never taken for over between two.
func TestLogTableEnds(t *testing.T) {
	t.Parallel()
	s := ralph.Start(ralph.Task{ID: "T1", Prompt: "x"})
	part := s
	part.Loop = "tasks.md/" + s.Loop
	event := func(s ralph.State, kind ralph.EventKind) string {
		var b strings.Builder
		if err := (&progress.JSONL{W: &b}).Append(t.Context(), ralph.Event{Kind: kind, Loop: s.Loop, Task: "T1", State: &s}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const begins, ends = ralph.EventLoopStarted, ralph.EventLoopStopped
	other := s
	other.Loop = "other"
	for _, tt := range []struct {
		log     string
		ended   bool
		summary string
	}{
		{event(s, begins), false, "0 attempts"},
		{event(s, begins) + event(s, ends), true, "0 attempts"},
		{event(s, begins) + event(s, ends) + event(s, begins), false, "0 attempts"},
		{event(s, begins) + event(other, begins) + event(s, ends), false, "0 attempts"},
		{event(part, begins) + event(part, ends), false, "0 attempts"},
		{"torn\n\n{\"a\":1}\n" + event(s, begins) + event(s, ends)[:20], false, "0 attempts; left out: 3 lines that cannot be read"},
	} {
		got, err := progress.ReadLogTable(strings.NewReader(tt.log))
		if err != nil || got.Ended != tt.ended || got.Summary != tt.summary || len(got.Rows) != 1 {
			t.Errorf("%s: ended %t, %q, %d rows, %v; want %t, %q", tt.log, got.Ended, got.Summary, len(got.Rows), err, tt.ended, tt.summary)
		}
	}
	none, err := progress.ReadLogTable(strings.NewReader("{\"a\":1}\n# Text\n"))
	if diff := cmp.Diff(0, len(none.Rows)); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestLogTableSession: a session's end is told in the words of its closing.
func TestLogTableSession(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		"iterations": "1 attempt: not verified: limit of 1 iteration reached", "verified": "1 attempt: verified",
		"duration": "1 attempt: limit of time", "rate_limited": "1 attempt: rate limited", "no such_file here": "1 attempt: no such_file here",
	} {
		double, single := strings.Repeat("=", 80)+"\n", strings.Repeat("-", 80)+"\n"
		log := double + "ITERATION 1\n" + double + "Mode: build\nStart Time: 2026-01-02 03:04:05\n" + single +
			double + "SESSION SUMMARY\n" + double + "Exit Reason: " + result + "\nExit Code: 0\n" + double
		got, err := progress.ReadLogTable(strings.NewReader(log))
		if err != nil || got.Summary != want || !got.Ended {
			t.Errorf("%s: %q, %t, %v, want %q", result, got.Summary, got.Ended, err, want)
		}
	}
}
