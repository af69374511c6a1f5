//go:build linux || darwin

package pipeline_test

import (
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/internal/file/filetest"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// TestRolePlaces: whatever stands in the place of a role, it is read or refused at once.
func TestRolePlaces(t *testing.T) {
	t.Parallel()
	const text = "Do it.\n"
	for _, p := range filetest.Places() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			p := p
			dir := t.TempDir()
			path := filepath.Join(dir, "coder.md")
			p.Put(t, path, text)
			p.Says = ""
			p.Check(t, filetest.Within(t, func() error { _, err := pipeline.Prompts{Dir: dir}.Load([]string{"coder"}); return err }), p.Read, path, text)
		})
	}
}
