package stream

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

// decode decodes data written in pieces of the given size; 0 = at once.
func decode(t testing.TB, format string, data []byte, size int, o Options) Result {
	t.Helper()
	d, err := New(format, o)
	if err != nil {
		t.Fatal(err)
	}
	if size == 0 {
		size = max(len(data), 1)
	}
	for len(data) > 0 {
		n := min(size, len(data))
		d.Write(data[:n])
		data = data[n:]
	}
	return d.Result()
}

// captured is about when the real clients printed what is in the files.
var captured = time.Date(2026, 11, 22, 13, 20, 0, 0, time.UTC)

func (r Result) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "text      %q\n", r.Text)
	cost := "unknown"
	if r.Usage.CostUSD != nil {
		cost = fmt.Sprintf("$%.6f", *r.Usage.CostUSD)
	}
	fmt.Fprintf(&b, "usage     requests %d, messages %d, input %d, output %d, cost %s\n",
		r.Usage.Requests, r.Usage.Messages, r.Usage.InputTokens, r.Usage.OutputTokens, cost)
	if r.Usage.CacheRead+r.Usage.CacheWrite > 0 {
		fmt.Fprintf(&b, "cache     read %d, write %d\n", r.Usage.CacheRead, r.Usage.CacheWrite)
	}
	fmt.Fprintf(&b, "session   %s, model %s\n", r.Session, r.Model)
	if len(r.Files) > 0 {
		fmt.Fprintf(&b, "files     %s\n", strings.Join(r.Files, ", "))
	}
	end := "no end event"
	switch {
	case r.Ended && r.Failed:
		end = "failed"
	case r.Ended:
		end = "ended well"
	}
	if r.Kind != Unknown {
		end += ", " + string(r.Kind)
	}
	if !r.ResetAt.IsZero() {
		end += " until " + r.ResetAt.Format(time.RFC3339)
	}
	if r.RetryAfter != 0 {
		end += " for " + r.RetryAfter.String()
	}
	if at := ResetTime(r.Words, captured, time.UTC); !at.IsZero() {
		end += " until, in words, " + at.Format(time.RFC3339)
	}
	fmt.Fprintf(&b, "end       %s\n", end)
	if r.Message != "" {
		fmt.Fprintf(&b, "message   %s\n", r.Message)
	}
	if r.Skipped > 0 {
		fmt.Fprintf(&b, "skipped   %d: %q\n", r.Skipped, r.LastSkipped)
	}
	return b.String()
}

// TestGolden decodes what real clients printed (captures) and what they are known
// to print (fixtures, written by hand), and compares what was understood with
// the .golden file of each folder, which -update rewrites. Every stream is
// decoded twice: at once, and byte by byte. A file's name begins with its format.
func TestGolden(t *testing.T) {
	t.Parallel()
	for folder, least := range map[string]int{"captures": 30, "fixtures": 28} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob("testdata/" + folder + "/*.ndjson")
			if err != nil || len(files) < least {
				t.Fatalf("%d files, %v", len(files), err)
			}
			var got strings.Builder
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				format, _, _ := strings.Cut(filepath.Base(file), "-")
				once := decode(t, format, data, 0, Options{})
				if diff := cmp.Diff(once, decode(t, format, data, 1, Options{})); diff != "" {
					t.Errorf("%s: at once and byte by byte differ (-once +bytes):\n%s", file, diff)
				}
				fmt.Fprintf(&got, "== %s\n%s\n", filepath.Base(file), once.describe())
			}
			golden := "testdata/" + folder + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
