//go:build unix

package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/sqlite"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path, workspace := filepath.Join(dir, "tasks.db"), filepath.Join(dir, "work")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		log.Fatal(err)
	}
	if err := sqlite.Migrate(ctx, path, sqlite.Column); err != nil {
		log.Fatal(err)
	}
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := db.Add(ctx, spec.Definition{ID: "T1", Title: "Write hello.txt", Completion: &spec.Completion{
		Outcome: "hello.txt is there", Acceptance: []string{"it is there"},
		Agents: []spec.AgentCriteria{{Agent: "writer", Criteria: spec.Criteria{Method: "external", Config: json.RawMessage(`{"command": "test -f hello.txt"}`)}}},
	}}); err != nil {
		log.Fatal(err)
	}

	runner := ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		if req.Iteration > 1 { // the first claim is a false one
			return ralph.Response{Output: "<promise>COMPLETE</promise>"}, os.WriteFile(filepath.Join(req.Dir, "hello.txt"), nil, 0o600)
		}
		return ralph.Response{Output: "<promise>COMPLETE</promise>"}, nil
	})
	source := &sqlite.Source{DB: db}
	defer source.Close()
	p := pipeline.Pipeline{
		Source: source, Log: db, Dir: workspace, Stages: []string{"writer"},
		Runner: func(pipeline.Place) (ralph.Runner, error) { return runner, nil },
	}
	if _, err := p.Run(ctx); err != nil {
		log.Fatal(err)
	}
	loops, err := db.Standings(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range loops {
		fmt.Println(l.Task, l.Agent, l.Iteration, l.Stop)
	}
	// Output: T1 writer 2 verified
}
