package ralph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// A script stands for a client: its output is the agent's answer.
func ExampleCommand() {
	agent := &ralph.Command{Args: []string{"sh", "-c", `cat > prompt.txt; echo "Done."; echo "<promise>COMPLETE</promise>"`}}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	resp, err := agent.Run(context.Background(), ralph.Request{Prompt: "Do it.", Dir: dir, Promise: "COMPLETE"})
	fmt.Print(resp.Output)
	fmt.Println(err)
	// Output:
	// Done.
	// <promise>COMPLETE</promise>
	// <nil>
}

func ExampleCommand_CommandLine() {
	agent, err := ralph.Preset("codex")
	if err != nil {
		fmt.Println(err)
		return
	}
	agent.Model = "gpt-5.4"
	line, err := agent.CommandLine()
	fmt.Println(strings.Join(line[len(line)-3:], " "), err)
	// Output: --model gpt-5.4 - <nil>
}

func ExamplePreset() {
	_, err := ralph.Preset("hal")
	fmt.Println(err)
	// Output: ralph: unknown agent "hal"; the known ones are claude, codex, gemini, opencode, copilot, amp, cline, text
}

// What a client prints is not always what a format decodes: here a program makes the
// answer of it.
func ExampleFilter() {
	agent := &ralph.Command{
		Args:   []string{"sh", "-c", "cat >/dev/null; echo 'log: begun'; echo 'say: It is done.'"},
		Filter: ralph.Filter{Response: []string{"sed", "-n", "s/^say: //p"}},
	}
	resp, err := agent.Run(context.Background(), ralph.Request{Prompt: "Do it."})
	fmt.Print(resp.Output)
	fmt.Println(err)
	// Output:
	// It is done.
	// <nil>
}

// An HTTP handler, or any other goroutine, steers a loop through a Remote.
func ExampleRemote() {
	remote := &ralph.Remote{}
	remote.Guide("Begin with the tests.")
	if err := remote.Limit(ralph.Limits{Iterations: 2}); err != nil {
		fmt.Println(err)
		return
	}
	loop := &ralph.Local{
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			fmt.Println(req.Iteration, strings.Contains(req.Prompt, "Begin with the tests."))
			return ralph.Response{Output: "Not yet."}, nil
		}),
		Verifier: verify.String{},
		Control:  remote.Control,
	}
	final, _ := loop.Run(context.Background(), ralph.Start(ralph.Task{Prompt: "Do it."}))
	fmt.Println(final.Stop)
	// Output:
	// 1 true
	// 2 false
	// iterations
}

// Control is any function that returns a changed state: here it looks at a file.
func ExampleLocal_control() {
	stop := filepath.Join(os.TempDir(), "no such file, so the loop goes on")
	loop := &ralph.Local{
		Runner: ralph.Replay("Done.\n<promise>COMPLETE</promise>"), Verifier: verify.String{},
		Control: func(_ context.Context, s ralph.State) (ralph.State, error) {
			if _, err := os.Stat(stop); err == nil {
				return s.Cancel("somebody made the file " + stop), nil
			}
			return s, nil
		},
	}
	final, err := loop.Run(context.Background(), ralph.Start(ralph.Task{Prompt: "Do it."}))
	fmt.Println(final.Stop, err)
	// Output: verified <nil>
}

// What resuming needs to build the runner again is recorded with the start of the loop.
func ExampleLocal_meta() {
	loop := &ralph.Local{
		Runner: ralph.Replay("<promise>COMPLETE</promise>"), Verifier: verify.String{},
		Meta: map[string]string{"preset": "claude"},
		Log: ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
			if ev.Kind == ralph.EventLoopStarted {
				fmt.Println(ev.Meta["preset"])
			}
			return nil
		}),
	}
	_, err := loop.Run(context.Background(), ralph.Start(ralph.Task{Prompt: "Do it."}))
	fmt.Println(err)
	// Output:
	// claude
	// <nil>
}

// An answer that came from elsewhere is looked through for the promise and verified.
func ExampleLocal_Observe() {
	local := &ralph.Local{
		Runner:   ralph.Replay(), // is not asked
		Verifier: verify.String{Contains: []string{"sources"}},
	}
	s := ralph.Start(ralph.Task{Prompt: "Write a report with sources."})
	it, err := local.Observe(context.Background(), s, ralph.Response{Output: "Here it is.\n<promise>COMPLETE</promise>"})
	fmt.Println(it.Claimed, it.Verdict.Passed, err)
	// Output: true false <nil>
}

