package ralph_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// A judge is a client without tools; another login than its own needs its variable.
func ExampleJudgePreset() {
	judge, err := ralph.JudgePreset("claude")
	if err != nil {
		fmt.Println(err)
		return
	}
	judge.Model = "haiku"
	judge.Inherit = append(judge.Inherit, "MY_GATEWAY_KEY")
	v := verify.Semantic{Judge: judge, Criteria: []string{"every endpoint checks the token"}}
	fmt.Println(len(v.Criteria), "criterion for", judge.Args[0])
	_, err = ralph.JudgePreset("amp") // cannot be run without tools
	fmt.Println(err)
	// Output:
	// 1 criterion for claude
	// ralph: amp cannot be run without tools, so it is no judge; these can: claude, codex, gemini, opencode, copilot
}

// A program that starts a client itself, without a Command: the client must not take
// itself for a part of the session in which this program runs.
func ExampleEnviron() {
	client := exec.Command("claude", "--version")
	client.Env = ralph.Environ()
	fmt.Println(slices.ContainsFunc(client.Env, func(v string) bool { return strings.HasPrefix(v, "CLAUDECODE=") }))
	// Output: false
}

// A client is started with a session that the program knows by its ID.
func ExampleNewSession() {
	session := ralph.NewSession()
	client := exec.Command("claude", "--session-id", session)
	fmt.Println(len(client.Args), len(session), session == ralph.NewSession())
	// Output: 3 36 false
}

// Which formats tell what a run has cost.
func ExampleFormats() {
	for _, format := range ralph.Formats() {
		if format.Capabilities().Cost {
			fmt.Println(format)
		}
	}
	// Output:
	// claude
	// cline
	// opencode
}

// How far a loop has come, for people.
func ExampleState_Completed() {
	loop := &ralph.Local{
		Runner: ralph.Replay("Not yet.", "Not yet.", "<promise>COMPLETE</promise>"), Verifier: verify.String{},
		Control: func(_ context.Context, s ralph.State) (ralph.State, error) {
			if s.Begun() && !s.Running {
				fmt.Printf("%d of at most %d\n", s.Completed(), s.Task.Limits.Iterations)
			}
			return s, nil
		},
	}
	final, err := loop.Run(context.Background(), ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 5}}))
	fmt.Println(final.Completed(), final.Stop, err)
	// Output:
	// 1 of at most 5
	// 2 of at most 5
	// 3 verified <nil>
}

// A host that opens a session itself gives it the first prompt; a Hook gives the later
// ones.
func ExampleState_Opening() {
	s := ralph.Start(ralph.Task{Prompt: "Make the tests pass.", Acceptance: []string{"no test is changed"}})
	prompt := s.Opening()
	for _, part := range []string{"Make the tests pass.", "no test is changed", "<promise>COMPLETE</promise>"} {
		fmt.Println(strings.Contains(prompt, part))
	}
	// Output:
	// true
	// true
	// true
}

// A host tells that a session was closed: its loop is over, and nothing is left of it.
func ExampleHook_Deleted() {
	ctx := context.Background()
	store := &ralph.MemoryStore{}
	hook := &ralph.Hook{Store: store, Verifier: verify.String{}, Inject: func(context.Context, string, string) error { return nil }}
	loops := func() (n int) {
		for _, err := range store.All(ctx) {
			if err != nil {
				fmt.Println(err)
			}
			n++
		}
		return n
	}
	_, err := hook.Start(ctx, "chat 1", ralph.Task{Prompt: "Mend the tests."})
	fmt.Println(loops(), err)
	err = hook.Deleted(ctx, "chat 1")
	fmt.Println(loops(), err)
	x, err := hook.State(ctx, "chat 1")
	fmt.Println(x.IsZero(), err)
	// Output:
	// 1 <nil>
	// 0 <nil>
	// true <nil>
}

// A worker tells what its agent has used so far; the driver ends an attempt that has used
// up the budget.
func ExampleDispatch_Heard() {
	d := ralph.Dispatch{
		State: ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Tokens: 1000}}),
		Hosts: map[string]map[string]string{"worker-3": nil}, // it has prepared the loop
	}
	d = d.Begin(time.Now())
	for _, tokens := range []int64{400, 1200} {
		beat := ralph.Beat{Host: "worker-3", Mark: ralph.NewMark(), Usage: ralph.Usage{InputTokens: tokens}}
		fmt.Printf("%q\n", d.Heard(beat).Over(ralph.Usage{}, 0))
	}
	// Output:
	// ""
	// "tokens"
}
