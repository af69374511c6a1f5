package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/progress"
)

// TestDetailsHold: the details stay with their loop when another one begins, until a key
// leads on, and so does what keys steer.
func TestDetailsHold(t *testing.T) {
	t.Parallel()
	m := sample(clean)
	press(m, "down")
	c := &m.tree.Runs[0].Cards[1]
	is := func(what, want string) {
		t.Helper()
		if e, _, _ := m.target(); m.wanted().loop != want || e.Loop != want {
			t.Errorf("%s: %q is shown and %q steered, want %q", what, m.wanted().loop, e.Loop, want)
		}
	}
	m.show(detailView)
	is("opened", "shop/TASK-002.tester")
	c.Loops = append(c.Loops, loop("TASK-002", "reviewer", 1, progress.StatusRunning, nil))
	m.take(looked{tree: m.tree, now: m.now})
	is("another one has begun", "shop/TASK-002.tester")
	m.show(outputView)
	is("its output", "shop/TASK-002.tester")
	m.show(detailView)
	m.press("right")
	is("one on", "shop/TASK-002.reviewer")
	m.press("right")
	is("there is no further one", "shop/TASK-002.reviewer")
	m.press("left")
	m.press("left")
	is("two back", "shop/TASK-002.coder")
	m.press("esc")
	m.show(detailView)
	is("opened again", "shop/TASK-002.reviewer")
}

// TestOutputScroll: up leads to what was printed before, down back to the end.
func TestOutputScroll(t *testing.T) {
	t.Parallel()
	m := sample(clean)
	m.press("o")
	m.detail.output = nil
	for i := range 100 {
		m.detail.output = append(m.detail.output, fmt.Sprint("line ", i))
	}
	last := func() string {
		all := m.outputFrame(10, 80)
		return all[len(all)-1]
	}
	for _, tt := range []struct{ key, want string }{
		{"", "line 99"}, {"up", "line 98"}, {"k", "line 97"}, {"down", "line 98"}, {"down", "line 99"}, {"down", "line 99"}, {"pgup", "line 89"}, {"home", "line 9"}, {"down", "line 10"}, {"end", "line 99"},
	} {
		m.press(tt.key)
		if got := last(); got != tt.want {
			t.Errorf("%q leads to %q, want %q", tt.key, got, tt.want)
		}
	}
}

// TestLimitOfOthers: what somebody else has changed while a limit was typed stays.
func TestLimitOfOthers(t *testing.T) {
	t.Parallel()
	m, dir := held(t)
	press(m, "l")
	if _, err := dir.Limit("T1.coder", ralph.Limits{Iterations: 15, CostUSD: 9}); err != nil {
		t.Fatal(err)
	}
	press(m, append(strings.Split(" time=2h", ""), "enter")...)
	e, err := dir.Look("T1.coder")
	if diff := cmp.Diff(ralph.Limits{Iterations: 15, CostUSD: 9, Duration: 2 * time.Hour}, e.State.Task.Limits); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if want := "T1 (coder): limits changed to max=15 cost=9 time=2h0m0s"; m.said != want {
		t.Errorf("said %q, want %q", m.said, want)
	}
}

// TestDead: of a process that has died nothing goes on counting, and nothing is at work.
func TestDead(t *testing.T) {
	t.Parallel()
	m := sample(clean)
	c := &m.tree.Runs[0].Cards[0]
	c.Loops[0].Status, c.Lane = progress.StatusInterrupted, board.Todo
	m.show(detailView)
	first := strings.Join(m.facts(*c, 80), "\n")
	m.now = m.now.Add(time.Hour)
	if second := strings.Join(m.facts(*c, 80), "\n"); first != second {
		t.Errorf("it goes on:\n%s", cmp.Diff(first, second))
	}
	if strings.Contains(first, "at work") || strings.Contains(first, "🔄") || !strings.Contains(first, "3  interrupted") || !strings.Contains(first, "! coder → ○ tester") {
		t.Error(first)
	}
}

// TestRunning: the time at work is that of the process which is at work.
func TestRunning(t *testing.T) {
	t.Parallel()
	m := sample(clean)
	st := m.tree.Runs[0].Cards[0].Loops[0]
	for _, tt := range []struct {
		holder *progress.Holder
		want   string
	}{
		{nil, "5m 23s"},
		{&progress.Holder{Since: began.Add(-time.Hour)}, "5m 23s"},
		{&progress.Holder{Since: began.Add(5 * time.Minute)}, "23s"},
	} {
		if st.Holder = tt.holder; m.running(st) != tt.want {
			t.Errorf("%+v: %s, want %s", tt.holder, m.running(st), tt.want)
		}
	}
}