// A loop whose attempts are made by workers: the driver keeps the Dispatch, and a worker
// that it hands it to makes one attempt.
func ExampleDispatch() {
	ctx := context.Background()
	worker := &ralph.Local{Runner: ralph.Replay("Not yet.", "<promise>COMPLETE</promise>"), Verifier: verify.String{}}
	d := ralph.Dispatch{State: ralph.Start(ralph.Task{Prompt: "Do it."})}
	for !d.State.Done() {
		given, beat := d, ralph.Beat{Host: "worker-1", Mark: ralph.NewMark()}
		d = d.Begin(time.Now())
		report, err := worker.Serve(ctx, given, beat, func(b ralph.Beat) error { beat = b; return nil })
		if err != nil {
			d = d.Failed(err.Error(), time.Now())
			continue
		}
		d = d.Told(report, time.Now())
		fmt.Println("prepared:", report.Prepared != nil, "iteration:", report.Iteration.Number)
	}
	fmt.Println(d.State.Stop)
	// Output:
	// prepared: true iteration: 0
	// prepared: false iteration: 1
	// prepared: false iteration: 2
	// verified
}

// A worker keeps its work for as long as somebody hears of it.
func ExamplePulse() {
	ctx, stop, err := ralph.Pulse(context.Background(), time.Minute, nil, func(context.Context) error {
		fmt.Println("the worker lives")
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	fmt.Println("the work is its own:", ctx.Err() == nil)
	// Output:
	// the worker lives
	// the work is its own: true
}

// Before an attempt a driver waits until the state's time has come.
func ExampleSleep() {
	s := ralph.Start(ralph.Task{Prompt: "Do it."}).Pause(true)
	wake := make(chan struct{}, 1)
	wake <- struct{}{} // somebody wants something: the driver asks what
	fmt.Println(ralph.Sleep(context.Background(), s, wake))
	// Output: <nil>
}

// A hook of a client that is given a transcript finds the agent's last words in it.
func ExampleWords_Last() {
	transcript := filepath.Join(os.TempDir(), fmt.Sprintf("example-%d.jsonl", os.Getpid()))
	lines := `{"type":"user","message":{"content":"Do it."}}
{"type":"assistant","message":{"id":"m1","content":"All done."}}
`
	if err := os.WriteFile(transcript, []byte(lines), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(transcript)
	words := ralph.Words{Type: "assistant", Text: []string{"message", "content"}, ID: []string{"message", "id"}}
	text, id, err := words.Last(context.Background(), transcript, json.RawMessage(nil))
	fmt.Println(text, id, err)
	// Output: All done. m1 <nil>
}

// The agent can write to the store on disk, and so claim there what is not so: what this
// process has seen itself goes before that.
func ExampleOwnStore() {
	ctx := context.Background()
	shared := &ralph.MemoryStore{} // stands for one that the agent can write to
	own := &ralph.OwnStore{Store: shared}
	change := func(to ralph.State) func(ralph.HookState) (ralph.HookState, error) {
		return func(x ralph.HookState) (ralph.HookState, error) { x.Session, x.State = "chat 1", to; return x, nil }
	}
	task := ralph.Start(ralph.Task{Prompt: "Mend the tests.", Promise: "DONE"})
	forged := ralph.Start(ralph.Task{Prompt: "Do nothing.", Promise: "DONE"})
	err := errors.Join(own.Update(ctx, "chat 1", change(task)), shared.Update(ctx, "chat 1", change(forged)))
	err = errors.Join(err, own.Update(ctx, "chat 1", func(x ralph.HookState) (ralph.HookState, error) {
		fmt.Println(x.State.Task.Prompt)
		return x, nil
	}))
	fmt.Println(err)
	// Output:
	// Mend the tests.
	// <nil>
}

func ExampleWorkTree() {
	_, _, err := ralph.WorkTree(context.Background(), string(filepath.Separator))
	fmt.Println(errors.Is(err, ralph.ErrNoWorkTree))
	// Output: true
}
