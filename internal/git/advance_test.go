package git

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// next makes a commit by a script, on main's commit, and returns it. The files of main
// stay as they were.
func next(t *testing.T, dir, script string) string {
	t.Helper()
	return out(t, dir, "git worktree add -q --detach ../next; cd ../next; ("+script+"); git add -A; git commit -qm next --allow-empty; git rev-parse HEAD; cd - >/dev/null; git worktree remove --force ../next")
}

// moves are scripts that change files in all the ways there are.
var moves = []struct{ name, before, script string }{
	{"edits", "", "echo 2 >a; echo 2 >sub/b; echo n >n"},
	{"nothing", "", "true"},
	{"removals", "", "rm -r a sub"},
	{"modes", "", "chmod +x a"},
	{"a link", "", "ln -sf sub/b a"},
	{"a link for a folder", "", "rm -r sub; ln -s . sub"},
	{"a folder for a link", "ln -s sub l; git add l; git commit -qm l", "rm l; mkdir l; echo l >l/b"},
	{"a folder for a file", "", "rm a; mkdir -p a/a; echo 2 >a/a/a; echo 3 >a/b"},
	{"a file for a folder", "mkdir -p sub/c/d; echo 1 >sub/c/d/e; git add -A; git commit -qm e", "rm -r sub; echo 2 >sub"},
	{"odd names", "", "echo 2 >'a b'; echo 2 >\"$(printf 'c\\nd')\"; echo 2 >'é'; echo 2 >-n; echo 2 >'\"'; echo 2 >'*'; echo 2 >A"},
	{"line ends", "echo '* text=auto eol=crlf' >.gitattributes; printf '1\\r\\n' >a; git add -A; git commit -qm crlf; rm a; git checkout -q a", "printf '2\\r\\n' >a; printf 'n\\r\\n' >n"},
	{"line ends from now on", "git add -A; git commit -qm x --allow-empty", "echo '* text=auto eol=crlf' >.gitattributes; printf '2\\r\\n' >a"},
	{"a filter", "git config filter.up.clean 'tr A-Z a-z'; git config filter.up.smudge 'tr a-z A-Z'; git config filter.up.required true; echo '*.up filter=up' >.gitattributes; echo ONE >x.up; git add -A; git commit -qm up", "echo TWO >x.up; echo NEW >y.up"},
	{"a filter from now on", "git config filter.up.clean 'tr A-Z a-z'; git config filter.up.smudge 'tr a-z A-Z'; echo One >x.up; git add -A; git commit -qm up", "echo '*.up filter=up' >.gitattributes; echo TWO >x.up; echo TWO >y.up"},
	{"a submodule that is not here", "git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,mod; mkdir mod; git commit -qm mod", "git update-index --cacheinfo 160000,2222222222222222222222222222222222222222,mod; mkdir -p mod; echo 2 >a"},
	{"a split index", "git update-index --split-index; git config core.splitIndex true", "echo 2 >a"},
	{"a detached head", "git checkout -q --detach", "echo 2 >a"},
}

// TestAdvance: a move that is killed after any of its steps is finished by the next, and
// one that cannot go on is undone.
func TestAdvance(t *testing.T) {
	t.Parallel()
	for _, tt := range moves {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			sh(t, dir, tt.before)
			from := out(t, dir, "git rev-parse HEAD")
			to := next(t, dir, tt.script)
			for killed, more := 0, true; more; killed++ {
				sh(t, dir, "git reset -q --hard "+from)
				r := openRepo(t, dir)
				more = half(t, r, from, to, killed)
				fine(t, r.Advance(t.Context(), from, to, nil))
				if got := out(t, dir, "git rev-parse HEAD; git update-index --really-refresh; git status --porcelain; git fsck --strict 2>/dev/null; ls .git"); strings.Contains(got, "ralph-stage") || strings.Contains(got, "index.lock") ||
					!strings.HasPrefix(got, to+"\nCOMMIT_EDITMSG\n") {
					t.Errorf("killed after %d steps: want %s: %s", killed, to, got)
				}
				if !more { // the branch has moved
					continue
				}
				sh(t, dir, "git reset -q --hard "+from)
				half(t, r, from, to, killed)
				a, err := r.advance(t.Context(), from, to, nil)
				fine(t, err)
				_, err = a.back().move(t.Context())
				fine(t, err)
				sh(t, dir, "rm .git/index.lock")
				if got := out(t, dir, "git rev-parse HEAD; git update-index --really-refresh; git status --porcelain"); got != from {
					t.Errorf("undone after %d steps: want %s: %s", killed, from, got)
				}
			}
		})
	}
}

