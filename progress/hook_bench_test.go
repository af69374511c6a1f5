package progress_test

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
)

// hookStep is what an answer makes of a session: it is judged, and the next prompt is
// injected.
func hookStep(x ralph.HookState) (ralph.HookState, error) {
	it := ralph.Iteration{Number: x.State.Iteration, Attempt: x.State.Attempt, Outcome: ralph.OutcomeFailure, Claimed: true,
		Model: "some-model-1", Session: "3f0c6f6e-8f6d-4d7b-9a51-0b4f5a8e2c11", Verdict: ralph.Reject("a test fails")}
	x.State, x.Last = x.State.Next(it), it
	x.State.Running, x.Seen, x.Turn = true, x.Seen+2, "turn"
	return x, nil
}

// BenchmarkDirUpdate changes the state of a session, durably, and writes and syncs as many
// bytes to a file that is open; by a process that lives, and by a new one for each
// change, both for a session that has had 100 iterations.
func BenchmarkDirUpdate(b *testing.B) {
	for _, fresh := range []bool{false, true} {
		name := "long"
		if fresh {
			name = "fresh"
		}
		b.Run(name, func(b *testing.B) {
			dir := &progress.Dir{Path: b.TempDir()}
			update := func(change func(ralph.HookState) (ralph.HookState, error)) {
				if err := dir.Update(b.Context(), "s", change); err != nil {
					b.Fatal(err)
				}
			}
			size := func() int64 {
				info, err := os.Stat(dir.File("s"))
				if err != nil {
					b.Fatal(err)
				}
				return info.Size()
			}
			update(func(ralph.HookState) (ralph.HookState, error) {
				return ralph.HookState{State: ralph.Start(ralph.Task{Prompt: strings.Repeat("Do it. ", 100), Limits: ralph.Limits{Iterations: 1 << 30}})}, nil
			})
			for range 100 {
				update(hookStep)
			}
			was := size()
			update(hookStep)
			line := size() - was
			f, err := os.OpenFile(filepath.Join(dir.Path, "floor"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			text := []byte(strings.Repeat("x", int(line)))
			var updates, floor []time.Duration // in turns, for disks are slow at times
			for b.Loop() {
				start := time.Now()
				if fresh {
					dir = &progress.Dir{Path: dir.Path}
				}
				update(hookStep)
				middle := time.Now()
				_, err := f.Write(text)
				if err := errors.Join(err, f.Sync()); err != nil {
					b.Fatal(err)
				}
				updates, floor = append(updates, middle.Sub(start)), append(floor, time.Since(middle))
			}
			slices.Sort(updates)
			slices.Sort(floor)
			median, least := updates[len(updates)/2], floor[len(floor)/2]
			b.ReportMetric(float64(median), "ns-median")
			b.ReportMetric(float64(least), "ns-floor")
			b.ReportMetric(float64(median)/float64(least), "x-floor")
			b.ReportMetric(float64(line), "bytes/line")
		})
	}
}
