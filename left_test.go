package ralph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// TestEndedIsTold: the next prompt says what was ended, and quotes it.
func TestEndedIsTold(t *testing.T) {
	t.Parallel()
	next := func(ended ...string) string {
		return ralph.Start(ralph.Task{Prompt: "Do it."}).Next(ralph.Iteration{Number: 1, Attempt: 1, Ended: ended}).Prompt()
	}
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("sleep %d", i))
	}
	for want, ended := range map[string][]string{
		"\n    ended 1 process that you left running: python3 -m http.server; start it in the check itself":                   {"python3 -m http.server"},
		"\n    ended 2 processes that you left running: a 1, b; start it in the check itself":                                 {"a\n1", "\x1b[1mb"},
		"\n    ended at least 20 processes that you left running: sleep 0, sleep 1, sleep 2, sleep 3, sleep 4, and 15 more; ": many,
		"left running: " + strings.Repeat("a", 30) + " … 55 bytes left out … " + strings.Repeat("b", 61) + "; ": {strings.Repeat("a", 73) + strings.Repeat("b", 100)},
	} {
		if got := next(ended...); !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if got := next(); strings.Contains(got, "left running") {
		t.Errorf("nothing was:\n%s", got)
	}
}

// TestMark: every attempt has a mark of its own, which is recorded before it begins,
// and a driver's is what its state says.
func TestMark(t *testing.T) {
	t.Parallel()
	var marks []string
	l := ralph.Local{Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		marks = append(marks, req.Mark)
		return ralph.Response{Output: "Not yet."}, nil
	})}
	_, log, _ := runLoop(t, t.Context(), l, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 2}}))
	var recorded []string
	for _, ev := range log.events(t) {
		if ev.Kind == ralph.EventIterationStarted {
			recorded = append(recorded, ev.Meta["mark"])
		}
	}
	if len(marks) != 2 || strings.Join(marks, " ") != strings.Join(recorded, " ") || marks[0] == marks[1] || marks[0] == "" {
		t.Errorf("marks %q, recorded %q", marks, recorded)
	}

	s := ralph.Start(ralph.Task{Prompt: "Do it."})
	begin := func(mark string) ralph.State {
		return s.Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 1, Attempt: 1}, Meta: map[string]string{"mark": mark}})
	}
	if got := begin("x").Mark; got != "" {
		t.Errorf("%q is a mark", got)
	}
	mark := ralph.NewMark()
	running := begin(mark)
	if running.Mark != mark || running.Request().Mark != mark || running.Next(ralph.Iteration{Number: 1, Attempt: 1}).Mark != "" {
		t.Errorf("%+v", running)
	}
	if _, err := (&ralph.Command{Args: []string{"true"}}).Run(t.Context(), ralph.Request{Mark: "x"}); err == nil || !strings.Contains(err.Error(), "Mark") {
		t.Errorf("a Command takes any mark: %v", err)
	}
}
