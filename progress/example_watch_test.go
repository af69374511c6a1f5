package progress_test

import (
	"context"
	"fmt"
	"os"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// A board looks at a folder again and again: only what has changed is read.
func ExampleWatch() {
	ctx := context.Background()
	path, _ := os.MkdirTemp("", "records")
	defer os.RemoveAll(path)
	dir := &progress.Dir{Path: path}
	defer dir.Close()
	w := progress.Watch{Dir: dir}
	for _, id := range []string{"T1", "T2"} {
		s := ralph.Start(ralph.Task{ID: id, Prompt: "…"})
		dir.Append(ctx, ralph.Event{Kind: ralph.EventLoopStarted, Loop: s.Loop, Task: id, State: &s})
		all, err := w.Standings(ctx)
		if err != nil {
			fmt.Println(err)
		}
		for _, st := range all {
			fmt.Println(st.Name(), st.Status)
		}
	}
	// Output:
	// T1 running
	// T1 running
	// T2 running
}

// What an agent's client has printed, as people read it.
func ExampleReadable() {
	const printed = `{"type":"system","subtype":"init"}
{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"I look at the tests."}]}}
{"type":"assistant","message":{"id":"2","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"go test ./..."}}]}}
`
	w := progress.Readable(os.Stdout, ralph.FormatClaude, "")
	defer w.Close()
	fmt.Fprint(w, printed)
	// Output:
	// I look at the tests.
	// → Bash go test ./...
}
