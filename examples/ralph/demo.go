package main

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

//go:embed demo
var demoFiles embed.FS

// runDemo makes a small project with failing tests and runs a real loop on it.
func runDemo(e env, f *shared, _ []string) error {
	for _, tool := range []string{"go", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fail(exitConfig, "the demo needs %s, which is not in PATH", tool)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	agent := &ralph.Command{Args: []string{self, "demo-agent"}} // as an agent's client is run
	if f.agent != "" || f.agentCmd != "" {
		if agent, err = f.command(e, nil, ""); err != nil {
			return err
		}
	}
	base, err := demoFolder(f.dir)
	if err != nil {
		return err
	}
	project := filepath.Join(base, "project")
	if err := makeProject(e.ctx, project); err != nil {
		return err
	}
	path := cmp.Or(f.log, filepath.Join(base, "events.jsonl"))
	log, err := e.executionLog(path, false)
	if err != nil {
		return err
	}
	prompt, err := demoFiles.ReadFile("demo/PROMPT.md.txt")
	if err != nil {
		return err
	}
	limits := f.limits()
	limits.Iterations = cmp.Or(f.max, 10)
	fmt.Fprintf(e.stderr, "A small Go project with failing tests is in %s.\nThe loop runs an agent on it until `go test ./...` passes.\n", project)
	state, err := drive(e, &ralph.Local{
		Runner:   agent,
		Verifier: verify.External{Args: []string{"go", "test", "./..."}, Env: goEnv()},
	}, ralph.Start(ralph.Task{
		ID: "demo", Prompt: string(prompt), Dir: project, HowVerified: "`go test ./...` must pass", Limits: limits,
	}), log)
	fmt.Fprintf(e.stdout, "files: %s\nlog:   %s\n", project, path)
	return exitFor(e, state, err, true)
}

// goEnv keeps the demo's go command to itself and off the network.
func goEnv() []string {
	return []string{"GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local"}
}

func demoFolder(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "ralph-demo-")
	}
	if _, err := os.Lstat(dir); err == nil {
		return "", fail(exitConfig, "--dir %s exists already", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// makeProject makes a repository of the demo's files, but for the prompt.
func makeProject(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "shop.go", "shop_test.go"} {
		data, err := demoFiles.ReadFile("demo/" + name + ".txt")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	for _, args := range []string{"init -q", "config user.name ralph", "config user.email demo@example.com", "config commit.gpgsign false", "add -A", "commit -q -m Bugs"} {
		if err := demoGit(ctx, dir, strings.Fields(args)...); err != nil {
			return err
		}
	}
	return nil
}

func demoGit(ctx context.Context, dir string, args ...string) error {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		return fail(exitGit, "git %s: %w: %s", args[0], err, line(string(out)))
	}
	return nil
}
