package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestCommit: what an agent has done in its work tree comes to its branch, or it is
// said why not.
func TestCommit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, before, agent string
		want                string // the error; "" = the files are as listed in files
		files               string
	}{
		{name: "nothing", agent: "true", files: "a:1 sub/b:1"},
		{name: "not committed", agent: "echo 2 >a", files: "a:2 sub/b:1"},
		{name: "committed in part", agent: "echo 2 >a; git commit -qam x; echo 2 >sub/b", files: "a:2 sub/b:2"},
		{name: "staged otherwise", agent: "echo 3 >a; git add a; echo 2 >a", files: "a:2 sub/b:1"},
		{name: "taken out of the index", agent: "git rm -q --cached a", files: "a:1 sub/b:1"},
		{name: "removed", agent: "rm a", files: "sub/b:1"},
		{name: "no index", agent: "rm $(git rev-parse --git-dir)/index; echo 2 >a", files: "a:2 sub/b:1"},
		{name: "a lock was left", agent: "touch $(git rev-parse --git-dir)/index.lock $(git rev-parse --git-dir)/HEAD.lock ../../../.git/refs/heads/ralph/one.lock; echo 2 >a", files: "a:2 sub/b:1"},
		{name: "said to be unchanged", agent: "git update-index --assume-unchanged a; echo 2 >a", files: "a:2 sub/b:1"},
		{name: "said not to be there", agent: "git update-index --skip-worktree a; rm a", files: "sub/b:1"},
		{name: "ignored", agent: "echo n >.gitignore; echo 2 >n", files: ".gitignore:n a:1 sub/b:1"},
		{name: "ignored by what is not in the commit", agent: "echo a >>../../../.git/info/exclude; echo n >>../../../.git/info/exclude; echo 2 >n", files: "a:1 n:2 sub/b:1"},
		{name: "files of loops", before: "echo 1 >progress.txt; git add -A; git commit -qm p", agent: "echo 2 >progress.txt; mkdir -p sub/.ralph logs; echo x >sub/.ralph/x; echo x >logs/session-2.log; echo y >logs/y", files: "a:1 logs/y:y progress.txt:1 sub/b:1"},
		{name: "files of loops that the agent has committed", agent: "mkdir .ralph; echo x >.ralph/x; echo 2 >a; git add -f .ralph a; git commit -qm x", files: ".ralph/x:x a:2 sub/b:1"},
		{name: "another branch", agent: "git checkout -q -b mine; echo 2 >a; git commit -qam x; echo 2 >sub/b", files: "a:2 sub/b:2"},
		{name: "no branch", agent: "git checkout -q --detach; echo 2 >a; git commit -qam x; echo 2 >sub/b", files: "a:2 sub/b:2"},
		{name: "an older commit", agent: "echo 3 >a; git commit -qam x; git checkout -q --detach HEAD~; echo 2 >a", files: "a:2 sub/b:1"},
		{name: "another history", agent: "echo 2 >a; git commit -qam x; git checkout -q --detach HEAD~; echo 3 >a; git commit -qam y", want: "which does not hold its branch ralph/one: it left that branch"},
		{name: "a branch without commits", agent: "git checkout -q --orphan mine", want: "is at no commit"},
		{name: "a rebase", agent: "git commit -q --allow-empty -m z; echo 2 >a; git commit -qam x; git checkout -q --detach HEAD~2; echo 3 >a; git commit -qam y; git rebase -q HEAD ralph/one 2>/dev/null || true", want: "a rebase is not finished"},
		{name: "a merge with conflicts", agent: "git checkout -q -b mine; echo 2 >a; git commit -qam x; git checkout -q ralph/one; echo 3 >a; git commit -qam y; git merge -q mine >/dev/null || true", want: `conflict markers in "a"`},
		{name: "a cherry-pick", agent: "git checkout -q -b mine; echo 2 >a; git commit -qam x; git checkout -q ralph/one; echo 3 >a; git commit -qam y; git cherry-pick mine >/dev/null 2>&1 || true; echo 2 >a", files: "a:2 sub/b:1"},
		{name: "a merge that is made", agent: "git checkout -q -b mine; echo 2 >a; git commit -qam x; git checkout -q ralph/one; echo 2 >sub/b; git commit -qam y; git merge -q --no-commit mine >/dev/null", files: "a:2 sub/b:2"},
		{name: "the branch is gone", agent: "git checkout -q --detach; git branch -q -D ralph/one", want: "ralph/one is gone"},
		{name: "a repository inside", agent: "git init -q in; cd in; git config user.name t; git config user.email t@example.com; echo x >x; git add x; git commit -qm x", want: `"in"`},
		{name: "a repository inside without commits", agent: "git init -q in; echo x >in/x", want: "in/"},
		{name: "a repository inside that is staged", agent: "git init -q in; cd in; git config user.name t; git config user.email t@example.com; echo x >x; git add x; git commit -qm x; cd ..; git -c advice.addEmbeddedRepo=false add in; git commit -qm in", want: `"in"`},
		{name: "hooks", agent: "for h in pre-commit commit-msg post-commit reference-transaction post-index-change; do printf '#!/bin/sh\\ntouch '$PWD'/hooked\\nexit 1\\n' >../../../.git/hooks/$h; chmod +x ../../../.git/hooks/$h; done; echo 2 >a", files: "a:2 sub/b:1"},
		{name: "settings that ask", before: "git config commit.template /nonexistent; git config core.editor false; git config commit.verbose true; git config commit.status false; git config core.commentChar auto", agent: "echo 2 >a", files: "a:2 sub/b:1"},
		{name: "another configuration", agent: "git config user.name agent; git config core.worktree /nonexistent; git config core.bare true; git config core.autocrlf true; printf '2\\r\\n' >a", files: "a:2\r sub/b:1"},
		{name: "another repository", agent: "git init -q ../../../../else; echo \"gitdir: $PWD/../../../../else/.git\" >.git; echo 2 >a", files: "a:2 sub/b:1"},
		{name: "another common folder", agent: "d=$(git rev-parse --absolute-git-dir); git init -q ../../../../else; echo \"$PWD/../../../../else/.git\" >$d/commondir; echo 2 >a", files: "a:2 sub/b:1"},
		{name: "line ends", before: "echo '* text=auto eol=crlf' >.gitattributes; git add -A; git commit -qm x; rm a; git checkout -q a", agent: "printf '2\\r\\n' >a", files: ".gitattributes:* text=auto eol=crlf a:2 sub/b:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			sh(t, dir, tt.before)
			r := openRepo(t, dir)
			tree := add(t, r, "one")
			sh(t, tree.Dir, tt.agent)
			main := head(t, r)
			c, tr, err := tree.Commit(t.Context(), "work")
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v", err)
				}
				return
			}
			fine(t, err)
			got := out(t, dir, `git --git-dir=.git -c core.bare=false ls-tree -r --name-only `+c+` | while read f; do printf '%s:%s ' "$f" "$(git --git-dir=.git -c core.bare=false show `+c+`:"$f")"; done`)
			if strings.TrimSpace(got) != tt.files {
				t.Errorf("%q, want %q", got, tt.files)
			}
			said := out(t, dir, "export GIT_DIR=$PWD/.git; git -c core.bare=false log -1 --format='%an %T' "+c+"; git rev-parse ralph/one main; GIT_DIR="+tree.git+" GIT_COMMON_DIR=$PWD/.git git symbolic-ref HEAD")
			if want := fmt.Sprintf("t %s\n%s\n%s\nrefs/heads/ralph/one", tr, c, main); said != want {
				t.Errorf("%s, want %s", said, want)
			}
			if exists(filepath.Join(tree.Dir, "hooked")) {
				t.Error("a hook was run")
			}
		})
	}
}

