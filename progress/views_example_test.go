package progress_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// Another program reads how far a loop is in a file.
func ExampleStateFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, ".ralph", "ralph-loop-state.json")

	loop := &ralph.Local{
		Runner:   ralph.Replay("So far.", "<promise>COMPLETE</promise>"),
		Verifier: verify.String{},
		Log:      &progress.StateFile{Path: path},
	}
	if _, err := loop.Run(context.Background(), ralph.Start(ralph.Task{ID: "T1", Prompt: "Add the login page.", Dir: dir})); err != nil {
		panic(err)
	}

	var state struct {
		Active        bool `json:"active"`
		Iteration     int  `json:"iteration"`
		MaxIterations int  `json:"maxIterations"`
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	fmt.Printf("%+v %v\n", state, err)
	// Output: {Active:false Iteration:2 MaxIterations:10} <nil>
}
