//go:build unix

package spec_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph/tasks/spec"
)

// A pipe would block for ever, and a folder holds no text.
func TestLoadIrregular(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: "is a directory", pipe: "is not a regular file"} {
		if _, err := spec.Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
