package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
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
