package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// shared is a bare repository with files on the branch main.
func shared(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "shared.git")
	sh(t, repo(t, files), "git clone -q --bare . '"+dir+"'")
	return dir
}

// clone is a clone of a repository, by a person who has a name.
func clone(t testing.TB, from string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sh(t, dir, "git clone -q '"+from+"' .; git config user.name user; git config user.email u@example.org")
	return dir
}

// A treeWorker is one of those that work on tasks.
type treeWorker struct {
	testing.TB
	*pipeline.Worktrees
}

// opened is a worker in a folder, which is a clone if there is a remote.
func opened(t testing.TB, dir, remote string) treeWorker {
	t.Helper()
	w := treeWorker{t, &pipeline.Worktrees{Dir: dir, Remote: remote}}
	if err := w.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// place is the folder of a task.
func (w treeWorker) place(task string) string {
	w.Helper()
	p, err := w.Place(w.Context(), task)
	if err != nil {
		w.Fatal(err)
	}
	return p.Dir
}

// work has a script work in a task's folder, and commits what it has done.
func (w treeWorker) work(task, script string) (commit, tree string) {
	w.Helper()
	sh(w, w.place(task), script)
	commit, tree, err := w.Commit(w.Context(), task, task)
	if err != nil {
		w.Fatal(err)
	}
	return commit, tree
}

// merge merges a task that nobody verifies.
func (w treeWorker) merge(task string) pipeline.Merge {
	w.Helper()
	m, err := w.Merge(w.Context(), task, "Merge "+task, nil, nil)
	if err != nil {
		w.Fatal(err)
	}
	return m
}

func (w treeWorker) remove(task string) {
	w.Helper()
	if err := w.Remove(w.Context(), task); err != nil {
		w.Fatal(err)
	}
}

// TestWorktrees brings a task to the main branch that one worker begins and another ends:
// in the same folder, and by a remote.
func TestWorktrees(t *testing.T) {
	t.Parallel()
	for _, far := range []bool{false, true} {
		t.Run(fmt.Sprintf("remote %v", far), func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"README": "first\n", "other": "1\n"}
			var main, dir1, dir2, url string
			if far {
				url = shared(t, files)
				main, dir1, dir2 = url, clone(t, url), clone(t, url)
			} else {
				main = repo(t, files)
				dir1, dir2 = main, main
			}
			one := opened(t, dir1, url)
			p, err := one.Place(t.Context(), "T1")
			if branch, dir := pipeline.Branch("T1"); err != nil || p.Task != "T1" || p.Dir != filepath.Join(dir1, dir) || sh(t, p.Dir, "git branch --show-current") != branch || len(p.Write) == 0 {
				t.Fatalf("%+v, %v", p, err)
			}
			one.work("T1", "echo half >made")
			two := opened(t, dir2, url)
			if got := sh(t, two.place("T1"), "cat made"); got != "half" || two.place("T1") != filepath.Join(dir2, ".ralph", "worktrees", "T1") {
				t.Errorf("the other worker has %q", got)
			}
			commit, tree := two.work("T1", "echo whole >made")

			// The main branch goes on meanwhile: what comes of the merge was not seen.
			sh(t, main, `git update-ref refs/heads/main $(printf 'tree %s\nparent %s\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx\n' `+
				`$( (git ls-tree main | grep -v other; printf '100644 blob %s\tother\n' $(echo 2 | git hash-object -w --stdin) ) | git mktree) $(git rev-parse main) | git hash-object -t commit -w --stdin)`)
			if !far {
				sh(t, main, "git reset -q --hard")
			}
			before := sh(t, main, "git rev-parse main")
			var asked, told string
			m, err := two.Merge(t.Context(), "T1", "Merge T1", func(_ context.Context, dir, tree string) error {
				asked = sh(t, dir, "cat made other") + " " + tree
				return nil
			}, func(from, to string) error { told = from + " " + to; return nil })
			if err != nil || m.Tree == tree || asked != "whole\n2 "+m.Tree || told != before+" "+m.Commit {
				t.Errorf("%+v, %v: asked %q, told %q", m, err, asked, told)
			}
			if got := sh(t, main, "git rev-parse main main^1 main^2 main:"); got != m.Commit+"\n"+before+"\n"+commit+"\n"+m.Tree {
				t.Errorf("main is\n%s", got)
			}
			if far && sh(t, dir2, "git rev-parse HEAD; cat other; git status --porcelain") != sh(t, dir1, "git rev-parse HEAD")+"\n1" {
				t.Error("the clone's own files have moved")
			}

			// What is done is not done again, also when the main branch has gone on.
			two.work("T2", "echo 2 >second")
			two.merge("T2")
			two.remove("T2")
			both := []treeWorker{two, opened(t, dir1, url)}
			for _, w := range both {
				again, err := w.Merge(t.Context(), "T1", "Merge T1", func(context.Context, string, string) error { return errors.New("asked") },
					func(string, string) error { return errors.New("told") })
				if err != nil || again.Commit != m.Commit || again.Tree != m.Tree {
					t.Errorf("%+v, %v", again, err)
				}
				if err := w.Finish(t.Context(), before, m.Commit); err != nil {
					t.Error(err)
				}
			}
			for _, w := range append(both, both...) {
				w.remove("T1")
			}
			for _, dir := range []string{dir1, dir2, main} {
				if branches, trees := left(t, dir); len(branches) > 0 || far && dir != main && len(trees) > 0 {
					t.Errorf("left are %q, %q", branches, trees)
				}
				if got := sh(t, dir, "git fsck --full --strict --no-dangling 2>&1"); got != "" {
					t.Error(got)
				}
			}
		})
	}
}

