package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/progress"
)

// TestUsage: what cannot be shown, and where, is told before anything is drawn.
func TestUsage(t *testing.T) {
	t.Parallel()
	const lines = "board: it needs a terminal to draw on; 'ralph status --watch' prints lines\n"
	for _, tt := range []struct {
		name, term string
		args       []string
		status     int
		want       string
	}{
		{"no terminal", "xterm", nil, 2, lines},
		{"a dumb one", "dumb", nil, 2, lines},
		{"two workspaces", "xterm", []string{"a", "b"}, 2, "board: it takes one WORKSPACE or --demo; board -h tells more\n"},
		{"a demo of a workspace", "xterm", []string{"--demo", "a"}, 2, "board: it takes one WORKSPACE or --demo; board -h tells more\n"},
	} {
		var stdout, stderr bytes.Buffer
		status := run(context.Background(), tt.args, &stdout, &stderr, func(string) string { return tt.term })
		if diff := cmp.Diff(tt.want, stderr.String()); diff != "" || status != tt.status || stdout.Len() > 0 {
			t.Errorf("%s: status %d, %s", tt.name, status, diff)
		}
	}
	if status := run(context.Background(), []string{"-h"}, &bytes.Buffer{}, &bytes.Buffer{}, os.Getenv); status != 0 {
		t.Error(status)
	}
}

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
		is(t, tt.named, tt.of)
	}
	if err := os.Mkdir(filepath.Join(top, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	is(t, "", top)
	if _, err := records(filepath.Join(top, "gone")); err == nil {
		t.Error("a workspace that is not there has records")
	}
}

func is(t *testing.T, named, of string) {
	t.Helper()
	want, err := progress.WorkspaceDir(of)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := records(named); err != nil || got.Path != want.Path {
		t.Errorf("%q: %v, %v, want %s", named, got, err, want.Path)
	}
}

// TestDemo: it begins, is on record, and leaves nothing behind.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir, end, err := demo(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(dir.Path)); !os.IsNotExist(err) {
		t.Error(err)
	}
}
