package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// attack is a workspace's way to have a program run by who looks at it. Scripts
// get $EVIL, a program that leaves a mark.
type attack struct{ name, script string }

func attacks() []attack {
	const submodule = `git init -q "$TMP/inner"; cd "$TMP/inner"; git config user.name t; git config user.email t@example.com
		echo 1 >in; echo '* filter=x' >.gitattributes; git add -A; git commit -qm one; cd - >/dev/null
		git -c protocol.file.allow=always submodule --quiet add "$TMP/inner" mod; git commit -qm mod; `
	// A blob is missing that only the configured remote has, and git needs it to
	// find out whether line ends were converted.
	const partial = `git config core.autocrlf input; git config core.safecrlf false
		git config core.repositoryformatversion 1; git config extensions.partialclone evil; git config remote.evil.promisor true
		rm -f .git/objects/$(git rev-parse HEAD:a | sed 's|..|&/|'); printf '\r\n' >a; `
	return []attack{
		{"a clean filter", `echo '* filter=x' >.gitattributes; git config filter.x.clean "$EVIL"; echo 2 >a`},
		{"a required one", `echo '* filter=x' >.gitattributes; git config filter.x.clean "$EVIL"; git config filter.x.required true; echo 2 >a`},
		{"a process filter", `echo '* filter=x' >.gitattributes; git config filter.x.process "$EVIL"; echo 2 >a`},
		{"both", `echo '* filter=x' >.gitattributes; git config filter.x.clean "$EVIL"; git config filter.x.process "$EVIL"; echo 2 >a`},
		{"attributes outside the tree", `echo '* filter=x' >.git/info/attributes; git config filter.x.clean "$EVIL"; echo 2 >a`},
		{"a name with dots", `echo '* filter=x.clean.y' >.gitattributes; git config filter.x.clean.y.clean "$EVIL"; echo 2 >a`},
		{"a name in upper case", `echo '* filter=XyZ' >.gitattributes; git config filter.XyZ.clean "$EVIL"; echo 2 >a`},
		{"a name with quotes", `echo '* filter=a"b' >.gitattributes; git config 'filter.a"b.clean' "$EVIL"; echo 2 >a`},
		{"an empty name", `echo '* filter=' >.gitattributes; printf '[filter ""]\n\tclean = %s\n' "$EVIL" >>.git/config; echo 2 >a`},
		{"an old header", `echo '* filter=x' >.gitattributes; printf '[FILTER.x] clean = %s\n' "$EVIL" >>.git/config; echo 2 >a`},
		{"one of many", `echo '* filter=x' >.gitattributes; for n in a b c d; do git config filter.$n.clean cat; done; git config filter.x.clean "$EVIL"; echo 2 >a`},
		{"an included file", `echo '* filter=x' >.gitattributes; git config -f more filter.x.clean "$EVIL"; git config include.path ../more; echo 2 >a`},
		{"a conditional one", `echo '* filter=x' >.gitattributes; git config -f more filter.x.clean "$EVIL"; git config includeIf.onbranch:main.path ../more; echo 2 >a`},
		{"the configuration of the work tree", `echo '* filter=x' >.gitattributes; git config extensions.worktreeConfig true; git config --worktree filter.x.clean "$EVIL"; echo 2 >a`},
		{"a configuration elsewhere", `echo '* filter=x' >.gitattributes; cp -r .git "$TMP/common"; git config -f "$TMP/common/config" filter.x.clean "$EVIL"; echo "$TMP/common" >.git/commondir; echo 2 >a`},
		{"a repository elsewhere", `echo '* filter=x' >.gitattributes; git config filter.x.clean "$EVIL"; mv .git "$TMP/git"; echo "gitdir: $TMP/git" >.git; echo 2 >a`},
		{"a link to a repository", `echo '* filter=x' >.gitattributes; git config filter.x.clean "$EVIL"; mv .git "$TMP/git"; ln -s "$TMP/git" .git; echo 2 >a`},
		{"a monitor of the file system", `git config core.fsmonitor "$EVIL"; git update-index --fsmonitor 2>/dev/null || true; rm -f "$MARK"`},
		{"a hook", `printf '#!/bin/sh\n$EVIL\n' | sed "s|\$EVIL|$EVIL|" >.git/hooks/post-index-change; chmod +x .git/hooks/post-index-change; touch -d 2001-01-01 a`},
		{"a folder of hooks", `mkdir h; cp "$EVIL" h/post-index-change; git config core.hooksPath h; touch -d 2001-01-01 a`},
		{"a submodule's filter", submodule + `git -C mod config filter.x.clean "$EVIL"; echo 2 >mod/in`},
		{"a submodule's monitor", submodule + `git -C mod config core.fsmonitor "$EVIL"`},
		{"a submodule that wants to be seen", submodule + `git config submodule.mod.ignore none; git config diff.ignoreSubmodules none; git -C mod config filter.x.clean "$EVIL"; echo 2 >mod/in`},
		{"the program of a remote", partial + `git config remote.evil.url "$PWD"; git config remote.evil.uploadpack "$EVIL"`},
		{"a transport", partial + `git config remote.evil.url "ext::$EVIL"; git config protocol.ext.allow always`},
		{"a program for SSH", partial + `git config remote.evil.url ssh://example.invalid/x; git config core.sshCommand "$EVIL"`},
	}
}

