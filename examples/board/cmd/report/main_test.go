package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestRun: the page is written as a whole, for this user alone; what is in the way stays;
// mistakes are told on one line.
func TestRun(t *testing.T) {
	t.Parallel()
	state, work := t.TempDir(), t.TempDir()
	dir := &progress.Dir{Path: state, NoSync: true}
	j, err := dir.Create(ralph.Start(ralph.Task{ID: "T1", Agent: "coder", Prompt: "Do it."}), progress.KindLoop)
	if err == nil {
		err = errors.Join(j.Begin(t.Context(), false), j.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(work, name) }
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		stdout string // how it begins
		stderr string // what it holds
	}{
		{"written", []string{"--state", state, "--out", at("a.html"), "T1.coder"}, 0, at("a.html") + "\n", ""},
		{"over what is there", []string{"--state", state, "--out", at("old.html"), "T1"}, 0, at("old.html") + "\n", ""},
		{"to the standard output", []string{"--state", state, "--out", "-", "T1"}, 0, "<!DOCTYPE html>", ""},
		{"no such loop", []string{"--state", state, "--out", at("b.html"), "T\x1b[31m2"}, 1, "", `nothing is on record of "T\x1b[31m2"`},
		{"a folder is there", []string{"--state", state, "--out", at("folder"), "T1"}, 1, "", "is no regular file"},
		{"no folder", []string{"--state", state, "--out", at("none/a.html"), "T1"}, 1, "", "no such file"},
		{"no ID", []string{"--state", state}, 2, "", "report -h tells more"},
		{"both", []string{"--state", state, "--workspace", work, "T1"}, 2, "", "report -h tells more"},
		{"an unknown flag", []string{"--sate", state, "T1"}, 2, "", "usage: report"},
		{"help", []string{"-h"}, 0, "", "usage: report"},
	} {
		if tt.name == "no folder" && runtime.GOOS == "windows" {
			continue // it says so in other words
		}
		if err := os.WriteFile(at("old.html"), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(at("folder"), 0o755); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr strings.Builder
		status := run(t.Context(), tt.args, &stdout, &stderr)
		if status != tt.status || !strings.HasPrefix(stdout.String(), tt.stdout) || tt.stdout == "" && stdout.Len() > 0 || !strings.Contains(stderr.String(), tt.stderr) || tt.stderr == "" && stderr.Len() > 0 {
			t.Errorf("%s: %d %q %q", tt.name, status, stdout.String(), stderr.String())
		}
		if tt.name != "over what is there" {
			continue
		}
		page, err := os.ReadFile(at("old.html"))
		info, bad := os.Stat(at("old.html"))
		if err != nil || bad != nil || !strings.HasPrefix(string(page), "<!DOCTYPE html>") || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v %v", err, bad, info.Mode())
		}
	}
	left, err := filepath.Glob(at(".report-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v %v are left", err, left)
	}
}

// TestFileName: the name of a loop makes the name of a file, in the folder that is meant.
func TestFileName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"shop": "shop", "shop/T1.coder": "shop-T1.coder", "../x": "..-x", "a b\n\x1b": "a-b--", "日本": "--"} {
		if got := fileName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
