package git

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFiles lists what belongs to work trees; that ignored files do not is for
// git to say.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	sh(t, dir, `echo ignored >.gitignore; mkdir ignored; echo 1 >ignored/x; echo 1 >new; mkdir empty
		git init -q nest; echo 1 >nest/in; git init -q nest/deep; echo 1 >nest/deep/in
		git checkout -q -b other; echo 2 >sub/b; git add sub/b; git commit -qm 2; git checkout -q main; echo 3 >sub/b; git commit -qam 3; git merge -q other || true; rm a`)
	want := []string{".gitignore", "a", "nest/", "nest/deep/", "nest/deep/in", "nest/in", "new", "sub/b"}
	for _, from := range []string{".", "sub", "empty"} {
		top, got, err := Files(t.Context(), filepath.Join(dir, from))
		if err != nil || top != dir {
			t.Errorf("%s: %q, %v", from, top, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", from, diff)
		}
	}
	for _, from := range []string{filepath.Join(dir, "ignored"), t.TempDir()} {
		if top, got, err := Files(t.Context(), from); top != "" || got != nil || err != nil {
			t.Errorf("%s: %q, %q, %v", from, top, got, err)
		}
	}
	sh(t, dir, "echo [ >nest/.git/config")
	if top, got, err := Files(t.Context(), dir); err == nil {
		t.Errorf("a repository inside that is broken: %q, %q", top, got)
	}
}

// TestFilesStartsNothing: as with Look.
func TestFilesStartsNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range attacks() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			program, mark := evil(t)
			sh(t, dir, fmt.Sprintf("EVIL='%s'; MARK='%s'; TMP='%s'\n", program, mark, t.TempDir())+tt.script)
			os.Remove(mark)
			for _, from := range []string{".", "sub"} {
				if _, _, err := Files(t.Context(), filepath.Join(dir, from)); err != nil {
					t.Logf("%v", err)
				}
			}
			if exists(mark) {
				t.Error("the program was run")
			}
		})
	}
}

// TestNoGitNoFiles: without git, nothing is known of what belongs to a work tree.
func TestNoGitNoFiles(t *testing.T) {
	dir := repo(t)
	t.Setenv("PATH", t.TempDir())
	if top, got, err := Files(t.Context(), dir); top != "" || got != nil || err != nil {
		t.Errorf("%q, %q, %v", top, got, err)
	}
}