// evil makes a program that leaves a mark.
func evil(t *testing.T) (program, mark string) {
	t.Helper()
	dir := t.TempDir()
	program, mark = filepath.Join(dir, "evil"), filepath.Join(dir, "mark")
	if err := os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\ntouch '%s'\n", mark), 0o700); err != nil {
		t.Fatal(err)
	}
	return program, mark
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// TestLookStartsNothing looks at workspaces whose configuration has a program run.
// That it would run is made sure of by git itself, unprotected.
func TestLookStartsNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range attacks() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			before := look(t, dir)
			program, mark := evil(t)
			sh(t, dir, fmt.Sprintf("EVIL='%s'; MARK='%s'; TMP='%s'\n", program, mark, t.TempDir())+tt.script)
			os.Remove(mark)

			after, err := Look(t.Context(), dir, all)
			if err == nil {
				after.ChangedSince(t.Context(), before)
			} else {
				t.Logf("%v", err)
			}
			if _, err := TopLevel(t.Context(), dir); err != nil {
				t.Error(err)
			}
			if _, err := Branch(t.Context(), dir); err != nil {
				t.Error(err)
			}
			if exists(mark) {
				t.Error("the program was run")
			}

			cmd := exec.Command("git", "status", "--porcelain")
			cmd.Dir = dir
			out, _ := cmd.CombinedOutput()
			if !exists(mark) {
				t.Errorf("this is no attack: git runs nothing: %s", out)
			}
		})
	}
}

// TestChangedSinceStartsNothing compares commits where differences are shown by
// programs.
func TestChangedSinceStartsNothing(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	before := look(t, dir)
	program, mark := evil(t)
	sh(t, dir, fmt.Sprintf(`EVIL='%s'
		echo '* diff=x' >.gitattributes; git config diff.x.command "$EVIL"; git config diff.x.textconv "$EVIL"; git config diff.external "$EVIL"
		git config core.pager "$EVIL"; git config pager.status true; git config pager.diff-tree true;
		echo 2 >a; git add -A; git commit -qm two; git config diff.orderFile gone`, program))
	os.Remove(mark)
	if diff := cmp.Diff([]string{".gitattributes", "a"}, look(t, dir).ChangedSince(t.Context(), before)); diff != "" {
		t.Error(diff)
	}
	if exists(mark) {
		t.Error("the program was run")
	}
}

// TestFilterThatCannotBeOff: git takes the first = for the end of a name. It is
// not asked then.
func TestFilterThatCannotBeOff(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	program, mark := evil(t)
	sh(t, dir, fmt.Sprintf(`echo '* filter=a=b' >.gitattributes; printf '[filter "a=b"]\n\tclean = %s\n' >>.git/config; echo 2 >a`, program))
	if v, err := Look(t.Context(), dir, all); err == nil || !strings.Contains(err.Error(), `"a=b"`) {
		t.Errorf("%+v, %v", v, err)
	}
	if exists(mark) {
		t.Error("the program was run")
	}
}