// TestWorktreesRepair: a conflict is told, and mended by an agent of another worker.
func TestWorktreesRepair(t *testing.T) {
	t.Parallel()
	url := shared(t, map[string]string{"a": "0\n"})
	one, two := opened(t, clone(t, url), url), opened(t, clone(t, url), url)
	one.work("T1", "echo 1 >a")
	two.work("T2", "echo 2 >a")
	one.merge("T1")
	before := sh(t, url, "git rev-parse main")
	if m := two.merge("T2"); len(m.Conflicts) != 1 || m.Conflicts[0] != "a" || m.Commit != "" || sh(t, url, "git rev-parse main") != before {
		t.Errorf("%+v", m)
	}
	for range 2 {
		if err := one.Repair(t.Context(), "T2"); err != nil {
			t.Fatal(err)
		}
	}
	if text := sh(t, one.place("T2"), "cat a"); !strings.Contains(text, "<<<<<<<") {
		t.Errorf("%q", text)
	}
	if _, _, err := one.Commit(t.Context(), "T2", "T2"); err == nil || !strings.Contains(err.Error(), "conflict markers") {
		t.Errorf("%v", err)
	}
	one.work("T2", "echo 12 >a")
	if m := two.merge("T2"); m.Commit == "" || sh(t, url, "git show main:a") != "12" {
		t.Errorf("%+v", m)
	}
}

// TestWorktreesOvertaken: a worker whose work another has gone on with is told, nothing of
// either is lost, and it goes on with what is there now.
func TestWorktreesOvertaken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, before, late, kept string }{
		{"nothing of its own", "", "", ""},
		{"not committed", "", "echo late >late", "late"},
		{"committed by the agent", "", "echo late >late; git add late; git commit -qm late", "late"},
		{"other work on the same file", "", "echo late >made; echo late >late", "late"},
		{"in the midst of a merge", "merge", "true", "made"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := shared(t, map[string]string{"made": "0\n"})
			one, two := opened(t, clone(t, url), url), opened(t, clone(t, url), url)
			one.work("T1", "echo 1 >made")
			if tt.before == "merge" {
				two.work("T2", "echo other >made")
				two.merge("T2")
				if err := one.Repair(t.Context(), "T1"); err != nil {
					t.Fatal(err)
				}
			}
			if tt.late != "" {
				sh(t, one.place("T1"), tt.late)
			}
			theirs, _ := two.work("T1", "echo 2 >made")
			if tt.late != "" && tt.before == "" {
				if _, _, err := one.Commit(t.Context(), "T1", "late"); !errors.Is(err, pipeline.ErrOvertaken) || strings.Count(err.Error(), "pipeline:") != 1 {
					t.Errorf("%v", err)
				}
			}
			again := opened(t, one.Dir, url)
			for range 2 {
				if got := sh(t, again.place("T1"), "git rev-parse HEAD; git status --porcelain; cat made"); got != theirs+"\n2" {
					t.Errorf("it goes on at %q", got)
				}
			}
			branches, _ := left(t, one.Dir)
			if kept := strings.Join(branches, " "); tt.kept == "" && kept != "ralph/T1" || tt.kept != "" && kept != "ralph/T1 ralph/T1.1" {
				t.Errorf("there are the branches %s", kept)
			}
			if tt.kept != "" && sh(t, one.Dir, "git show ralph/T1.1:"+tt.kept) == "" {
				t.Error("what it had is not kept")
			}
			if m := again.merge("T1"); tt.before == "" && (m.Commit == "" || sh(t, url, "git rev-parse main^2; git show main:made") != theirs+"\n2") {
				t.Errorf("%+v", m)
			}
		})
	}
}

