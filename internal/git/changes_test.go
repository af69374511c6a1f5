package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// changes lists what changed, a line for each file.
func changes(t *testing.T, dir, base string) (list, ignored []string) {
	t.Helper()
	ignored, err := Changes(t.Context(), dir, base, 1<<10, all, func(c Change) error {
		brief := func(v Version) string {
			switch {
			case v.Mode == "":
				return "none"
			case v.Text == nil:
				return fmt.Sprintf("%s %d bytes %.7s", v.Mode, v.Size, v.Digest)
			}
			return fmt.Sprintf("%s %q", v.Mode, v.Text)
		}
		list = append(list, fmt.Sprintf("%s: %s → %s", c.Path, brief(c.Old), brief(c.New)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list, ignored
}

func base(t *testing.T, dir string) string {
	t.Helper()
	b, err := Base(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestChanges: what the files hold counts, however git is told to see them.
func TestChanges(t *testing.T) {
	t.Parallel()
	const one, two = `100644 "1\n"`, `100644 "2\n"`
	const submodule = `git init -q ../inner; cd ../inner; git config user.name t; git config user.email t@example.com
		echo 1 >in; git add in; git commit -qm one; cd - >/dev/null
		git -c protocol.file.allow=always submodule --quiet add "$PWD/../inner" mod; git commit -qm mod
		git -C mod config user.name t; git -C mod config user.email t@example.com; `
	a := []string{"a: " + one + " → " + two}
	for _, tt := range []struct {
		name, before, change string
		want, ignored        []string
	}{
		{name: "nothing", change: "touch -d 2001-01-01 a"},
		{name: "not committed", change: "echo 2 >a", want: a},
		{name: "staged", change: "echo 2 >a; git add a", want: a},
		{name: "committed", change: "echo 2 >a; git commit -qam two", want: a},
		{name: "committed and undone", change: "echo 2 >a; git commit -qam two; echo 1 >a"},
		{name: "two commits", change: "echo 3 >a; git commit -qam two; echo 2 >a; git commit -qam three", want: a},
		{name: "history rewritten", change: "echo 2 >a; git commit -qa --amend -m other", want: a},
		{name: "another branch", change: "git checkout -q --orphan x; echo 2 >a; git add a; git commit -qm x", want: a},
		{name: "new", change: "echo 2 >n", want: []string{"n: none → " + two}},
		{name: "gone", change: "rm a", want: []string{"a: " + one + " → none"}},
		{name: "out of the index", change: "git rm -q --cached a; echo 2 >a", want: a},
		{name: "executable", change: "chmod +x a", want: []string{"a: " + one + ` → 100755 "1\n"`}},
		{name: "a link", change: "ln -sf sub/b a", want: []string{"a: " + one + ` → 120000 "sub/b"`}},
		{name: "a link for a folder", change: "mv sub .git/; ln -s .git/sub sub", want: []string{`sub: none → 120000 ".git/sub"`, "sub/b: " + one + " → none"}},
		{name: "a pipe", change: "rm a; mkfifo a", want: []string{"a: " + one + " → other 0 bytes "}},
		{name: "large", change: "seq 1000 >a", want: []string{"a: " + one + " → 100644 3893 bytes sha256:"}},
		{name: "odd names", change: "printf x >'a b'; printf x >\"$(printf 'c\\nd')\"", want: []string{`a b: none → 100644 "x"`, "c\nd: none → 100644 \"x\""}},
		{name: "ignored", change: "printf 'n\\nd/\\n' >.git/info/exclude; echo 2 >n; mkdir d; echo x >d/x", ignored: []string{"d/", "n"}},
		{name: "said to be unchanged", change: "git update-index --assume-unchanged a; echo 2 >a", want: a},
		{name: "said not to be there", change: "git update-index --skip-worktree a; echo 2 >a", want: a},
		{name: "not there, as said", change: "git update-index --skip-worktree a; rm a"},
		{name: "the same size and time", before: "touch -d 2001-01-01 a; git update-index --refresh; git config core.trustctime false; git config core.checkStat minimal",
			change: "echo 2 >b; touch -d 2001-01-01 b; mv b a", want: a},
		{name: "the base replaced", change: "echo 2 >a; git commit -qam two; git replace HEAD~ HEAD", want: a},
		{name: "the files elsewhere", change: "echo 2 >a; git worktree add -q ../clean HEAD; git config core.worktree \"$PWD/../clean\"", want: a},
		{name: "said to be bare", change: "echo 2 >a; git config core.bare true", want: a},
		{name: "attributes that hide", change: "printf '* -diff binary -text\\n' >.git/info/attributes; echo 2 >a", want: a},
		{name: "a submodule", before: submodule, change: "cd mod; echo 2 >in; git commit -qam two", want: []string{"mod/in: " + one + " → " + two}},
		{name: "a submodule that is not checked out", before: submodule, change: "git submodule --quiet deinit -f mod"},
		{name: "a repository inside", change: "git init -q nest; echo 2 >nest/in", want: []string{"nest/in: none → " + two}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			sh(t, dir, tt.before)
			from := base(t, filepath.Join(dir, "sub"))
			sh(t, dir, tt.change)
			got, ignored := changes(t, dir, from)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.ignored, ignored); diff != "" {
				t.Errorf("ignored (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBase: before the first commit everything is new, and elsewhere nothing is known.
func TestBase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if b := base(t, dir); b != "" {
		t.Errorf("no work tree: %q", b)
	}
	begin(t, dir)
	from := base(t, dir)
	sh(t, dir, "echo 1 >a; git add a; git commit -qm one")
	if got, _ := changes(t, dir, from); len(got) != 1 || !strings.HasPrefix(got[0], "a: none → ") {
		t.Error(got)
	}
	sh(t, dir, "git checkout -q --detach")
	if b := base(t, dir); len(b) != 40 || b == from {
		t.Errorf("%q", b)
	}
}

// TestChangesUnknown: what cannot be compared is an error, and not no change.
func TestChangesUnknown(t *testing.T) {
	t.Parallel()
	ask := func(dir, base string) error {
		_, err := Changes(t.Context(), dir, base, 1, all, func(c Change) error { return errors.New("called with " + c.Path) })
		return err
	}
	dir := repo(t)
	from := base(t, dir)
	for _, bad := range []string{"", "HEAD", "--output=x", strings.Repeat("0", 40), from[:7]} {
		if err := ask(dir, bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	sh(t, dir, "echo out >>.gitignore; mkdir out")
	if err := ask(filepath.Join(dir, "out"), from); !isNone(err) {
		t.Errorf("in a folder that is ignored: %v", err)
	}
	sh(t, dir, "rm -rf .git; git init -q .")
	if err := ask(dir, from); err == nil || isNone(err) {
		t.Errorf("another repository: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if err := ask(dir, from); !isNone(err) {
		t.Errorf("no repository: %v", err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := Changes(ctx, repo(t), from, 1, all, nil); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
}
