package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOpenRepo: where there can be no work, the reason is given.
func TestOpenRepo(t *testing.T) {
	t.Parallel()
	const sub = `git init -q ../inner; (cd ../inner; git config user.name t; git config user.email t@example.com; echo 1 >in; git add in; git commit -qm one)
		git -c protocol.file.allow=always submodule --quiet add "$PWD/../inner" mod; git commit -qm mod; `
	for _, tt := range []struct{ name, script, dir, want string }{
		{"no commit", "git checkout -q --orphan x; git rm -rfq --cached .; rm -rf .git; git init -q -b main", ".", "has no commit yet"},
		{"a folder within", "true", "sub", "work in its top"},
		{"no work tree", "true", ".git", "not in a git work tree"},
		{"bare", "git init -q --bare ../bare", "../bare", "not in a git work tree"},
		{"nobody", "git config user.email ''; git config user.name ''", ".", "user.name"},
		{"a submodule", sub, ".", `the submodules "mod" are checked out`},
		{"a submodule that is not checked out", sub + "git submodule --quiet deinit -f mod", ".", ""},
		{"a link to it", "ln -s $PWD ../l", "../l", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "repo")
			fine(t, os.Mkdir(dir, 0o700))
			begin(t, dir)
			sh(t, dir, "echo 1 >a; mkdir sub; echo 1 >sub/b; git add -A; git commit -qm one")
			sh(t, dir, tt.script)
			if _, err := OpenRepo(t.Context(), filepath.Join(dir, tt.dir)); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestPlaces takes a task from the start to the end in repositories of all kinds.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, script, dir string }{
		{"a linked work tree", "git worktree add -q -b other ../w", "../w"},
		{"a bare repository's", "git clone -q --bare . ../bare.git; git -C ../bare.git config user.name t; git -C ../bare.git config user.email t@example.com; git -C ../bare.git worktree add -q ../w main", "../w"},
		{"a bare folder .git", "mkdir ../p; git clone -q --bare . ../p/.git; cd ../p; git config user.name t; git config user.email t@example.com; git worktree add -q w main", "../p/w"},
		{"a detached head", "git checkout -q --detach", "."},
		{"a shallow clone", "git commit -q --allow-empty -m two; git clone -q --depth 1 file://$PWD ../w; cd ../w; git config user.name t; git config user.email t@example.com", "../w"},
		{"a link to git's folder", "mv .git ../g; ln -s ../g .git", "."},
		{"git's folder elsewhere", "git init -q --separate-git-dir ../g .", "."},
		{"packed refs", "git branch x; git pack-refs --all; git gc -q", "."},
		{"SHA-256", "rm -rf .git; git init -q --object-format=sha256 -b main; git config user.name t; git config user.email t@example.com; git add -A; git commit -qm one", "."},
		{"alternates", "git clone -q --shared . ../w; cd ../w; git config user.name t; git config user.email t@example.com", "../w"},
		{"a configuration of the work tree", "git config extensions.worktreeConfig true; git config --worktree core.autocrlf input", "."},
		{"odd values", `git config x.y "$(printf 'a"b\\c\nd\t;# ')"; printf '[x "s\\"u\\\\b"]\n\tbare\n' >>.git/config; git config core.whitespace ''`, "."},
		{"a name with spaces", "git worktree add -q -b 'öther' '../w  w'", "../w  w"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "repo")
			fine(t, os.Mkdir(dir, 0o700))
			begin(t, dir)
			sh(t, dir, "echo 1 >a; mkdir sub; echo 1 >sub/b; git add -A; git commit -qm one")
			sh(t, dir, tt.script)
			dir = filepath.Join(dir, tt.dir)
			r := openRepo(t, dir)
			before := out(t, dir, "git symbolic-ref HEAD || echo none")
			tree := add(t, r, "one")
			sh(t, tree.Dir, "echo 2 >a; git commit -qam x; echo n >n")
			c := commit(t, tree)
			m := merge(t, r, c)
			fine(t, tree.Checkout(t.Context(), m.Commit))
			fine(t, tree.Back(t.Context()))
			fine(t, r.Advance(t.Context(), head(t, r), m.Commit, nil))
			if told, err := r.Tampered(t.Context()); len(told) > 0 || err != nil {
				t.Errorf("%q, %v", told, err)
			}
			fine(t, tree.Remove(t.Context()))
			if got := out(t, dir, "git symbolic-ref HEAD || echo none; git rev-parse HEAD; git status --porcelain; cat a n; git fsck 2>/dev/null; git branch --list 'ralph/*'"); got != before+"\n"+m.Commit+"\n2\nn" {
				t.Errorf("%s", got)
			}
		})
	}
}

