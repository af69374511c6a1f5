package progress_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// BenchmarkDirAppend records an event of 500 bytes, durably, and writes and syncs
// as many bytes to a file that is open.
func BenchmarkDirAppend(b *testing.B) {
	dir := &progress.Dir{Path: b.TempDir()}
	defer dir.Close()
	s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1 << 30}})
	ev := ralph.Event{Kind: ralph.EventLoopStarted, Loop: "T", State: &s}
	add(b, dir, ev)
	size := func() int64 {
		info, err := os.Stat(dir.File("T"))
		if err != nil {
			b.Fatal(err)
		}
		return info.Size()
	}
	ev = ralph.Event{V: 1, Kind: ralph.EventIterationEnded, Loop: "T", Task: "T", Iteration: ralph.Iteration{Number: 1, Attempt: 1, Outcome: ralph.OutcomeSuccess,
		Model: "some-model-1", Session: "3f0c6f6e-8f6d-4d7b-9a51-0b4f5a8e2c11", Files: []string{"cmd/main.go", "internal/store/store.go", "internal/store/store_test.go"},
		Learnings: []string{"The store is opened once, and closed by who has opened it."}, Workspace: strings.Repeat("0123456789abcdef", 4)}}
	was := size()
	add(b, dir, ev)
	line := size() - was
	if line < 450 || line > 800 {
		b.Fatalf("a line has %d bytes", line)
	}
	f, err := os.OpenFile(filepath.Join(dir.Path, "floor"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	text := []byte(strings.Repeat("x", int(line)))
	var journal, floor []time.Duration // in turns, for disks are slow at times
	for b.Loop() {
		ev.Iteration.Number++
		start := time.Now()
		add(b, dir, ev)
		middle := time.Now()
		_, err := f.Write(text)
		if err := errors.Join(err, f.Sync()); err != nil {
			b.Fatal(err)
		}
		journal, floor = append(journal, middle.Sub(start)), append(floor, time.Since(middle))
	}
	slices.Sort(journal)
	slices.Sort(floor)
	median, least := journal[len(journal)/2], floor[len(floor)/2]
	b.ReportMetric(float64(median), "ns-median")
	b.ReportMetric(float64(least), "ns-floor")
	b.ReportMetric(float64(median)/float64(least), "x-floor")
	b.ReportMetric(float64(line), "bytes/line")
}

// BenchmarkDirAppendNoSync records an event of 500 bytes, and leaves it to the system when to
// write it to the disk.
func BenchmarkDirAppendNoSync(b *testing.B) {
	dir := &progress.Dir{Path: b.TempDir(), NoSync: true}
	defer dir.Close()
	s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})
	add(b, dir, ralph.Event{Kind: ralph.EventLoopStarted, Loop: "T", State: &s})
	for b.Loop() {
		add(b, dir, ralph.Event{V: 1, Kind: ralph.EventRunning, Loop: "T", Text: strings.Repeat("x", 250)})
	}
}

// longJournal makes a journal of so many events.
func longJournal(b *testing.B, events int) *progress.Dir {
	b.Helper()
	dir := &progress.Dir{Path: b.TempDir(), NoSync: true}
	s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Iterations: events}})
	add(b, dir, ralph.Event{V: 1, Kind: ralph.EventLoopStarted, Loop: "T", State: &s})
	for n := 1; n < events; n++ {
		it := ralph.Iteration{Number: (n + 2) / 3, Attempt: 1}
		ev := ralph.Event{V: 1, Loop: "T", Task: "T", Kind: ralph.EventIterationStarted, Iteration: it}
		switch n % 3 {
		case 2:
			ev.Kind, ev.Answer = ralph.EventAnswered, &ralph.Response{Output: strings.Repeat("I have worked. ", 30)}
		case 0:
			ev.Kind, ev.Iteration.Files, ev.Iteration.Outcome = ralph.EventIterationEnded, []string{"a.go", "b.go"}, ralph.OutcomeSuccess
		}
		add(b, dir, ev)
	}
	if err := dir.Close(); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkDirOpen opens a journal of 100,000 events, and decodes as many lines.
func BenchmarkDirOpen(b *testing.B) {
	dir := longJournal(b, 100_000)
	b.Run("journal", func(b *testing.B) {
		for b.Loop() {
			j, err := dir.Open("T")
			if err != nil || j.State.Iteration < 33_000 {
				b.Fatal(err)
			}
			if err := j.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			f, err := os.Open(dir.File("T"))
			if err != nil {
				b.Fatal(err)
			}
			lines := bufio.NewReaderSize(f, 64<<10)
			for {
				text, err := lines.ReadSlice('\n')
				if err != nil {
					break
				}
				var line struct{ Event ralph.Event }
				if err := json.Unmarshal(text, &line); err != nil {
					b.Fatal(err)
				}
			}
			f.Close()
		}
	})
}

// BenchmarkDirLoops lists 10,000 loops, and reads as many files.
func BenchmarkDirLoops(b *testing.B) {
	const loops = 10_000
	for _, over := range []bool{true, false} {
		dir := &progress.Dir{Path: b.TempDir(), NoSync: true}
		for n := range loops {
			s := ralph.Start(ralph.Task{ID: fmt.Sprintf("T%05d", n), Prompt: strings.Repeat("Do it. ", 50)})
			ev := ralph.Event{V: 1, Loop: s.Loop, Task: s.Task.ID}
			record := func(kind ralph.EventKind, state *ralph.State) {
				ev.Kind, ev.State = kind, state
				add(b, dir, ev)
			}
			record(ralph.EventLoopStarted, &s)
			for i := 1; i <= 3; i++ {
				ev.Iteration = ralph.Iteration{Number: i, Attempt: 1, Claimed: i == 3, Verdict: ralph.Verdict{Passed: i == 3}}
				record(ralph.EventIterationStarted, nil)
				ev.Answer = &ralph.Response{Output: strings.Repeat("I have worked. ", 30)}
				record(ralph.EventAnswered, nil)
				ev.Answer = nil
				record(ralph.EventIterationEnded, nil)
				s = s.Next(ev.Iteration)
			}
			if over {
				record(ralph.EventLoopStopped, &s)
			}
			if err := dir.Close(); err != nil {
				b.Fatal(err)
			}
		}
		name := "of loops that are over/"
		if !over {
			name = "of loops that are not/"
		}
		b.Run(name+"loops", func(b *testing.B) {
			for b.Loop() {
				n := 0
				for e, err := range dir.Loops(b.Context()) {
					if err != nil || over != e.State.Done() {
						b.Fatal(e, err)
					}
					n++
				}
				if n != loops {
					b.Fatal(n)
				}
			}
		})
		b.Run(name+"floor", func(b *testing.B) {
			for b.Loop() {
				files, err := os.ReadDir(dir.Path)
				if err != nil {
					b.Fatal(err)
				}
				for _, f := range files {
					if _, err := os.ReadFile(filepath.Join(dir.Path, f.Name())); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