// TestWorktreesMoved: the main branch moves while a merge is verified. It is done again,
// and what was not verified is not there.
func TestWorktreesMoved(t *testing.T) {
	t.Parallel()
	url := shared(t, map[string]string{"a": "0\n"})
	one, two := opened(t, clone(t, url), url), opened(t, clone(t, url), url)
	one.work("T1", "echo 1 >b")
	two.work("T2", "echo 2 >c")
	asked, told := 0, 0
	m, err := one.Merge(t.Context(), "T1", "Merge T1", func(_ context.Context, dir, tree string) error {
		if asked++; asked == 1 {
			two.merge("T2")
		}
		return nil
	}, func(from, to string) error { told++; return nil })
	if err != nil || asked != 2 || told != 1 || sh(t, url, "git rev-parse main; git show main:c") != m.Commit+"\n2" {
		t.Errorf("%+v, %v: asked %d times, told %d times", m, err, asked, told)
	}
	one.work("T3", "echo 3 >d")
	for _, wrong := range []string{"verify", "moving"} {
		before := sh(t, url, "git rev-parse main")
		no := errors.New("no")
		fails := func(at string) error {
			if at == wrong {
				return no
			}
			return nil
		}
		_, err := one.Merge(t.Context(), "T3", "Merge T3", func(context.Context, string, string) error { return fails("verify") }, func(string, string) error { return fails("moving") })
		if !errors.Is(err, no) || sh(t, url, "git rev-parse main") != before || sh(t, one.place("T3"), "git status --porcelain; git branch --show-current") != "ralph/T3" {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	// A merge that was recorded, and overtaken, is not finished.
	var from, to string
	if _, err := one.Merge(t.Context(), "T3", "Merge T3", nil, func(f, t string) error { from, to = f, t; return errors.New("killed") }); err == nil {
		t.Fatal("it is merged")
	}
	two.work("T4", "echo 4 >e")
	two.merge("T4")
	for _, w := range []treeWorker{one, two} {
		if err := w.Finish(t.Context(), from, to); !errors.Is(err, pipeline.ErrOvertaken) {
			t.Errorf("%v", err)
		}
	}
	if m := two.merge("T3"); m.Commit == "" {
		t.Errorf("%+v", m)
	}
}

// TestWorktreesFinish finishes a merge that was recorded and did not come to the main
// branch.
func TestWorktreesFinish(t *testing.T) {
	t.Parallel()
	url := shared(t, map[string]string{"a": "0\n"})
	near := repo(t, map[string]string{"a": "0\n"})
	for _, w := range []treeWorker{opened(t, clone(t, url), url), opened(t, near, "")} {
		w.work("T1", "echo 1 >a")
		var from, to string
		if _, err := w.Merge(t.Context(), "T1", "Merge T1", nil, func(f, t string) error { from, to = f, t; return errors.New("killed") }); err == nil {
			t.Fatal("it is merged")
		}
		for range 2 {
			if err := opened(t, w.Dir, w.Remote).Finish(t.Context(), from, to); err != nil {
				t.Error(err)
			}
		}
		main := near
		if w.Remote != "" {
			main = url
		}
		if got := sh(t, main, "git rev-parse main; git show main:a"); got != to+"\n1" {
			t.Errorf("main is %q", got)
		}
	}
	sound(t, near)
}

// TestWorktreesLost: the folder of a worktree was removed, with or without git.
func TestWorktreesLost(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"rm -rf .ralph", "rm -rf .ralph; git worktree prune", "rm -rf .ralph; git worktree prune; git branch -q -D ralph/T1"} {
		url := shared(t, map[string]string{"a": "0\n"})
		w := opened(t, clone(t, url), url)
		commit, _ := w.work("T1", "echo 1 >a")
		sh(t, w.Dir, script)
		if _, _, err := w.Commit(t.Context(), "T1", "T1"); err == nil || !strings.Contains(err.Error(), "no worktree of T1") {
			t.Errorf("%s: %v", script, err)
		}
		w = opened(t, w.Dir, url)
		if got := sh(t, w.place("T1"), "git rev-parse HEAD; cat a"); got != commit+"\n1" {
			t.Errorf("%s: it has %q", script, got)
		}
		sh(t, w.Dir, script)
		w.merge("T1")
		w.remove("T1")
		if branches, trees := left(t, w.Dir); len(branches)+len(trees) > 0 {
			t.Errorf("%s: left are %q, %q", script, branches, trees)
		}
	}
}

// TestWorktreesRefuse: what cannot be done is told in one error, by the package's name.
func TestWorktreesRefuse(t *testing.T) {
	t.Parallel()
	url := shared(t, map[string]string{"a": "0\n"})
	dir := clone(t, url)
	ctx := t.Context()
	for _, tt := range []struct {
		want string
		err  error
	}{
		{"call Open first", (&pipeline.Worktrees{}).Remove(ctx, "T1")},
		{"call Open first", (&pipeline.Worktrees{}).Finish(ctx, "a", "b")},
		{"can be no repository", (&pipeline.Worktrees{Dir: dir, Remote: "-x"}).Open(ctx)},
		{"not appear to be a git repository", (&pipeline.Worktrees{Dir: dir, Remote: url + ".gone"}).Open(ctx)},
		{"not in a git work tree", (&pipeline.Worktrees{Dir: t.TempDir()}).Open(ctx)},
		{"open already", opened(t, dir, url).Open(ctx)},
		{"needs an ID", opened(t, dir, url).Repair(ctx, "")},
		{"from a commit to another", opened(t, dir, url).Finish(ctx, "", "x")},
		{"overtaken", opened(t, dir, url).Finish(ctx, "main", "gone")},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) || strings.Count(tt.err.Error(), "pipeline: ") != 1 {
			t.Errorf("want %q: %v", tt.want, tt.err)
		}
	}
	w := opened(t, dir, url)
	if _, err := w.Merge(ctx, "T1", "Merge T1", nil, nil); err == nil || !strings.Contains(err.Error(), "T1 has no branch") {
		t.Errorf("%v", err)
	}
	w.work("T1", "echo 1 >a")
	if err := w.Remove(ctx, "T1"); err == nil || !strings.Contains(err.Error(), "commits that are not in main") || sh(t, w.place("T1"), "cat a") != "1" {
		t.Errorf("%v", err)
	}
}

