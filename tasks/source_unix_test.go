//go:build unix

package tasks_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph/tasks"
)

// TestSourcePipe: a pipe, which would block, is refused.
func TestSourcePipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe.md")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := tasks.ListFile{Path: pipe}.Items(t.Context())
	if err == nil || !strings.Contains(err.Error(), pipe+" is not a regular file") {
		t.Error(err)
	}
	for name, err := range map[string]error{"KindOf": kindError(pipe), "OpenSource": openError(pipe), "Tick": tasks.ListFile{Path: pipe}.Tick("T001"), "prd Tick": tasks.PRDFile{Path: pipe}.Tick("A")} {
		if err == nil || !strings.Contains(err.Error(), pipe+" is not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func kindError(path string) error {
	_, err := tasks.KindOf(path)
	return err
}

func openError(path string) error {
	_, err := tasks.OpenSource(path)
	return err
}
