package tasks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph/tasks"
)

func ExampleParseList() {
	list, err := tasks.ParseList([]byte(`# Tasks

## Phase 1: Setup

- [x] T001 Create the module
- [ ] T002 [P] [US1] Write the parser
  - reads CRLF too
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, it := range list.Items {
		fmt.Printf("%s done=%t phase=%q text=%q story=%q details=%q\n", it.ID, it.Done, it.Phase, it.Text, it.Story, it.Details)
	}
	// Output:
	// T001 done=true phase="Phase 1: Setup" text="Create the module" story="" details=""
	// T002 done=false phase="Phase 1: Setup" text="Write the parser" story="US1" details="- reads CRLF too"
}

func ExampleListFile() {
	dir, err := os.MkdirTemp("", "ralph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tasks.md")
	if err := os.WriteFile(path, []byte("- [ ] T001 Write it\n- [ ] T002 Test it\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	src := tasks.ListFile{Path: path}
	if err := src.Tick("T001"); err != nil {
		fmt.Println(err)
		return
	}
	items, err := src.Items(context.Background())
	for _, it := range items {
		fmt.Println(it.ID, it.Done)
	}
	fmt.Println(err)
	// Output:
	// T001 true
	// T002 false
	// <nil>
}

func ExamplePRDFile() {
	dir, err := os.MkdirTemp("", "ralph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "prd.json")
	text := `{"userStories": [{"id": "US-001", "title": "Sign in", "acceptanceCriteria": ["Tests pass"], "passes": false}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	src := tasks.PRDFile{Path: path}
	if err := src.Tick("US-001"); err != nil {
		fmt.Println(err)
		return
	}
	items, err := src.Items(context.Background())
	for _, it := range items {
		fmt.Println(it.ID, it.Text, it.Acceptance, it.Done)
	}
	fmt.Println(err)
	// Output:
	// US-001 Sign in [Tests pass] true
	// <nil>
}

// A program with tasks of its own, here in a map, writes a source.
func ExampleSourceFunc() {
	closed := map[string]bool{"#12": true}
	var src tasks.Source = tasks.SourceFunc(func(context.Context) ([]tasks.Item, error) {
		return []tasks.Item{
			{ID: "#12", Key: "#12", Text: "Fix the login", Done: closed["#12"]},
			{ID: "#15", Key: "#15", Text: "Document it", Done: closed["#15"]},
		}, nil
	})
	items, err := src.Items(context.Background())
	for _, it := range items {
		fmt.Println(it.ID, it.Text, it.Done)
	}
	fmt.Println(err)
	// Output:
	// #12 Fix the login true
	// #15 Document it false
	// <nil>
}
