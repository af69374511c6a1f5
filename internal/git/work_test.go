package git

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// out runs a script and returns what it said.
func out(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, text, said.String())
	}
	return strings.TrimSuffix(string(text), "\n")
}

func real(t *testing.T, dir string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func openRepo(t *testing.T, dir string) *Repo {
	t.Helper()
	r, err := OpenRepo(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// add makes the work tree of a task.
func add(t *testing.T, r *Repo, task string) *Tree {
	t.Helper()
	tree, err := r.Add(t.Context(), filepath.Join(r.Top, ".ralph", "worktrees", task), "ralph/"+task, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func commit(t *testing.T, tree *Tree) string {
	t.Helper()
	c, _, err := tree.Commit(t.Context(), "work")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// merge merges a commit into the user's branch, and returns the merge.
func merge(t *testing.T, r *Repo, from string) Merged {
	t.Helper()
	m, err := r.Merge(t.Context(), "HEAD", from, "merge\n", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func head(t *testing.T, r *Repo) string {
	t.Helper()
	h, err := r.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func fine(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestWork takes two tasks from the start to the end.
func TestWork(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	r := openRepo(t, dir)
	if r.Top != real(t, dir) || r.Common != filepath.Join(r.Top, ".git") || r.Branch != "main" {
		t.Errorf("%+v", r)
	}
	one, two := add(t, r, "one"), add(t, r, "two")
	sh(t, one.Dir, "echo 2 >a; echo n >n; git add n; git commit -qm n; echo 2 >n")
	sh(t, two.Dir, "rm sub/b; echo m >'m m'; chmod +x 'm m'; ln -s a l; mkdir .ralph logs; echo x >.ralph/x; echo x >logs/session-1.log; echo x >progress.txt")
	for _, tree := range []*Tree{one, two} {
		from := head(t, r)
		c := commit(t, tree)
		if again := commit(t, tree); again != c {
			t.Error("a second commit of nothing")
		}
		m := merge(t, r, c)
		if parents := out(t, dir, "git log -1 --format=%P "+m.Commit); parents != from+" "+c {
			t.Errorf("parents %q", parents)
		}
		fine(t, tree.Checkout(t.Context(), m.Commit))
		if got := out(t, tree.Dir, "git rev-parse HEAD; git status --porcelain"); tree == one && got != m.Commit {
			t.Errorf("checked out: %s", got)
		}
		fine(t, tree.Back(t.Context()))
		fine(t, r.Advance(t.Context(), from, m.Commit, nil))
		fine(t, r.Advance(t.Context(), from, m.Commit, nil))
		fine(t, tree.Remove(t.Context()))
		fine(t, tree.Remove(t.Context()))
	}
	want := "100644 a\n120000 l\n100755 m m\n100644 n\nmain\n"
	got := out(t, dir, "git ls-tree -r --format='%(objectmode) %(path)' HEAD; git branch --format='%(refname:short)'; git status --porcelain; git fsck --strict; cat a n >&2; test -x 'm m'; git worktree prune --dry-run") + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := out(t, dir, "cat a n l; find . -name worktrees -path './.git/*' -not -empty"); text != "2\n2\n2" {
		t.Errorf("%q", text)
	}
	if told, err := r.Tampered(t.Context()); len(told) > 0 || err != nil {
		t.Errorf("%q, %v", told, err)
	}
	if left, _ := os.ReadDir(filepath.Join(r.Top, ".ralph", "worktrees")); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

// TestLeftShadows: a call leaves nothing, and what a kill has left goes.
func TestLeftShadows(t *testing.T) {
	dir, temp := repo(t), t.TempDir()
	t.Setenv("TMPDIR", temp)
	sh(t, temp, "mkdir -p ralph-git-1/refs ralph-git-2 other; touch -d 2001-01-01 ralph-git-1 other")
	commit(t, add(t, openRepo(t, dir), "one"))
	if got := out(t, temp, "ls"); got != "other\nralph-git-2" {
		t.Errorf("%s", got)
	}
}
