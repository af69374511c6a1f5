package temporal_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/temporal"
	"github.com/ralph-loop/ralph/examples/temporal/internal/dev"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
	"github.com/ralph-loop/ralph/verify"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return string(out)
}

func TestPipelineTry(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	repo := t.TempDir()
	git(t, repo, "init", "-q", "-b", "main")
	git(t, repo, "config", "user.name", "t")
	git(t, repo, "config", "user.email", "t@example.org")
	os.WriteFile(filepath.Join(repo, "README"), []byte("x\n"), 0o600)
	git(t, repo, "add", "-A")
	git(t, repo, "commit", "-qm", "first")
	tasks := filepath.Join(t.TempDir(), "tasks.yaml")
	os.WriteFile(tasks, []byte(`tasks:
  - id: A
    title: write a
    status: todo
  - id: B
    title: write b
    status: todo
    dependencies: [A]
  - id: C
    title: write c
    status: todo
`), 0o600)
	srv, err := dev.Server(t.Context(), "", t.Output())
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Stop()
	trees := &pipeline.Worktrees{Dir: repo}
	if err := trees.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := &ralph.Local{Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		err := os.WriteFile(filepath.Join(req.Dir, req.Task+"."+req.Agent), []byte(req.Agent), 0o600)
		return ralph.Response{Output: "done\n<promise>" + req.Promise + "</promise>"}, err
	}), Verifier: verify.String{}}
	w := worker.New(srv.Client(), "q", worker.Options{WorkerStopTimeout: 10 * time.Second, EnableSessionWorker: true})
	if err := (&temporal.Worker{Local: l, Trees: trees}).Register(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	src := &pipeline.File{Path: tasks}
	agreed, err := (&pipeline.Pipeline{Source: src, Dir: repo, Stages: []string{"coder", "reviewer"}, Rules: pipeline.Rules{Slots: 2, Merge: true}, Verifier: verify.String{},
		Task: func(d spec.Definition, agent string) (ralph.Task, error) {
			return ralph.Task{Prompt: d.Title, Promise: "DONE"}, nil
		},
		Runner: func(pipeline.Place) (ralph.Runner, error) { return l.Runner, nil }}).Agree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := &temporal.Pipeline{Loop: temporal.Loop{Client: srv.Client(), Queue: "q", Heartbeat: 5 * time.Second}, Pin: os.Getenv("PIN") != ""}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := p.Run(ctx, agreed)
	t.Logf("%+v %v", s, err)
	t.Log(git(t, repo, "log", "--oneline", "--graph"), git(t, repo, "ls-files"))
	text, _ := os.ReadFile(tasks)
	t.Logf("%s", text)
}
