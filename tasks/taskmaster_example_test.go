package tasks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph/tasks"
)

func ExampleTaskmasterFile() {
	dir, err := os.MkdirTemp("", "ralph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tasks.json")
	text := `{"master": {"tasks": [{"id": 1, "title": "Parser", "status": "pending", "dependencies": [],
  "subtasks": [{"id": 1, "title": "Lexer", "status": "pending"}, {"id": 2, "title": "Tree", "status": "pending", "dependencies": [1]}]}]}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	src := tasks.TaskmasterFile{Path: path}
	if err := src.Tick("1.1"); err != nil {
		fmt.Println(err)
		return
	}
	items, err := src.Items(context.Background())
	for _, it := range items {
		fmt.Println(it.ID, it.Text, it.Done)
	}
	fmt.Println(err)
	// Output:
	// 1.1 Lexer true
	// 1.2 Tree false
	// 1 Parser false
	// <nil>
}
