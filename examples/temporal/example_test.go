package temporal_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/temporal"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/verify"
)

var _ ralph.Loop = (*temporal.Loop)(nil)

func ExampleRegister() {
	c, err := client.Dial(client.Options{HostPort: os.Getenv("TEMPORAL_ADDRESS")})
	if err != nil {
		log.Fatal(err)
	}
	agent, err := ralph.Preset("claude")
	if err != nil {
		log.Fatal(err)
	}
	w := worker.New(c, "agents", worker.Options{
		MaxConcurrentActivityExecutionSize: 4, // agents at the same time on this machine
		WorkerStopTimeout:                  time.Minute,
	})
	local := &ralph.Local{Runner: agent, Verifier: verify.External{Args: []string{"go", "test", "./..."}}}
	if err := temporal.Register(w, local); err != nil {
		log.Fatal(err)
	}
	log.Fatal(w.Run(worker.InterruptCh()))
}

func ExampleLoop_Run() {
	ctx := context.Background()
	c, err := client.Dial(client.Options{HostPort: os.Getenv("TEMPORAL_ADDRESS")})
	if err != nil {
		log.Fatal(err)
	}
	loop := &temporal.Loop{Client: c, Queue: "agents"}
	task := ralph.Task{ID: "T001", Dir: "/srv/shop", Prompt: "Make the tests pass."}
	final, err := loop.Run(ctx, ralph.Start(task)) // once more: it attaches
	fmt.Println(final.Stop, final.Iteration, err)
}

// A worker whose agents work in worktrees.
func ExampleWorker() {
	ctx := context.Background()
	var w worker.Worker
	local := &ralph.Local{}
	trees := &pipeline.Worktrees{Dir: "/srv/shop", Remote: "ssh://git.example.com/shop.git"}
	if err := trees.Open(ctx); err != nil { // before any agent runs: git's configuration is that of this moment
		log.Fatal(err)
	}
	err := (&temporal.Worker{Local: local, Trees: trees}).Register(w)
	if err != nil {
		log.Fatal(err)
	}
}

// Many tasks, agreed where Run is called.
func ExamplePipeline_Run() {
	ctx := context.Background()
	var c client.Client
	var tasks pipeline.Pipeline
	agreed, err := tasks.Agree(ctx) // tasks is a pipeline.Pipeline: Source, Dir, Rules, Config, Verifier
	if err != nil {
		log.Fatal(err)
	}
	final, err := (&temporal.Pipeline{Loop: temporal.Loop{Client: c, Queue: "agents"}, Name: "shop"}).Run(ctx, agreed)
	fmt.Println(final.Stop, err)
}

// TestReadme: the README's Go code stands in the examples above.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(readme), "```go\n")[1:]
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if want := "\t" + strings.ReplaceAll(strings.TrimSpace(code), "\n", "\n\t"); !strings.Contains(string(source), want) {
			t.Errorf("example_test.go does not hold the README's code:\n%s", want)
		}
	}
	if n := strings.Count(string(readme), "\n"); n > 150 || len(blocks) != 4 {
		t.Errorf("the README has %d lines, and %d blocks of Go code", n, len(blocks))
	}
}