// TestCommitIsClean: after a commit git finds nothing to do.
func TestCommitIsClean(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	tree := add(t, openRepo(t, dir), "one")
	sh(t, tree.Dir, "git checkout -q -b mine; echo 2 >a; git commit -qam x; git checkout -q ralph/one; echo 3 >a; git commit -qam y; git merge -q mine >/dev/null || true; echo 4 >a")
	commit(t, tree)
	if got := out(t, tree.Dir, "git status; git log -1 --format=%p | wc -w"); strings.Contains(got, "merge") || !strings.Contains(got, "clean") || !strings.HasSuffix(got, "2") {
		t.Errorf("%s", got)
	}
}

// TestFilters: filters that were configured at the start run, and no others.
func TestFilters(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	sh(t, dir, `git config filter.up.clean 'tr A-Z a-z'; git config filter.up.smudge 'tr a-z A-Z'; git config filter.up.required true
		echo '*.up filter=up' >.gitattributes; echo ONE >x.up; git add -A; git commit -qm up`)
	r := openRepo(t, dir)
	if got := fmt.Sprint(r.Programs()); got != "[{filter.up.clean tr A-Z a-z} {filter.up.smudge tr a-z A-Z}]" {
		t.Errorf("%s", got)
	}
	program, mark := evil(t)
	tree := add(t, r, "one")
	if got := out(t, tree.Dir, "cat x.up; git status --porcelain"); got != "ONE" {
		t.Errorf("%s", got)
	}
	sh(t, tree.Dir, fmt.Sprintf(`echo TWO >x.up; echo NEW >y.up; echo '*.x filter=x merge=x' >>.gitattributes; echo x >x.x
		for c in clean smudge process; do git config filter.x.$c '%[1]s'; git config filter.up.$c '%[1]s'; done
		git config merge.x.driver '%[1]s'; git config merge.default x; git config core.fsmonitor '%[1]s'; git config gpg.program '%[1]s'; git config commit.gpgsign true
		git config core.hooksPath ../../../h; mkdir ../../../h; cp '%[1]s' ../../../h/post-checkout; cp '%[1]s' ../../../h/reference-transaction; cp '%[1]s' ../../../h/post-index-change`, program))
	c := commit(t, tree)
	fine(t, os.WriteFile(filepath.Join(dir, "other"), nil, 0o600))
	m := merge(t, r, c)
	fine(t, tree.Checkout(t.Context(), m.Commit))
	fine(t, tree.Back(t.Context()))
	fine(t, r.Advance(t.Context(), head(t, r), m.Commit, nil))
	if _, err := r.Dirty(t.Context(), OwnFile); err != nil {
		t.Error(err)
	}
	if _, err := r.Tampered(t.Context()); err != nil {
		t.Error(err)
	}
	add(t, r, "two")
	fine(t, tree.Remove(t.Context()))
	if exists(mark) {
		t.Error("a program of the agent was run")
	}
	if got := out(t, dir, "cat x.up y.up; git cat-file -p HEAD:x.up; git cat-file -p HEAD:y.up"); got != "TWO\nNEW\ntwo\nnew" {
		t.Errorf("%s", got)
	}
}

