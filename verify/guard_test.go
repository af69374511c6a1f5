package verify_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"maps"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// exam is a workspace with some files.
func exam(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a_test.go", "pkg/b_test.go", "pkg/deep/c_test.go", "pkg/b.go", "check.sh", "app/[id]/page.ts", ".git/x_test.go"} {
		write(t, filepath.Join(dir, name), name)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	dir := exam(t)
	script := filepath.Join(t.TempDir(), "check")
	write(t, script, "exit 0")
	for _, tt := range []struct {
		globs []string
		want  []string
	}{
		{[]string{"check.sh"}, []string{"check.sh"}},
		{[]string{"./check.sh"}, []string{"check.sh"}},
		{[]string{"*_test.go"}, []string{"*_test.go", "a_test.go"}},
		{[]string{"**/*_test.go"}, []string{"**/*_test.go", "a_test.go", "pkg/b_test.go", "pkg/deep/c_test.go"}},
		{[]string{"pkg/**/*.go"}, []string{"pkg/**/*.go", "pkg/b.go", "pkg/b_test.go", "pkg/deep/c_test.go"}},
		{[]string{"pkg/*"}, []string{"pkg/*", "pkg/b.go", "pkg/b_test.go"}},
		{[]string{"pkg/deep"}, []string{"pkg/deep/**", "pkg/deep/c_test.go"}},
		{[]string{"app/[id]/page.ts"}, []string{"app/[id]/page.ts"}},
		{[]string{"none/*.go"}, []string{"none/*.go"}},
		{[]string{script}, []string{script}},
	} {
		task, err := verify.Snapshot(ralph.Task{Dir: dir}, tt.globs...)
		if err != nil {
			t.Errorf("%q: %v", tt.globs, err)
		}
		want := slices.Clone(tt.want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(task.Guarded))); diff != "" {
			t.Errorf("%q: %s", tt.globs, diff)
		}
	}
	task, err := verify.Snapshot(ralph.Task{Dir: dir}, "check.sh")
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte("check.sh"))); err != nil || task.Guarded["check.sh"] != want {
		t.Errorf("%v, %v", task.Guarded, err)
	}
	// What was guarded stays guarded, with the hash it had.
	write(t, filepath.Join(dir, "check.sh"), "exit 0")
	again, err := verify.Snapshot(task, "check.sh", "pkg/b.go")
	if err != nil || again.Guarded["check.sh"] != task.Guarded["check.sh"] || len(again.Guarded) != 2 || len(task.Guarded) != 1 {
		t.Errorf("%v, %v", again.Guarded, err)
	}
}

func TestSnapshotErrors(t *testing.T) {
	t.Parallel()
	dir := exam(t)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret"), "x")
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, globs := range [][]string{
		nil, {""}, {" "}, {"missing.go"}, {"../secret"}, {"pkg/../../secret"}, {"[a"}, {"link"}, {filepath.Join(dir, "missing")}, {dir},
	} {
		task, err := verify.Snapshot(ralph.Task{Dir: dir}, globs...)
		if err == nil || task.Guarded != nil {
			t.Errorf("%q: %v, %v", globs, task.Guarded, err)
		}
	}
	// JSON would make another name of it.
	odd := exam(t)
	write(t, filepath.Join(odd, "a\xff_test.go"), "x")
	if task, err := verify.Snapshot(ralph.Task{Dir: odd}, "*_test.go"); err == nil || task.Guarded != nil {
		t.Errorf("a name that is not UTF-8: %v, %v", task.Guarded, err)
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	all := []string{"**/*_test.go", "check.sh"}
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, dir string)
		wrong  string // "" = accepted
	}{
		{"nothing", func(*testing.T, string) {}, ""},
		{"other files", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "pkg/b.go"), "new") }, ""},
		{"changed", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "pkg/b_test.go"), "new") }, "pkg/b_test.go was changed"},
		{"restored", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "a_test.go"), "new")
			write(t, filepath.Join(dir, "a_test.go"), "a_test.go")
		}, ""},
		{"vanished", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "check.sh")) }, "check.sh has vanished"},
		{"appeared", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "new/z_test.go"), "") }, "new/z_test.go has appeared"},
		{"a folder in its place", func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "check.sh"))
			os.Mkdir(filepath.Join(dir, "check.sh"), 0o755)
		}, "check.sh cannot be read any more"},
		{"a link out of the workspace in its place", func(t *testing.T, dir string) {
			copied := filepath.Join(t.TempDir(), "copy")
			write(t, copied, "check.sh")
			os.Remove(filepath.Join(dir, "check.sh"))
			os.Symlink(copied, filepath.Join(dir, "check.sh"))
		}, "check.sh cannot be read any more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := exam(t)
			task, err := verify.Snapshot(ralph.Task{Dir: dir}, all...)
			if err != nil {
				t.Fatal(err)
			}
			// As after a crash: the state is all that is left.
			text, err := json.Marshal(ralph.Start(task))
			if err != nil {
				t.Fatal(err)
			}
			tt.change(t, dir)
			var s ralph.State
			if err := json.Unmarshal(text, &s); err != nil {
				t.Fatal(err)
			}
			v, err := verify.Guard{Globs: all}.Verify(t.Context(), ralph.Claim{Task: s.Task, Promised: true})
			if err != nil || v.Passed != (tt.wrong == "") || !strings.Contains(v.Feedback, tt.wrong) {
				t.Errorf("%+v, %v", v, err)
			}
			if c := v.Checks[0]; c.Name != "guarded files" || !strings.HasPrefix(c.Digest, "sha256:") {
				t.Errorf("%+v", c)
			}
		})
	}
}

// TestGuardWhileVerified: what the verifier runs is the agent's work, and may
// not change the exam either.
func TestGuardWhileVerified(t *testing.T) {
	t.Parallel()
	dir := exam(t)
	task, err := verify.Snapshot(ralph.Task{Dir: dir}, "check.sh")
	if err != nil {
		t.Fatal(err)
	}
	g := verify.Guard{Verifier: verify.External{Shell: "echo exit 0 > check.sh"}}
	v, err := g.Verify(t.Context(), ralph.Claim{Task: task, Promised: true})
	if err != nil || v.Passed || !strings.Contains(v.Feedback, "while the claim was verified: ") {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestGuardAsksOn(t *testing.T) {
	t.Parallel()
	dir := exam(t)
	task, err := verify.Snapshot(ralph.Task{Dir: dir}, "check.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		g        verify.Guard
		promised bool
		passed   bool
	}{
		{verify.Guard{}, true, true},
		{verify.Guard{}, false, false},
		{verify.Guard{Verifier: says(ralph.Reject("no"), nil)}, true, false},
		{verify.Guard{Verifier: says(ralph.Pass(), context.DeadlineExceeded)}, true, false},
	} {
		if v, err := tt.g.Verify(t.Context(), ralph.Claim{Task: task, Promised: tt.promised}); v.Passed != tt.passed {
			t.Errorf("%+v: %+v, %v", tt.g, v, err)
		}
	}
	for _, c := range []struct {
		g    verify.Guard
		task ralph.Task
	}{{verify.Guard{}, ralph.Task{Dir: dir}}, {verify.Guard{Globs: []string{"*.go"}}, task}} {
		if v, err := c.g.Verify(t.Context(), ralph.Claim{Task: c.task, Promised: true}); err == nil || v.Passed {
			t.Errorf("without a snapshot: %+v, %v", v, err)
		}
	}
}
