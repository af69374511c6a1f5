package main

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// named are keys that are no characters.
func named() map[string]rune {
	return map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "right": tea.KeyRight, "down": tea.KeyDown}
}

// press gives a model keys, and the commands' messages, as a program would, but for the
// clock.
func press(m *model, keys ...string) {
	for _, key := range keys {
		msg := tea.KeyPressMsg{Code: named()[key]}
		if msg.Code == 0 {
			msg = tea.KeyPressMsg{Code: []rune(key)[0], Text: key}
		}
		_, cmd := m.Update(msg)
		for cmd != nil {
			switch msg := cmd().(type) {
			case answered:
				_, cmd = m.Update(msg)
			case looked:
				m.Update(msg)
				cmd = nil
			default: // of the cursor
				cmd = nil
			}
		}
	}
}

// held is a folder with a loop that this process holds, and a board on it.
func held(t *testing.T) (*model, *progress.Dir) {
	t.Helper()
	ctx := context.Background()
	path := t.TempDir()
	other := &progress.Dir{Path: path} // of the process that runs the loop
	s := ralph.Start(ralph.Task{ID: "T1", Agent: "coder", Prompt: "x", Limits: ralph.Limits{Iterations: 15, CostUSD: 5}})
	j, err := other.Create(s, progress.KindLoop)
	if err == nil {
		err = j.Begin(ctx, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	m := newModel(ctx, &progress.Dir{Path: path})
	m.Update(m.Init()())
	return m, m.dir
}

// TestKeys: what keys ask for is on record, and nothing else is.
func TestKeys(t *testing.T) {
	t.Parallel()
	typed := func(text string) []string { return strings.Split(text, "") }
	for _, tt := range []struct {
		name string
		keys []string
		want ralph.State // what is looked at of it
		said string
	}{
		{"pause", []string{"p"}, ralph.State{Paused: true, Task: ralph.Task{Limits: ralph.Limits{Iterations: 15, CostUSD: 5}}}, "T1 (coder): paused; what runs comes to its end, p lets it go on"},
		{"let it go on", []string{"p", "p"}, ralph.State{Task: ralph.Task{Limits: ralph.Limits{Iterations: 15, CostUSD: 5}}}, "T1 (coder): goes on"},
		{"guide", append(append([]string{"g"}, typed("use a map")...), "enter"), ralph.State{Guidance: []string{"use a map"}, Task: ralph.Task{Limits: ralph.Limits{Iterations: 15, CostUSD: 5}}}, "T1 (coder): its next prompt will say so"},
		{"guide, and leave it", append(append([]string{"g"}, typed("q?")...), "esc"), ralph.State{Task: ralph.Task{Limits: ralph.Limits{Iterations: 15, CostUSD: 5}}}, ""},
		{"guide with nothing", []string{"g", "enter"}, ralph.State{Task: ralph.Task{Limits: ralph.Limits{Iterations: 15, CostUSD: 5}}}, ""},
		{"limit", append(append([]string{"l"}, typed(" max=20 time=2h")...), "enter"), ralph.State{Task: ralph.Task{Limits: ralph.Limits{Iterations: 20, CostUSD: 5, Duration: 2 * time.Hour}}}, "T1 (coder): limits changed to max=20 cost=5 time=2h0m0s"},
		{"limit wrongly", append(append([]string{"l"}, typed(" size=20")...), "enter"), ralph.State{Task: ralph.Task{Limits: ralph.Limits{Iterations: 15, CostUSD: 5}}}, `"size" is no limit: limits are typed as max=20 cost=5 tokens=100000 time=2h`},
		{"limit to none", append(append([]string{"l"}, typed(" max=0")...), "enter"), ralph.State{Task: ralph.Task{Limits: ralph.Limits{Iterations: 15, CostUSD: 5}}}, `max: "0" is no value of it: limits are typed as max=20 cost=5 tokens=100000 time=2h`},
		{"limit without another", []string{"l", "enter"}, ralph.State{Task: ralph.Task{Limits: ralph.Limits{Iterations: 15, CostUSD: 5}}}, ""},
		{"stop", []string{"s"}, ralph.State{Asked: 15, Task: ralph.Task{Limits: ralph.Limits{Iterations: 0, CostUSD: 5}}}, "T1 (coder): ends after the iteration that has begun"},
		{"cancel, and think better of it", []string{"c", "n"}, ralph.State{Task: ralph.Task{Limits: ralph.Limits{Iterations: 15, CostUSD: 5}}}, "nothing was done"},
		{"cancel", []string{"c", "y"}, ralph.State{Stop: ralph.StopCancelled, Detail: "cancelled on the board", Task: ralph.Task{Limits: ralph.Limits{Iterations: 15, CostUSD: 5}}}, "T1 (coder): cancelled"},
		{"cancel twice", []string{"c", "y", "c", "y"}, ralph.State{Stop: ralph.StopCancelled, Detail: "cancelled on the board", Task: ralph.Task{Limits: ralph.Limits{Iterations: 15, CostUSD: 5}}}, "T1 (coder) is over already: cancelled"},
		{"look around", []string{"right", "down", "t", "enter", "o", "esc", "?", "?", "/", "x", "esc", "esc"}, ralph.State{Task: ralph.Task{Limits: ralph.Limits{Iterations: 15, CostUSD: 5}}}, ""},
	} {
		m, dir := held(t)
		press(m, tt.keys...)
		e, err := dir.Look("T1.coder")
		if err != nil {
			t.Fatal(err)
		}
		is := ralph.State{Paused: e.State.Paused, Guidance: e.State.Guidance, Asked: e.State.Asked, Stop: e.State.Stop, Detail: e.State.Detail, Task: ralph.Task{Limits: e.State.Task.Limits}}
		if tt.want.Asked != 0 {
			is.Task.Limits.Iterations = 0 // how a stop lowers it is the library's business
		}
		if diff := cmp.Diff(tt.want, is); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
		if m.said != tt.said {
			t.Errorf("%s: said %q, want %q", tt.name, m.said, tt.said)
		}
	}
}

// TestQuit: q and ctrl+c leave the board, but not while something is typed.
func TestQuit(t *testing.T) {
	t.Parallel()
	m, _ := held(t)
	quits := func(msg tea.KeyPressMsg) bool {
		_, cmd := m.Update(msg)
		if cmd == nil {
			return false
		}
		_, is := cmd().(tea.QuitMsg)
		return is
	}
	q, ctrlC := tea.KeyPressMsg{Code: 'q', Text: "q"}, tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	if !quits(q) || !quits(ctrlC) {
		t.Error("a key does not leave the board")
	}
	press(m, "g")
	if quits(q) || m.input.Value() != "q" || quits(ctrlC) || m.ask != nil {
		t.Error("a key leaves the board while a line is typed, or is lost")
	}
}

// TestNotBegun: of a task that has not begun nothing can be asked, which is said.
func TestNotBegun(t *testing.T) {
	t.Parallel()
	m := sample(clean)
	m.chosen = m.tree.Runs[0].Cards[2].Key()
	for _, key := range []string{"p", "g", "c", "s", "l"} {
		if press(m, key); m.ask != nil || m.said != "TASK-003 has not begun: t shows its run, which can be steered" {
			t.Errorf("%s: %q", key, m.said)
		}
	}
	m.view, m.chosen = treeView, "shop"
	if press(m, "c"); m.ask == nil || m.ask.text != "Cancel shop for good? y/n" {
		t.Errorf("%+v", m.ask)
	}
}

// TestLimitsOfPipeline: a pipeline has a budget, and no number of iterations.
func TestLimitsOfPipeline(t *testing.T) {
	t.Parallel()
	was := ralph.Limits{Iterations: 1 << 30, CostUSD: 5}
	if got := told(progress.KindPipeline, was); got != "cost=5" {
		t.Error(got)
	}
	got, err := limits(progress.KindPipeline, was, "cost=$7.5 tokens=1000")
	if diff := cmp.Diff(ralph.Limits{Iterations: 1 << 30, CostUSD: 7.5, Tokens: 1000}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, text := range []string{"20", "max=20", "cost=much", "time=5"} {
		if got, err := limits(progress.KindPipeline, was, text); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// TestChoiceFollows: what was chosen stays chosen when it moves to another lane.
func TestChoiceFollows(t *testing.T) {
	t.Parallel()
	m := sample(clean)
	press(m, "down")
	chosen := m.chosen
	m.tree.Runs[0].Cards[1].Lane = 2 // done
	m.Update(looked{tree: m.tree, now: m.now})
	if c, ok := m.card(); !ok || m.chosen != chosen || c.ID != "TASK-002" {
		t.Errorf("%q is chosen, and was %q", m.chosen, chosen)
	}
	m.tree.Runs[0].Cards = m.tree.Runs[0].Cards[:1]
	m.Update(looked{tree: m.tree, now: m.now})
	if c, ok := m.card(); !ok || c.ID != "TASK-001" {
		t.Errorf("%q is chosen, which is gone", m.chosen)
	}
}
