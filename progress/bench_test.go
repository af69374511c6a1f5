package progress_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// sized makes a progress.txt of about a size.
func sized(b *testing.B, size int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "progress.txt")
	attempt(b, &progress.Markdown{Path: path}, 1, ralph.OutcomeSuccess)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for n := 2; size > 0; n++ {
		k, err := fmt.Fprintf(w, "\n## Iteration %d - 2026-01-18T09:00:00Z\n**Task**: T001 Do it\n**Status**: ✅ Completed\n**Files Changed**: \n- a.go\n- b.go\n**Learnings**:\n- %s\n---\n", n, strings.Repeat("word ", 20))
		if err != nil {
			b.Fatal(err)
		}
		size -= k
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkAppend appends a section to logs of two sizes, which must cost the
// same, and compares it with the floor: a file is opened, one byte read, the
// section written, the file closed.
func BenchmarkAppend(b *testing.B) {
	for _, tt := range []struct {
		name string
		size int
	}{{"1KB", 1 << 10}, {"100MB", 100 << 20}} {
		b.Run(tt.name+"/markdown", func(b *testing.B) {
			m := &progress.Markdown{Path: sized(b, tt.size)}
			ev := ralph.Event{Kind: ralph.EventIterationEnded, Task: "T", Time: time.Unix(1e9, 0),
				Iteration: ralph.Iteration{Attempt: 1, Outcome: ralph.OutcomeSkipped, Files: []string{"a.go"}, Learnings: []string{"Use the store"}}}
			for b.Loop() {
				ev.Iteration.Number++
				add(b, m, ev)
			}
		})
		b.Run(tt.name+"/floor", func(b *testing.B) {
			path := sized(b, tt.size)
			text := []byte("\n## Iteration 1 - 2001-09-09T01:46:40Z\n**Task**: T\n**Status**: ⏭️ Skipped\n**Files Changed**: \n- a.go\n**Learnings**:\n- Use the store\n---\n")
			for b.Loop() {
				f, err := os.OpenFile(path, os.O_APPEND|os.O_RDWR, 0)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.ReadAt(text[:1], 0); err != nil {
					b.Fatal(err)
				}
				if _, err := f.Write(text); err != nil {
					b.Fatal(err)
				}
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadMarkdown(b *testing.B) {
	text, err := os.ReadFile(sized(b, 10<<20))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if p, err := progress.ReadMarkdown(strings.NewReader(string(text))); err != nil || len(p.Sections) < 1000 {
			b.Fatal(len(p.Sections), err)
		}
	}
}

// discard counts bytes.
type discard struct{ n int64 }

func (d *discard) Write(p []byte) (int, error) {
	d.n += int64(len(p))
	return len(p), nil
}

func BenchmarkJSONL(b *testing.B) {
	d := &discard{}
	l := &progress.JSONL{W: d}
	s := ralph.Start(ralph.Task{Prompt: "Do it.", ID: "T"})
	add(b, l, ralph.Event{Kind: ralph.EventLoopStarted, Loop: "T", State: &s})
	ev := ralph.Event{Kind: ralph.EventIterationEnded, Loop: "T", Task: "T", Iteration: ralph.Iteration{Number: 1, Attempt: 1,
		Fault: ralph.FaultInterrupted, Outcome: ralph.OutcomeInterrupted, Files: []string{"a.go", "b.go"}}}
	for b.Loop() {
		add(b, l, ev)
		ev.Iteration.Attempt++
	}
	b.SetBytes(d.n / int64(b.N))
}
