package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/internal/term/termtest"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

var update = flag.Bool("update", false, "write the golden files")

var began = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// loop is one of a pipeline, as a folder tells of it.
func loop(task, agent string, iteration int, status progress.Status, change func(*ralph.State)) progress.Standing {
	spent := 0.12 * float64(iteration)
	s := ralph.Start(ralph.Task{ID: task, Agent: agent, Title: "Implement " + task, Prompt: "x", Outcome: "Only who knows the password gets in",
		Acceptance: []string{"Five wrong passwords lock the account", "パスワードは表示されない"}, Success: "All tests pass", HowVerified: "go test ./...", Method: "external",
		Limits: ralph.Limits{Iterations: 15}})
	s.Iteration, s.Usage = iteration, ralph.Usage{CostUSD: &spent}
	if change != nil {
		change(&s)
	}
	return progress.Standing{
		Entry: progress.Entry{Loop: "shop/" + s.Loop, Kind: progress.KindLoop, Parent: "shop", Status: status, State: s, Started: began, Active: began.Add(5 * time.Minute)},
		Task:  task, Stage: agent, Iteration: iteration, MaxIterations: 15, Used: s.Usage, CompletionPromise: "TESTS_PASS", StartedAt: began,
	}
}

// sample is a model of a pipeline with a task in each lane, and of loops beside it. Every
// text that comes from tasks and agents passes through dirty.
func sample(dirty func(string) string) *model {
	exit := 1
	rejected := func(s *ralph.State) {
		s.Feedback = dirty("TestLogin fails: login_test.go:12: the account is not locked after five wrong passwords, and the next one, which is right, gets in.")
		s.Verdict = ralph.Verdict{Feedback: s.Feedback, Checks: []ralph.Check{
			{Name: dirty("go vet ./..."), Status: ralph.CheckPassed, Duration: 410 * time.Millisecond},
			{Name: dirty("go test ./..."), Status: ralph.CheckFailed, ExitCode: &exit, Duration: 1200 * time.Millisecond, Detail: dirty("TestLogin fails")},
		}}
		s.Guidance = []string{dirty("Look at the counter first")}
		s.Running = true
	}
	titles := []string{"Implement authentication, with names that are far longer than any lane", "商品の検索、綴りの間違いも許す 🛒", "Payment", "The old shop", "Mail", "A cart"}
	tasks := []struct {
		id    string
		phase pipeline.Phase
		loops []progress.Standing
		why   string
		after []string
	}{
		{"TASK-001", pipeline.PhaseRunning, []progress.Standing{loop("TASK-001", "coder", 3, progress.StatusRunning, rejected)}, "", nil},
		{"TASK-002", pipeline.PhaseRunning, []progress.Standing{loop("TASK-002", "coder", 2, progress.StatusCompleted, nil), loop("TASK-002", "tester", 7, progress.StatusPaused, func(s *ralph.State) { s.Paused = true })}, "", nil},
		{"TASK-003", pipeline.PhaseOpen, nil, "", []string{"TASK-001", "TASK-006"}},
		{"TASK-004", pipeline.PhaseLeft, nil, "", nil},
		{"TASK-005", pipeline.PhaseFailed, []progress.Standing{loop("TASK-005", "coder", 15, progress.StatusFailed, func(s *ralph.State) { s.Stop, s.Detail = ralph.StopIterations, "15 iterations" })}, dirty("iterations: 15 iterations are used up"), nil},
		{"TASK-006", pipeline.PhaseDone, []progress.Standing{loop("TASK-006", "coder", 2, progress.StatusCompleted, func(s *ralph.State) { s.Stop = ralph.StopVerified })}, "", nil},
	}
	run := board.Run{Standing: pipeline.Standing{Standing: progress.Standing{
		Entry: progress.Entry{Loop: "shop", Kind: progress.KindPipeline, Status: progress.StatusRunning, Started: began, Active: began},
		Task:  "shop", MaxIterations: -1, Used: ralph.Usage{CostUSD: new(1.25)}, SessionStanding: &progress.SessionStanding{TasksCompleted: 1, TasksRemaining: 5},
	}}}
	for i, t := range tasks {
		c := board.Card{Run: "shop", ID: dirty(t.id), Title: dirty(titles[i]), Agent: dirty("coder"), Why: t.why, After: t.after, Loops: t.loops, Iterations: len(t.loops) * 2,
			Lane: map[pipeline.Phase]board.Lane{pipeline.PhaseRunning: board.Running, pipeline.PhaseLeft: board.Skipped, pipeline.PhaseFailed: board.Failed, pipeline.PhaseDone: board.Done}[t.phase]}
		if last, ok := c.Loop(); ok {
			c.Agent, c.Used = dirty(last.Stage), last.Used
			c.Stages = []pipeline.StageSummary{{Agent: "coder", Status: pipeline.StageRunning}, {Agent: "tester", Status: pipeline.StageOpen}}
		}
		run.Cards = append(run.Cards, c)
	}
	m := newModel(context.Background(), &progress.Dir{Path: "/records"})
	m.take(looked{tree: board.Tree{Runs: []board.Run{run}, Unread: []board.Unread{{Name: dirty("old"), Err: &progress.CorruptError{Path: "/records/old.jsonl", Line: 3, Err: errors.New(dirty("it was written by a newer version (2; this program knows 1)"))}}}}, now: began.Add(5*time.Minute + 23*time.Second)})
	m.detail = detail{loop: "shop/TASK-001.coder", output: []string{dirty("I look at the counter."), dirty("→ Bash go test ./..."), dirty("パスワードのテスト " + strings.Repeat("long ", 60))},
		history: board.History{Attempts: []board.Attempt{
			{Iteration: ralph.Iteration{Number: 1, Attempt: 1, Outcome: ralph.OutcomeSuccess, Elapsed: time.Minute, Usage: ralph.Usage{CostUSD: new(0.12)}}, Ended: true},
			{Iteration: ralph.Iteration{Number: 2, Attempt: 2, Outcome: ralph.OutcomeFailure, Claimed: true, Elapsed: 2 * time.Minute, Verdict: ralph.Verdict{Feedback: dirty("TestLogin fails")}}, Ended: true},
			{Iteration: ralph.Iteration{Number: 3, Attempt: 1, Start: began.Add(4 * time.Minute)}},
		}}}
	return m
}

