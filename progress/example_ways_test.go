package progress_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// The usual folder for the loops of a workspace lies outside it. Make finds out before a
// loop starts whether anything can be recorded there.
func ExampleWorkspaceDir() {
	workspace, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(workspace)
	dir, err := progress.WorkspaceDir(workspace)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.HasPrefix(dir.Path, workspace))
	dir.Path = filepath.Join(workspace, "elsewhere") // or in a folder of your own
	fmt.Println(dir.Make())
	info, err := os.Stat(dir.Path)
	fmt.Println(info.Mode().Perm(), err)
	// Output:
	// false
	// <nil>
	// -rwx------ <nil>
}

// Where a loop stands, as people ask for it, and what it has spent of its limits.
func ExampleDir_Stand() {
	dir, remove := scratch()
	defer remove()
	ctx := context.Background()
	j, err := dir.Create(ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 2, Tokens: 1000}}), progress.KindLoop)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = j.Run(ctx, &ralph.Local{Runner: ralph.Replay("Not yet.", "Not yet."), Verifier: verify.String{}})
	fmt.Println(err != nil, j.Close())
	e, err := dir.Look("T1")
	if err != nil {
		fmt.Println(err)
		return
	}
	st := dir.Stand(ctx, e)
	fmt.Println(st.Name(), st.Status, st.Where(), st.Spent())
	s := e.Reopened() // what it could go on from; here only with a higher limit
	fmt.Println(s.Done(), s.Limit(ralph.Limits{Iterations: 4}).Done())
	// Output:
	// true <nil>
	// T1 failed iteration 2/2 an unknown part of 1000 tokens
	// true false
}

// What is left of a session is its log: how many attempts, and how it ended.
func ExampleReadBanner() {
	var file bytes.Buffer
	banner := &progress.Banner{W: &file, Mode: "build"}
	loop := &ralph.Local{
		Runner: ralph.Replay("Not yet.", "<promise>COMPLETE</promise>"), Verifier: verify.String{},
		Log: banner,
	}
	final, err := loop.Run(context.Background(), ralph.Start(ralph.Task{Prompt: "Do it."}))
	fmt.Println(err, banner.Close(time.Now(), string(final.Stop)))
	log, err := progress.ReadBanner(&file)
	fmt.Println(len(log.Iterations), log.Result, err)
	// Output:
	// <nil> <nil>
	// 2 verified <nil>
}

// Part of what an agent printed, by its place in all of it.
func ExampleRaw_ReadAt() {
	dir, remove := scratch()
	defer remove()
	req := ralph.Request{Loop: "T1", Iteration: 1, Attempt: 1}
	if _, err := dir.Output(req).Write([]byte("I begin.\nI am done.\n")); err != nil {
		fmt.Println(err)
		return
	}
	raw, err := progress.OpenRaw(dir.Raw("T1", 1, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer raw.Close()
	size, err := raw.Size()
	if err != nil {
		fmt.Println(err)
		return
	}
	last := make([]byte, 11)
	_, err = raw.ReadAt(last, size-int64(len(last)))
	fmt.Printf("%d bytes, %q, %v\n", size, last, err)
	// Output: 20 bytes, "I am done.\n", <nil>
}

// The sessions whose loops are not over, in this or another process. A host's Hook has
// the folder as its store.
func ExampleDir_All() {
	dir, remove := scratch()
	defer remove()
	ctx := context.Background()
	hook := &ralph.Hook{Store: dir, Verifier: verify.String{}, Inject: func(context.Context, string, string) error { return nil }}
	for _, session := range []string{"chat 1", "chat 2"} {
		if _, err := hook.Start(ctx, session, ralph.Task{Prompt: "Mend the tests."}); err != nil {
			fmt.Println(err)
			return
		}
	}
	n := 0
	for x, err := range dir.All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if x.Active() {
			n++
		}
	}
	fmt.Println(n)
	// Output: 2
}

// A program that is stopped at a terminal (Ctrl-Z) first takes its last line away.
func ExampleDisplay_Suspend() {
	display := &progress.Display{W: os.Stdout}
	display.Suspend(func() { fmt.Println("stopped") }) // syscall.Kill(0, syscall.SIGSTOP) in a handler of SIGTSTP
	fmt.Println("goes on", display.Close())
	// Output:
	// stopped
	// goes on <nil>
}

// Each session has a file of its own, from which hooks learn where to ask.
func ExampleSessionFile() {
	relay := ralph.Relay{Session: "chat 1", File: progress.SessionFile("chat 1")}
	fmt.Println(relay.File != progress.SessionFile("chat 2"))
	// Output: true
}

// A program with a display asks for this once; the rest is Ctrl-Z's.
func ExampleDisplay_OnStop() {
	display := &progress.Display{W: os.Stdout}
	defer display.OnStop()()
	fmt.Println("from now on Ctrl-Z takes the last line away first")
	// Output: from now on Ctrl-Z takes the last line away first
}
