package ralph_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// BenchmarkAskRelay asks at a stop without a promise, and gets the next prompt, with the
// state in memory and on disk; and writes and syncs as many bytes as the disk gets for it
// to a file that is open, once.
func BenchmarkAskRelay(b *testing.B) {
	dir := &progress.Dir{Path: b.TempDir()}
	for name, store := range map[string]ralph.Store{"memory": &ralph.MemoryStore{}, "disk": dir} {
		b.Run(name, func(b *testing.B) {
			r := &relayed{Relay: &ralph.Relay{Session: "s", Client: "c"}}
			r.Hook = &ralph.Hook{Store: store, Verifier: verify.String{}, Inject: r.Inject, Notify: r.Notify, Delay: -1}
			if _, err := r.Hook.Start(b.Context(), "s", ralph.Task{Prompt: strings.Repeat("Do it. ", 100), Limits: ralph.Limits{Iterations: 1 << 30}}); err != nil {
				b.Fatal(err)
			}
			r.listen(b)
			size := func() int64 { info, _ := os.Stat(dir.File("s")); return info.Size() }
			stop := func() {
				if got := r.stop(b, "I go on.", 0); !strings.Contains(got.Prompt, "ITERATION") {
					b.Fatalf("%+v", got)
				}
			}
			stop()
			line := 4096
			if name == "disk" {
				was := size()
				stop()
				stop() // the one before is on record now
				line = int(size()-was) / 2
			}
			f, err := os.Create(filepath.Join(b.TempDir(), "floor"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			text := []byte(strings.Repeat("x", line))
			var asked, floor []time.Duration // in turns, for disks are slow at times
			for b.Loop() {
				start := time.Now()
				stop()
				middle := time.Now()
				_, err := f.Write(text)
				if err := errors.Join(err, f.Sync()); err != nil {
					b.Fatal(err)
				}
				asked, floor = append(asked, middle.Sub(start)), append(floor, time.Since(middle))
			}
			slices.Sort(asked)
			slices.Sort(floor)
			median, least := asked[len(asked)/2], floor[len(floor)/2]
			b.ReportMetric(float64(median), "ns-median")
			b.ReportMetric(float64(least), "ns-floor")
			b.ReportMetric(float64(median)/float64(least), "x-floor")
			b.ReportMetric(float64(line), "bytes/stop")
		})
	}
}