// TestAdd: what is at the path, or at the branch's name.
func TestAdd(t *testing.T) {
	t.Parallel()
	const path = ".ralph/worktrees/one"
	work := func(t *testing.T, r *Repo, script string) {
		sh(t, add(t, r, "one").Dir, script)
	}
	for _, tt := range []struct {
		name, agent, user string // agent: in a work tree that was made before; "" = there is none
		want              string // the error
		text              string // of a
	}{
		{name: "again", agent: "echo 2 >a", text: "2"},
		{name: "killed at once", user: "mkdir -p .ralph/worktrees; touch .ralph/worktrees/.one.new; git branch ralph/one", text: "1"},
		{name: "killed in the middle", agent: "rm sub/b; echo 2 >a; touch ../.one.new; rm .git", text: "1"},
		{name: "killed after it", agent: "touch ../.one.new", text: "1"},
		{name: "killed while git made it", user: "git worktree add -q --no-checkout -b ralph/one " + path + "; touch .ralph/worktrees/.one.new; echo initializing >.git/worktrees/one/locked", text: "1"},
		{name: "removed by hand", agent: "echo 2 >a; git commit -qam x", user: "rm -rf " + path, text: "2"},
		{name: "removed by hand and locked", agent: "git worktree lock .", user: "rm -rf " + path, want: "git worktree unlock"},
		{name: "removed by git", agent: "true", user: "git worktree remove " + path, text: "1"},
		{name: "a branch without commits of its own", user: "git branch ralph/one; echo 2 >a; git commit -qam two", text: "2"},
		{name: "a branch of somebody else", user: "git checkout -q -b ralph/one; git commit -q --allow-empty -m user; git checkout -q main", want: "git branch -m ralph/one"},
		{name: "a branch that is checked out elsewhere", user: "git worktree add -q -b ralph/one ../w", want: "already checked out"},
		{name: "a branch in place of the folder of branches", user: "git branch ralph", want: "ralph"},
		{name: "a folder", user: "mkdir -p " + path + "; echo user >" + path + "/x", want: "is in the way"},
		{name: "an empty folder", user: "mkdir -p " + path, text: "1"},
		{name: "a file", user: "mkdir -p .ralph/worktrees; echo x >" + path, want: "is in the way"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			if tt.agent != "" {
				work(t, openRepo(t, dir), tt.agent)
			}
			sh(t, dir, tt.user)
			before := out(t, dir, "git for-each-ref; find "+path+" -type f -exec cat {} + 2>/dev/null || true")
			r := openRepo(t, dir)
			tree, err := r.Add(t.Context(), filepath.Join(dir, path), "ralph/one", "HEAD")
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v", err)
				}
				if after := out(t, dir, "git for-each-ref; find "+path+" -type f -exec cat {} + 2>/dev/null || true"); after != before {
					t.Errorf("it was changed: %s", after)
				}
				return
			}
			fine(t, err)
			if got := out(t, tree.Dir, "cat a sub/b; git symbolic-ref HEAD; git status --porcelain | grep -v '^ M a' || true; ls -A .. "); got != tt.text+"\n1\nrefs/heads/ralph/one\n.gitignore\none" {
				t.Errorf("%s", got)
			}
			if got := out(t, dir, "git worktree list --porcelain | grep -c worktree; git status --porcelain"); got != "2" {
				t.Errorf("%s", got)
			}
		})
	}
}

// slowGit makes a work tree, as far as git has when it is ended in the middle.
const slowGit = `#!/bin/sh
case "$*" in *"worktree add"*) ;; *) exec "$GIT" "$@";; esac
"$GIT" "$@"; echo initializing >$TOP/.git/worktrees/one/locked
echo >$MADE; exec sleep 1000
`

// TestAddCancelled: a work tree that was being made when the context was done is made
// again: an agent in one without its files would have removed them all.
func TestAddCancelled(t *testing.T) {
	git, err := exec.LookPath("git")
	fine(t, err)
	dir, bin, path := repo(t), t.TempDir(), os.Getenv("PATH")
	made := filepath.Join(bin, "made")
	sh(t, bin, "mkfifo made")
	fine(t, os.WriteFile(filepath.Join(bin, "git"), []byte(slowGit), 0o755))
	for name, value := range map[string]string{"GIT": git, "MADE": made, "TOP": dir, "PATH": bin + string(os.PathListSeparator) + path} {
		t.Setenv(name, value)
	}
	r := openRepo(t, dir)
	at := filepath.Join(dir, ".ralph", "worktrees", "one")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	go func() {
		_, _ = os.ReadFile(made)
		cancel(stop)
	}()
	if _, err := r.Add(ctx, at, "ralph/one", "HEAD"); !errors.Is(err, stop) {
		t.Fatalf("%v", err)
	}
	t.Setenv("PATH", path)
	tree, err := openRepo(t, dir).Add(t.Context(), at, "ralph/one", "HEAD")
	fine(t, err)
	if got := out(t, tree.Dir, "cat a sub/b; git status --porcelain; git worktree list --porcelain | grep -c -e ^worktree -e locked"); got != "1\n1\n2" {
		t.Errorf("%s", got)
	}
	fine(t, tree.Remove(t.Context()))
}

