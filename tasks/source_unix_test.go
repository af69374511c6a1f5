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

// TestDocumentsPipe: a pipe is no document.
func TestDocumentsPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "spec.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tasks.Documents(filepath.Join(dir, "tasks.md")); got != nil {
		t.Error(got)
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
