package progress_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// dirLoop records a loop that rejects once and then agrees.
func dirLoop(t *testing.T, dir progress.Dir, s ralph.State, meta map[string]string) ralph.State {
	t.Helper()
	l := &ralph.Local{
		Log: dir, Meta: meta, Runner: ralph.Replay("not yet", "<promise>COMPLETE</promise>", "<promise>COMPLETE</promise>"), Verifier: verify.String{},
		Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil },
	}
	s, err := l.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDir(t *testing.T) {
	t.Parallel()
	dir := progress.Dir{Path: filepath.Join(t.TempDir(), "a", "b")}
	if _, _, err := dir.Resume("T"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a record: %v", err)
	}
	task := ralph.Task{ID: "T", Prompt: "Do it.", Guarded: map[string]string{"x": "1"}, Limits: ralph.Limits{Iterations: 5}}
	final := dirLoop(t, dir, ralph.Start(task), map[string]string{"verify": "true"})
	s, meta, err := dir.Resume("T")
	if diff := cmp.Diff(final, s); err != nil || diff != "" || meta["verify"] != "true" {
		t.Errorf("%v, %v (-want +got):\n%s", err, meta, diff)
	}

	// Names that are no names of files, and names that differ little.
	for _, name := range []string{"../../T", "t", "CON", ".", strings.Repeat("T", 1000), "a/b", "a\\b", "\x00"} {
		s := ralph.Start(task)
		s.Loop = name
		dirLoop(t, dir, s, nil)
		if s, _, err := dir.Resume(name); err != nil || s.Loop != name {
			t.Errorf("%q: %q, %v", name, s.Loop, err)
		}
	}
	entries, err := os.ReadDir(dir.Path)
	if err != nil || len(entries) != 10 {
		t.Errorf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir.Path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v, %v", info.Mode(), err)
	}

	// A loop that starts anew has a record of its own; one that goes on adds to it.
	before := read(t, dir.File("T"))
	dirLoop(t, dir, ralph.Start(task), nil)
	if _, meta, _ := dir.Resume("T"); len(read(t, dir.File("T"))) > len(before)+100 || meta != nil {
		t.Errorf("the record of a new loop holds the old one's")
	}
}

// TestDirPassWithoutEnd: a line that says that a verdict passed is no evidence.
func TestDirPassWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := progress.Dir{Path: t.TempDir()}
		final := dirLoop(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}), nil)
		lines := strings.SplitAfter(read(t, dir.File("T")), "\n")
		if err := os.WriteFile(dir.File("T"), []byte(strings.Join(lines[:len(lines)-2], "")), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _, err := dir.Resume("T")
		if err != nil || s.Done() || s.Iteration != final.Iteration || s.Attempt != 2 || s.Elapsed != final.Elapsed || s.Usage.Requests != final.Usage.Requests {
			t.Fatalf("%v: %+v", err, s)
		}
		if s = dirLoop(t, dir, s, nil); s.Stop != ralph.StopVerified || s.Attempt != 2 {
			t.Errorf("%+v", s)
		}
		if again, _, err := dir.Resume("T"); err != nil || !again.Done() {
			t.Errorf("%v: %+v", err, again)
		}
	})
}

func TestWorkspaceDir(t *testing.T) {
	home, ws := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "relative")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(ws, link); err != nil {
		t.Fatal(err)
	}
	a, err := progress.WorkspaceDir(ws)
	b, err2 := progress.WorkspaceDir(link)
	if err != nil || err2 != nil || a != b || filepath.Dir(a.Path) != filepath.Join(home, ".local", "state", "ralph") {
		t.Errorf("%v %v, %v %v", a, b, err, err2)
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "s"))
	if c, err := progress.WorkspaceDir(home); err != nil || filepath.Dir(c.Path) != filepath.Join(home, "s", "ralph") || filepath.Base(c.Path) == filepath.Base(a.Path) {
		t.Errorf("%v, %v", c, err)
	}
	if _, err := progress.WorkspaceDir(filepath.Join(ws, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no workspace: %v", err)
	}
}
