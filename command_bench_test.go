package ralph_test

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// BenchmarkCommand compares a run of an agent that prints 100 MB with the floor
// in the same run: agent | cat > file.
func BenchmarkCommand(b *testing.B) {
	const size = 100 << 20
	for _, kind := range []string{"text", "json"} {
		mode := fmt.Sprintf("%s %d", kind, size)
		b.Run(kind+"/floor", func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				cmd := exec.Command("sh", "-c", `"$0" | cat > "$1"`, os.Args[0], filepath.Join(b.TempDir(), "out"))
				cmd.Env = append(os.Environ(), agentMode+"="+mode)
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(kind+"/command", func(b *testing.B) {
			format := ralph.FormatText
			if kind == "json" {
				format = ralph.FormatClaude
			}
			cmd := ralph.Command{Args: []string{os.Args[0]}, Env: []string{agentMode + "=" + mode}, Format: format}
			b.SetBytes(size)
			for b.Loop() {
				raw, err := os.Create(filepath.Join(b.TempDir(), "out"))
				if err != nil {
					b.Fatal(err)
				}
				resp, err := cmd.Run(b.Context(), ralph.Request{Prompt: "Go on.", Promise: "COMPLETE", Raw: raw})
				raw.Close()
				if err != nil || !ralph.FindPromise(resp.Output, "COMPLETE", ralph.MatchLastLine).Found {
					b.Fatal(err, len(resp.Output))
				}
			}
		})
	}
}

// beside measures ours and its floor in turns, since machines are noisy, and
// reports the ratio of their medians.
func beside(b *testing.B, floor, ours func() error) {
	var least, took []time.Duration
	measure := func(of *[]time.Duration, f func() error) {
		start := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		*of = append(*of, time.Since(start))
	}
	for b.Loop() {
		measure(&least, floor)
		measure(&took, ours)
	}
	slices.Sort(least)
	slices.Sort(took)
	n := len(least) / 2
	b.ReportMetric(float64(least[n].Microseconds()), "µs/floor")
	b.ReportMetric(float64(took[n].Microseconds()), "µs/ours")
	b.ReportMetric(float64(took[n])/float64(least[n]), "ratio")
}

// BenchmarkIteration compares an iteration of an agent that does nothing, in a git
// repository, with a plain spawn of it and one question to git.
func BenchmarkIteration(b *testing.B) {
	dir := gitRepo(b)
	l := &ralph.Local{Runner: &ralph.Command{Args: []string{"echo", "fine"}}, Verifier: verify.String{}}
	// A loop looks at the workspace once an iteration, which Iterate alone does not.
	next, stop := iter.Pull2(l.Events(b.Context(), ralph.Start(ralph.Task{Prompt: "Go on.", Dir: dir, Limits: ralph.Limits{Iterations: 1 << 30}})))
	defer stop()
	beside(b, func() error {
		status := exec.Command("git", "status", "--porcelain")
		status.Dir = dir
		return errors.Join(exec.Command("echo", "fine").Run(), status.Run())
	}, func() error {
		for {
			if ev, err, ok := next(); err != nil || !ok || ev.Kind == ralph.EventIterationEnded {
				return err
			}
		}
	})
}

// BenchmarkExternalTrue compares the check of a command that does nothing with a
// shell that runs it.
func BenchmarkExternalTrue(b *testing.B) {
	claim := ralph.Claim{Task: ralph.Task{Dir: b.TempDir()}, Promised: true}
	beside(b, func() error { return exec.Command("sh", "-c", "true").Run() }, func() error {
		v, err := verify.External{Args: []string{"true"}}.Verify(b.Context(), claim)
		if !v.Passed {
			b.Fatal(v)
		}
		return err
	})
}