// TestRemove: nothing is lost.
func TestRemove(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, agent, want string }{
		{"nothing", "true", ""},
		{"ignored", "echo n >../../../.gitignore; git -C ../../.. add .gitignore; git -C ../../.. commit -qm i; git merge -q main; mkdir -p n/m; echo x >n/m/x; chmod 0500 n/m", ""},
		{"not committed", "echo 2 >a", "not committed"},
		{"new", "echo 2 >n", "not committed"},
		{"hidden", "git update-index --assume-unchanged a; echo 2 >a", "not committed"},
		{"not merged", "echo 2 >a; git commit -qam x", "not in main"},
		{"at another commit", "git checkout -q --detach; echo 2 >a; git commit -qam x", "not in main"},
		{"locked", "git worktree lock .", "locked"},
		{"a repository inside", "git init -q in; echo x >in/x", "in/"},
		{"not on the list", "rm -r $(git rev-parse --git-dir)", "is no work tree"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			r := openRepo(t, dir)
			tree := add(t, r, "one")
			sh(t, tree.Dir, tt.agent)
			err := tree.Remove(t.Context())
			if gone := !exists(tree.Dir); gone != (tt.want == "") || tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, gone: %v", err, gone)
			}
		})
	}
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		for i := range 4 {
			dir := repo(t)
			r := openRepo(t, dir)
			tree := add(t, r, "one")
			steps := []string{"mv one .one.gone", "rm .one.gone/a", "rm -r .one.gone", "rm -r ../../.git/worktrees/one"}
			sh(t, filepath.Dir(tree.Dir), strings.Join(steps[:i+1], "; "))
			again, err := openRepo(t, dir).Tree(tree.Dir, tree.Branch)
			fine(t, err)
			fine(t, again.Remove(t.Context()))
			if got := out(t, dir, "git worktree list | wc -l; git branch; ls -A .ralph/worktrees"); got != "1\n* main\n.gitignore" {
				t.Errorf("after %d: %s", i, got)
			}
		}
	})
}

// TestCheckout: a work tree holds what is to be verified, and then its own again,
// also if that was killed in the middle.
func TestCheckout(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	r := openRepo(t, dir)
	tree := add(t, r, "one")
	sh(t, tree.Dir, "echo 2 >a; echo mine >mine")
	if err := tree.Checkout(t.Context(), "main"); err == nil || !strings.Contains(err.Error(), "not committed") {
		t.Errorf("%v", err)
	}
	own := commit(t, tree)
	sh(t, dir, "echo 2 >sub/b; echo n >n; git add -A; git commit -qm main")
	m := merge(t, r, own)
	fine(t, tree.Checkout(t.Context(), m.Commit))
	if got := out(t, tree.Dir, "cat a mine sub/b n; git rev-parse HEAD; git status --porcelain"); got != "2\nmine\n2\nn\n"+m.Commit {
		t.Errorf("%s", got)
	}
	if _, _, err := tree.Commit(t.Context(), "x"); err == nil {
		t.Error("a commit of what is verified")
	}
	sh(t, tree.Dir, "echo 9 >a; rm n; git update-index --assume-unchanged a sub/b; echo 9 >sub/b")
	fine(t, tree.Checkout(t.Context(), m.Commit))
	for _, script := range []string{"true", "rm mine; rm -r sub", "echo 'ref: refs/heads/ralph/one' >" + tree.git + "/HEAD"} {
		sh(t, tree.Dir, script)
		again := add(t, openRepo(t, dir), "one")
		if got := out(t, again.Dir, "cat a mine sub/b; ls; git rev-parse HEAD; git status --porcelain; git symbolic-ref HEAD"); got != "2\nmine\n1\na\nmine\nsub\n"+own+"\nrefs/heads/ralph/one" {
			t.Errorf("%s: %s", script, got)
		}
		fine(t, again.Checkout(t.Context(), m.Commit))
	}
}

