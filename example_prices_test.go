package ralph_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// Newer prices, and those of one's own models, are laid over those of the presets.
func ExamplePrices() {
	mine, err := ralph.ParsePrices([]byte(`{
		"my-model": {"input": 2.5, "output": 10, "cache_read": 0.25},
		"local":    {"input": 0, "output": 0}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	prices := ralph.DefaultPrices().With(mine)
	used := ralph.Usage{InputTokens: 100_000, CacheRead: 80_000, OutputTokens: 2_000}
	for _, model := range []string{"provider/my-model-20260131", "local", "unheard-of"} {
		usd, ok := prices.Cost(model, used)
		fmt.Printf("%s: $%.2f %t\n", model, usd, ok)
	}
	// Output:
	// provider/my-model-20260131: $0.09 true
	// local: $0.00 true
	// unheard-of: $0.00 false
}

func ExampleParsePrices() {
	_, err := ralph.ParsePrices([]byte("{\n\t\"my-model\": {\"input\": 2.5, \"ouput\": 10}\n}"))
	fmt.Println(err)
	// Output: ralph: prices: line 2: "my-model": there is no field "ouput"; there are input, output, cache_read and cache_write
}

// A cost is told, estimated or unknown, and shown as such.
func ExampleUsage_Cost() {
	for _, u := range []ralph.Usage{{CostUSD: new(0.37)}, {CostUSD: new(0.37), Estimated: true}, {InputTokens: 1200}} {
		fmt.Println(u.Cost())
	}
	// Output:
	// $0.3700
	// ≈ $0.37
	// unknown
}

// Whether limits can be kept is asked before a loop begins.
func ExampleCommand_Bounds() {
	agent := &ralph.Command{Args: []string{"my-agent"}, Format: ralph.FormatText}
	_, err := agent.Bounds(ralph.Limits{CostUSD: 5})
	fmt.Println(err)
	warning, err := agent.Bounds(ralph.Limits{CostUSD: 5, Iterations: 20, Priced: true})
	fmt.Println(warning, err)
	// Output:
	// ralph: limits: cost_usd cannot be kept: my-agent tells neither its cost nor its tokens: set a duration (--max-duration) or iterations (--max)
	// my-agent tells neither its cost nor its tokens: the loop stops after the first answer of unknown cost <nil>
}

// A client that is not logged in is found out before a run of it costs anything.
func ExampleCommand_Ready() {
	agent := &ralph.Command{Args: []string{"my-agent"}, Format: ralph.FormatText}
	switch err := agent.Ready(context.Background()); {
	case errors.Is(err, ralph.ErrLogin):
		fmt.Println("log in first:", err)
	case err != nil:
		fmt.Println("it could not be asked:", err)
	default:
		fmt.Println("it is logged in, or nobody can tell")
	}
	// Output: it is logged in, or nobody can tell
}

// What earlier loops have taught may come from anywhere: progress.Dir.Learn takes it from
// the loops on record in a folder.
func ExampleLocal_learn() {
	loop := &ralph.Local{
		Runner:   ralph.Replay("Done.\n<promise>COMPLETE</promise>"),
		Verifier: verify.String{},
		Learn: func(_ context.Context, s ralph.State) (ralph.Lesson, error) {
			limits := s.Task.Limits // the cost stays limited
			limits.Iterations = 4
			return ralph.Lesson{
				Limits:     limits,
				Rejections: []string{"lint: unused variable"},
				Why:        "iterations 10 → 4: that was always enough",
			}, nil
		},
	}
	task := ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{CostUSD: 5}}
	for ev, err := range loop.Events(context.Background(), ralph.Start(task)) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if ev.Kind == ralph.EventLearned {
			fmt.Println(ev.Text)
			fmt.Println(ev.State.Task.Limits.Iterations, ev.State.Task.Limits.CostUSD, ev.State.Lessons)
		}
	}
	// Output:
	// iterations 10 → 4: that was always enough
	// 4 5 [lint: unused variable]
}
