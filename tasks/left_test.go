package tasks_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/tasks"
)

func TestReportLeft(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		r    tasks.Report
		want string
	}{
		{tasks.Report{}, ""},
		{tasks.Report{Skipped: []string{"T1"}}, "skipped: T1"},
		{tasks.Report{Unverified: []string{"T5"}, Rejected: []string{"T\x1b[2J4\n"}, Waiting: []string{"T2", "T3"}, Skipped: []string{"T1"}},
			"skipped: T1; waiting: T2, T3; rejected: T4; ticked by the agent, not verified: T5"},
		{tasks.Report{Skipped: strings.Split(strings.Repeat("T", 400), "")}, "skipped: " + strings.Repeat("T, ", 99) + "T,…"},
	} {
		if got := tt.r.Left(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
