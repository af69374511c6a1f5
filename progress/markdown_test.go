package progress_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
	"github.com/rogpeppe/go-internal/txtar"
)

var updateMarkdown = flag.Bool("update", false, "rewrite golden files")

// TestMarkdown plays the events of each file in testdata/markdown and compares
// the progress.txt that comes of them.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/markdown/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{}
			for _, f := range ar.Files {
				files[f.Name] = string(f.Data)
			}
			m := &progress.Markdown{Path: filepath.Join(t.TempDir(), "progress.txt"), Feature: "001-ralph"}
			if before, ok := files["before"]; ok {
				write(t, m.Path, before)
			}
			for text := range strings.Lines(files["events"]) {
				var ev ralph.Event
				if err := json.Unmarshal([]byte(text), &ev); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				add(t, m, ev)
			}
			got := read(t, m.Path)
			if *updateMarkdown {
				ar.Files[len(ar.Files)-1].Data = []byte(got)
				write(t, path, string(txtar.Format(ar)))
				return
			}
			if diff := cmp.Diff(files["want"], got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestMarkdownForm compares the form with the agreed one, white space included.
func TestMarkdownForm(t *testing.T) {
	t.Parallel()
	m := &progress.Markdown{Path: filepath.Join(t.TempDir(), "progress.txt"), Feature: "{FEATURE_NAME}"}
	at := time.Date(2026, 1, 18, 9, 0, 0, 0, time.UTC)
	for n := range 2 {
		add(t, m, ralph.Event{Kind: ralph.EventLoopStarted, Time: at, Task: "{TASK_ID}",
			State: &ralph.State{Iteration: n + 1, Attempt: 1, Task: ralph.Task{ID: "{TASK_ID}", Title: "{TASK_DESCRIPTION}"}}})
		add(t, m, ralph.Event{Kind: ralph.EventIterationEnded, Time: at, Task: "{TASK_ID}", Iteration: ralph.Iteration{Number: n + 1, Attempt: 1, Start: at,
			Outcome: ralph.OutcomeSuccess, Files: []string{"{file1}", "{file2}"}, Learnings: []string{"{learning1}", "{learning2}"}}})
	}
	section := " - {TIMESTAMP}\n**Task**: {TASK_ID} {TASK_DESCRIPTION}\n**Status**: ✅ Completed\n" +
		"**Files Changed**: \n- {file1}\n- {file2}\n**Learnings**:\n- {learning1}\n- {learning2}\n---\n"
	want := "# Ralph Progress Log\n\nFeature: {FEATURE_NAME}\nStarted: {TIMESTAMP}\n\n## Codebase Patterns\n\n" +
		"[Patterns discovered during implementation - updated by agent]\n\n---\n\n" +
		"## Iteration 1" + section + "\n## Iteration 2" + section
	want = strings.ReplaceAll(want, "{TIMESTAMP}", "2026-01-18T09:00:00Z")
	if diff := cmp.Diff(want, read(t, m.Path)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMarkdownOfALoop runs real loops, the agent of which edits the file.
func TestMarkdownOfALoop(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "001-feature")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	m := &progress.Markdown{Path: filepath.Join(dir, "progress.txt")}
	l := &ralph.Local{Verifier: verify.String{}, Log: m,
		Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil },
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			text := read(t, m.Path)
			if n := strings.Count(text, "\n## Iteration "); req.Task == "T1" && n != req.Iteration-1 {
				t.Errorf("iteration %d saw %d sections", req.Iteration, n)
			}
			// As editors do it: another file takes the name.
			write(t, m.Path+"~", strings.Replace(text, "\n---\n", "\n- Found in "+req.Task+"\n\n---\n", 1))
			if err := os.Rename(m.Path+"~", m.Path); err != nil {
				t.Error(err)
			}
			return ralph.Response{Output: []string{"So far.", "<promise>COMPLETE</promise>"}[req.Iteration-1]}, nil
		})}
	for _, id := range []string{"T1", "T2"} {
		if _, err := l.Run(t.Context(), ralph.Start(ralph.Task{ID: id, Title: "Title of " + id})); err != nil {
			t.Fatal(err)
		}
		m = &progress.Markdown{Path: m.Path} // another session
		l.Log = m
	}
	got := readProgress(t, m.Path)
	if got.Started.IsZero() {
		t.Error("no start")
	}
	got.Started = time.Time{}
	for i := range got.Sections {
		if got.Sections[i].Time.IsZero() {
			t.Errorf("no time in section %d", i)
		}
		got.Sections[i].Time = time.Time{}
	}
	section := func(n int, id string) progress.Section {
		return progress.Section{Number: n, Task: id, Title: "Title of " + id, Status: ralph.OutcomeSuccess}
	}
	want := progress.Progress{Feature: "001-feature", Patterns: []string{"Found in T1", "Found in T1", "Found in T2", "Found in T2"},
		Sections: []progress.Section{section(1, "T1"), section(2, "T1"), section(3, "T2"), section(4, "T2")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMarkdownAppends shows files in all states, and that nothing of what stands
// there is changed.
func TestMarkdownAppends(t *testing.T) {
	t.Parallel()
	const section = "**Task**: T Title\n**Status**: ❌ Failed\n---\n"
	const head = "## Iteration 1 - 2026-01-18T09:00:00Z\n"
	far := strings.Repeat("A long line that a person wrote.\n", 5000)
	for _, tt := range []struct{ name, before, number, want string }{
		{"whole", head + "---\n", "2", "\n{}"},
		{"blank line at the end", head + "---\n\n", "2", "{}"},
		{"no line feed at the end", head + "---", "2", "\n\n{}"},
		{"torn in the section", head + "**Task**: T Tit", "2", "\n---\n\n{}"},
		{"torn in the heading", head + "---\n\n## Itera", "2", "\n\n{}"},
		{"torn in the number's line", head + "---\n\n## Iteration 12 - 20", "13", "\n---\n\n{}"},
		{"torn before the rule", head + "**Files Changed**: \n- a\n", "2", "---\n\n{}"},
		{"torn header", "# Ralph Progress Log\n\nFeature: x\n", "1", "\n---\n\n{}"},
		{"other text", "Notes", "1", "\n\n---\n\n{}"},
		{"CRLF", "## Iteration 41 - x\r\n---\r\n", "42", "\r\n{crlf}"},
		{"CRLF, blank", "## Iteration 41 - x\r\n---\r\n\r\n", "42", "{crlf}"},
		{"BOM", "\uFEFF" + head + "---\n", "2", "\n{}"},
		{"far from the end", head + far + "---\n" + far, "2", "\n{}"},
		{"far from the end and torn", head + far, "2", "---\n\n{}"},
		{"over a border of windows", strings.Replace(head, "1", "77", 1) + strings.Repeat("x", 5<<10-30) + "\n---\n", "78", "\n{}"},
		{"a heading that is none", head + "---\n## Iteration x - y\n## Iteration 9\n## Iteration 0 - z\n### Iteration 8 - z\n", "2", "\n{}"},
		{"a number at its bound", "## Iteration 999999999 - x\n---\n", "999999999", "\n{}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &progress.Markdown{Path: filepath.Join(t.TempDir(), "progress.txt")}
			write(t, m.Path, tt.before)
			attempt(t, m, 1, ralph.OutcomeFailure)
			new := "## Iteration " + tt.number + " - 2026-01-18T09:00:00Z\n" + section
			want := tt.before + strings.NewReplacer("{}", new, "{crlf}", strings.ReplaceAll(new, "\n", "\r\n")).Replace(tt.want)
			if diff := cmp.Diff(want, read(t, m.Path)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			got := readProgress(t, m.Path).Sections
			if last := got[len(got)-1]; fmt.Sprint(last.Number) != tt.number || last.Task != "T" || last.Notes != "" {
				t.Errorf("read back: %+v", last)
			}
		})
	}
}

// Every position in a border of windows: a heading is found wherever it stands.
func TestMarkdownFindsTheLastNumber(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "progress.txt")
	for _, window := range []int{1 << 10, 5 << 10, 149 << 10} {
		for shift := range 120 {
			for _, rule := range []string{"\n---\n", "\n"} {
				before := "## Iteration 1 - x\n---\n\n## Iteration 123456 - x" + rule + strings.Repeat("x", window-shift) + "\n"
				write(t, path, before)
				attempt(t, &progress.Markdown{Path: path}, 1, ralph.OutcomeSuccess)
				got := strings.TrimPrefix(read(t, path), before)
				want := "\n## Iteration 123457 - "
				if rule == "\n" { // it was cut off
					want = "---\n" + want
				}
				if !strings.HasPrefix(got, want) {
					t.Fatalf("window %d, shift %d: %q, want %q", window, shift, got, want)
				}
			}
		}
	}
}

// Whatever comes, a section stays small.
func TestMarkdownIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("界", 4<<10)
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprint(i, long))
	}
	m := &progress.Markdown{Path: filepath.Join(t.TempDir(), "progress.txt"), Feature: long}
	add(t, m, ralph.Event{Kind: ralph.EventLoopStarted, State: &ralph.State{Task: ralph.Task{Title: long}}})
	add(t, m, ralph.Event{Kind: ralph.EventIterationEnded, Task: long, Iteration: ralph.Iteration{Outcome: ralph.OutcomeSkipped, Files: many, Learnings: many}})
	p := readProgress(t, m.Path)
	s := p.Sections[0]
	got := [...]int{len(p.Feature), len(s.Task), len(s.Title), len(s.Files), len(s.Files[0]), len(s.Learnings), len(s.Learnings[0])}
	if want := [...]int{1023, 1023, 1023, 200, 4096, 20, 499}; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMarkdownErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	readOnly := filepath.Join(dir, "ro.txt")
	write(t, readOnly, "# Ralph Progress Log\n")
	if err := os.Chmod(readOnly, 0o444); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path, want string
		skip             bool
	}{
		{"no path", "", "Markdown has no Path", false},
		{"a directory", dir, "is a directory", false},
		{"no folder", filepath.Join(dir, "no", "progress.txt"), "no such file or directory", false},
		{"a device", os.DevNull, "not a regular file", false},
		{"read only", readOnly, "permission denied", os.Geteuid() == 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.skip {
				t.Skip("root may write everything")
			}
			m := &progress.Markdown{Path: tt.path}
			err := m.Append(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.path) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// What could not be written is written with the next event.
func TestMarkdownTriesAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "later")
	m := &progress.Markdown{Path: filepath.Join(dir, "progress.txt")}
	ended := ralph.Event{Kind: ralph.EventIterationEnded, Task: "T", Iteration: ralph.Iteration{Number: 1, Attempt: 1, Outcome: ralph.OutcomeSkipped}}
	if err := m.Append(t.Context(), ended); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := m.Append(t.Context(), ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 2, Attempt: 1}}); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	add(t, m, ralph.Event{Kind: ralph.EventLoopStopped})
	if got := readProgress(t, m.Path); len(got.Sections) != 1 || got.Sections[0].Status != ralph.OutcomeSkipped {
		t.Errorf("%+v", got)
	}
}

