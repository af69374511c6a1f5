package ralph_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// A claim is verified, rejected, and made again.
func Example() {
	loop := &ralph.Local{
		Runner: ralph.Replay(
			"I wrote the report.\n<promise>COMPLETE</promise>",
			"Now with sources.\n<promise>COMPLETE</promise>",
		),
		Verifier: verify.String{Contains: []string{"sources"}},
	}
	final, err := loop.Run(context.Background(), ralph.Start(ralph.Task{Prompt: "Write a report with sources."}))
	fmt.Println(final.Stop, "after", final.Iteration, "iterations, error", err)
	// Output: verified after 2 iterations, error <nil>
}

func ExampleLocal_Run_limit() {
	loop := &ralph.Local{Runner: ralph.Replay("So far.", "So good."), Verifier: verify.String{}}
	_, err := loop.Run(context.Background(), ralph.Start(ralph.Task{Prompt: "Do it.", ID: "T1", Limits: ralph.Limits{Iterations: 2}}))
	fmt.Println(err)
	// Output: ralph: T1: stopped: iterations: the limit of iterations, 2, is reached, and the task is not verified
}

func ExampleLocal_Iterate() {
	ctx := context.Background()
	local := &ralph.Local{Runner: ralph.Replay("So far.", "Done.\n<promise>COMPLETE</promise>"), Verifier: verify.String{}}
	s := ralph.Start(ralph.Task{Prompt: "Do it."})
	for !s.Done() {
		it, err := local.Iterate(ctx, s)
		if err != nil {
			fmt.Println(err)
			return
		}
		s = s.Next(it)
		fmt.Println("iteration", it.Number, "claimed:", it.Claimed)
	}
	fmt.Println(s.Stop)
	// Output:
	// iteration 1 claimed: false
	// iteration 2 claimed: true
	// verified
}

func ExampleLocal_Events() {
	loop := &ralph.Local{Runner: ralph.Replay("Done.\n<promise>COMPLETE</promise>"), Verifier: verify.String{}}
	for ev, err := range loop.Events(context.Background(), ralph.Start(ralph.Task{Prompt: "Do it."})) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(ev.Kind)
	}
	// Output:
	// loop_started
	// iteration_started
	// answered
	// iteration_ended
	// loop_stopped
}

func ExampleRunAll() {
	loop := &ralph.Local{Runner: ralph.Replay("Done.\n<promise>COMPLETE</promise>"), Verifier: verify.String{}}
	states := []ralph.State{ralph.Start(ralph.Task{Prompt: "Do it.", ID: "a"}), ralph.Start(ralph.Task{Prompt: "Do it.", ID: "b"})}
	for final, err := range ralph.RunAll(context.Background(), loop, 2, states...) {
		fmt.Println(final.Task.ID, final.Stop, err)
	}
	// Unordered output:
	// a verified <nil>
	// b verified <nil>
}

// A log of one's own is a function.
func ExampleProgressLogFunc() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	loop := &ralph.Local{
		Runner: ralph.Replay("Done.\n<promise>COMPLETE</promise>"), Verifier: verify.String{},
		Log: ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
			logger.InfoContext(ctx, string(ev.Kind), "iteration", ev.Iteration.Number)
			return nil
		}),
	}
	loop.Run(context.Background(), ralph.Start(ralph.Task{Prompt: "Do it."}))
	// Output:
	// level=INFO msg=loop_started iteration=0
	// level=INFO msg=iteration_started iteration=1
	// level=INFO msg=answered iteration=1
	// level=INFO msg=iteration_ended iteration=1
	// level=INFO msg=loop_stopped iteration=0
}

func ExampleFindPromise() {
	for _, answer := range []string{
		"All tests pass.\n<promise>COMPLETE</promise>",
		"I will say <promise>COMPLETE</promise> when the tests pass.",
	} {
		p := ralph.FindPromise(answer, "COMPLETE", ralph.MatchLastLine)
		fmt.Printf("%v %d %q\n", p.Found, p.Line, p.Why)
	}
	// Output:
	// true 2 ""
	// false 1 "not_alone"
}

func ExampleTemplate() {
	text, err := ralph.Template("Work on {CURRENT_TASK} in {{FEATURE_NAME}}; keep $HOME and {x} as they are.",
		map[string]string{"CURRENT_TASK": "T001", "FEATURE_NAME": "login"})
	fmt.Println(text, err)
	// Output: Work on T001 in login; keep $HOME and {x} as they are. <nil>
}

func ExampleVerifierFunc() {
	v := ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
		if strings.Contains(c.Output, "report") {
			return ralph.Pass(), nil
		}
		return ralph.Reject("the answer does not mention the report"), nil
	})
	verdict, err := v.Verify(context.Background(), ralph.Claim{Output: "Done."})
	fmt.Println(verdict.Passed, verdict.Feedback, err)
	// Output: false the answer does not mention the report <nil>
}

func ExampleRunnerFunc() {
	runner := ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		return ralph.Response{Output: fmt.Sprintf("Iteration %d of %s.\n<promise>%s</promise>", req.Iteration, req.Task, req.Promise)}, nil
	})
	loop := &ralph.Local{Runner: runner, Verifier: verify.String{}}
	final, err := loop.Run(context.Background(), ralph.Start(ralph.Task{Prompt: "Do it.", ID: "T1", Promise: "T1 IS DONE"}))
	fmt.Println(final.Stop, err)
	// Output: verified <nil>
}

// A chat program owns its model and gets a loop in one of its sessions: it injects
// prompts, and tells when the model has answered.
func ExampleHook() {
	ctx := context.Background()
	model := ralph.Replay("I have begun.", "The tests pass now: <promise>DONE</promise>")
	next := make(chan string, 1)
	hook := &ralph.Hook{
		Store:    &ralph.MemoryStore{},
		Verifier: verify.String{},
		Delay:    -1,
		Inject:   func(_ context.Context, _, prompt string) error { next <- prompt; return nil },
		Notify:   func(_ context.Context, n ralph.Notice) { fmt.Printf("%s: %s\n", n.Title, n.Message) },
	}
	if _, err := hook.Start(ctx, "chat 1", ralph.Task{Prompt: "Mend the tests."}); err != nil {
		fmt.Println(err)
		return
	}
	next <- "Mend the tests."
	for turn := 1; ; turn++ {
		answer, _ := model.Run(ctx, ralph.Request{Prompt: <-next, Iteration: turn})
		state, err := hook.Idle(ctx, ralph.Turn{Session: "chat 1", ID: fmt.Sprint(turn), Text: answer.Output})
		if err != nil || !state.Active() {
			fmt.Println(state.State.Stop, err)
			return
		}
	}
	// Output:
	// Ralph Loop Started: Max 100 iterations. Complete with <promise>DONE</promise>
	// Ralph Loop: Iteration 2/100
	// Ralph Loop Complete!: Task completed after 2 iteration(s)
	// verified <nil>
}
