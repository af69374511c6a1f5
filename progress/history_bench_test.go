package progress_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/progress"
)

// many writes the journals of many loops: copies of one, under names of the same length.
func many(tb testing.TB, n int) *progress.Dir {
	tb.Helper()
	dir := recorded(tb, pastLoop{name: "loop-00000", agent: "coder", method: "external", criteria: 3, rejected: []string{"lint fails", "the tests fail"}})
	journal, err := os.ReadFile(dir.File("loop-00000"))
	if err != nil {
		tb.Fatal(err)
	}
	for i := 1; i < n; i++ {
		name := fmt.Sprintf("loop-%05d", i)
		if err := os.WriteFile(dir.File(name), bytes.ReplaceAll(journal, []byte("loop-00000"), []byte(name)), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// TestHistoryOfMany: 10,000 loops.
func TestHistoryOfMany(t *testing.T) {
	t.Parallel()
	const n = 10_000
	h := historyOf(t, many(t, n))
	s := h.Stats[0]
	if s.Loops != n || s.Verified != n || h.Skipped != 0 || s.Iterations(95, 6) != 6 || len(s.Rejections) != 2 || s.Rejections[0].Loops != n {
		t.Errorf("%+v", h)
	}
}

// BenchmarkHistory reads the journals of 1,000 loops of three iterations each; the floor
// reads the same files and does nothing with them.
func BenchmarkHistory(b *testing.B) {
	dir := many(b, 1000)
	b.Run("history", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if h := historyOf(b, dir); h.Stats[0].Loops != 1000 {
				b.Fatalf("%+v", h)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		files, err := filepath.Glob(filepath.Join(dir.Path, "*.jsonl"))
		if err != nil || len(files) != 1000 {
			b.Fatal(len(files), err)
		}
		for b.Loop() {
			for _, path := range files {
				if _, err := os.ReadFile(path); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
