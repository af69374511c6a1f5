package git

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMerge: what two sides made of a file, and what becomes of it.
func TestMerge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, before, ours, theirs string
		put                        map[string][]byte
		drop                       []string
		want                       []string // conflicts
		files                      string   // in the merge, each with what it holds
	}{
		{name: "apart", ours: "echo 2 >a", theirs: "echo 2 >sub/b", files: "a:2 sub/b:2"},
		{name: "the same", ours: "echo 2 >a", theirs: "echo 2 >a", files: "a:2 sub/b:1"},
		{name: "the same line", ours: "echo 2 >a", theirs: "echo 3 >a", want: []string{"a"}},
		{name: "lines beside each other", before: "printf '1\\n2\\n' >a", ours: "printf 'x\\n2\\n' >a", theirs: "printf '1\\ny\\n' >a", want: []string{"a"}},
		{name: "lines apart", before: "seq 5 >a", ours: "sed -i s/1/x/ a", theirs: "sed -i s/5/y/ a", files: "a:x,2,3,4,y sub/b:1"},
		{name: "removed here", ours: "rm a", theirs: "echo 3 >a", want: []string{"a"}},
		{name: "removed there", ours: "echo 3 >a", theirs: "rm a", want: []string{"a"}},
		{name: "two names", ours: "git mv a x", before: "seq 9 >a", theirs: "git mv a y", want: []string{"a", "x", "y"}},
		{name: "new in both", ours: "echo 2 >'n n'", theirs: "echo 3 >'n n'", want: []string{"n n"}},
		{name: "a file and a folder", ours: "echo 2 >n", theirs: "mkdir n; echo 3 >n/n", want: []string{"n~OURS"}},
		{name: "dropped", ours: "echo 2 >a", theirs: "echo 3 >a; echo 3 >sub/b", drop: []string{"a"}, files: "a:2 sub/b:3"},
		{name: "dropped where only they changed it", ours: "echo 2 >sub/b", theirs: "echo 3 >a", drop: []string{"a"}, files: "a:1 sub/b:2"},
		{name: "dropped where they removed it", ours: "echo 2 >a", theirs: "git rm -q a; echo 3 >sub/b", drop: []string{"a"}, files: "a:2 sub/b:3"},
		{name: "dropped where they made it", ours: "echo 2 >a", theirs: "echo 3 >n; echo 3 >sub/b", drop: []string{"n"}, files: "a:2 sub/b:3"},
		{name: "put", ours: "echo 2 >a", theirs: "echo 3 >a", put: map[string][]byte{"a": []byte("4\n"), "n": []byte("5\n")}, files: "a:4 n:5 sub/b:1"},
		{name: "put beside a conflict", ours: "echo 2 >a; echo 2 >sub/b", theirs: "echo 3 >a; echo 3 >sub/b", put: map[string][]byte{"a": []byte("4\n")}, want: []string{"sub/b"}},
		{name: "put in what is merged", ours: "echo 2 >a", theirs: "true", put: map[string][]byte{"a": []byte("4\n")}, files: "a:4 sub/b:1"},
		{name: "merged", ours: "echo 2 >a", theirs: "true", files: "a:2 sub/b:1"},
		{name: "files of loops", ours: "echo 2 >progress.txt", theirs: "echo 3 >progress.txt; mkdir .ralph; echo 3 >.ralph/x; git add -f .ralph; echo 3 >a", files: "a:3 progress.txt:2 sub/b:1"},
		{name: "attributes", before: "echo 'a merge=union' >.gitattributes", ours: "echo 2 >>a", theirs: "echo 3 >>a", files: ".gitattributes:a merge=union a:1,2,3 sub/b:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			sh(t, dir, "("+cmpOr(tt.before, "true")+"); git add -A; git commit -q --allow-empty -m before; git checkout -q -b theirs; ("+tt.theirs+`); git add -A; git commit -qm theirs || true
				git checkout -q main; (`+tt.ours+"); git add -A; git commit -qm ours")
			r := openRepo(t, dir)
			ours := head(t, r)
			before := out(t, dir, "git status --porcelain; git for-each-ref")
			m, err := r.Merge(t.Context(), "main", "theirs", "a merge\n", tt.put, tt.drop)
			fine(t, err)
			for i := range m.Conflicts {
				m.Conflicts[i] = strings.ReplaceAll(m.Conflicts[i], ours, "OURS")
			}
			if diff := cmp.Diff(tt.want, m.Conflicts); diff != "" {
				t.Error(diff)
			}
			if after := out(t, dir, "git status --porcelain; git for-each-ref"); after != before {
				t.Errorf("it is not objects alone: %s", after)
			}
			if len(tt.want) > 0 {
				if m.Commit != "" {
					t.Error("a commit with conflicts")
				}
				return
			}
			got := out(t, dir, `git ls-tree -r --name-only `+m.Commit+` | while read f; do printf '%s:%s ' "$f" "$(git show `+m.Commit+`:"$f" | paste -sd,)"; done`)
			if strings.TrimSpace(got) != tt.files {
				t.Errorf("%s, want %s", got, tt.files)
			}
			if tree := out(t, dir, "git rev-parse "+m.Commit+"^{tree}"); tree != m.Tree {
				t.Errorf("the tree %s", m.Tree)
			}
		})
	}
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// TestStartMerge: a conflict is left to an agent as git leaves it, and what the agent
// makes of it is the merge.
func TestStartMerge(t *testing.T) {
	t.Parallel()
	for _, resolve := range []string{"echo 5 >a", "echo 5 >a; git add a", "echo 5 >a; git commit -qam agent"} {
		t.Run(resolve, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			r := openRepo(t, dir)
			tree := add(t, r, "one")
			sh(t, tree.Dir, "echo 3 >a; echo 3 >n")
			own := commit(t, tree)
			sh(t, dir, "echo 2 >a; echo 2 >m; git add -A; git commit -qm main")
			conflicts, err := tree.StartMerge(t.Context(), "main")
			fine(t, err)
			if diff := cmp.Diff([]string{"a"}, conflicts); diff != "" {
				t.Error(diff)
			}
			if got := out(t, tree.Dir, "git status --porcelain; cat m n; grep -c '^[<=>]' a"); got != "UU a\nA  m\n2\n3\n3" {
				t.Errorf("%s", got)
			}
			if _, _, err := tree.Commit(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), `conflict markers in "a"`) {
				t.Errorf("not resolved: %v", err)
			}
			sh(t, tree.Dir, resolve)
			c := commit(t, tree)
			if got := out(t, tree.Dir, "git log -1 --format=%P; git status --porcelain; git symbolic-ref HEAD"); got != own+" "+head(t, r)+"\nrefs/heads/ralph/one" {
				t.Errorf("%s", got)
			}
			m := merge(t, r, c)
			fine(t, r.Advance(t.Context(), head(t, r), m.Commit, nil))
			if got := out(t, dir, "cat a m n; git status --porcelain"); got != "5\n2\n3" {
				t.Errorf("%s", got)
			}
		})
	}
}
