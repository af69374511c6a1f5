package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sh(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// repo makes a repository with a commit.
func repo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	begin(t, dir)
	sh(t, dir, "echo 1 >a; mkdir sub; echo 1 >sub/b; git add -A; git commit -qm one")
	return dir
}

func begin(t *testing.T, dir string) {
	t.Helper()
	sh(t, dir, "git init -q -b main; git config user.name t; git config user.email t@example.com; git config commit.gpgsign false")
}

func all(string) bool { return false }

func look(t *testing.T, dir string) View {
	t.Helper()
	v, err := Look(t.Context(), dir, all)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTopLevel(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	sh(t, dir, "git worktree add -q ../linked")
	for name, want := range map[string]string{".": real, "sub": real, "../linked": filepath.Join(filepath.Dir(real), "linked")} {
		if top, err := TopLevel(t.Context(), filepath.Join(dir, name)); err != nil || top != want {
			t.Errorf("%s: %q, %v", name, top, err)
		}
	}
	if _, err := TopLevel(t.Context(), t.TempDir()); !isNone(err) || err.Error() != "not in a git work tree" {
		t.Errorf("elsewhere: %v", err) // git's words would say it again
	}
	if _, err := TopLevel(t.Context(), filepath.Join(dir, ".git")); !isNone(err) || !strings.Contains(err.Error(), "must be run in a work tree") {
		t.Errorf("in .git: %v", err)
	}
	if _, err := TopLevel(t.Context(), filepath.Join(dir, "gone")); !errors.Is(err, fs.ErrNotExist) || isNone(err) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if _, err := TopLevel(t.Context(), filepath.Join(dir, "a")); err == nil || isNone(err) {
		t.Errorf("a file: %v", err)
	}
	cause := errors.New("no")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := TopLevel(ctx, dir); !errors.Is(err, cause) {
		t.Errorf("a done context: %v", err)
	}
}

func isNone(err error) bool {
	_, ok := errors.AsType[*NoneError](err)
	return ok
}

func TestBranch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begin(t, dir)
	for _, tt := range []struct{ script, want string }{
		{"true", "main"}, // without a commit
		{"git commit -q --allow-empty -m one; git checkout -q -b feature/x", "feature/x"},
		{"git tag v2; git checkout -q -b v2 2>/dev/null", "v2"}, // also a tag
		{"git checkout -q --detach", ""},
	} {
		sh(t, dir, tt.script)
		if got, err := Branch(t.Context(), dir); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v", tt.script, got, err)
		}
	}
	if got, err := Branch(t.Context(), t.TempDir()); err == nil {
		t.Errorf("elsewhere: %q", got)
	}
}

