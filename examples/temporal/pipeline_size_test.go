package temporal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// described are tasks as people write them, of two thousand bytes each.
func (y *yard) described(n int) {
	y.Helper()
	var text strings.Builder
	text.WriteString("tasks:\n")
	for i := range n {
		fmt.Fprintf(&text, "  - id: T%d\n    title: Do %[1]d\n    description: %s\n    completion:\n      outcome: it is there\n      acceptance_criteria: [it is there]\n", i, strings.Repeat("Some words that say it. ", 80))
		for _, agent := range []string{"coder", "reviewer"} {
			fmt.Fprintf(&text, "      %s:\n        promise: DONE\n        verification_method: external\n        verification_config: {command: go test ./...}\n", agent)
		}
	}
	write(y.T, y.file, text.String())
	y.tasks.Task = nil
}

// An open source lets everybody have its tasks, and shows nothing of them.
type open struct{ *pipeline.File }

func (open) Take(context.Context, string) (bool, error)           { return true, nil }
func (open) Write(context.Context, string, pipeline.Update) error { return nil }

// TestPipelineSize: 250 tasks of two stages are within the two megabytes that Temporal
// takes, and of more the error says that it is their size.
func TestPipelineSize(t *testing.T) {
	y := newYard(t, time.Minute, "", "")
	y.described(300)
	y.tasks.Source = open{&pipeline.File{Path: y.file}}
	a, err := y.tasks.Agree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Course(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if each := len(text) / 300; err != nil || each > 2<<20/250 {
		t.Errorf("a task is %d bytes: %v", each, err)
	}
	if _, err := y.run.Run(within(t), a); err == nil || !strings.Contains(err.Error(), "cannot be started") || !strings.Contains(err.Error(), "size") {
		t.Errorf("it says: %v", err)
	}
}
