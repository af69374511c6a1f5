package git

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/sandbox"
)

// TestWritable: in a sandbox that may write to what a work tree names, git add and
// git commit work there, and what is not its own cannot be written to.
func TestWritable(t *testing.T) {
	t.Parallel()
	dir := repo(t)
	r := openRepo(t, dir)
	tree := add(t, r, "one")
	rules, err := (&sandbox.Spec{Write: tree.Writable(), Protect: []string{}}).Rules(tree.Dir)
	fine(t, err)
	inside := func(script string) (string, error) {
		cmd := exec.Command("/bin/sh", "-c", script)
		var said bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr = tree.Dir, &said, &said
		var warned []string
		started, _, err := rules.Start(cmd, sandbox.Launch{
			Start: func(cmd *exec.Cmd) (*exec.Cmd, error) { return cmd, cmd.Start() },
			Kill:  func(cmd *exec.Cmd) { cmd.Process.Kill(); cmd.Wait() },
			Warn:  func(what string, _ error) { warned = append(warned, what) },
		})
		fine(t, err)
		err = started.Wait()
		if slices.ContainsFunc(warned, func(w string) bool { return strings.Contains(w, "is not restricted") }) {
			t.Skipf("this system has no sandbox, and says so: %q", warned)
		}
		return said.String(), err
	}
	for _, script := range []string{
		"echo 2 >a; git add a && git commit -qm one",
		"echo 3 >a; git commit -qam two && git commit -q --amend -m three && git reset -q --hard HEAD~ && git status",
		"git checkout -q -b ralph/mine && git checkout -q ralph/one && git branch -q -D ralph/mine || git checkout -q ralph/one",
	} {
		if said, err := inside(script); err != nil {
			t.Errorf("%s: %v: %s", script, err, said)
		}
	}
	common := r.Common
	for i, script := range []string{
		"git config a.b c", "echo x >>%s/config", "echo x >%s/hooks/pre-commit", "rm %s/hooks/pre-push.sample", "git branch mine", "git update-ref refs/heads/main HEAD",
		"echo x >%s/refs/heads/main", "echo x >>%s/info/exclude", "echo x >>%s/packed-refs", "git -C ../../.. commit -q --allow-empty -m x", "echo x >../../../a", "git worktree add ../two",
	} {
		if strings.Contains(script, "%s") {
			script = fmt.Sprintf(script, common)
		}
		if said, err := inside(script); err == nil {
			t.Errorf("%d: %s: works: %s", i, script, said)
		}
	}
	if told, err := r.Tampered(t.Context()); len(told) > 0 || err != nil {
		t.Errorf("%q, %v", told, err)
	}
	c := commit(t, tree)
	if got := out(t, dir, "git show "+c+":a; git status --porcelain"); got != "2" {
		t.Errorf("%s", got)
	}
}
