package progress_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// scratch is a folder for an example's records.
func scratch() (dir *progress.Dir, remove func()) {
	path, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	dir = &progress.Dir{Path: path}
	return dir, func() {
		if err := errors.Join(dir.Close(), os.RemoveAll(path)); err != nil {
			panic(err)
		}
	}
}

// A loop is interrupted, and another process goes on with it from its journal.
func ExampleDir() {
	dir, remove := scratch()
	defer remove()
	ctx, cancel := context.WithCancel(context.Background())
	loop := &ralph.Local{Verifier: verify.String{}, Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
		if req.Iteration == 2 && req.Attempt == 1 {
			cancel() // somebody presses Ctrl-C
			return ralph.Response{}, context.Cause(ctx)
		}
		if req.Iteration == 1 {
			return ralph.Response{Output: "So far."}, nil
		}
		return ralph.Response{Output: "<promise>COMPLETE</promise>"}, nil
	})}
	j, err := dir.Create(ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it."}), progress.KindLoop)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = j.Run(ctx, loop)
	fmt.Println(err, j.Close())

	if j, err = dir.Open("T1"); err != nil {
		fmt.Println(err)
		return
	}
	defer j.Close()
	fmt.Println("goes on at iteration", j.State.Iteration)
	final, err := j.Run(context.Background(), loop)
	fmt.Println(final.Stop, err)
	// Output:
	// context canceled <nil>
	// goes on at iteration 2
	// verified <nil>
}

// Any process that has the folder can look at a loop, and steer it.
func ExampleDir_Cancel() {
	dir, remove := scratch()
	defer remove()
	j, err := dir.Create(ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it."}), progress.KindLoop)
	if err == nil {
		err = j.Begin(context.Background(), false) // on record, before it runs
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer j.Close()

	other := &progress.Dir{Path: dir.Path} // as another process has it
	_, err = other.Guide("T1", "Begin with the tests.")
	fmt.Println(err)
	e, err := other.Cancel("T1", "it is not needed any more")
	fmt.Println(e.Status, err)
	_, err = other.Cancel("T1", "")
	fmt.Println(errors.Is(err, progress.ErrOver))

	s, err := j.Ask(context.Background()) // the process that holds the loop hears of it
	fmt.Println(s.Stop, s.Detail, err)
	// Output:
	// <nil>
	// cancelled <nil>
	// true
	// cancelled it is not needed any more <nil>
}

// What people are told of the loops in a folder.
func ExampleDir_Standings() {
	dir, remove := scratch()
	defer remove()
	ctx := context.Background()
	for _, id := range []string{"T1", "T2"} {
		j, err := dir.Create(ralph.Start(ralph.Task{ID: id, Prompt: "Do it.", Limits: ralph.Limits{Iterations: 2}}), progress.KindLoop)
		if err != nil {
			fmt.Println(err)
			return
		}
		outputs := []string{"So far.", "Not yet."}
		if id == "T2" {
			outputs[1] = "<promise>COMPLETE</promise>"
		}
		_, _ = j.Run(ctx, &ralph.Local{Runner: ralph.Replay(outputs...), Verifier: verify.String{}})
		if err := j.Close(); err != nil {
			fmt.Println(err)
		}
	}
	all, err := dir.Standings(ctx)
	for _, st := range all {
		fmt.Println(st.Name(), st.Status, st.Where())
	}
	fmt.Println(err)
	// Output:
	// T1 failed iteration 2/2
	// T2 completed iteration 2/2
	// <nil>
}

// A driver of your own records each step. It may die between any two of them, and the
// next process finds out by the journal where it was.
func ExampleJournal_Record() {
	dir, remove := scratch()
	defer remove()
	ctx := context.Background()
	j, err := dir.Create(ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it."}), progress.KindLoop)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := j.State
	attempt := ralph.Iteration{Number: 1, Attempt: 1}
	_, err = j.Record(ctx, ralph.Event{Kind: ralph.EventLoopStarted, State: &s})
	if err == nil {
		_, err = j.Record(ctx, ralph.Event{Kind: ralph.EventIterationStarted, Iteration: attempt})
	}
	fmt.Println(err, j.Close()) // here the process dies

	if j, err = dir.Open("T1"); err != nil {
		fmt.Println(err)
		return
	}
	defer j.Close()
	fmt.Println("died in iteration", j.State.Iteration, j.State.Running)
	// Output:
	// <nil> <nil>
	// died in iteration 1 true
}

// The raw output of each attempt is kept beside its journal.
func ExampleOpenRaw() {
	dir, remove := scratch()
	defer remove()
	loop := &ralph.Local{Runner: ralph.Replay("Hello.\n<promise>COMPLETE</promise>"), Verifier: verify.String{}}
	j, err := dir.Create(ralph.Start(ralph.Task{ID: "T1", Prompt: "Say hello."}), progress.KindLoop)
	if err == nil {
		_, err = j.Run(context.Background(), loop)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer j.Close()
	raw, err := progress.OpenRaw(dir.Raw("T1", 1, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer raw.Close()
	text, err := io.ReadAll(io.NewSectionReader(raw, 0, 1<<20))
	fmt.Println(strings.TrimSpace(string(text)), err)
	// Output:
	// Hello.
	// <promise>COMPLETE</promise> <nil>
}

// Sessions of a host outlive it when their states are kept on disk.
func ExampleDir_Update() {
	dir, remove := scratch()
	defer remove()
	ctx := context.Background()
	host := func(store ralph.Store) *ralph.Hook {
		return &ralph.Hook{
			Store: store, Verifier: verify.String{}, Delay: -1,
			Inject: func(_ context.Context, session, _ string) error {
				fmt.Println("the next prompt for", session)
				return nil
			},
		}
	}
	if _, err := host(dir).Start(ctx, "chat 1", ralph.Task{Prompt: "Mend the tests."}); err != nil {
		fmt.Println(err)
		return
	}
	again := host(&progress.Dir{Path: dir.Path}) // another process
	x, err := again.Idle(ctx, ralph.Turn{Session: "chat 1", Text: "I have begun."})
	fmt.Println("iteration", x.State.Iteration, err)
	// Output:
	// the next prompt for chat 1
	// iteration 2 <nil>
}
