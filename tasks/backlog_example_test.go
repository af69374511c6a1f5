package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph/tasks"
)

func ExampleBacklog() {
	dir, err := os.MkdirTemp("", "ralph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	folder := filepath.Join(dir, "backlog", "tasks")
	err = errors.Join(
		os.MkdirAll(folder, 0o700),
		os.WriteFile(filepath.Join(folder, "task-1 - Parser.md"), []byte("---\nid: task-1\ntitle: Parser\nstatus: To Do\n---\n"), 0o600),
		os.WriteFile(filepath.Join(folder, "task-2 - Printer.md"), []byte("---\nid: task-2\ntitle: Printer\nstatus: To Do\n---\n"), 0o600),
	)
	if err != nil {
		fmt.Println(err)
		return
	}

	src := tasks.Backlog{Path: filepath.Dir(folder)}
	if err := src.Tick("task-1"); err != nil {
		fmt.Println(err)
		return
	}
	text, err := os.ReadFile(filepath.Join(folder, "task-1 - Parser.md"))
	fmt.Printf("%s%v\n", text, err)
	items, err := src.Items(context.Background())
	for _, it := range items {
		fmt.Println(it.ID, it.Text, it.Done)
	}
	fmt.Println(err)
	// Output:
	// ---
	// id: task-1
	// title: Parser
	// status: Done
	// ---
	// <nil>
	// task-1 Parser true
	// task-2 Printer false
	// <nil>
}
