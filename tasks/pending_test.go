package tasks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/tasks"
)

func TestPendingFile(t *testing.T) {
	t.Parallel()
	f := tasks.PendingFile{Path: filepath.Join(t.TempDir(), "a", "pending.json"), Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[hidden]") }}
	load := func(want map[string]string) {
		t.Helper()
		got, err := f.Load()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	load(nil) // there is none
	for _, pending := range []map[string]string{{"T1": "no", "T2": ""}, {}} {
		if err := f.Keep(pending); err != nil {
			t.Fatal(err)
		}
		load(pending)
	}
	given := map[string]string{"T1": "the password is hunter2"}
	if err := f.Keep(given); err != nil || given["T1"] != "the password is hunter2" {
		t.Errorf("%v, %v", given, err)
	}
	load(map[string]string{"T1": "the password is [hidden]"})
	if info, err := os.Stat(f.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	// The process died when the file was made and nothing was in it yet.
	for text, wrong := range map[string]bool{"": false, "{": true, "[1]": true} {
		if err := os.WriteFile(f.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Load(); (err != nil) != wrong || wrong && !strings.Contains(err.Error(), f.Path) || got != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
