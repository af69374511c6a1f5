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

// link makes a symbolic link in a workspace.
func link(t *testing.T, dir, name, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// TestGuardSeesWhatItNames: what is added below a name that is guarded is seen,
// whichever way leads there.
func TestGuardSeesWhatItNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		links map[string]string // beside the files of exam
		globs []string
		added string // "" = the link "new" to the folder pkg/deep
		seen  bool
	}{
		{"a file below a folder", nil, []string{"pkg"}, "pkg/deep/main_test.go", true},
		{"a file below a glob", nil, []string{"**/*_test.go"}, "pkg/main_test.go", true},
		{"a file beside one that is named", nil, []string{"a_test.go"}, "main_test.go", false},
		{"a folder that is a link", map[string]string{"exam": "pkg"}, []string{"exam"}, "pkg/deep/main_test.go", true},
		{"a folder that is an absolute link", map[string]string{"exam": "/pkg"}, []string{"exam"}, "pkg/deep/main_test.go", true},
		{"below a linked folder", map[string]string{"suite/exam": "../pkg/deep"}, []string{"suite"}, "pkg/deep/main_test.go", true},
		{"a glob over a linked folder", map[string]string{"suite/exam": "../pkg/deep"}, []string{"suite/*/*.go"}, "pkg/deep/main_test.go", true},
		{"a glob that only the link's name matches", map[string]string{"suite/tests": "../pkg/deep"}, []string{"**/tests/*.go"}, "pkg/deep/main_test.go", true},
		{"through two links", map[string]string{"suite": "other", "other/exam": "../pkg/deep"}, []string{"suite"}, "pkg/deep/main_test.go", true},
		{"a circle", map[string]string{"pkg/deep/up": "../../pkg", "pkg/self": "."}, []string{"pkg"}, "pkg/deep/main_test.go", true},
		{"a linked folder is added", nil, []string{"new/*.go"}, "", true},
		{"a linked folder is added below a folder", nil, []string{"**/new/*.go"}, "", true},
		{"a nested .ralph", nil, []string{"pkg"}, "pkg/.ralph/check.sh", true},
		{"the loop's own .ralph", nil, []string{"**"}, ".ralph/log.jsonl", false},
		{"the loop's own .ralph, named", nil, []string{".ralph"}, ".ralph/check.sh", true},
		{"a nested .git", nil, []string{"pkg"}, "pkg/.git/index", false},
		{"a nested .git, named", nil, []string{"**/.git/hooks/*"}, "pkg/.git/hooks/pre-commit", true},
		{".git, named", nil, []string{".git"}, ".git/hooks/pre-commit", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := exam(t)
			write(t, filepath.Join(dir, ".ralph/.gitignore"), "*")
			for name, to := range tt.links {
				if strings.HasPrefix(to, "/") {
					to = filepath.Join(dir, to)
				}
				link(t, dir, name, to)
			}
			task, err := verify.Guard{Globs: tt.globs}.Prepare(t.Context(), ralph.Task{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			claim := ralph.Claim{Task: task, Promised: true}
			if v, err := (verify.Guard{}).Verify(t.Context(), claim); err != nil || !v.Passed {
				t.Fatalf("before: %+v, %v", v, err)
			}
			if tt.added == "" {
				link(t, dir, "new", "pkg/deep")
			} else {
				write(t, filepath.Join(dir, tt.added), "exit 0")
			}
			v, err := verify.Guard{}.Verify(t.Context(), claim)
			if err != nil || v.Passed == tt.seen || tt.seen && !strings.Contains(v.Feedback, "has appeared") {
				t.Errorf("%v: %+v, %v", task.Guarded, v, err)
			}
		})
	}
}

// TestGuardLinksThatLeadOut: what lies outside the workspace cannot be watched
// for additions, so a glob that meets it is refused, at the start and later.
func TestGuardLinksThatLeadOut(t *testing.T) {
	t.Parallel()
	dir, outside := exam(t), t.TempDir()
	task, err := verify.Snapshot(ralph.Task{Dir: dir}, "**/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	link(t, dir, "pkg/out", outside)
	link(t, dir, "gone", "nowhere")
	v, err := verify.Guard{}.Verify(t.Context(), ralph.Claim{Task: task, Promised: true})
	if err != nil || v.Passed || !strings.Contains(v.Feedback, "pkg/out is a link to a folder outside the workspace") {
		t.Errorf("%+v, %v", v, err)
	}
	for glob, ok := range map[string]bool{"**/*_test.go": false, "pkg": false, "pkg/out": false, "*_test.go": true, "app/**": true, "pkg/*.go": true} {
		if _, err := verify.Snapshot(ralph.Task{Dir: dir}, glob); (err == nil) != ok {
			t.Errorf("%s: %v", glob, err)
		}
	}
}

// TestGuardManyWays: folders that are linked to each other over and over have more
// paths than can be walked.
func TestGuardManyWays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 40 {
		for j := range 3 {
			link(t, dir, fmt.Sprintf("%d/%d", i, j), fmt.Sprintf("../%d", i+1))
		}
	}
	write(t, filepath.Join(dir, "40/a_test.go"), "x")
	task, err := verify.Snapshot(ralph.Task{Dir: dir}, "**/*_test.go")
	if err != nil || len(task.Guarded) != 2 {
		t.Errorf("%v, %v", task.Guarded, err)
	}
}

func TestGuardHome(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	write(t, filepath.Join(home, ".npmrc"), "a=1")
	abs := filepath.Join(home, "tool.conf")
	for _, tt := range []struct {
		name, file, text string
		wrong            string
	}{
		{"nothing", ".other", "x", ""},
		{"changed", ".npmrc", "script-shell=x", "~/.npmrc was changed"},
		{"must stay absent", ".curlrc", "connect-to=x", "~/.curlrc has appeared"},
		{"absolute, must stay absent", "tool.conf", "x", abs + " has appeared"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			task, err := verify.Snapshot(ralph.Task{Dir: exam(t)}, "~/.npmrc", "~/.curlrc", abs)
			if err != nil || task.Guarded["~/.curlrc"] != "absent" || task.Guarded[abs] != "absent" || len(task.Guarded["~/.npmrc"]) != 64 {
				t.Fatalf("%v, %v", task.Guarded, err)
			}
			path := filepath.Join(home, tt.file)
			before, missing := os.ReadFile(path)
			write(t, path, tt.text)
			v, err := verify.Guard{}.Verify(t.Context(), ralph.Claim{Task: task, Promised: true})
			if err != nil || v.Passed != (tt.wrong == "") || !strings.Contains(v.Feedback, tt.wrong) {
				t.Errorf("%+v, %v", v, err)
			}
			if missing != nil {
				os.Remove(path)
			} else {
				write(t, path, string(before))
			}
		})
	}
}
