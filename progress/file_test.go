package progress_test

import (
	"os"
	"path/filepath"
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