func clean(text string) string { return text }

// TestGoldenFrames: what is shown, at three sizes.
func TestGoldenFrames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		does func(*model)
	}{
		{"lanes", func(m *model) {}},
		{"lanes-failed", func(m *model) { m.press("right"); m.press("right") }},
		{"tree", func(m *model) { m.press("t") }},
		{"detail", func(m *model) { m.press("enter") }},
		{"output", func(m *model) { m.press("o") }},
		{"help", func(m *model) { m.press("?") }},
		{"cancel", func(m *model) { m.press("c") }},
		{"filter", func(m *model) { m.filter = "検索"; m.settle() }},
		{"nothing", func(m *model) { m.tree = board.Tree{}; m.settle() }},
	} {
		for _, size := range [][2]int{{80, 24}, {200, 60}, {60, 15}} {
			m := sample(clean)
			m.width, m.height = size[0], size[1]
			tt.does(m)
			var got strings.Builder
			for l := range strings.Lines(ansi.Strip(m.frame()) + "\n") {
				got.WriteString(strings.TrimRight(l, " \n") + "\n")
			}
			path := filepath.Join("testdata", fmt.Sprintf("%s-%dx%d.golden", tt.name, size[0], size[1]))
			if *update {
				if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s:\n%s", path, diff)
			}
		}
	}
}

