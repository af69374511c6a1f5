package ralph_test

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

func TestWorkTree(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(gitRepo(t))
	if err != nil {
		t.Fatal(err)
	}
	runIn(t, dir, "git checkout -q -b feature/x")
	if top, branch, err := ralph.WorkTree(t.Context(), filepath.Join(dir, "sub")); top != dir || branch != "feature/x" || err != nil {
		t.Errorf("%q, %q, %v", top, branch, err)
	}
	runIn(t, dir, "git checkout -q --detach")
	if top, branch, err := ralph.WorkTree(t.Context(), dir); top != dir || branch != "" || err != nil {
		t.Errorf("detached: %q, %q, %v", top, branch, err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := ralph.WorkTree(t.Context(), "/"); err != nil && strings.Contains(err.Error(), "fatal") {
		t.Errorf("git's words say the same: %v", err)
	}
	for _, tt := range []struct {
		name, dir string
		ctx       context.Context
		want      error
	}{
		{"no work tree", t.TempDir(), t.Context(), ralph.ErrNoWorkTree},
		{"no folder", filepath.Join(dir, "gone"), t.Context(), fs.ErrNotExist},
		{"a done context", dir, done, context.Canceled},
	} {
		top, branch, err := ralph.WorkTree(tt.ctx, tt.dir)
		if !errors.Is(err, tt.want) || top != "" || branch != "" || !strings.HasPrefix(err.Error(), "ralph: ") {
			t.Errorf("%s: %q, %q, %v", tt.name, top, branch, err)
		}
		if none := errors.Is(err, ralph.ErrNoWorkTree); none != (tt.want == ralph.ErrNoWorkTree) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestWorkTreeWithoutGit(t *testing.T) {
	dir := gitRepo(t)
	t.Setenv("PATH", t.TempDir())
	if _, _, err := ralph.WorkTree(t.Context(), dir); !errors.Is(err, exec.ErrNotFound) || errors.Is(err, ralph.ErrNoWorkTree) {
		t.Error(err)
	}
}
