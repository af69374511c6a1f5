package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph/tasks"
)

// What an agent is told of an item.
func ExampleItem_Describe() {
	list, err := tasks.ParseList([]byte("## Phase 1: Setup\n\n- [ ] T002 Write the parser\n  - reads CRLF too\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(list.Items[0].Describe())
	// Output:
	// T002 Write the parser (in "Phase 1: Setup")
	//
	// - reads CRLF too
}

// Boxes without an ID are taken along where a program wants them.
func ExampleList_All() {
	list, err := tasks.ParseList([]byte("- [ ] T001 Write it\n- [ ] T002 Test it\n- [ ] call Ann\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, it := range list.All() {
		fmt.Printf("%q %q\n", it.ID, it.Text)
	}
	// Output:
	// "T001" "Write it"
	// "T002" "Test it"
	// "" "call Ann"
}

// A file with several lists, each below its tag.
func ExampleTaskmasterFile_Tags() {
	dir, err := os.MkdirTemp("", "ralph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tasks.json")
	if err := os.WriteFile(path, []byte(`{"master": {"tasks": []}, "cart": {"tasks": []}}`), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	tags, err := tasks.TaskmasterFile{Path: path}.Tags()
	fmt.Println(tags, err)
	// Output: [master cart] <nil>
}

// What is agreed at the beginning holds until the end: which status means done, and where
// the folder is. The agent is told how a task is marked.
func ExampleBacklog_Resolve() {
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
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	src, err := tasks.Backlog{Path: filepath.Dir(folder)}.Resolve(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %q %s\n", src.Done, src.Filename(), filepath.Base(src.FilenameOf("task-1")))
	items, err := src.Items(context.Background())
	fmt.Println(src.HowDone(items[0]) != "", err)
	// Output:
	// Done "" task-1 - Parser.md
	// true <nil>
}
