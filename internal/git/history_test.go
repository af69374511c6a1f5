package git

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// TestText: a file as it is in a commit, whatever lies in the work tree, and not more than
// is bearable.
func TestText(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	commit := next(t, dir, `printf 'one\n' >'*'; printf two >aa; ln -s a link; truncate -s 16M full; truncate -s 16777217 big`)
	r := openRepo(t, dir)
	for path, want := range map[string]string{"*": "one\n", "aa": "two", "full": strings.Repeat("\x00", 16<<20)} {
		if got, err := r.Text(t.Context(), commit, path); err != nil || string(got) != want {
			t.Errorf("%s: %.20q, %v", path, got, err)
		}
	}
	for path, missing := range map[string]bool{"none": true, "sub": true, "sub/none": true, "link": false, "big": false} {
		if got, err := r.Text(t.Context(), commit, path); err == nil || got != nil || errors.Is(err, fs.ErrNotExist) != missing {
			t.Errorf("%s: %.20q, %v", path, got, err)
		}
	}
}
