package git

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestWorkStartsNothing works in a repository whose configuration was rewritten since
// the start, by an agent, so that a program is run by whoever looks at it.
func TestWorkStartsNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range attacks() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			r := openRepo(t, dir)
			tree, other := add(t, r, "one"), add(t, r, "other")
			sh(t, tree.Dir, "echo '* filter=x' >.gitattributes; echo 3 >sub/b; echo n >n")
			program, mark := evil(t)
			sh(t, dir, fmt.Sprintf("EVIL='%s'; MARK='%s'; TMP='%s'\n", program, mark, t.TempDir())+tt.script)
			os.Remove(mark)
			told := func(err error) {
				if err != nil {
					t.Log(err)
				}
			}

			_, err := r.Tampered(t.Context())
			told(err)
			_, err = r.Dirty(t.Context(), OwnFile)
			told(err)
			c, _, err := tree.Commit(t.Context(), "work")
			told(err)
			if err == nil {
				from, err := r.Head(t.Context())
				told(err)
				m, err := r.Merge(t.Context(), from, c, "merge", map[string][]byte{"a": []byte("2\n")}, nil)
				told(err)
				told(tree.Checkout(t.Context(), m.Commit))
				told(tree.Back(t.Context()))
				told(r.Advance(t.Context(), from, m.Commit, []string{"a", ".gitattributes"}))
			}
			_, err = other.StartMerge(t.Context(), "main")
			told(err)
			told(other.Include(t.Context(), []string{"*"}))
			told(tree.Remove(t.Context()))
			_, err = r.Add(t.Context(), filepath.Join(filepath.Dir(tree.Dir), "two"), "ralph/two", "main")
			told(err)
			if exists(mark) {
				t.Error("the program was run")
			}
		})
	}
}
