package git

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestDirtyAtOnce: a file that was changed in the second in which git last looked at it,
// to something as long, is dirty. Git knows such files by the time of its index.
func TestDirtyAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	before := time.Now().Add(-10 * time.Second).Truncate(time.Second)
	write := func(text string, also ...string) {
		t.Helper()
		err := os.WriteFile(name, []byte(text), 0o600)
		for _, name := range append(also, name) {
			if err == nil {
				err = os.Chtimes(name, before, before)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sh(t, dir, "git init -q -b main && git config user.name T && git config user.email t@example.com && git commit -q --allow-empty -m first")
	write("a\n")
	sh(t, dir, "git add a && git commit -qm second")
	write("b\n", filepath.Join(dir, ".git", "index"))
	r := openRepo(t, dir)
	if dirty, err := r.Dirty(t.Context(), func(string) bool { return false }); err != nil || !slices.Equal(dirty, []string{"a"}) {
		t.Errorf("%q, %v", dirty, err)
	}
}
