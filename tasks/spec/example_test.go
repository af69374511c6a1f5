package spec_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/spec"
)

const authTask = `
task:
  id: TASK-001
  title: "Implement JWT authentication"
  status: todo # nobody has begun
  completion:
    outcome: "All API endpoints require valid JWT tokens"
    acceptance_criteria:
      - "Invalid tokens return 401"
    coder:
      promise: "AUTH_IMPLEMENTED"
      verification_method: external
      verification_config:
        command: "exit 0"
`

// One verifier serves every task of every file: what a task's definition says is
// what is asked.
func ExampleVerifier() {
	file, err := spec.Parse("auth.yaml", []byte(authTask))
	if err != nil {
		fmt.Println(err)
		return
	}
	loop := &ralph.Local{
		Runner:   ralph.Replay("All is in place and committed.\n\n<promise>AUTH_IMPLEMENTED</promise>"), // an agent
		Verifier: spec.Verifier(spec.Env{}),
	}
	for _, def := range file.Definitions() {
		task, err := def.Task("coder")
		if err != nil {
			fmt.Println(err)
			return
		}
		final, err := loop.Run(context.Background(), ralph.Start(task))
		fmt.Println(def.ID, final.Stop, err)
	}
	// Output: TASK-001 verified <nil>
}

// Setting a status leaves the rest of the file alone, comments included.
func ExampleFile_SetStatus() {
	file, err := spec.Parse("auth.yaml", []byte(authTask))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := file.SetStatus("TASK-001", spec.StatusDone); err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(string(file.Bytes())) {
		if strings.Contains(line, "status") {
			fmt.Print(strings.TrimSpace(line))
		}
	}
	// Output: status: done # nobody has begun
}

// A program's own verification method: definitions use it by its name.
func ExampleMethods() {
	type minimum struct{ Words int }
	env := spec.Env{Methods: spec.Methods{
		"min_words": func(config json.RawMessage, _ spec.Env) (ralph.Verifier, error) {
			var least minimum
			if err := json.Unmarshal(config, &least); err != nil || least.Words < 1 {
				return nil, fmt.Errorf("min_words: words must be a number from 1")
			}
			return ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
				if n := len(strings.Fields(c.Output)); n < least.Words {
					return ralph.Reject(fmt.Sprintf("%d words are too few, write %d", n, least.Words)), nil
				}
				return ralph.Pass(), nil
			}), nil
		},
	}}
	verifier, err := env.Verifier("min_words", json.RawMessage(`{"words": 3}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	verdict, err := verifier.Verify(context.Background(), ralph.Claim{Output: "It works.", Promised: true})
	fmt.Println(verdict.Passed, verdict.Feedback, err)
	// Output: false 2 words are too few, write 3 <nil>
}

// A mistake in a definition is named with its place.
func ExampleParse() {
	_, err := spec.Parse("auth.yaml", []byte("id: T1\ntitle: Log in\ndependancies: [T0]\n"))
	fmt.Println(err)
	// Output: auth.yaml:3:1: T1: unknown key "dependancies"; did you mean "dependencies"?
}
