package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
)

// A person wants to know why this list was taken and not the other one.
func ExampleLook() {
	dir, err := os.MkdirTemp("", "ralph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		"tasks.md": "- [x] T001 Write it\n",
		"prd.json": `{"userStories": [{"id": "US-1", "title": "Sign in", "passes": false}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}
	found, err := tasks.Look(context.Background(), dir)
	fmt.Println(filepath.Base(found.Path), err)
	for _, path := range found.Done {
		fmt.Println("all is done in", filepath.Base(path))
	}
	// Output:
	// prd.json <nil>
	// all is done in tasks.md
}

// A board of a whole list: what can be worked on, and what waits for what.
func ExampleWaiting() {
	items := []tasks.Item{
		{Key: "lexer"},
		{Key: "parser", After: []string{"lexer"}},
		{Key: "manual"},
	}
	waiting := tasks.Waiting(items)
	for _, it := range items {
		if on := waiting[it.Key]; len(on) > 0 {
			fmt.Println(it.Key, "waits for", on[0].Key)
			continue
		}
		fmt.Println(it.Key)
	}
	// Output:
	// lexer
	// parser waits for lexer
	// manual
}

// The text of a prd.json that is kept in a database is marked without a file.
func ExampleTickPRD() {
	text := []byte(`{"userStories": [
  {"id": "US-1", "title": "Sign in",  "passes": true},
  {"id": "US-2", "title": "Sign out", "passes": false}
]}
`)
	prd, err := tasks.ParsePRD(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	marked, err := tasks.TickPRD(text, prd.Items[1])
	fmt.Printf("%s%v\n", marked, err)
	// Output:
	// {"userStories": [
	//   {"id": "US-1", "title": "Sign in",  "passes": true},
	//   {"id": "US-2", "title": "Sign out", "passes": true}
	// ]}
	// <nil>
}

// A program that shows a session while it runs counts as the session's report does: what
// was interrupted is run again, and counts once.
func ExampleIterationsRun() {
	s := ralph.Start(ralph.Task{ID: "T001", Prompt: "Do it.", Blocked: "BLOCKED"}) // as a session makes it
	s = s.Next(ralph.Iteration{Number: 1, Attempt: 1})
	s = s.Next(ralph.Iteration{Number: 2, Attempt: 1, Fault: ralph.FaultInterrupted})
	fmt.Println(tasks.IterationsRun(s))
	s = s.Next(ralph.Iteration{Number: 2, Attempt: 2})
	fmt.Println(tasks.IterationsRun(s))
	// Output:
	// 1
	// 2
}

// A list in a git tree is marked in a text of it. The box may have moved since the list
// was read: it is found by its key.
func ExampleListFile_Mark() {
	const text = "## Later\n\n- [ ] T002 Test it\n\n## Now\n\n- [ ] T001 Write it\n"
	marked, err := tasks.ListFile{}.Mark("T001", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Contains(string(marked), "- [x] T001 Write it"))
	_, err = tasks.ListFile{}.Mark("T009", []byte(text))
	if missing, ok := errors.AsType[*tasks.NoItemError](err); ok {
		fmt.Println("there is no", missing.Key)
	}
	// Output:
	// true
	// there is no T009
}

// The template of a session begins with the usual one, and says what is special here.
func ExampleDefaultTemplate() {
	s := tasks.Session{Template: tasks.DefaultTemplate() + "\nCommit each task by itself.\n"}
	fmt.Println(strings.HasSuffix(s.Template, "by itself.\n"))
	// Output: true
}
