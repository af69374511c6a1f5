package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHeldOutIsBounded: more than the check can need is not copied.
func TestHeldOutIsBounded(t *testing.T) {
	t.Parallel()
	for name, have := range map[string]duplicate{
		"files": {files: maxCopied - 1},
		"bytes": {bytes: maxCopiedBytes - 1},
	} {
		work, temp := t.TempDir(), t.TempDir()
		for _, name := range []string{"a", "b"} {
			if err := os.WriteFile(filepath.Join(work, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d, err := copyWorkspace(t.Context(), temp, work, nil, nil)
		if err != nil || d.files != 2 || d.bytes != 2 {
			t.Fatalf("%s: %+v, %v", name, d, err)
		}
		have.workspaceTop, have.top, have.done = work, t.TempDir(), map[string]bool{".": true}
		if have.from, err = os.OpenRoot(have.workspaceTop); err != nil {
			t.Fatal(err)
		}
		defer have.from.Close()
		if have.to, err = os.OpenRoot(have.top); err != nil {
			t.Fatal(err)
		}
		defer have.to.Close()
		if err := have.one(t.Context(), "a"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := have.one(t.Context(), "b"); err == nil || !strings.Contains(err.Error(), ".gitignore") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