// views are all of them, by the key that leads to each.
func views() []string { return []string{"left", "t", "enter", "o", "?", "c", "g", "l", "/"} }

// TestFrameFits: no row is longer than the screen, and there are as many as it has, at
// any size.
func TestFrameFits(t *testing.T) {
	t.Parallel()
	for _, key := range views() {
		for _, size := range [][2]int{{200, 60}, {119, 30}, {80, 24}, {60, 15}, {33, 9}, {5, 3}, {1, 1}} {
			m := sample(clean)
			m.width, m.height = size[0], size[1]
			m.press(key)
			rows := strings.Split(m.frame(), "\n")
			if len(rows) != max(size[1], 2) {
				t.Errorf("%s at %v: %d rows", key, size, len(rows))
			}
			for _, row := range rows {
				if ansi.StringWidth(row) > size[0] {
					t.Errorf("%s at %v: %d cells: %q", key, size, ansi.StringWidth(row), row)
				}
			}
		}
	}
}

// TestFrameHostile: a frame with texts that hold control sequences is the frame without
// them.
func TestFrameHostile(t *testing.T) {
	t.Parallel()
	for _, hostile := range append(termtest.Sequences(), "\u202e\u2066\u200b", "\x1b[31m", "\r\x1b[2J") {
		dirty := func(text string) string { return text + hostile + "." } // behind it: a string without an end hides the rest of its line
		for _, key := range views() {
			got, want := sample(dirty), sample(func(text string) string { return progress.Printable(dirty(text)) })
			got.press(key)
			want.press(key)
			if diff := cmp.Diff(want.frame(), got.frame()); diff != "" {
				t.Fatalf("%s with %q:\n%s", key, hostile, diff)
			}
			if bad := termtest.Unsafe(unpainted(got.frame())); bad != "" {
				t.Fatalf("%s with %q: %s: %q", key, hostile, bad, unpainted(got.frame()))
			}
		}
	}
}

// TestTorn: that the last line of a journal is torn is told where the process that wrote it
// has gone; of one that lives it is just being written.
func TestTorn(t *testing.T) {
	t.Parallel()
	for status, want := range map[progress.Status]bool{progress.StatusInterrupted: true, progress.StatusRunning: false} {
		m := sample(clean)
		m.detail.history.Torn = true
		m.tree.Runs[0].Cards[0].Loops[0].Status = status
		text := strings.Join(m.facts(m.tree.Runs[0].Cards[0], 80), "\n")
		if strings.Contains(text, "is torn") != want {
			t.Errorf("%s: %s", status, text)
		}
	}
}

// TestNoColour: without colours a frame says the same: which card is chosen is seen by its
// frame, and where it stands by its words.
func TestNoColour(t *testing.T) {
	t.Parallel()
	m := sample(clean)
	m.width, m.height = 120, 40
	first := ansi.Strip(m.frame())
	m.press("down")
	if second := ansi.Strip(m.frame()); first == second {
		t.Error("what is chosen is told by a colour alone")
	}
}

// unpainted takes away what paint and the cursor of a typed line add.
func unpainted(frame string) string {
	for _, seq := range []string{"\x1b[1m", "\x1b[m", "\x1b[1;31m", "\x1b[1;32m", "\x1b[1;35m", "\x1b[1;36m", "\x1b[31m", "\x1b[32m", "\x1b[35m", "\x1b[36m", "\x1b[7m"} {
		frame = strings.ReplaceAll(frame, seq, "")
	}
	return frame
}

// TestWaiting: until when a loop waits is told on its card.
func TestWaiting(t *testing.T) {
	t.Parallel()
	m := sample(clean)
	c := m.tree.Runs[0].Cards[0]
	c.Loops[0].Status, c.Loops[0].NotBefore = progress.StatusWaiting, began.Add(time.Hour)
	if got, want := m.progress(c), "⏳ Coder (3/15) until "+began.Add(time.Hour).Local().Format("15:04:05"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