// TestFiltersOfTheUser: what the user has installed is not run either, whichever
// file says so.
func TestFiltersOfTheUser(t *testing.T) {
	program, mark := evil(t)
	dir := repo(t)
	sh(t, dir, "echo '* filter=x' >.gitattributes; echo 2 >a")
	home := t.TempDir()
	t.Setenv("HOME", home)
	sh(t, dir, "git config --global user.name t")
	for name, variables := range map[string]map[string]string{
		".gitconfig":         {},
		".config/git/config": {},
		"xdg/git/config":     {"XDG_CONFIG_HOME": filepath.Join(home, "xdg")},
		"global":             {"GIT_CONFIG_GLOBAL": filepath.Join(home, "global")},
		"system":             {"GIT_CONFIG_SYSTEM": filepath.Join(home, "system")},
		"count":              {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "filter.x.clean", "GIT_CONFIG_VALUE_0": program},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range variables {
				t.Setenv(k, v)
			}
			file := filepath.Join(home, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, fmt.Appendf(nil, "[filter \"x\"]\n\tclean = %s\n", program), 0o600)); err != nil {
				t.Fatal(err)
			}
			if v := look(t, dir); v.Dirty["a"] == "" || exists(mark) {
				t.Errorf("dirty %v, run %v", v.Dirty, exists(mark))
			}
			sh(t, dir, "git status")
			if !exists(mark) {
				t.Error("this is no attack")
			}
			os.Remove(mark)
			os.Remove(file)
		})
	}
}

// TestLFS works in a repository whose files are kept elsewhere, with a program
// that is required, and is not installed, or fails.
func TestLFS(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]string{"not installed": "no-such-lfs", "fails": "false", "works": "sed s/^/pointer/"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t)
			sh(t, dir, fmt.Sprintf(`git config filter.lfs.clean 'sed s/^/pointer/'; git config filter.lfs.smudge 'sed s/^pointer//'
				echo '*.bin filter=lfs diff=lfs merge=lfs -text' >.gitattributes; echo big >x.bin; echo big >y.bin
				git add -A; git commit -qm lfs; rm y.bin; git checkout -q y.bin
				git config filter.lfs.clean '%[1]s'; git config filter.lfs.smudge '%[1]s'; git config filter.lfs.process ''; git config filter.lfs.required true`, program))
			first := look(t, dir)
			if again := look(t, dir); first.Digest() == "" || again.Digest() != first.Digest() {
				t.Errorf("digests %q and %q", first.Digest(), again.Digest())
			}
			sh(t, dir, "touch -d 2001-01-01 x.bin")
			touched := look(t, dir)
			if got := look(t, dir); got.Digest() != touched.Digest() {
				t.Errorf("digests %q and %q", touched.Digest(), got.Digest())
			}
			sh(t, dir, "echo bigger >x.bin; echo 2 >a")
			after := look(t, dir)
			if diff := cmp.Diff([]string{"a", "x.bin"}, after.ChangedSince(t.Context(), touched)); diff != "" {
				t.Error(diff)
			}
			if after.Digest() == touched.Digest() {
				t.Error("a change is not seen")
			}
		})
	}
}

// TestLookStaysInside: where git does not accept a folder .git, it goes on to the
// repository around it, with a configuration that was not looked at.
func TestLookStaysInside(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	program, mark := evil(t)
	sh(t, dir, fmt.Sprintf(`echo '* filter=x' >.gitattributes; git config filter.x.clean '%s'; mkdir sub/.git; echo x >sub/.git/HEAD; echo 2 >a`, program))
	if v, err := Look(t.Context(), filepath.Join(dir, "sub"), all); err == nil {
		t.Errorf("%+v", v)
	}
	if exists(mark) {
		t.Error("the program was run")
	}
}