// TestSigning: who has commits signed gets signed ones, or an error, and is never
// asked.
func TestSigning(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ program, want string }{
		"works":    {"#!/bin/sh\ncat >/dev/null\nprintf '\\n[GNUPG:] SIG_CREATED ' >&2\necho signature\n", ""},
		"fails":    {"#!/bin/sh\necho no key >&2\nexit 1\n", "signed without asking"},
		"asks":     {"#!/bin/sh\nread x </dev/tty && echo asked >" + filepath.Join(t.TempDir(), "asked") + "\nexit 1\n", "signed without asking"},
		"is there": {"#!/bin/sh\ntest -z \"$DISPLAY$GIT_ASKPASS\" || sleep 100\nexit 1\n", "signed without asking"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			program := filepath.Join(t.TempDir(), "gpg")
			fine(t, os.WriteFile(program, []byte(tt.program), 0o700))
			sh(t, dir, "git config commit.gpgsign true; git config gpg.program "+program)
			r := openRepo(t, dir)
			if len(r.Programs()) != 1 {
				t.Errorf("%v", r.Programs())
			}
			tree := add(t, r, "one")
			sh(t, tree.Dir, "echo 2 >a")
			c, _, err := tree.Commit(t.Context(), "work")
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v", err)
				}
				return
			}
			fine(t, err)
			if got := out(t, dir, "git cat-file commit "+c); !strings.Contains(got, "gpgsig signature") {
				t.Errorf("%s", got)
			}
		})
	}
}

