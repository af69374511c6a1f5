package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// standing is which branch is checked out, and what is not as its commit says.
func standing(t *testing.T, dir string) string {
	t.Helper()
	return out(t, dir, "git rev-parse --abbrev-ref HEAD; git update-index -q --really-refresh; git status --porcelain; ls .git | grep -e ralph-s -e index.lock || true")
}

// other makes a branch by a script, which changes the files of main.
func other(t *testing.T, dir, branch, script string) {
	t.Helper()
	sh(t, dir, "git branch "+branch+" "+next(t, dir, script))
}

// TestSwitch: a branch that is there is checked out with its files, whatever they are, and
// no hook runs; a switch that is killed after any of its steps is finished by the next.
func TestSwitch(t *testing.T) {
	t.Parallel()
	for _, tt := range moves {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			sh(t, dir, tt.before)
			other(t, dir, "feat/x", tt.script)
			sh(t, dir, "git branch home; for h in post-checkout reference-transaction; do printf '#!/bin/sh\\ntouch "+dir+"/ran\\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done")
			from, to := out(t, dir, "git rev-parse home"), out(t, dir, "git rev-parse feat/x")
			for killed, more := 0, true; more; killed++ {
				sh(t, dir, "git -c core.hooksPath=/dev/null checkout -qf home; git reset -q --hard; rm -f ran")
				r := openRepo(t, dir)
				fine(t, os.WriteFile(r.switching(), []byte(from+" feat/x\n"), 0o600))
				if more = half(t, r, from, to, killed) && (killed == 0 || tt.name == "edits" || tt.name == "a folder for a file"); !more {
					break // the last step is Advance's own
				}
				fine(t, r.Switch(t.Context(), "feat/x", all))
				if got := standing(t, dir); got != "feat/x" || r.Branch != "feat/x" {
					t.Errorf("killed after %d steps: %s", killed, got)
				}
				if got := out(t, dir, "git rev-parse HEAD home; ls ran 2>/dev/null || true"); got != to+"\n"+from {
					t.Errorf("killed after %d steps: %s", killed, got)
				}
				fine(t, r.Switch(t.Context(), "home", all))
				if got := standing(t, dir); got != "home" {
					t.Errorf("back again: %s", got)
				}
			}
		})
	}
}

// TestSwitchNew: a branch that is not there is made where the head is.
func TestSwitchNew(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"true", "git checkout -q --detach", "echo mine >new"} {
		dir := repo(t)
		sh(t, dir, before)
		r := openRepo(t, dir)
		for range 2 {
			fine(t, r.Switch(t.Context(), "ralph/new-feature", all))
		}
		if got := out(t, dir, "git rev-parse --abbrev-ref HEAD; git rev-parse HEAD main | uniq | wc -l | tr -d ' '; git status --porcelain -uno"); got != "ralph/new-feature\n1" {
			t.Errorf("%s: %s", before, got)
		}
		if tip, err := Tip(t.Context(), dir, "ralph/new-feature"); err != nil || tip != out(t, dir, "git rev-parse main") {
			t.Errorf("%q, %v", tip, err)
		}
	}
	if tip, err := Tip(t.Context(), repo(t), "none"); tip != "" || err != nil {
		t.Errorf("none: %q, %v", tip, err)
	}
}

// TestSwitchRefused: nothing of the user is lost, and nothing is changed.
func TestSwitchRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, before, branch, err string }{
		{"changed", "echo mine >a", "x", `has changes that are not committed, and the branch x is to be checked out: commit or stash them: "a"`},
		{"staged", "echo mine >s; git add s", "x", `not committed`},
		{"changed, and the branch is new", "echo mine >a", "new", `not committed`},
		{"in the way", "echo mine >n", "x", `files are in the way`},
		{"a change of the caller's that the branch has otherwise", "echo mine >own", "x", `files are in the way, with changes that are not committed, or that git does not have: "own"`},
		{"elsewhere", "git worktree add -q ../else x", "x", "the branch x is checked out in "},
		{"a merge", "git merge -q --no-commit --no-ff x", "x", "something is begun and not finished (MERGE_HEAD)"},
		{"a head that nothing else has", "git checkout -q --detach; git commit -qm lost --allow-empty", "x", "is detached, and no branch has its commit"},
		{"a folder of branches", "git branch dir/x", "dir", "git update-ref"},
		{"another command", "touch .git/index.lock", "x", "another git command is at work"},
		{"no name", "", "", `"" is no name of a branch`},
		{"head", "", "HEAD", "is no name"},
		{"head in short", "", "@", "is no name"},
		{"a ref", "", "refs/heads/main", "is no name"},
		{"an option", "", "-f", "is no name"},
		{"dots", "", "a..b", "is no name"},
		{"a blank", "", "a b", "is no name"},
		{"the last one", "", "@{-1}", "is no name"},
		{"a lock", "", "x.lock", "is no name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			sh(t, dir, "echo 1 >own; git add own; git commit -qm own")
			other(t, dir, "x", "echo 2 >sub/b; echo 2 >n; echo 2 >own")
			sh(t, dir, test.before)
			const state = "git rev-parse --symbolic-full-name HEAD; git rev-parse HEAD; git for-each-ref; git status --porcelain=v2; cat a sub/b own; ls . .git"
			r := openRepo(t, dir)
			was := out(t, dir, state)
			err := r.Switch(t.Context(), test.branch, func(path string) bool { return path == "own" })
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%v, want %s", err, test.err)
			}
			if diff := gocmp.Diff(was, strings.Replace(out(t, dir, state), "ralph.lock\n", "", 1)); diff != "" {
				t.Errorf("changed (-was +is):\n%s", diff)
			}
		})
	}
}

// TestSwitchOwn: a change of the caller's own stays, where the branch has the same file.
func TestSwitchOwn(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	other(t, dir, "x", "echo 2 >a")
	sh(t, dir, "echo mine >sub/b; echo mine >new")
	r := openRepo(t, dir)
	fine(t, r.Switch(t.Context(), "x", func(path string) bool { return path == "sub/b" }))
	if got := out(t, dir, "cat a sub/b new; git status --porcelain; git rev-parse --abbrev-ref HEAD"); got != "2\nmine\nmine\n M sub/b\n?? new\nx" {
		t.Error(got)
	}
	if _, err := os.Lstat(filepath.Join(r.dir, "ralph-switch")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
