package ralph_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// A configuration of at most 4 MiB. Whoever writes the file cannot fill the memory.
func ExampleReadFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "project.yaml")
	if err := os.WriteFile(path, []byte("ralph: {}\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	text, err := ralph.ReadFile(path, 4<<20)
	fmt.Printf("%q %v\n", text, err)
	_, err = ralph.ReadFile(path, 4)
	fmt.Println(err != nil)
	// Output:
	// "ralph: {}\n" <nil>
	// true
}

// A sandbox in which a client still finds its login, and builds their caches.
func ExampleToolFolders() {
	agent, err := ralph.Preset("claude")
	if err != nil {
		fmt.Println(err)
		return
	}
	agent.Sandbox = &ralph.Sandbox{Write: append(ralph.ClientFolders(agent.Format), ralph.ToolFolders()...), PIDs: true}
	fmt.Println(agent.Sandbox.Validate("."))
}

// Which of the known agents is installed here.
func ExamplePresets() {
	for _, name := range ralph.Presets() {
		agent, err := ralph.Preset(name)
		if err != nil {
			continue // cannot be: the name is known
		}
		version, err := agent.Version(context.Background())
		if errors.Is(err, exec.ErrNotFound) {
			continue
		}
		fmt.Println(name, version, err)
	}
}

// Whether a budget in US dollars can be kept with a client, before one is chosen.
func ExampleFormat_Capabilities() {
	for _, f := range []ralph.Format{ralph.FormatClaude, ralph.FormatCodex, ralph.FormatText} {
		c := f.Capabilities()
		fmt.Printf("%s: cost %t, tokens %t\n", f, c.Cost, c.Tokens)
	}
	// Output:
	// claude: cost true, tokens true
	// codex: cost false, tokens true
	// text: cost false, tokens false
}

// A queue of workers on several machines checks what it can: the tests must be the same
// everywhere, and each machine has its own compiler.
func ExampleOfMachine() {
	for _, key := range []string{"app_test.go", "//program/go", "//config/~/.npmrc", "~/.gitconfig"} {
		fmt.Println(key, ralph.OfMachine(key))
	}
	// Output:
	// app_test.go false
	// //program/go true
	// //config/~/.npmrc true
	// ~/.gitconfig true
}

// Why a loop has stopped decides what a program does next.
func ExampleStopError() {
	loop := &ralph.Local{Runner: ralph.Replay("So far."), Verifier: verify.String{}}
	task := ralph.Task{ID: "T1", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}}
	final, err := loop.Run(context.Background(), ralph.Start(task))
	if stop, ok := errors.AsType[*ralph.StopError](err); ok && stop.Reason == ralph.StopIterations {
		more := final.Task.Limits
		more.Iterations = 5
		fmt.Println("with more iterations it goes on:", !final.Limit(more).Done())
	}
	// Output: with more iterations it goes on: true
}

// Everything that is wrong with a task is told at once.
func ExampleTask_Validate() {
	fmt.Println(ralph.Task{Prompt: "Do it.", Promise: "two\nlines", Limits: ralph.Limits{Iterations: -1}}.Validate())
	// Output:
	// ralph: task: promise "two\nlines" has a line break; a promise is one line
	// limits: unlimited iterations need a duration, tokens or cost_usd to stop at
}