// half does the first steps of a move, and reports whether there are more.
func half(t *testing.T, r *Repo, from, to string, steps int) bool {
	t.Helper()
	a, err := r.advance(t.Context(), from, to, nil)
	fine(t, err)
	fine(t, lockIndex(filepath.Join(r.dir, "index.lock")))
	staging := filepath.Join(r.dir, "ralph-stage-1")
	os.RemoveAll(staging)
	fine(t, os.Mkdir(staging, 0o700))
	s := r.shadow(r.Top)
	defer s.remove()
	fine(t, a.stage(t.Context(), s, staging))
	all := append(a.steps(staging), func() error { s.refresh(t.Context()); s.lay(r.dir); return s.err },
		func() error { _, err := r.own().do(t.Context(), "update-ref", "HEAD", to, from); return err })
	for _, step := range all[:steps] {
		fine(t, step())
	}
	return steps < len(all)
}

// TestAdvanceSparesTheUser: what is the user's stays, and is named if it hinders.
func TestAdvanceSparesTheUser(t *testing.T) {
	t.Parallel()
	const to = "echo 2 >a; echo n >n; mkdir d; echo x >d/x; rm sub/b"
	for _, tt := range []struct {
		name, user, move string
		want             []string // in the way
		keep             []string
		after            string // git status, if nothing is in the way
	}{
		{name: "an edit", user: "echo user >a", want: []string{"a"}},
		{name: "an edit of what goes", user: "echo user >sub/b", want: []string{"sub/b"}},
		{name: "a mode", user: "chmod +x a", want: []string{"a"}},
		{name: "removed", user: "rm a", want: []string{"a"}},
		{name: "staged", user: "echo user >a; git add a; echo 1 >a", want: []string{"a"}},
		{name: "staged and gone", user: "echo user >n; git add n; rm n", want: []string{"n"}},
		{name: "a new file", user: "echo user >n", want: []string{"n"}},
		{name: "an ignored file", user: "echo n >.git/info/exclude; echo user >n", want: []string{"n"}},
		{name: "a folder for a file", user: "mkdir n; echo user >n/n", want: []string{"n"}},
		{name: "a file for a folder", user: "echo user >d", want: []string{"d"}},
		{name: "a link for a folder", user: "mkdir ../else; ln -s ../else d", want: []string{"d"}},
		{name: "a folder became a link", user: "mv sub ../sub; ln -s ../sub sub", move: "echo 2 >sub/b", want: []string{"sub/b"}},
		{name: "a folder that goes became a link", user: "mv sub ../sub; ln -s ../sub sub", after: "?? sub"},
		{name: "more than one", user: "echo user >a; echo user >n", want: []string{"a", "n"}},
		{name: "the same already", user: "echo 2 >a; echo n >n"},
		{name: "an empty folder", user: "mkdir -p n/n"},
		{name: "beside it", user: "echo user >other; echo user >sub/new; echo user >s; git add s", after: "A  s\n?? other\n?? sub/"},
		{name: "kept", user: "echo user >a", keep: []string{"a"}, after: " M a"},
		{name: "kept and new", user: "echo user >n", keep: []string{"n"}, after: " M n"},
		{name: "kept and staged", user: "echo user >a; git add a", keep: []string{"a"}, after: "M  a"},
		{name: "kept and gone", user: "rm sub/b", keep: []string{"sub/b"}},
		{name: "what git does not look at", user: "git update-index --assume-unchanged a; echo user >a", want: []string{"a"}},
		{name: "a file of the same size and time", user: "touch -d 2001-01-01 a; git update-index --refresh; git config core.trustctime false; echo 9 >a; touch -d 2001-01-01 a", want: []string{"a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			from := out(t, dir, "git rev-parse HEAD")
			commit := next(t, dir, cmp.Or(tt.move, to))
			sh(t, dir, tt.user)
			r := openRepo(t, dir)
			all := "git rev-parse HEAD; git ls-files -s; git status --porcelain; find . -path ./.git -prune -o -type f -print -exec cat {} + | sort; ls .git | grep -v ralph.lock"
			before := out(t, dir, all)
			err := r.Advance(t.Context(), from, commit, tt.keep)
			if tt.want == nil {
				fine(t, err)
				if got := out(t, dir, "git rev-parse HEAD; git status --porcelain"); got != strings.TrimSuffix(commit+"\n"+tt.after, "\n") {
					t.Errorf("%s", got)
				}
				return
			}
			e, ok := errors.AsType[*InWayError](err)
			if !ok || !gocmp.Equal(tt.want, e.Paths) || !strings.Contains(err.Error(), strconv.Quote(tt.want[0])) {
				t.Errorf("in the way: %v", err)
			}
			if diff := gocmp.Diff(before, out(t, dir, all)); diff != "" {
				t.Errorf("it was changed: %s", diff)
			}
		})
	}
}

