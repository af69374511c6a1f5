package progress_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/progress"
)

// TestFileOwn: a file of ours is put among those of others, and taken away; theirs stays.
func TestFileOwn(t *testing.T) {
	t.Parallel()
	f := progress.File{Path: filepath.Join(t.TempDir(), "commands", "x.md")}
	for _, tt := range []struct {
		put         bool
		there, left string
		exists      bool
	}{
		{false, "", "", false},
		{true, "", "ours", false},
		{true, "ours", "ours", false},
		{false, "ours", "", false},
		{true, "theirs", "theirs", true},
		{false, "theirs", "theirs", false},
		{true, "ours and theirs", "ours and theirs", true},
	} {
		if tt.there != "" {
			if err := os.WriteFile(f.Path, []byte(tt.there), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Own("ours", tt.put); errors.Is(err, fs.ErrExist) != tt.exists || err != nil && !tt.exists {
			t.Errorf("%+v: %v", tt, err)
		}
		if got, _ := os.ReadFile(f.Path); string(got) != tt.left {
			t.Errorf("%+v: left %q", tt, got)
		}
	}
}
