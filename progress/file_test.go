package progress_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/progress"
)

// TestFile: what is deleted while a log is written is begun again, a torn line is
// ended, and where no file can be, that is known before anything is to be written.
func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := progress.File{Path: filepath.Join(dir, ".ralph", "log.jsonl")}
	write := func(text string) {
		t.Helper()
		if n, err := log.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	write("")
	write("one\n")
	if err := os.RemoveAll(filepath.Dir(log.Path)); err != nil {
		t.Fatal(err)
	}
	write("two, torn")
	write("three\n")
	got := map[string]string{}
	for _, name := range []string{"log.jsonl", ".gitignore"} {
		text, err := os.ReadFile(filepath.Join(dir, ".ralph", name))
		if err != nil {
			t.Fatal(err)
		}
		got[name] = string(text)
	}
	if diff := cmp.Diff(map[string]string{"log.jsonl": "two, torn\nthree\n", ".gitignore": "*\n"}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := (progress.File{Path: filepath.Join(dir, "none", "log.jsonl")}).Write(nil); err == nil {
		t.Error("a file in a folder that is not there can be written")
	}
}

// TestFileHiddenFromGit: git does not show what we write, also in a folder that was
// there, and it shows what others put there.
func TestFileHiddenFromGit(t *testing.T) {
	t.Parallel()
	session := func(path string) error {
		f, err := progress.File{Path: path}.Create()
		if err == nil {
			err = f.Close()
		}
		return err
	}
	line := func(path string) error { _, err := progress.File{Path: path}.Write([]byte("{}\n")); return err }
	for _, tt := range []struct {
		name   string
		there  map[string]string
		path   string
		write  func(path string) error
		ignore string   // the .gitignore afterwards; "" = none
		shown  []string // by git; a file "later" is put beside it first
	}{
		{"a new folder", nil, "logs/session-1.log", session, "*\n", nil},
		{"an empty folder", map[string]string{"logs/": ""}, "logs/session-1.log", session, "*\n", nil},
		{"a folder of sessions", map[string]string{"logs/session-0.log": ""}, "logs/session-1.log", session, "*\n", nil},
		{"a folder of others", map[string]string{"logs/app.log": "", "logs/session-0.log": ""}, "logs/session-1.log", session, "/session-*.log\n/.gitignore\n", []string{"logs/app.log", "logs/later"}},
		{"another log in a folder of others", map[string]string{"logs/app.log": ""}, "logs/a*[1].jsonl", session, "/a\\*\\[1].jsonl\n/.gitignore\n", []string{"logs/app.log", "logs/later"}},
		{"a folder that says something", map[string]string{"logs/.gitignore": "x\n"}, "logs/session-1.log", session, "x\n", []string{"logs/.gitignore", "logs/later", "logs/session-1.log"}},
		{"a folder that says nothing", map[string]string{".ralph/.gitignore": ""}, ".ralph/log.jsonl", line, "", []string{".ralph/.gitignore", ".ralph/later", ".ralph/log.jsonl"}},
		{"an empty .ralph", map[string]string{".ralph/": ""}, ".ralph/log.jsonl", line, "*\n", nil},
		{"our .ralph", map[string]string{".ralph/log.jsonl": ""}, ".ralph/log.jsonl", line, "*\n", nil},
		{"a .ralph with a configuration", map[string]string{".ralph/config": ""}, ".ralph/log.jsonl", line, "/log.jsonl\n/.gitignore\n", []string{".ralph/config", ".ralph/later"}},
		{"another folder", map[string]string{"out/": ""}, "out/session-1.log", session, "", []string{"out/later", "out/session-1.log"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			put := func(name, text string) {
				path := filepath.Join(top, name)
				err := os.MkdirAll(filepath.Dir(path), 0o700)
				if !strings.HasSuffix(name, "/") {
					err = errors.Join(err, os.WriteFile(path, []byte(text), 0o600))
				} else {
					err = errors.Join(err, os.MkdirAll(path, 0o700))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			git := func(args ...string) string {
				t.Helper()
				out, err := exec.Command("git", append([]string{"-C", top}, args...)...).CombinedOutput()
				if err != nil {
					t.Fatalf("git %v: %v: %s", args, err, out)
				}
				return string(out)
			}
			git("init", "-q")
			for name, text := range tt.there {
				put(name, text)
			}
			if err := tt.write(filepath.Join(top, tt.path)); err != nil {
				t.Fatal(err)
			}
			put(filepath.Join(filepath.Dir(tt.path), "later"), "")
			ignore, err := os.ReadFile(filepath.Join(top, filepath.Dir(tt.path), ".gitignore"))
			if string(ignore) != tt.ignore || err != nil && tt.ignore != "" {
				t.Errorf(".gitignore is %q, %v; want %q", ignore, err, tt.ignore)
			}
			var shown []string
			for line := range strings.SplitSeq(git("status", "--porcelain", "-uall"), "\n") {
				if line != "" {
					shown = append(shown, strings.TrimPrefix(line, "?? "))
				}
			}
			slices.Sort(shown)
			if diff := cmp.Diff(tt.shown, shown); diff != "" {
				t.Errorf("git status (-want +got):\n%s", diff)
			}
		})
	}
}