// TestSlots: three agents at work are seen whole on 80 columns, and on 60 by 15; a filter is
// not said to be silence.
func TestSlots(t *testing.T) {
	t.Parallel()
	m := sample(clean)
	third := loop("TASK-003", "reviewer", 10, progress.StatusRunning, nil)
	m.tree.Runs[0].Cards[2].Loops, m.tree.Runs[0].Cards[2].Lane = []progress.Standing{third}, board.Running
	for _, frames := range []bool{true, false} {
		m.width = map[bool]int{true: 80, false: 60}[frames]
		all := m.slotsFrame(frames)
		text := ansi.Strip(strings.Join(all, "\n"))
		for _, want := range []string{"TASK-001", "TASK-002", "TASK-003", "iteration 3/15", "iteration 7/15", "iteration 10/15"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns: no %q:\n%s", m.width, want, text)
			}
		}
		for _, l := range all {
			if width(l) > m.width {
				t.Errorf("%d columns: %q", m.width, l)
			}
		}
	}
	m.filter = "TASK-004"
	if diff := cmp.Diff([]string{"no agent that passes the filter is at work"}, m.slotsFrame(true)); diff != "" {
		t.Error(diff)
	}
}

// TestColoursOfMarks: no word is in a colour, which may be faint on its ground.
func TestColoursOfMarks(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{200, 60}, {60, 15}} {
		for _, key := range views() {
			m := sample(clean)
			m.tree.Unread = nil // errors are red, which is dark enough
			m.width, m.height = size[0], size[1]
			if m.press(key); m.ask != nil && m.ask.prompt == "" {
				continue // a question is red
			}
			for _, part := range strings.Split(m.frame(), "\x1b[")[1:] {
				code, text, _ := strings.Cut(part, "m")
				if slices.ContainsFunc(strings.Split(code, ";"), func(n string) bool { return len(n) == 2 && n[0] == '3' }) && strings.ContainsFunc(text, unicode.IsLetter) {
					t.Errorf("%s at %v: %q is in a colour", key, size, text)
				}
			}
		}
	}
}

// TestFailedFrame: a folder that cannot be read is not said to hold nothing.
func TestFailedFrame(t *testing.T) {
	t.Parallel()
	for name, does := range map[string]func(*model){
		"the folder":      func(m *model) { m.failed = "permission denied" },
		"all that it has": func(m *model) { m.tree.Unread = []board.Unread{{Name: "old", Err: fmt.Errorf("damaged")}} },
	} {
		m := sample(clean)
		m.tree = board.Tree{}
		does(m)
		if text := ansi.Strip(m.frame()); strings.Contains(text, "Nothing is on record") || !strings.Contains(text, "Nothing that can be read") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// TestDetailsOnce: what is known is said once, and what is not known is said to be.
func TestDetailsOnce(t *testing.T) {
	t.Parallel()
	m := sample(clean)
	text := func(card int) string {
		c := m.tree.Runs[0].Cards[card]
		m.chosen = c.Key()
		return ansi.Strip(strings.Join(m.facts(c, 100), "\n"))
	}
	for _, tt := range []struct {
		card       int
		once, none string
	}{
		{4, "15 iterations are used up\n", "Stopped"},
		{5, "2 iterations", "Why it is not done"},
		{0, "external: go test ./...", "All tests pass; "},
	} {
		got := text(tt.card)
		if n := strings.Count(got, tt.once); n != 1 || strings.Contains(got, tt.none) {
			t.Errorf("%q stands there %d times, or %q does:\n%s", tt.once, n, tt.none, got)
		}
	}
	if got := text(4); strings.Index(got, "loop 1 of 1") > strings.Index(got, "Why it is not done") {
		t.Errorf("the loop is told among the reasons:\n%s", got)
	}
	bare := &m.tree.Runs[0].Cards[0].Loops[0].State.Task
	bare.Method, bare.HowVerified = "", ""
	if got := text(0); !strings.Contains(got, "nothing is on record of a method") {
		t.Error(got)
	}
}

// TestEnded: what a cancel has ended of a process that died is told.
func TestEnded(t *testing.T) {
	t.Parallel()
	said := request("T1", "cancelled", func() (progress.Entry, error) {
		return progress.Entry{Ended: []string{"sleep 100", "npm\x1b[2J test"}}, nil
	})()
	if want := answered("T1: cancelled; ended what its process had left running: sleep 100, npm test"); said != want {
		t.Errorf("%q", said)
	}
}

// TestEmptyEnter: where nothing is there is nothing to open.
func TestEmptyEnter(t *testing.T) {
	t.Parallel()
	m := newModel(t.Context(), &progress.Dir{Path: t.TempDir()})
	m.take(looked{now: began})
	for _, key := range []string{"enter", "o"} {
		if m.press(key); m.said != "nothing is chosen" || m.view != lanesView {
			t.Errorf("%s: %q", key, m.said)
		}
	}
}