// TestFilterFinds: what a filter keeps in git's folder is there when it runs, and what
// it writes there stays.
func TestFilterFinds(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	sh(t, dir, `mkdir .git/keys; echo 13 >.git/keys/k
		git config filter.rot.clean 'd=$(git rev-parse --git-dir)/keys; test -e $d/k && tee $d/last | tr a-z n-za-m'
		git config filter.rot.smudge 'test -e "$(git rev-parse --git-dir)/keys/k" && tr a-z n-za-m'; git config filter.rot.required true
		echo '*.rot filter=rot' >.gitattributes; echo one >x.rot; git add -A; git commit -qm rot; rm .git/keys/last`)
	r := openRepo(t, dir)
	tree := add(t, r, "one")
	sh(t, tree.Dir, "grep one x.rot; echo two >x.rot")
	c := commit(t, tree)
	if got := out(t, dir, "cat .git/keys/last; git cat-file -p "+c+":x.rot"); got != "two\ngjb" {
		t.Errorf("%s", got)
	}
	sh(t, dir, "rm .git/keys/k")
	if err := r.Advance(t.Context(), head(t, r), c, nil); err == nil {
		t.Error("a required filter that fails is passed over")
	}
	if got := out(t, dir, "cat x.rot; git rev-parse HEAD; ls .git"); !strings.HasPrefix(got, "one\n"+head(t, r)+"\n") || strings.Contains(got, "index.lock") {
		t.Errorf("%s", got)
	}
}

// TestLFSStorage: files of Git LFS are kept in the repository, not in what goes after
// a call.
func TestLFSStorage(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	sh(t, dir, `git config filter.lfs.clean 'd=$(git config lfs.storage) && mkdir -p $d && cat >$d/object && echo pointer'
		git config filter.lfs.smudge 'cat >/dev/null; cat $(git config lfs.storage)/object'; git config filter.lfs.required true
		git config lfs.storage lfs; echo '*.bin filter=lfs' >.gitattributes; git add -A; git commit -qm lfs`)
	r := openRepo(t, dir)
	tree := add(t, r, "one")
	sh(t, tree.Dir, "echo big >x.bin")
	m := merge(t, r, commit(t, tree))
	fine(t, r.Advance(t.Context(), head(t, r), m.Commit, nil))
	if got := out(t, dir, "cat .git/lfs/object x.bin; git cat-file -p HEAD:x.bin"); got != "big\nbig\npointer" {
		t.Errorf("%s", got)
	}
}

// TestDirty: what is changed on the user's branch, whatever git is told.
func TestDirty(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ script, want string }{
		{"touch -d 2001-01-01 a; echo n >n", "[]"},
		{"echo 2 >a", "[a]"},
		{"echo 2 >a; git add a", "[a]"},
		{"rm a; git rm -q --cached sub/b", "[a sub/b]"},
		{"git update-index --assume-unchanged a; echo 2 >a", "[a]"},
		{"echo n >n; git add -N n", "[n]"},
		{"mkdir .ralph; echo x >.ralph/x; git add -f .ralph; echo 2 >progress.txt; git add progress.txt", "[]"},
		{"git config core.fileMode false; chmod +x a", "[a]"},
	} {
		t.Run(tt.script, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			r := openRepo(t, dir)
			sh(t, dir, tt.script)
			got, err := r.Dirty(t.Context(), OwnFile)
			fine(t, err)
			if fmt.Sprint(got) != tt.want {
				t.Errorf("%v, want %s", got, tt.want)
			}
		})
	}
}

// TestTogether: many tasks at once.
func TestTogether(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	r := openRepo(t, dir)
	var all sync.WaitGroup
	var merging sync.Mutex
	for i := range 4 {
		all.Go(func() {
			task := fmt.Sprintf("task%d", i)
			tree, err := r.Add(t.Context(), filepath.Join(r.Top, ".ralph", "worktrees", task), "ralph/"+task, "main")
			if err == nil {
				err = os.WriteFile(filepath.Join(tree.Dir, task), []byte("x\n"), 0o600)
			}
			var c, from string
			if err == nil {
				c, _, err = tree.Commit(t.Context(), task)
			}
			merging.Lock()
			defer merging.Unlock()
			if err == nil {
				from, err = r.Head(t.Context())
			}
			var m Merged
			if err == nil {
				m, err = r.Merge(t.Context(), from, c, "merge", nil, nil)
			}
			if err == nil {
				err = r.Advance(t.Context(), from, m.Commit, nil)
			}
			if err == nil {
				err = tree.Remove(t.Context())
			}
			if err != nil {
				t.Errorf("%s: %v", task, err)
			}
		})
	}
	all.Wait()
	if got := out(t, dir, "git status --porcelain; git branch; git ls-files; git fsck --strict"); got != "* main\na\nsub/b\ntask0\ntask1\ntask2\ntask3" {
		t.Errorf("%s", got)
	}
}