// TestInclude: files that git does not have come along, and are not committed.
func TestInclude(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	sh(t, dir, `printf '.env\nnode_modules/\n!node_modules/skip\n' >.worktreeinclude; git add -A; git commit -qm i; echo node_modules >.git/info/exclude
		echo secret >.env; mkdir -p node_modules/x sub/c; echo 1 >node_modules/x/y; ln -s x node_modules/l; chmod +x node_modules/x/y; echo 1 >sub/c/k.pem; echo 1 >other; mkdir -p .ralph; echo x >.ralph/k.pem; git init -q in; echo x >in/k.pem`)
	r := openRepo(t, dir)
	tree := add(t, r, "one")
	sh(t, tree.Dir, "echo other >.env")
	fine(t, tree.Include(t.Context(), []string{"*.pem"}))
	sh(t, tree.Dir, "echo 1 >a.pem; test -x node_modules/x/y")
	commit(t, tree)
	got := strings.Fields(out(t, tree.Dir, "cat .env; readlink node_modules/l; cat node_modules/x/y sub/c/k.pem; git ls-files; ls -A"))
	want := strings.Fields("other x 1 1 .worktreeinclude a a.pem sub/b .env .git .worktreeinclude a a.pem node_modules sub")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	sh(t, tree.Dir, "git add -f .env; git commit -qm secret")
	if _, _, err := tree.Commit(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), `a commit of ".env"`) {
		t.Errorf("%v", err)
	}
}

// TestTampered: what an agent does to the repository beside its own branch is told.
func TestTampered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, agent, want string }{
		{"nothing", "echo 2 >a; git add a; git commit -qm x; git branch ralph/other; git -C ../../.. commit -q --allow-empty -m user; git gc -q", ""},
		{"configuration", "git config a.b c", `"a.b" of git's configuration was added`},
		{"configuration changed", "git config user.name agent", `"user.name" of git's configuration was changed`},
		{"configuration removed", "git config --unset x.y", `"x.y" of git's configuration was removed`},
		{"configuration of the work tree", "git config extensions.worktreeConfig true; git -C ../../.. config --worktree a.b c", `"a.b" of git's configuration was added; "extensions.worktreeconfig" of git's configuration was added`},
		{"a hook", "echo x >../../../.git/hooks/pre-commit", "COMMON/hooks/pre-commit was added"},
		{"a hook's mode", "chmod +x ../../../.git/hooks/pre-push.sample; chmod -x ../../../.git/hooks/update.sample", "COMMON/hooks/update.sample was changed"},
		{"attributes", "mkdir -p ../../../.git/info; echo x >../../../.git/info/attributes", "COMMON/info/attributes was added"},
		{"excludes", "echo x >../../../.git/info/exclude", "COMMON/info/exclude was changed"},
		{"alternates", "echo /nonexistent >../../../.git/objects/info/alternates", "COMMON/objects/info/alternates was added"},
		{"a branch", "git branch x", "the ref refs/heads/x was added"},
		{"a branch moved", "git branch -f user HEAD~", "the ref refs/heads/user was changed"},
		{"a branch removed", "git branch -q -D user; git pack-refs --all", "the ref refs/heads/user was removed"},
		{"the head", "git -C ../../.. symbolic-ref HEAD refs/heads/user", "what is checked out in TOP was changed"},
		{"a work tree", "git worktree add -q --detach ../w", `the work tree "w" of the repository was added`},
		{"the index", "git -C ../../.. update-index --assume-unchanged a", "what the index of TOP says not to look at was changed"},
		{"another repository", "echo gitdir: /nonexistent >.git", "the work tree TOP/.ralph/worktrees/one names another repository"},
		{"another common folder", "echo /nonexistent >../../../.git/worktrees/one/commondir", "the work tree TOP/.ralph/worktrees/one names another repository"},
		{"git's folder elsewhere", "cd ../../..; mv .git ../g; echo gitdir: $PWD/../g >.git", "git: COMMON is no folder any more"},
		{"git's folder behind a link", "cd ../../..; mv .git ../g; ln -s $PWD/../g .git", "git: COMMON is no folder any more"},
		{"the common folder", "echo /nonexistent >../../../.git/commondir", "git: COMMON/commondir names another repository, which it did not at the start"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			sh(t, dir, "git commit -q --allow-empty -m two; git branch user; git config x.y z")
			r := openRepo(t, dir)
			tree := add(t, r, "one")
			sh(t, tree.Dir, tt.agent)
			told, err := r.Tampered(t.Context())
			fine(t, err)
			want := strings.NewReplacer("COMMON", r.Common, "TOP", r.Top).Replace(tt.want)
			if got := strings.Join(told, "; "); got != want {
				t.Errorf("%s", got)
			}
		})
	}
}
