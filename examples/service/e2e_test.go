//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
)

// TestE2EClaude: the real client, with a scripted model, writes the file in its second
// iteration.
func TestE2EClaude(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	root := os.Getenv("RALPH_AGENTS")
	if root == "" {
		root = filepath.Join(home, ".cache", "ralph-agents")
	}
	bin := filepath.Join(root, "node_modules", ".bin")
	if _, err := exec.LookPath(filepath.Join(bin, "claude")); err != nil {
		const how = "claude is not installed; .ci/install-agents does that"
		if os.Getenv("RALPH_E2E") != "" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	w := newWorld(t)
	dir := filepath.Join(w.folder, "shop")
	server, err := modelserver.Start(
		modelserver.Turn{Text: "All done.\n\n" + claim},
		modelserver.Turn{Text: "Now it is.", Write: &modelserver.File{Path: filepath.Join(dir, "hello.txt"), Content: "hello\n"}},
		modelserver.Turn{Text: "All done.\n\n" + claim},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	env, err := server.Env("claude", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := w.start(t, append(env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))...)
	l := p.listen(p.loop("", dir, "claude", "hello", nil), "")
	if ev := l.until(ralph.EventIterationEnded); !ev.Iteration.Claimed || ev.Iteration.Verdict.Passed {
		t.Errorf("the false claim: %+v", ev.Iteration)
	}
	if ev := l.until(ralph.EventLoopStopped); ev.State.Stop != ralph.StopVerified || ev.State.Iteration != 2 || ev.State.Usage.InputTokens == 0 {
		t.Errorf("it ended: %+v", ev.State)
	}
}