// TestNoGit tells a machine without git from a folder without a work tree.
func TestNoGit(t *testing.T) {
	dir := repo(t)
	t.Setenv("PATH", t.TempDir())
	if _, err := TopLevel(t.Context(), dir); !errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
	if v, err := Look(t.Context(), dir, all); err != nil || v.Digest() != "" {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestEnvironment: in a hook, git's environment names another repository.
func TestEnvironment(t *testing.T) {
	dir, other := repo(t), repo(t)
	t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
	t.Setenv("GIT_WORK_TREE", other)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other, ".git", "index"))
	if top, err := TopLevel(t.Context(), dir); err != nil || !strings.HasSuffix(dir, filepath.Base(top)) {
		t.Errorf("%q, %v", top, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if v := look(t, dir); len(v.Dirty) != 1 {
		t.Error(v.Dirty)
	}
}

// TestLook makes changes and looks at what two views say of them.
func TestLook(t *testing.T) {
	t.Parallel()
	const submodule = `git init -q ../inner; cd ../inner; git config user.name t; git config user.email t@example.com
		echo 1 >in; git add in; git commit -qm one; cd - >/dev/null
		git -c protocol.file.allow=always submodule --quiet add "$PWD/../inner" mod; git commit -qm mod
		git -C mod config user.name t; git -C mod config user.email t@example.com; `
	const nested = "git init -q nest; git -C nest config user.name t; git -C nest config user.email t@example.com; echo 1 >nest/in; "
	for _, tt := range []struct {
		name, before, change string
		files                []string
		same                 bool // the digest stays
	}{
		{name: "nothing", change: "true", same: true},
		{name: "the times of a file", change: "touch -d 2001-01-01 a", same: true},
		{name: "a file", change: "echo 2 >a", files: []string{"a"}},
		{name: "a file again", before: "echo 2 >a", change: "echo 3 >a", files: []string{"a"}},
		{name: "committed", change: "echo 2 >a; git commit -qam two", files: []string{"a"}},
		{name: "committed and dirty", change: "echo 2 >a; git commit -qam two; echo 3 >sub/b", files: []string{"a", "sub/b"}},
		{name: "a commit forgotten", change: "echo 2 >a; git commit -qam two; git reset -q --hard HEAD~", same: true},
		{name: "the first commit", before: "git checkout -q --orphan new; git rm -qrf .; echo x >n", change: "git add n; git commit -qm n", files: []string{"n"}},
		{name: "a link", before: "ln -s a l", change: "ln -sf sub/b l", files: []string{"l"}},
		{name: "a file of a submodule", before: submodule, change: "echo 2 >mod/in", files: []string{"mod/in"}},
		{name: "and again", before: submodule + "echo 2 >mod/in", change: "echo 3 >mod/in", files: []string{"mod/in"}},
		{name: "none of it", before: submodule + "echo 2 >mod/in", change: "true", same: true},
		{name: "a commit in it", before: submodule, change: "cd mod; echo 2 >in; git commit -qam two", files: []string{"mod", "mod/in"}},
		{name: "a submodule whose .gitmodules is gone", before: submodule + "git rm -q --cached .gitmodules; rm .gitmodules; git commit -qm x", change: "echo 2 >mod/in", files: []string{"mod/in"}},
		{name: "a submodule that is not checked out", before: submodule, change: "git submodule --quiet deinit -f mod", files: []string{"mod"}},
		{name: "a repository inside", before: nested, change: "echo 2 >nest/in", files: []string{"nest/in"}},
		{name: "a commit inside", before: nested, change: "cd nest; git add in; git commit -qm x", files: []string{"nest/in"}},
		{name: "a repository in one inside", before: nested + "cp -r nest copy; mv copy nest/nest", change: "echo 2 >nest/nest/in", files: []string{"nest/nest/in"}},
		{name: "a new repository inside", change: nested, files: []string{"nest/", "nest/in"}},
		{name: "a folder .git that is none", before: "mkdir sub/.git", change: "echo 2 >sub/b", files: []string{"sub/b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			sh(t, dir, tt.before)
			before := look(t, filepath.Join(dir, "sub/.."))
			sh(t, dir, tt.change)
			after := look(t, dir)
			if diff := cmp.Diff(tt.files, after.ChangedSince(t.Context(), before)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if same := before.Digest() == after.Digest(); same != tt.same || before.Digest() == "" {
				t.Errorf("digests %q and %q", before.Digest(), after.Digest())
			}
		})
	}
}

func TestLookSkips(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	sh(t, dir, "echo 2 >a; echo 2 >sub/b; echo x >n")
	v, err := Look(t.Context(), dir, func(p string) bool { return p == "a" || p == "n" })
	if err != nil || len(v.Dirty) != 1 || v.Dirty["sub/b"] == "" {
		t.Errorf("%v, %v", v.Dirty, err)
	}
}

// TestLookIsCancelled: everything that asks git heeds the context.
func TestLookIsCancelled(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	before := look(t, dir)
	sh(t, dir, "echo 2 >a; git commit -qam two; echo 3 >a; mkfifo .git/info/attributes.fifo; git config core.attributesFile .git/info/attributes.fifo")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go cancel(cause) // git waits for somebody to write to the FIFO
	if v, err := Look(ctx, dir, all); !errors.Is(err, cause) {
		t.Errorf("%+v, %v", v, err)
	}
	sh(t, dir, "git config --unset core.attributesFile")
	after := look(t, dir)
	if got := after.ChangedSince(ctx, View{Top: before.Top, Head: before.Head, Dirty: after.Dirty}); got != nil {
		t.Errorf("it asked git for %v", got)
	}
}

// TestUnknown: of what cannot be looked into nothing is claimed.
func TestUnknown(t *testing.T) {
	t.Parallel()
	if v := look(t, t.TempDir()); v.Top != "" || v.Digest() != "" {
		t.Errorf("no work tree: %+v", v)
	}
	dir := repo(t)
	sh(t, dir, "git init -q nest; echo x >nest/f; echo [ >nest/.git/config")
	if v := look(t, dir); v.Digest() != "" {
		t.Errorf("a repository inside that is broken: %+v", v)
	}
	sh(t, dir, "echo [ >.git/config")
	if v, err := Look(t.Context(), dir, all); err == nil {
		t.Errorf("a repository that is broken: %+v", v)
	}
}
