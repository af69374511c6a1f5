package ralph_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// gitRepo makes a repository with a commit.
func gitRepo(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	runIn(t, dir, `git init -q; git config user.name t; git config user.email t@example.com; git config commit.gpgsign false
		mkdir sub; echo 1 >a; echo 1 >sub/b; echo ignored >.gitignore; git add -A; git commit -qm one`)
	return dir
}

func runIn(t testing.TB, dir, script string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestWorkspace makes changes as an agent does, and looks at what the iteration
// says of them.
func TestWorkspace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, before, change string
		dir                  string // below the repository
		files                []string
		same                 bool // the digest stays
	}{
		{name: "nothing", change: "true", same: true},
		{name: "a file", change: "echo 2 >a", files: []string{"a"}},
		{name: "a file again", before: "echo 2 >a", change: "echo 3 >a", files: []string{"a"}},
		{name: "dirty, but not touched", before: "echo 2 >a", change: "true", same: true},
		{name: "a new file", change: "mkdir d; echo x >d/n", files: []string{"d/n"}},
		{name: "a new file again", before: "echo x >n", change: "echo y >n", files: []string{"n"}},
		{name: "gone", change: "rm a", files: []string{"a"}},
		{name: "committed", change: "echo 2 >a; git commit -qam two", files: []string{"a"}},
		{name: "committed what was dirty", before: "echo 2 >a", change: "git commit -qam two", files: []string{"a"}},
		{name: "undone", before: "echo 2 >a", change: "git checkout -q a", files: []string{"a"}},
		{name: "renamed", change: "git mv a c", files: []string{"a", "c"}},
		{name: "mode", before: "echo x >n", change: "chmod +x n", files: []string{"n"}},
		{name: "odd names", change: `echo x >"a b"; echo x >'q"ö'`, files: []string{"a b", `q"ö`}},
		{name: "ignored", change: "echo x >ignored", same: true},
		{name: "what loops write", change: "mkdir -p .ralph sub/.ralph logs; echo x >.ralph/x; echo x >sub/.ralph/x; echo x >logs/session-20260101-000000.log; echo x >sub/progress.txt; mkdir host; echo x >host/ralph-loop-state.json", same: true},
		{name: "from a subdirectory", dir: "sub", change: "echo 2 >b; echo 2 >../a", files: []string{"a", "b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repo := gitRepo(t)
			runIn(t, repo, tt.before+"\ntrue")
			dir := filepath.Join(repo, tt.dir)
			l := &ralph.Local{Verifier: verify.String{}}
			var its []ralph.Iteration
			l.Runner = ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
				if req.Iteration == 2 {
					runIn(t, dir, tt.change)
				}
				return ralph.Response{Output: "So far."}, nil
			})
			for ev := range l.Events(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Dir: dir, Limits: ralph.Limits{Iterations: 2}})) {
				if ev.Kind == ralph.EventIterationEnded {
					its = append(its, ev.Iteration)
				}
			}
			if diff := cmp.Diff(tt.files, its[1].Files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if same := its[0].Workspace == its[1].Workspace; same != tt.same || its[0].Workspace == "" {
				t.Errorf("digests %q and %q", its[0].Workspace, its[1].Workspace)
			}
		})
	}
}

func TestWorkspaceStalls(t *testing.T) {
	t.Parallel()
	task := ralph.Task{Prompt: "Do it.", Dir: gitRepo(t), Limits: ralph.Limits{Stalls: 2}}
	l := &ralph.Local{Runner: ralph.Replay(strings.Split("a b c d e f g h i j", " ")...), Verifier: verify.String{}}
	s, err := l.Run(t.Context(), ralph.Start(task))
	if stopReason(t, err) != ralph.StopStalled || s.Iteration != 2 {
		t.Errorf("%v: %s", err, describe(s))
	}
	task.Dir = t.TempDir() // nothing is known of it
	s, err = l.Run(t.Context(), ralph.Start(task))
	if stopReason(t, err) != ralph.StopIterations {
		t.Errorf("%v: %s", err, describe(s))
	}
}

func TestWorkspaceFilesAreNamedOnce(t *testing.T) {
	t.Parallel()
	dir := gitRepo(t)
	l := &ralph.Local{Verifier: verify.String{}, Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
		return ralph.Response{Output: "So far.", Files: []string{filepath.Join(dir, "a"), "sub/b", "/elsewhere"}}, os.WriteFile(filepath.Join(dir, "a"), []byte("2"), 0o600)
	})}
	it, err := l.Iterate(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Dir: dir}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "sub/b", "/elsewhere"}, it.Files); diff != "" {
		t.Error(diff)
	}
}

func TestWorkspaceNestedRepository(t *testing.T) {
	t.Parallel()
	repo := gitRepo(t)
	runIn(t, repo, "git init -q nested; cd nested; git config user.name t; git config user.email t@example.com; git commit -q --allow-empty -m x")
	l := &ralph.Local{Verifier: verify.String{}, Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
		runIn(t, repo, "echo x >>nested/a")
		return ralph.Response{Output: "So far."}, nil
	})}
	s, err := l.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Dir: repo, Limits: ralph.Limits{Stalls: 2, Iterations: 4}}))
	if stopReason(t, err) != ralph.StopIterations {
		t.Errorf("%v: %s", err, describe(s))
	}
}

func TestBackoffStaysInItsBounds(t *testing.T) {
	t.Parallel()
	s := ralph.Start(ralph.Task{Prompt: "Do it.", ID: "T", Limits: ralph.Limits{Wait: -1}})
	for n := range 80 {
		s = s.Next(ralph.Iteration{Number: 1, Attempt: n + 1, Fault: ralph.FaultRateLimit})
		if s.Wait < 30*time.Second || s.Wait > 30*time.Minute || n > 6 && s.Wait < 15*time.Minute {
			t.Fatalf("rate limit %d: waits %v", n+1, s.Wait)
		}
	}
}
