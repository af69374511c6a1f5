package progress_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

func TestReadMarkdown(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 1, 18, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, text string
		want       progress.Progress
	}{
		{"empty", "", progress.Progress{}},
		{"header", "# Ralph Progress Log\n\nFeature: a: b\nStarted: 2026-01-18T01:00:00+01:00\n\n## Codebase Patterns\n\n" +
			"[Patterns discovered during implementation - updated by agent]\n\n---\n",
			progress.Progress{Feature: "a: b", Started: day}},
		{"patterns as agents write them", "\uFEFF# Ralph Progress Log\r\nFeature: f\r\n## codebase patterns\r\n\r\n### Tests\r\n- Use `go test`\r\n  - with -race\r\n* A\r\nText.\r\n## Mine\r\n- x\r\n---\r\n- y\r\n",
			progress.Progress{Feature: "f", Patterns: []string{"### Tests", "Use `go test`", "with -race", "A", "Text."}, Notes: "## Mine\n- x\n- y"}},
		{"patterns at the end", "## Iteration 1 - 2026-01-18\n**Status**: ❌ Failed\n---\n\n## Codebase Patterns\n- late\n",
			progress.Progress{Patterns: []string{"late"}, Sections: []progress.Section{{Number: 1, Time: day, Status: ralph.OutcomeFailure}}}},
		{"a section as people write it", "## Iteration 7 - 2026-01-18 00:00\n\n**Task:** T1 Do  it\n**status**: Skipped\n**Files**:\n\n- a.go\n\n* b.go\nA remark.\n**Learnings**: one\n- two\n  goes on\n1. three\n",
			progress.Progress{Sections: []progress.Section{{Number: 7, Time: day, Task: "T1", Title: "Do  it", Status: ralph.OutcomeSkipped,
				Files: []string{"a.go", "b.go"}, Learnings: []string{"one", "two goes on", "three"}, Notes: "A remark."}}}},
		{"what comes after the rule", "## Iteration 1 - x\n---\n**Status**: ✅ Completed\n\n\nBye.\n\n## Iteration 1 - 2026-01-18T00:00:00\n",
			progress.Progress{Sections: []progress.Section{{Number: 1, Notes: "**Status**: ✅ Completed\n\n\nBye."}, {Number: 1, Time: day}}}},
		{"the first of two", "## Iteration 2 - x\n**Task**: A a\n**Task**: B b\n**Status**: ⏭ Skipped\n**Status**: ✅\n",
			progress.Progress{Sections: []progress.Section{{Number: 2, Task: "A", Title: "a", Status: ralph.OutcomeSkipped, Notes: "**Task**: B b\n**Status**: ✅"}}}},
		{"the first header", "Feature: a\nFeature: b\nStarted: 2026-01-18\nStarted: 2026-01-19\n",
			progress.Progress{Feature: "a", Started: day, Notes: "Feature: b\nStarted: 2026-01-19"}},
		{"no status", "## Iteration 1 - x\n**Status**: ✅ Completed | ❌ Failed | ⏭️ Skipped\n**Files Changed**: none\n**Learnings**: N/A\n---\n",
			progress.Progress{Sections: []progress.Section{{Number: 1}}}},
		{"not UTF-8", "a\xff\n", progress.Progress{Notes: "a\uFFFD"}},
		{"a long line", "## Iteration 1 - x\n" + strings.Repeat("x", 1<<20) + "\n## Iteration 2 - x",
			progress.Progress{Sections: []progress.Section{{Number: 1, Notes: strings.Repeat("x", 64<<10)}, {Number: 2}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := progress.ReadMarkdown(iotest.HalfReader(strings.NewReader(tt.text)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Started.Location() != time.UTC {
				t.Errorf("started at %v, which is not UTC", got.Started)
			}
		})
	}
}

func TestReadMarkdownError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := progress.ReadMarkdown(io.MultiReader(strings.NewReader("Feature: f\n## Iteration 1 - x\n**Task**: T"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || got.Feature != "f" || len(got.Sections) != 1 || got.Sections[0].Task != "T" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestMarkdownRoundTrip writes what chance makes and reads it back.
func TestMarkdownRoundTrip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		want := progress.Progress{Feature: entry(rnd), Started: when(rnd)}
		for n := range rnd.IntN(6) + 1 {
			s := progress.Section{Number: n + 1, Task: fmt.Sprintf("T%03d", rnd.IntN(20)), Title: entry(rnd), Time: when(rnd),
				Status: []ralph.Outcome{ralph.OutcomeSuccess, ralph.OutcomeFailure, ralph.OutcomeSkipped}[rnd.IntN(3)]}
			for i := range rnd.IntN(4) {
				s.Files = append(s.Files, fmt.Sprint(i, entry(rnd)))
				s.Learnings = append(s.Learnings, fmt.Sprint(entry(rnd), i))
			}
			want.Sections = append(want.Sections, s)
		}
		m := &progress.Markdown{Path: filepath.Join(dir, fmt.Sprint(seed)), Feature: want.Feature}
		add(t, m, ralph.Event{Kind: ralph.EventLoopStarted, Time: want.Started})
		replay(t, m, want.Sections)
		if diff := cmp.Diff(want, readProgress(t, m.Path)); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

// entry is one line that looks like everything it must not be taken for.
func entry(rnd *rand.Rand) string {
	parts := []string{"- ", "---", "## Iteration 9 - x", "**Status**: ✅ Completed", "é", "|", "1. ", "* x", "Feature:", "#", "`a`", "<!--", "```", "  two spaces", "‐", "界"}
	text := "w"
	if rnd.IntN(2) == 0 {
		text = parts[rnd.IntN(len(parts))] + "w"
	}
	for range rnd.IntN(4) {
		text += parts[rnd.IntN(len(parts))]
	}
	return strings.TrimSpace(text)
}

func when(rnd *rand.Rand) time.Time {
	return time.Date(2026, 1, 1, 0, 0, rnd.IntN(1e8), 0, time.UTC)
}

// replay writes sections by events.
func replay(tb testing.TB, m *progress.Markdown, sections []progress.Section) {
	tb.Helper()
	for n, s := range sections {
		loop := fmt.Sprint(n)
		state := &ralph.State{Iteration: 1, Attempt: 1, Task: ralph.Task{ID: s.Task, Title: s.Title, Limits: ralph.Limits{Iterations: 1}}}
		add(tb, m, ralph.Event{Kind: ralph.EventLoopStarted, Loop: loop, Task: s.Task, State: state, Time: s.Time})
		add(tb, m, ralph.Event{Kind: ralph.EventIterationEnded, Loop: loop, Task: s.Task, Time: s.Time, Iteration: ralph.Iteration{
			Number: 1, Attempt: 1, Start: s.Time, Outcome: s.Status, Files: s.Files, Learnings: s.Learnings}})
	}
}

// FuzzReadMarkdown reads anything. A section appended to it is found as the last
// one, and hides nothing of what stood there; and what was read can be written
// and read again.
func FuzzReadMarkdown(f *testing.F) {
	f.Add([]byte("# Ralph Progress Log\n\nFeature: f\nStarted: 2026-01-18T09:00:00Z\n\n## Codebase Patterns\n\n- p\n\n---\n\n" +
		"## Iteration 1 - 2026-01-18T09:00:00Z\n**Task**: T001 Do it\n**Status**: ✅ Completed\n**Files Changed**: \n- a\n**Learnings**:\n- b\n---\n"))
	f.Add([]byte("\uFEFF## Iteration 3 - x\r\n**Task**:  t\r\n---\r\n## Iteration 4 -"))
	f.Add([]byte("## Iteration 999999999 - \n**Learnings**:\n- \x1b[1mx\n y\n--"))
	dir := f.TempDir() // one for all, for making folders takes longer than the rest
	f.Fuzz(func(t *testing.T, data []byte) {
		before, err := progress.ReadMarkdown(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		m := &progress.Markdown{Path: filepath.Join(dir, "progress.txt")}
		write(t, m.Path, string(data))
		attempt(t, m, 1, ralph.OutcomeFailure)
		after := readProgress(t, m.Path)
		n := len(before.Sections)
		if len(after.Sections) != n+1 {
			t.Fatalf("%d sections, then %d", n, len(after.Sections))
		}
		number := 1
		if n > 0 {
			number = min(before.Sections[n-1].Number+1, 999999999)
		}
		if got := after.Sections[n].Number; got != number {
			t.Errorf("number %d, want %d", got, number)
		}
		if diff := cmp.Diff(before.Sections, after.Sections[:n:n]); n > 0 && diff != "" {
			t.Errorf("the sections before have changed (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(before.Patterns, after.Patterns); len(data) > 0 && diff != "" {
			t.Errorf("the patterns have changed (-before +after):\n%s", diff)
		}

		copies := [2]string{filepath.Join(dir, "1"), filepath.Join(dir, "2")}
		for _, path := range copies {
			write(t, path, "")
			replay(t, &progress.Markdown{Path: path, Feature: before.Feature}, after.Sections)
			after = readProgress(t, path)
		}
		if diff := cmp.Diff(read(t, copies[0]), read(t, copies[1])); diff != "" {
			t.Errorf("not the same when written again (-1 +2):\n%s", diff)
		}
	})
}
