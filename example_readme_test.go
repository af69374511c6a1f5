package ralph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

func Example_claude() {
	ctx := context.Background()
	agent, err := ralph.Preset("claude") // or any ralph.Runner of your own
	if err != nil {
		log.Fatal(err)
	}
	loop := &ralph.Local{
		Runner:   agent,
		Verifier: verify.External{Args: []string{"go", "test", "./..."}},
	}
	final, err := loop.Run(ctx, ralph.Start(ralph.Task{Prompt: "Make the tests pass."}))
	fmt.Println(final.Stop, final.Iteration, err)
}
