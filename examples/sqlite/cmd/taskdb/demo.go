package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/tasks/spec"
)

//go:embed demo.yaml
var demoTasks []byte

// demo shows the commands at work, with a scripted agent, in a folder that it removes.
func demo(ctx context.Context, e env, _ *options, _ []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "taskdb-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state")); err != nil { // the demo leaves nothing
		return err
	}
	work, file, db := filepath.Join(dir, "work"), filepath.Join(dir, "tasks.yaml"), filepath.Join(dir, "tasks.db")
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	if err := spec.Create(file, demoTasks); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"migrate", db},
		{"import", "--trust", db, file},
		{"migrate", "--to", "tables", db},
		{"run", "--dir", work, "--stages", "writer", db, "--", self, "demo-agent"},
		{"list", db},
		{"log", db},
	} {
		shown := strings.ReplaceAll(strings.Join(args, " "), dir+string(filepath.Separator), "")
		fmt.Fprintln(e.stdout, "\n$ taskdb", strings.ReplaceAll(shown, self, "taskdb"))
		if err := e.command(ctx, args); err != nil {
			return err
		}
	}
	return nil
}

// demoAgent is an agent that claims too early: the first time it makes an empty file.
func demoAgent(_ context.Context, e env, _ *options, _ []string) error {
	prompt, err := io.ReadAll(io.LimitReader(e.stdin, 1<<20))
	if err != nil {
		return err
	}
	for _, name := range []string{"hello.txt", "world.txt"} {
		if !strings.Contains(string(prompt), name) {
			continue
		}
		text := ""
		if _, err := os.Stat(name); err == nil {
			text = "This is " + name + ".\n"
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	fmt.Fprintln(e.stdout, "It is written.\n<promise>WRITTEN</promise>")
	return nil
}
