//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/progress"
)

// TestREADME: the walk-through does what it says, command for command.
func TestREADME(t *testing.T) {
	readme := text(t, "README.md")
	_, after, _ := strings.Cut(readme, "```sh\n")
	script, _, found := strings.Cut(after, "```")
	if !found || strings.Count(script, "api ") < 11 {
		t.Fatalf("the walk-through: %s", script)
	}
	lines := fmt.Sprintf(" %d lines of Go", lines(t))
	if !strings.Contains(readme, lines) {
		t.Errorf("it does not say%s", lines)
	}
	w := newWorld(t)
	args := []string{"-addr", "127.0.0.1:0", "-agent", "claude=cat >/dev/null; exec sleep 100", "-check", "test=go test ./...", w.folder}
	p := w.startWith(t, args, "RALPH_SERVICE_TOKEN="+secret)
	sh := exec.Command("sh", "-eu", "-c", script)
	sh.Env = append(os.Environ(), "SERVICE="+p.base, "FOLDER="+filepath.Join(w.folder, "shop"), "RALPH_SERVICE_TOKEN="+secret)
	sh.WaitDelay = time.Minute
	said, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for _, want := range []string{
		`"agents":["claude"]`, `"status":"running"`, `"cost_usd":5`, "Keep it short.", `"paused":true`, `"iterations":30`,
		`"kind":"cancelled"`, "no longer wanted", "id: ",
	} {
		if !strings.Contains(string(said), want) {
			t.Errorf("%s is missing in\n%s", want, said)
		}
	}
	p.waitFor("greet", progress.StatusCancelled)
}