// TestAdvanceRefuses: the branch is not moved where something else goes on.
func TestAdvanceRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, user, want string }{
		{"git is at work", "touch .git/index.lock", "index.lock"},
		{"another branch", "git checkout -q -b other", "another branch is checked out now: other"},
		{"a detached head", "git checkout -q --detach", "another branch is checked out now: none"},
		{"it has moved", "git commit -q --allow-empty -m user", "main has moved"},
		{"a merge", "git rev-parse HEAD >.git/MERGE_HEAD", "not finished"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			from := out(t, dir, "git rev-parse HEAD")
			to := next(t, dir, "echo 2 >a")
			r := openRepo(t, dir)
			sh(t, dir, tt.user)
			before := out(t, dir, "git rev-parse HEAD main")
			if err := r.Advance(t.Context(), from, to, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
			if after := out(t, dir, "git rev-parse HEAD main; cat a"); after != before+"\n1" {
				t.Errorf("%s, not %s", after, before)
			}
		})
	}
	t.Run("backwards", func(t *testing.T) {
		t.Parallel()
		dir := repo(t)
		to := next(t, dir, "echo 2 >a")
		if err := openRepo(t, dir).Advance(t.Context(), to, "HEAD", nil); err == nil {
			t.Error("no error")
		}
	})
}

// TestAdvanceGoesBack: a ref that cannot be moved leaves everything as it was.
func TestAdvanceGoesBack(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	from := out(t, dir, "git rev-parse HEAD")
	to := next(t, dir, "echo 2 >a; rm sub/b; echo n >n")
	sh(t, dir, "touch .git/refs/heads/main.lock")
	r := openRepo(t, dir)
	if err := r.Advance(t.Context(), from, to, nil); err == nil || !strings.Contains(err.Error(), "main.lock") {
		t.Errorf("%v", err)
	}
	if got := out(t, dir, "git rev-parse HEAD; git status --porcelain; ls"); got != from+"\na\nsub" {
		t.Errorf("%s", got)
	}
	sh(t, dir, "rm .git/refs/heads/main.lock")
	fine(t, r.Advance(t.Context(), from, to, nil))
}

// TestAdvanceSparse: what is not checked out is not written, and stays so.
func TestAdvanceSparse(t *testing.T) {
	t.Parallel()
	for _, cone := range []string{"--cone", "--no-cone"} {
		t.Run(cone, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			sh(t, dir, "mkdir x y; echo 1 >x/x; echo 1 >y/y; git add -A; git commit -qm xy; git sparse-checkout set "+cone+" x")
			from := out(t, dir, "git rev-parse HEAD")
			r := openRepo(t, dir)
			tree := add(t, r, "one")
			sh(t, tree.Dir, "test -e y/y; echo 2 >x/x; echo 2 >y/y; echo 2 >y/new; echo 2 >x/new")
			m := merge(t, r, commit(t, tree))
			fine(t, r.Advance(t.Context(), from, m.Commit, nil))
			if got := out(t, dir, "git status --porcelain; cat x/x x/new; test ! -e y; git show HEAD:y/y HEAD:y/new"); got != "2\n2\n2\n2" {
				t.Errorf("%s", got)
			}
			if told, err := r.Tampered(t.Context()); len(told) > 0 || err != nil {
				t.Errorf("%q, %v", told, err)
			}
			fine(t, tree.Remove(t.Context()))
		})
	}
}
