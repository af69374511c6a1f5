package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFailing: whichever command of git fails, that is an error, and not taken for an
// answer; nothing is lost, and asked again it is done.
func TestFailing(t *testing.T) {
	git, err := exec.LookPath("git")
	fine(t, err)
	bin, count := t.TempDir(), filepath.Join(t.TempDir(), "count")
	fine(t, os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nread -r n <"+count+"\necho $((n-1)) >"+count+"\n[ $n = 1 ] && exit 128\nexec "+git+" \"$@\"\n"), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	path := func(tree *Tree) string { return filepath.Join(tree.repo.Top, ".ralph", "worktrees", "a") }
	say := func(v any, err error) (string, error) { return fmt.Sprint(v), err }
	const held = "test $(cat .ralph/worktrees/a/new) = 3; git rev-parse -q --verify ralph/a >/dev/null"
	// In the work tree a are a commit of a, and a file that is in none; in the user's is another
	// commit of a, a file that is changed, and one that is new.
	for _, tt := range []struct {
		name, script string // done before
		ask          func(tree *Tree) (string, error)
		want, lost   string // what it says, or its error; what has to hold after each
	}{
		{"Remove", "", func(tree *Tree) (string, error) { return "", tree.Remove(t.Context()) }, "has commits that are not in main", held},
		{"Remove, merged", "git update-ref refs/heads/main $(git commit-tree HEAD^{tree} -p HEAD -p ralph/a -m m)", func(tree *Tree) (string, error) { return "", tree.Remove(t.Context()) }, "are not committed", held},
		{"SetAside", "", func(tree *Tree) (string, error) {
			return tree.repo.SetAside(t.Context(), path(tree), "ralph/a", "aside", nil)
		}, "ralph/a.1", "grep -q 3 .ralph/worktrees/a/new || git show ralph/a:new || git show ralph/a.1:new"},
		{"Commit", "", func(tree *Tree) (string, error) { _, _, err := tree.Commit(t.Context(), "work"); return "", err }, "", held},
		{"Checkout", "", func(tree *Tree) (string, error) { return "", tree.Checkout(t.Context(), "main") }, "are not committed", held},
		{"StartMerge", "git -C .ralph/worktrees/a add new; git -C .ralph/worktrees/a commit -qm new", func(tree *Tree) (string, error) { return say(tree.StartMerge(t.Context(), "main")) }, "[a]", held},
		{"Merge", "", func(tree *Tree) (string, error) {
			m, err := tree.repo.Merge(t.Context(), "main", "ralph/a", "m", map[string][]byte{"put": []byte("1")}, []string{"d"})
			return say(m.Conflicts, err)
		}, "[a]", held},
		{"Advance", "git branch to $(git commit-tree ralph/a^{tree} -p HEAD -m to); git checkout -q to a sub; git checkout -q HEAD a", func(tree *Tree) (string, error) {
			return "", tree.repo.Advance(t.Context(), "main", "to", nil)
		}, "", "test $(cat d) = 2; test $(cat u) = u; if [ $(git rev-parse HEAD) = $(git rev-parse to) ]; then test $(cat a) = 3; else test $(cat a) = 2; fi"},
		{"Switch", "git checkout -q d; git branch to ralph/a", func(tree *Tree) (string, error) { return "", tree.repo.Switch(t.Context(), "to", all) }, "", "test $(cat u) = u"},
		{"Switch, changed", "git branch to ralph/a", func(tree *Tree) (string, error) { return "", tree.repo.Switch(t.Context(), "to", all) }, `not committed, and the branch to is to be checked out: commit or stash them: "d"`, "test $(cat d) = 2; test $(cat a) = 2"},
		{"Dirty", "", func(tree *Tree) (string, error) { return say(tree.repo.Dirty(t.Context(), all)) }, "[d]", ""},
		{"Untracked", "", func(tree *Tree) (string, error) { return say(tree.repo.Untracked(t.Context())) }, "[u]", ""},
		{"Apart", "", func(tree *Tree) (string, error) {
			return say(tree.repo.Apart(t.Context(), "ralph/a", "ralph/a", "main"))
		}, "true", ""},
		{"Snapshot", "", func(tree *Tree) (string, error) { text, err := tree.Snapshot(t.Context()); return say(text != "", err) }, "true", ""},
		{"Tampered", "git config x.y z", func(tree *Tree) (string, error) { return say(tree.repo.Tampered(t.Context())) }, `["x.y" of git's configuration was added]`, ""},
		{"Look", "", func(tree *Tree) (string, error) {
			v, err := Look(t.Context(), tree.repo.Top, OwnFile)
			return say(len(v.Dirty), err)
		}, "2", ""},
		{"Files", "", func(tree *Tree) (string, error) {
			_, files, err := Files(t.Context(), filepath.Join(tree.repo.Top, "sub"))
			return say(files, err)
		}, "[a d sub/b u]", ""},
		{"Changes", "", func(tree *Tree) (string, error) {
			var list []string
			base, err := Base(t.Context(), tree.repo.Top)
			if err == nil {
				_, err = Changes(t.Context(), tree.repo.Top, base, 9, OwnFile, func(c Change) error { list = append(list, c.Path); return nil })
			}
			return say(list, err)
		}, "[d u]", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fine(t, os.WriteFile(count, []byte("0\n"), 0o600))
			dir := repo(t)
			sh(t, dir, "echo 1 >d; git add d; git commit -qm d")
			tree := add(t, openRepo(t, dir), "a")
			sh(t, tree.Dir, "echo 3 >a; git commit -qam a; echo 3 >new")
			sh(t, dir, "echo 2 >a; git commit -qam a; echo 2 >d; echo u >u;"+tt.script)
			n := 1
			if tt.name == "SetAside" {
				n = 2 // an index that cannot be read is made anew
			}
			for ; ; n++ {
				fine(t, os.WriteFile(count, fmt.Appendln(nil, n), 0o600))
				got, err := tt.ask(tree)
				left, failed := os.ReadFile(count)
				fine(t, failed)
				fine(t, os.WriteFile(count, []byte("0\n"), 0o600))
				if tt.lost != "" {
					sh(t, dir, tt.lost)
				}
				if err != nil {
					got = err.Error()
				}
				if strings.HasPrefix(string(left), "-") || string(left) == "0\n" {
					if !strings.Contains(got, "exit status 128") {
						t.Errorf("command %d has failed: %q", n, got)
					}
				} else {
					if !strings.HasSuffix(got, tt.want) && (err == nil || !strings.Contains(got, tt.want)) || err != nil && tt.want == "" {
						t.Errorf("%q", got)
					}
					return
				}
			}
		})
	}
}
