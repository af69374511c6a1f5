package progress_test

import (
	"os"
	"path/filepath"
	"testing"
)

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
