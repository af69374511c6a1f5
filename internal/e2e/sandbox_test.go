//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
)

// The clients do their work inside a sandbox, in which they may write to their own
// folders, and write nothing outside, whatever the model has them do.
func TestE2ESandbox(t *testing.T) {
	outside := t.TempDir()
	script := func(dir string) []modelserver.Turn {
		return []modelserver.Turn{
			{Shell: "echo x >" + filepath.Join(outside, "theirs")},
			{Write: helloIn(dir)},
			{Text: claim},
		}
	}
	eachAgent(t, script, func(e *e2eRun) {
		c := e.command()
		c.Sandbox = &ralph.Sandbox{Write: []string{e.home}, PIDs: true, Require: true}
		s, log, err := e.run(e.context(), c, ralph.Limits{})
		if len(log.ended) > 0 && strings.Contains(log.ended[0].Error, "sandbox: it is required, but") {
			e.Logf("not on this system: %s", log.ended[0].Error)
			return
		}
		if err != nil || s.Stop != ralph.StopVerified || s.Iteration != 1 {
			e.Errorf("stopped: %s in iteration %d, %v", s.Stop, s.Iteration, err)
		}
		if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
			e.Errorf("outside, there are %v, %v", entries, err)
		}
	})
}