// TestMarkdownOfManyLoops has loops append at the same time.
func TestMarkdownOfManyLoops(t *testing.T) {
	t.Parallel()
	m := &progress.Markdown{Path: filepath.Join(t.TempDir(), "progress.txt")}
	const loops, each = 8, 5
	var wg sync.WaitGroup
	for i := range loops {
		wg.Go(func() {
			loop := fmt.Sprintf("L%d", i)
			s := ralph.Start(ralph.Task{ID: loop, Title: "many"})
			add(t, m, ralph.Event{Kind: ralph.EventLoopStarted, Loop: loop, Task: loop, State: &s})
			for n := range each {
				add(t, m, ralph.Event{Kind: ralph.EventIterationEnded, Loop: loop, Task: loop, Iteration: ralph.Iteration{Number: n + 1, Attempt: 1, Outcome: ralph.OutcomeSuccess}})
			}
		})
	}
	wg.Wait()
	tasks := map[string]int{}
	for i, s := range readProgress(t, m.Path).Sections {
		if s.Number != i+1 {
			t.Errorf("section %d has the number %d", i+1, s.Number)
		}
		tasks[s.Task]++
	}
	for task, n := range tasks {
		if n != each {
			t.Errorf("%d sections of %s", n, task)
		}
	}
	if len(tasks) != loops {
		t.Errorf("%d tasks", len(tasks))
	}
}

// attempt adds a loop's start and an attempt that settles its iteration.
func attempt(tb testing.TB, log ralph.ProgressLog, number int, outcome ralph.Outcome) {
	tb.Helper()
	at := time.Date(2026, 1, 18, 9, 0, 0, 0, time.UTC)
	add(tb, log, ralph.Event{Kind: ralph.EventLoopStarted, Time: at, Task: "T",
		State: &ralph.State{Iteration: number, Attempt: 1, Task: ralph.Task{ID: "T", Title: "Title", Limits: ralph.Limits{Iterations: number}}}})
	add(tb, log, ralph.Event{Kind: ralph.EventIterationEnded, Time: at, Task: "T",
		Iteration: ralph.Iteration{Number: number, Attempt: 1, Start: at, End: at, Outcome: outcome}})
}

func add(tb testing.TB, log ralph.ProgressLog, ev ralph.Event) {
	tb.Helper()
	if err := log.Append(tb.Context(), ev); err != nil {
		tb.Errorf("%s: %v", ev.Kind, err)
	}
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func read(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func readProgress(tb testing.TB, path string) progress.Progress {
	tb.Helper()
	p, err := progress.ReadMarkdown(strings.NewReader(read(tb, path)))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
