package ralph_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

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

// BenchmarkLoop compares an iteration of an agent that does nothing with a plain
// spawn of it.
func BenchmarkLoop(b *testing.B) {
	dir := b.TempDir()
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("echo", "fine").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("iterate", func(b *testing.B) {
		l := &ralph.Local{Runner: &ralph.Command{Args: []string{"echo", "fine"}}, Verifier: verify.String{}}
		s := ralph.Start(ralph.Task{Prompt: "Go on.", Dir: dir})
		for b.Loop() {
			if it, err := l.Iterate(b.Context(), s); err != nil || it.Fault != "" {
				b.Fatal(it, err)
			}
		}
	})
}
