package ralph_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph"
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