// ExampleWorktrees works on a task and merges it, as the activities of a workflow engine
// would, each maybe on another machine.
func ExampleWorktrees() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if out, err := exec.Command("/bin/sh", "-ec", "cd "+dir+`; git init -q -b main shared; cd shared
		git config user.name a; git config user.email a@example.org; git commit -q --allow-empty -m first
		cd ..; git clone -q --bare shared shared.git; git clone -q shared.git clone 2>/dev/null
		cd clone; git config user.name a; git config user.email a@example.org`).CombinedOutput(); err != nil {
		fmt.Println(err, string(out))
		return
	}

	w := &pipeline.Worktrees{Dir: filepath.Join(dir, "clone"), Remote: filepath.Join(dir, "shared.git")}
	steps := func() error {
		if err := w.Open(ctx); err != nil {
			return err
		}
		place, err := w.Place(ctx, "T1")
		if err != nil {
			return err
		}
		// An agent works in place.Dir, and its claim is verified there.
		if err := os.WriteFile(filepath.Join(place.Dir, "made"), []byte("done\n"), 0o600); err != nil {
			return err
		}
		_, seen, err := w.Commit(ctx, "T1", "T1: make it\n\nStage: coder")
		if err != nil {
			return err
		}
		m, err := w.Merge(ctx, "T1", "Merge T1: make it", func(_ context.Context, dir, tree string) error {
			fmt.Println("to be verified again:", tree != seen)
			return nil
		}, nil)
		if err != nil {
			return err
		}
		fmt.Println("merged:", m.Commit != "", m.Conflicts)
		return w.Remove(ctx, "T1")
	}
	fmt.Println(steps())
	// Output:
	// to be verified again: false
	// merged: true []
	// <nil>
}
