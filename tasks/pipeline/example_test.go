package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// shop is a git repository with two tasks beside each other, and one that waits for both.
// A program of yours has them.
func shop() (dir string) {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	tasks := `tasks:
- {id: CART, title: A cart}
- {id: LOGIN, title: A login}
- {id: PAY, title: Payment, dependencies: [CART, LOGIN]}
`
	if err := os.WriteFile(filepath.Join(dir, "tasks.yaml"), []byte(tasks), 0o644); err != nil {
		log.Fatal(err)
	}
	git := exec.Command("sh", "-ec", "git init -q -b main; git config user.name me; git config user.email me@example.org; git add -A; git commit -q -m tasks")
	git.Dir = dir
	if err := git.Run(); err != nil {
		log.Fatal(err)
	}
	return dir
}

// worker stands for an agent's client, which works in a folder: ralph.Preset("claude").
func worker(place pipeline.Place) (ralph.Runner, error) {
	return ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		if place.Agent == "coder" {
			if err := os.WriteFile(filepath.Join(place.Dir, place.Task), []byte("done\n"), 0o644); err != nil {
				return ralph.Response{}, err
			}
		}
		return ralph.Response{Output: "Committed, and approved.\n\n<promise>" + req.Promise + "</promise>"}, nil
	}), nil
}

// A coder and a reviewer work on each task, one task after the other.
func ExamplePipeline() {
	dir := shop()
	defer os.RemoveAll(dir)
	p := pipeline.Pipeline{
		Source: &pipeline.File{Path: filepath.Join(dir, "tasks.yaml")},
		Dir:    dir,
		Runner: worker,
		Stages: []string{"coder", "reviewer"},
	}
	for ev, err := range p.Events(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if ev.Kind == pipeline.EventEnded {
			fmt.Println(ev.Task, ev.Agent, ev.Stop)
		}
	}
	// Output:
	// CART coder verified
	// CART reviewer verified
	// LOGIN coder verified
	// LOGIN reviewer verified
	// PAY coder verified
	// PAY reviewer verified
}

// Four tasks at a time, each in a git worktree of its own: what was verified is merged.
func ExamplePipeline_slots() {
	dir := shop()
	defer os.RemoveAll(dir)
	p := pipeline.Pipeline{
		Source: &pipeline.File{Path: filepath.Join(dir, "tasks.yaml")},
		Dir:    dir,
		Runner: worker,
		Stages: []string{"coder"},
		Rules:  pipeline.Rules{Slots: 4, Merge: true, CostUSD: 20},
	}
	final, err := p.Run(context.Background())
	fmt.Println(final.Stop, err)
	git := exec.Command("git", "ls-tree", "--name-only", "main")
	git.Dir = dir
	names, err := git.Output()
	fmt.Print(string(names), err)
	// Output:
	// verified <nil>
	// CART
	// LOGIN
	// PAY
	// tasks.yaml
	// <nil>
}

// A run that is on record goes on where it was interrupted, also by a crash.
func ExamplePipeline_resume() {
	dir := shop()
	defer os.RemoveAll(dir)
	record := progress.Dir{Path: filepath.Join(dir, "record")} // progress.WorkspaceDir in a program of yours
	defer record.Close()
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	p := pipeline.Pipeline{
		Source: &pipeline.File{Path: filepath.Join(dir, "tasks.yaml")},
		Dir:    dir,
		Record: &record,
		Runner: func(place pipeline.Place) (ralph.Runner, error) {
			if place.Task != "CART" {
				interrupt() // as Ctrl-C does
			}
			return worker(place)
		},
		Stages: []string{"coder"},
	}
	for ev, err := range p.Events(ctx) {
		switch {
		case errors.Is(err, context.Canceled):
			fmt.Println("interrupted")
		case ev.Kind == pipeline.EventEnded && ev.Stop != "":
			fmt.Println(ev.Task, ev.Stop)
		}
	}
	for ev, err := range p.Events(context.Background()) {
		switch {
		case err != nil:
			fmt.Println(err)
		case ev.Kind == pipeline.EventEnded:
			fmt.Println(ev.Task, ev.Stop)
		}
	}
	// Output:
	// CART verified
	// interrupted
	// LOGIN verified
	// PAY verified
}
