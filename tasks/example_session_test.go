package tasks_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks"
)

func ExampleSession() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	list := tasks.ListFile{Path: filepath.Join(dir, "tasks.md")}
	if err := os.WriteFile(list.Path, []byte("- [x] T001 Draw a plan\n- [ ] T002 Build it\n- [ ] T003 Paint it\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	// The agent does what it is asked for, and ticks the box.
	agent := ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		return ralph.Response{Output: "Done with " + req.Task}, list.Tick(req.Task)
	})
	s := tasks.Session{
		Source: list, Runner: agent, Dir: dir,
		Log: &progress.Markdown{Path: filepath.Join(dir, "progress.txt")},
	}
	report, err := s.Run(context.Background())
	fmt.Println(report.Status, report.IterationsRun, report.TasksCompleted, report.TasksRemaining, err)
	// Output: completed 2 2 0 <nil>
}
