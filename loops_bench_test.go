package ralph_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// BenchmarkLoops runs 10,000 loops at once, of an agent that waits in the second
// iteration until all of them are there, with a log, and says what one costs.
func BenchmarkLoops(b *testing.B) {
	const n = 10_000
	for b.Loop() {
		begun, all := make(chan bool), make(chan bool)
		var held runtime.MemStats
		go func() {
			for range n {
				<-begun
			}
			runtime.GC()
			runtime.ReadMemStats(&held)
			close(all)
		}()
		l := &ralph.Local{Verifier: verify.String{}, Log: ralph.ProgressLogFunc(func(context.Context, ralph.Event) error { return nil }),
			Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil },
			Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
				if req.Iteration == 1 {
					return ralph.Response{Output: "So far."}, nil
				}
				begun <- true
				<-all
				return ralph.Response{Output: done}, nil
			})}
		states := make([]ralph.State, n)
		for i := range states {
			states[i] = ralph.Start(ralph.Task{Prompt: "Do it."})
			states[i].Base = "0" // git is not asked
		}
		for _, err := range ralph.RunAll(b.Context(), l, -1, states...) {
			if err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(held.StackInuse)/n/1024, "KiB-stack/loop")
		b.ReportMetric(float64(held.HeapInuse)/n/1024, "KiB-heap/loop")
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "µs/loop")
}
