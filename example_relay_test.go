package ralph_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// relay has a loop in the session "chat 1", whose client calls it "c-17". A program of
// yours has a verifier that runs the tests.
func relay(ctx context.Context) (*ralph.Relay, error) {
	r := &ralph.Relay{Session: "chat 1", Client: "c-17"}
	r.Hook = &ralph.Hook{
		Store:    &ralph.MemoryStore{},
		Verifier: verify.String{Contains: []string{"tests pass"}},
		Delay:    -1,
		Inject:   r.Inject,
		Notify:   r.Notify,
	}
	_, err := r.Hook.Start(ctx, r.Session, ralph.Task{Prompt: "Mend the tests."})
	return r, err
}

// A client starts a program each time that its agent stops, and obeys what that program
// answers. The agent could start it too, so the program decides nothing: it asks the
// process that has the Relay.
func ExampleRelay() {
	ctx := context.Background()
	r, err := relay(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	place, err := r.Listen(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	// The hook program reads the agent's last words from its client's event, and the
	// place from the environment variable ralph.RelayPlace.
	hook := func(words string) {
		a, err := ralph.AskRelay(ctx, ralph.Ask{Kind: ralph.AskStop, Session: "c-17", Text: words}, place)
		fmt.Println(a.Note, err)
		fmt.Println("the session goes on:", a.Prompt != "")
	}
	hook("I have begun.")
	hook("It is done: <promise>DONE</promise>")
	hook("All tests pass.\n<promise>DONE</promise>")
	// Output:
	// Ralph Loop: Iteration 2/100 <nil>
	// the session goes on: true
	// Ralph Loop: Iteration 3/100 <nil>
	// the session goes on: true
	// Ralph Loop Complete!: Task completed after 3 iteration(s) <nil>
	// the session goes on: false
}

// Hooks run in every session of a client, and most sessions have no loop. Those are left
// alone.
func ExampleAskRelay() {
	ctx := context.Background()
	r, err := relay(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	place, err := r.Listen(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	stop := ralph.Ask{Kind: ralph.AskStop, Session: "another", Text: "<promise>DONE</promise>"}
	a, err := ralph.AskRelay(ctx, stop, os.Getenv(ralph.RelayPlace), place)
	fmt.Println(a.Ours, err)
	a, err = ralph.AskRelay(ctx, stop) // no Relay is known
	fmt.Println(a.Ours, err)
	// Output:
	// false <nil>
	// false <nil>
}

// A client that runs already: its first hook asks once the Relay listens.
func ExampleRelay_Attend() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	r, err := relay(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	r.File = dir + "/hook" // progress.SessionFile, where the client's hooks look
	why, err := r.Attend(ctx, 0, func() {
		go func() { // a hook of the client
			place, err := ralph.ReadFile(r.File, 4<<10)
			if err == nil {
				_, err = ralph.AskRelay(ctx, ralph.Ask{Kind: ralph.AskEnd, Session: "c-17", Text: "logout"}, string(place))
			}
			if err != nil {
				fmt.Println(err)
			}
		}()
	})
	fmt.Println("the session has ended:", why, err)
	// Output: the session has ended: logout <nil>
}

// A client that this program starts: its hooks find the Relay in their environment.
func ExampleRelay_Launch() {
	ctx := context.Background()
	r, err := relay(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	client := exec.Command("sh", "-c", `test -n "$RALPH_HOOK" && echo "hooks can ask"`) // exec.Command("claude") in yours
	client.Stdout = os.Stdout
	ended, err := r.Launch(ctx, client)
	fmt.Println("left running:", ended, err)
	// Output:
	// hooks can ask
	// left running: [] <nil>
}
