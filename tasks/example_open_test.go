package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
)

// A program that is given a path, and not what kind of file it is.
func ExampleOpenSource() {
	dir, err := os.MkdirTemp("", "ralph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "features.json")
	if err := os.WriteFile(path, []byte(`[{"id": 1, "name": "Sign in", "passes": true}, {"id": 2, "name": "Sign out", "passes": false}]`), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	kind, err := tasks.KindOf(path)
	fmt.Println(kind, err)
	src, err := tasks.OpenSource(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	items, err := src.Items(context.Background())
	for _, it := range items {
		fmt.Println(it.ID, it.Text, it.Done)
	}
	fmt.Println(err)
	// Output:
	// prd <nil>
	// 1 Sign in true
	// 2 Sign out false
	// <nil>
}

// A program that is started in a project, and asks where its tasks are.
func ExampleFind() {
	dir, err := os.MkdirTemp("", "ralph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for feature, text := range map[string]string{
		"001-login":  "- [x] T001 Write it\n",
		"002-logout": "- [x] T001 Write it\n- [ ] T002 Test it\n",
	} {
		folder := filepath.Join(dir, "specs", feature)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			fmt.Println(err)
			return
		}
		if err := os.WriteFile(filepath.Join(folder, "tasks.md"), []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}

	path, err := tasks.Find(context.Background(), dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	path, err = filepath.Rel(dir, path)
	fmt.Println(filepath.ToSlash(path), err)
	// Output: specs/002-logout/tasks.md <nil>
}

// What is not worked on, and why: for a person, before anything is run.
func ExampleListFile_Check() {
	dir, err := os.MkdirTemp("", "ralph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tasks.md")
	text := `- [ ] T001 Write the parser
- [ ] T002 Write the printer
-[ ] T003 Write the manual

## Definition of done

- [ ] All tests pass
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	found, err := tasks.ListFile{Path: path}.Check(context.Background())
	for _, f := range found {
		if !f.Task() {
			fmt.Printf("line %d: %s: %s: %s\n", f.Item.Line, f.Item.Text, f.Why, f.Detail)
		}
	}
	fmt.Println(err)
	// Output:
	// line 3: T003 Write the manual: no_box: there is no blank before its brackets
	// line 7: All tests pass: criterion: the heading is "Definition of done"
	// <nil>
}

func ExampleParsePRD() {
	prd, err := tasks.ParsePRD([]byte(`{
  "project": "Shop", "branchName": "ralph/shop",
  "userStories": [
    {"id": "US-2", "title": "Pay", "priority": 2, "dependsOn": ["US-1"], "passes": false},
    {"id": "US-1", "title": "Fill a basket", "priority": 3, "passes": false},
    {"id": "US-3", "title": "Send a card", "status": "cancelled"}
  ]
}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(prd.Project, prd.Branch)
	for _, it := range prd.Items {
		fmt.Println(it.ID, it.Text)
	}
	for _, f := range prd.Others {
		fmt.Println(f.Item.ID, f.Why)
	}
	// Output:
	// Shop ralph/shop
	// US-1 Fill a basket
	// US-2 Pay
	// US-3 skipped
}

// The text of a list that is kept in a database is ticked without a file.
func ExampleTick() {
	text := []byte("- [ ] T001 Write it\n- [ ] T002 Test it\n")
	list, err := tasks.ParseList(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	ticked, err := tasks.Tick(text, list.Items[1])
	fmt.Printf("%s%v\n", ticked, err)
	// Output:
	// - [ ] T001 Write it
	// - [x] T002 Test it
	// <nil>
}

// The items of a tracker of one's own: what comes first, and what has to wait.
func ExampleInOrder() {
	items := []tasks.Item{
		{Key: "release", After: []string{"parser"}},
		{Key: "parser"},
		{Key: "lexer", Parent: "parser"},
	}
	for _, it := range tasks.InOrder(items) {
		fmt.Println(it.Key)
		for _, on := range tasks.Waits(items, it) {
			fmt.Println("  waits for", on.Key)
		}
	}
	// Output:
	// lexer
	// parser
	//   waits for lexer
	// release
	//   waits for parser
}

// What an agent is told of an item by the prompt's CURRENT_TASK.
func ExampleItem_DescribeIn() {
	items := []tasks.Item{
		{ID: "T1.1", Key: "T1.1", Text: "Lexer", Parent: "T1", Done: true},
		{ID: "T1", Key: "T1", Text: "Parser", Phase: "Phase 1", Acceptance: []string{"CRLF is read too"}},
	}
	fmt.Println(items[1].DescribeIn(items))
	// Output:
	// T1 Parser (in "Phase 1")
	//
	// It is done when:
	// - CRLF is read too
	//
	// Its parts are tasks of their own, and are done: leave their boxes alone. What is left is to see that together they are all that is asked for above, and to do what is missing.
	//
	// - [x] T1.1 Lexer
}

// A session whose ticked boxes are verified. What is not verified is kept in a file, so
// that a crash between a tick and its check does not make the item done.
func ExamplePendingFile() {
	dir, err := os.MkdirTemp("", "ralph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	list := tasks.ListFile{Path: filepath.Join(dir, "tasks.md")}
	if err := os.WriteFile(list.Path, []byte("- [ ] T001 Build it\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	kept := tasks.PendingFile{Path: filepath.Join(dir, "state", "pending.json")} // where the agent cannot write
	pending, err := kept.Load()
	if err != nil {
		fmt.Println(err)
		return
	}
	s := tasks.Session{
		Source: list, Dir: dir, Misses: 1, Pending: pending, Keep: kept.Keep,
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			return ralph.Response{Output: "Done."}, list.Tick(req.Task)
		}),
		Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
			return ralph.Reject("the build fails"), nil
		}),
	}
	report, err := s.Run(context.Background())
	fmt.Println(report.Status, report.Rejected, report.Pending)
	if stop, ok := errors.AsType[*ralph.StopError](err); ok {
		fmt.Println(stop.Reason)
	}
	pending, err = kept.Load()
	fmt.Println(pending, err)
	// Output:
	// failed [T001] map[T001:the build fails]
	// stalled
	// map[T001:the build fails] <nil>
}

// The documents that a prompt names beside a list.
func ExampleDocuments() {
	dir, err := os.MkdirTemp("", "ralph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"tasks.md", "spec.md", "plan.md", "notes.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("# Login\n"), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}
	for _, path := range tasks.Documents(filepath.Join(dir, "tasks.md")) {
		fmt.Println(filepath.Base(path))
	}
	// Output:
	// spec.md
	// plan.md
}
