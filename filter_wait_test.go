package ralph

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// TestFilterHangs: a filter that does not read, or does not end, holds nothing up
// for longer than its patience, and is ended with all it started.
func TestFilterHangs(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"does not read": 1 << 20, "does not end": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &filter{name: "F", args: []string{"/bin/sh", "-c", "sleep 300; cat"}, out: &bytes.Buffer{}, patience: 20 * time.Millisecond}
			if err := f.start(t.Context(), t.TempDir()); err != nil {
				t.Fatal(err)
			}
			f.write(make([]byte, size))
			if err := f.wait(); err == nil || !strings.Contains(err.Error(), "F: it hung") {
				t.Error(err)
			}
		})
	}
}

// TestFilterInterrupted: once the run is to end, patience is short.
func TestFilterInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := &filter{name: "F", args: []string{"/bin/sh", "-c", "sleep 300"}, out: &bytes.Buffer{}, patience: time.Hour}
	if err := f.start(ctx, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	go cancel() // while it writes
	f.write(make([]byte, 1<<20))
	if err := f.wait(); err == nil {
		t.Error("it ended by itself")
	}
}
