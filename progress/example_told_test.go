package progress_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// verified has a loop of that name verified in a folder.
func verified(ctx context.Context, dir *progress.Dir, name string) error {
	j, err := dir.Create(ralph.Start(ralph.Task{ID: name, Prompt: "Do it."}), progress.KindLoop)
	if err == nil {
		_, err = j.Run(ctx, &ralph.Local{Runner: ralph.Replay("<promise>COMPLETE</promise>"), Verifier: verify.String{}})
	}
	return err
}

// Who sends events over a connection must send something when there are none.
func ExampleDir_FollowEvery() {
	dir, remove := scratch()
	defer remove()
	ctx := context.Background()
	if err := verified(ctx, dir, "T1"); err != nil {
		fmt.Println(err)
		return
	}
	for r, err := range dir.FollowEvery(ctx, "T1", "", 15*time.Second) {
		switch {
		case err != nil:
			fmt.Println(err)
		case r.Line == 0:
			fmt.Println("still here") // after 15 seconds in which nothing came
		default:
			fmt.Println(r.Kind)
		}
		if err != nil || r.Kind == ralph.EventLoopStopped {
			break
		}
	}
	// Output:
	// loop_started
	// iteration_started
	// answered
	// iteration_ended
	// loop_stopped
}

// How a loop has ended, in words.
func ExampleStanding_Came() {
	dir, remove := scratch()
	defer remove()
	ctx := context.Background()
	if err := verified(ctx, dir, "T1"); err != nil {
		fmt.Println(err)
		return
	}
	standings, err := dir.Standings(ctx)
	for _, s := range standings {
		fmt.Println(s.Came())
	}
	fmt.Println(err)
	// Output:
	// verified
	// <nil>
}

// A log of any kind as a table, and as JSON.
func ExampleReadLogTable() {
	var file bytes.Buffer
	loop := &ralph.Local{Runner: ralph.Replay("Not yet.", "<promise>COMPLETE</promise>"), Verifier: verify.String{}, Log: &progress.JSONL{W: &file}}
	if _, err := loop.Run(context.Background(), ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it."})); err != nil {
		fmt.Println(err)
		return
	}
	table, err := progress.ReadLogTable(bytes.NewReader(file.Bytes()))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range table.Rows[1:] {
		fmt.Println(row[0], row[2])
	}
	lines, err := table.JSON(1)
	fmt.Println(len(lines) > 0, table.Ended, err)
	// Output:
	// T1 success
	// T1 success
	// true true <nil>
}

// A program is told how a run has ended.
func ExampleNotifier() {
	n := progress.Notifier{Args: []string{"sh", "-c", `echo "$RALPH_RESULT"`}, Output: os.Stdout}
	if err := n.Tell(context.Background(), append(os.Environ(), "RALPH_RESULT=verified")); err != nil {
		fmt.Println(err)
	}
	// Output: verified
}
