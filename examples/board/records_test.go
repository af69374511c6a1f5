package board_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/progress"
)

// TestRecords: without a workspace it is the git work tree that the current folder is in,
// as for ralph.
func TestRecords(t *testing.T) {
	top := t.TempDir()
	below := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Chdir(below)
	for _, tt := range []struct{ named, of string }{{"", below}, {top, top}} {
		recordsAre(t, tt.named, tt.of)
	}
	if err := os.Mkdir(filepath.Join(top, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	recordsAre(t, "", top)
	if _, err := board.Records(filepath.Join(top, "gone")); err == nil {
		t.Error("a workspace that is not there has records")
	}
}

func recordsAre(t *testing.T, named, of string) {
	t.Helper()
	want, err := progress.WorkspaceDir(of)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := board.Records(named); err != nil || got.Path != want.Path {
		t.Errorf("%q: %v, %v, want %s", named, got, err, want.Path)
	}
}
