package git

import (
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// bare is a repository with the branch main, for clones to share.
func bare(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(real(t, t.TempDir()), "shared.git")
	sh(t, repo(t), "git clone -q --bare . '"+dir+"'")
	return dir
}

// clone is a clone, by a person who has a name.
func clone(t *testing.T, from string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	sh(t, ".", fmt.Sprintf("git clone -q '%s' '%s'; cd '%[2]s'; git config user.name t; git config user.email t@example.com", from, dir))
	return dir
}

func remote(t *testing.T, r *Repo, url string) *Remote {
	t.Helper()
	m, err := r.Remote(url)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// fetch is what a remote has of main and of a branch.
func fetch(t *testing.T, m *Remote, branch string) (main, other string) {
	t.Helper()
	main, other, err := m.Fetch(t.Context(), branch)
	if err != nil {
		t.Fatal(err)
	}
	return main, other
}

// TestRemote shares a branch and main between two clones, by each kind of path.
func TestRemote(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"%s", "file://%s"} {
		shared := bare(t)
		url := fmt.Sprintf(kind, shared)
		dir := clone(t, shared)
		sh(t, dir, "git config gc.auto 1; git config gc.autoPackLimit 1; git config gc.autoDetach false; git config gc.pruneExpire now; git checkout -q -b mine; git commit -q --allow-empty -m mine; git checkout -q main")
		one, two := openRepo(t, dir), openRepo(t, clone(t, shared))
		m, n := remote(t, one, url), remote(t, two, url)
		base, none := fetch(t, m, "ralph/x")
		if base != head(t, one) || none != "" {
			t.Fatalf("%s, %s", base, none)
		}
		tree := add(t, one, "x")
		sh(t, tree.Dir, "echo x >x")
		work := commit(t, tree)
		fine(t, m.Push(t.Context(), "ralph/x", "", work))
		fine(t, m.Push(t.Context(), "ralph/x", "", work)) // as after a kill
		if main, got := fetch(t, n, "ralph/x"); main != base || got != work || out(t, two.Top, "git show "+got+":x") != "x" {
			t.Errorf("%s, %s", main, got)
		}

		// Main moves by the other clone; nobody's files do.
		to := merge(t, two, work)
		fine(t, n.Push(t.Context(), "main", base, to.Commit))
		if main, _ := fetch(t, m, ""); main != to.Commit {
			t.Errorf("main is %s", main)
		}
		if main, err := one.Main(t.Context()); err != nil || main != to.Commit || head(t, one) != base || out(t, one.Top, "git status --porcelain") != "" {
			t.Errorf("%s, %v", main, err)
		}
		// Nothing is cleared away by the refs that a transfer sees.
		tree = add(t, one, "z")
		sh(t, tree.Dir, "echo z >z")
		commit(t, tree)
		for i := range 3 {
			sh(t, shared, fmt.Sprintf("git update-ref refs/heads/ralph/n%d $(git commit-tree -m %d main^{tree})", i, i))
			fetch(t, m, fmt.Sprintf("ralph/n%d", i))
			sh(t, shared, fmt.Sprintf("git update-ref -d refs/heads/ralph/n%d", i))
		}
		sh(t, one.Top, "git fsck --full --strict --no-dangling; git show mine")
		// What has moved is not written over, nor taken away.
		for _, push := range []struct{ branch, from, to string }{
			{"main", base, out(t, one.Top, "git commit-tree -p "+base+" -m other "+base+"^{tree}")}, {"main", to.Commit, base},
			{"ralph/x", base, to.Commit}, {"ralph/x", base, ""}, {"ralph/y", base, to.Commit}, {"ralph/x", "", to.Commit},
		} {
			err := m.Push(t.Context(), push.branch, push.from, push.to)
			if _, moved := err.(*MovedError); !moved {
				t.Errorf("%v: %v", push, err)
			}
		}
		fine(t, m.Push(t.Context(), "ralph/x", work, ""))
		fine(t, m.Push(t.Context(), "ralph/x", work, ""))
		if got := out(t, shared, "git for-each-ref --format='%(refname) %(objectname)'"); got != "refs/heads/main "+to.Commit {
			t.Errorf("the remote has %q", got)
		}
	}
}

// TestRemoteRefuses: what is no repository that can be shared.
func TestRemoteRefuses(t *testing.T) {
	t.Parallel()
	shared := bare(t)
	dir := clone(t, shared)
	sh(t, dir, "git config protocol.ext.allow always; git clone -q --bare . near")
	program, mark := evil(t)
	r := openRepo(t, dir)
	for _, tt := range []struct{ url, want string }{
		{"-", "can be no repository"}, {"--upload-pack=x", "can be no repository"}, {"", "can be no repository"}, {"a\nb", "can be no repository"},
		{"ext::" + program, "not allowed"}, {"origin", "not appear to be a git repository"},
		{"near", "not appear to be a git repository"}, {shared + ".gone", "not appear to be a git repository"},
	} {
		m, err := r.Remote(tt.url)
		if err == nil {
			_, _, err = m.Fetch(t.Context(), "")
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v", tt.url, err)
		}
	}
	if exists(mark) {
		t.Error("the program was run")
	}
	m := remote(t, r, shared)
	if err := m.Push(t.Context(), "other", "", head(t, r)); err == nil {
		t.Error("any branch is pushed")
	}
	sh(t, shared, `printf '#!/bin/sh\necho not today >&2; exit 1\n' >hooks/pre-receive; chmod +x hooks/pre-receive`)
	if err := m.Push(t.Context(), "ralph/x", "", head(t, r)); err == nil || !strings.Contains(err.Error(), "pre-receive hook declined") {
		t.Errorf("%v", err)
	}
	sh(t, shared, "git branch -m main trunk")
	if _, _, err := m.Fetch(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "no branch main") {
		t.Errorf("%v", err)
	}
	sh(t, dir, "git checkout -q --detach")
	if _, err := openRepo(t, dir).Remote(shared); err == nil || !strings.Contains(err.Error(), "no branch is checked out") {
		t.Errorf("%v", err)
	}
}

// served serves the repositories of a folder by HTTP to who knows the password.
func served(t *testing.T, dir string) (url string) {
	t.Helper()
	core, err := exec.Command("git", "--exec-path").Output()
	program := filepath.Join(strings.TrimSpace(string(core)), "git-http-backend")
	if err != nil || !exists(program) {
		t.Skip("this git has no server")
	}
	h := &cgi.Handler{Path: program, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=who"}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, password, _ := req.BasicAuth(); password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, req)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestRemoteStartsNothing shares by a clone whose configuration was rewritten since it was
// opened. What was configured then is used: how SSH is started, and who knows the password.
// That the program would run is made sure of by git itself.
func TestRemoteStartsNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	const path, url, set, ssh, web, ask = "path", "url", "set", "ssh", "web", "ask"
	for _, tt := range []struct{ name, kind, script string }{
		{"a hook", path, `cp "$EVIL" .git/hooks/pre-push; cp "$EVIL" .git/hooks/reference-transaction; cp "$EVIL" .git/hooks/post-checkout`},
		{"a folder of hooks", path, `mkdir h; cp "$EVIL" h/pre-push; git config core.hooksPath "$PWD/h"`},
		{"another URL", path, `git config "url.ext::$EVIL #.insteadOf" "$URL"; git config protocol.ext.allow always`},
		{"another URL to push to", path, `git config "url.ext::$EVIL #.pushInsteadOf" "$URL"; git config protocol.ext.allow always`},
		{"the program of a remote", url, `git config "remote.$URL.url" "$URL"; git config "remote.$URL.uploadpack" "$EVIL"; git config "remote.$URL.receivepack" "$EVIL"`},
		{"a transport of a remote", url, `git config "remote.$URL.url" x; git config "remote.$URL.vcs" evil; cp "$EVIL" "$TMP/git-remote-evil"; PATH=$TMP:$PATH`},
		{"the program of a remote that was there", set, `git config "remote.$URL.url" "$URL"; git config "remote.$URL.uploadpack" "$EVIL"; git config "remote.$URL.receivepack" "$EVIL"`},
		{"a program for SSH", ssh, `git config core.sshCommand "$EVIL"`},
		{"a program for SSH, included", ssh, `git config -f more core.sshCommand "$EVIL"; git config include.path ../more`},
		{"who knows the password", web, `git config --replace-all credential.helper "!$EVIL"`},
		{"who is asked for the password", web, `git config --unset-all credential.helper; git config core.askPass "$EVIL"`},
		{"another who is asked", ask, `git config core.askPass "$EVIL"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			shared := bare(t)
			dir := clone(t, shared)
			at := shared
			switch tt.kind {
			case url, set:
				at = "file://" + shared
			case ssh:
				at = "ssh://host" + shared
				local := filepath.Join(t.TempDir(), "local")
				fine(t, os.WriteFile(local, []byte("#!/bin/sh\nexec /bin/sh -c \"$2\"\n"), 0o700))
				sh(t, dir, "git config ssh.variant simple; git config core.sshCommand '"+local+"'")
			case web, ask:
				sh(t, shared, "git config http.receivepack true")
				at = served(t, filepath.Dir(shared)) + "/shared.git"
				helper := `credential.helper '!f() { echo username=u; echo password=secret; }; f'`
				if tt.kind == ask {
					helper = "core.askPass '" + filepath.Join(t.TempDir(), "ask") + "'; printf '#!/bin/sh\necho secret\n' >$(git config core.askPass); chmod +x $(git config core.askPass)"
				}
				sh(t, dir, "git config "+helper)
			}
			program, mark := evil(t)
			hostile := fmt.Sprintf("EVIL='%s'; URL='%s'; TMP='%s'; cd '%s'; %s\n", program, at, t.TempDir(), dir, tt.script)
			if tt.kind == set {
				sh(t, dir, hostile)
			}
			r := openRepo(t, dir)
			tree := add(t, r, "x")
			sh(t, tree.Dir, "echo x >x")
			work := commit(t, tree)
			sh(t, dir, hostile+`export GIT_TERMINAL_PROMPT=0; git fetch -q "$URL" 2>/dev/null || true; git push -q "$URL" HEAD:refs/heads/probe 2>/dev/null || true`)
			if !exists(mark) {
				t.Fatal("git itself does not run it")
			}
			os.Remove(mark)

			m := remote(t, r, at)
			main, _ := fetch(t, m, "ralph/x")
			fine(t, m.Push(t.Context(), "ralph/x", "", work))
			fine(t, m.Push(t.Context(), "main", main, merge(t, r, work).Commit))
			sh(t, shared, "git update-ref refs/heads/ralph/y $(git commit-tree -m y main^{tree})")
			if _, y := fetch(t, m, "ralph/y"); y == "" || out(t, shared, "git show main:x") != "x" {
				t.Error("it is not shared")
			}
			if exists(mark) {
				t.Error("the program was run")
			}
		})
	}
}

// TestRemoteOfAnother: a path that belongs to another user is one that this user has to
// have said is safe, as for git.
func TestRemoteOfAnother(t *testing.T) {
	shared := bare(t)
	dir := clone(t, shared)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
	if _, err := exec.Command("git", "ls-remote", shared).Output(); err == nil {
		t.Skip("this git does not look who owns a repository")
	}
	if _, _, err := remote(t, openRepo(t, dir), shared).Fetch(t.Context(), ""); err == nil {
		t.Error("a stranger's repository is used")
	}
	fine(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[safe]\n\tdirectory = "+shared+"\n"), 0o600))
	fetch(t, remote(t, openRepo(t, dir), shared), "")
}
