package progress_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// A session is a loop's parent: who pauses the session pauses its loops, and who looks
// at it sees them.
func ExampleDir_Parts() {
	dir, remove := scratch()
	defer remove()
	ctx := context.Background()
	session, err := dir.Create(ralph.Start(ralph.Task{ID: "login"}), progress.KindSession)
	if err == nil {
		err = session.Begin(ctx, false)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	items := dir.Under("login")
	defer items.Close()
	for _, id := range []string{"T1", "T2"} {
		loop := &ralph.Local{Runner: ralph.Replay("<promise>COMPLETE</promise>"), Verifier: verify.String{}, Log: items}
		if _, err := loop.Run(ctx, ralph.Start(ralph.Task{ID: id, Prompt: "Do it."})); err != nil {
			fmt.Println(err)
		}
	}
	e, err := dir.Look("login")
	for _, part := range dir.Parts(ctx, e) {
		fmt.Println(part.Loop, part.Status)
	}
	fmt.Println(err)
	// Output:
	// T1 completed
	// T2 completed
	// <nil>
}

// A program shows what another one's loop does. It breaks off where the loop has ended;
// until then each record comes within a second.
func ExampleDir_Follow() {
	dir, remove := scratch()
	defer remove()
	ctx := context.Background()
	j, err := dir.Create(ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it."}), progress.KindLoop)
	if err == nil {
		_, err = j.Run(ctx, &ralph.Local{Runner: ralph.Replay("<promise>COMPLETE</promise>"), Verifier: verify.String{}})
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	for r, err := range dir.Follow(ctx, "T1", "") {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(r.Line, r.Kind)
		if r.Kind == ralph.EventLoopStopped {
			break
		}
	}
	// Output:
	// 1 loop_started
	// 2 iteration_started
	// 3 answered
	// 4 iteration_ended
	// 5 loop_stopped
}

// A person pauses a loop that no process runs, and lets it go on.
func ExampleDir_Continue() {
	dir, remove := scratch()
	defer remove()
	ctx := context.Background()
	j, err := dir.Create(ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it."}), progress.KindLoop)
	if err == nil {
		err = errors.Join(j.Begin(ctx, false), j.Close())
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := dir.Pause("T1", true)
	fmt.Println(e.State.Paused, err)
	was, err := dir.Continue(ctx, e)
	fmt.Println(was, err)
	e, err = dir.Look("T1")
	fmt.Println(e.State.Paused, err)
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
}

// A journal that somebody has edited is not guessed at. It is moved away, and the loop
// begins anew.
func ExampleDir_SetAside() {
	dir, remove := scratch()
	defer remove()
	j, err := dir.Create(ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it."}), progress.KindLoop)
	if err == nil {
		err = errors.Join(j.Begin(context.Background(), false), j.Close())
	}
	if err == nil {
		err = os.WriteFile(dir.File("T1"), []byte("{not JSON\n{}\n"), 0o600)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = dir.Open("T1")
	if corrupt, ok := errors.AsType[*progress.CorruptError](err); ok {
		fmt.Println("line", corrupt.Line)
	}
	to, _, err := dir.SetAside("T1")
	fmt.Println(filepath.Dir(to) == filepath.Dir(dir.File("T1")), err)
	loops, err := dir.Find(context.Background(), "T1")
	fmt.Println(len(loops), err != nil)
	// Output:
	// line 1
	// true <nil>
	// 0 true
}

// What an agent prints is followed while it prints, also from another process.
func ExampleRaw_Tail() {
	dir, remove := scratch()
	defer remove()
	ctx := context.Background()
	j, err := dir.Create(ralph.Start(ralph.Task{ID: "T1", Prompt: "Say hello."}), progress.KindLoop)
	if err == nil {
		_, err = j.Run(ctx, &ralph.Local{Runner: ralph.Replay("Hello.\n<promise>COMPLETE</promise>"), Verifier: verify.String{}})
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
	for piece, err := range raw.Tail(ctx, 0) {
		if lost, ok := errors.AsType[*progress.LostError](err); ok {
			fmt.Println("… not kept up to byte", lost.Next)
			continue
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(progress.Printable(string(piece)))
	}
	// Output:
	// Hello.
	// <promise>COMPLETE</promise>
}

// An execution log that is kept elsewhere shows how often an agent gets there.
func ExampleReadHistory() {
	var log strings.Builder
	for _, id := range []string{"T1", "T2"} {
		loop := &ralph.Local{
			Runner: ralph.Replay("So far.", "<promise>COMPLETE</promise>"), Verifier: verify.String{},
			Log: &progress.JSONL{W: &log},
		}
		if _, err := loop.Run(context.Background(), ralph.Start(ralph.Task{ID: id, Agent: "coder", Prompt: "Do it."})); err != nil {
			fmt.Println(err)
		}
	}
	h, err := progress.ReadHistory(strings.NewReader(log.String()))
	for _, s := range h.Stats {
		fmt.Println(s.Agent, s.Verified, "of", s.Loops, "verified, 95 of 100 within", s.Iterations(95, 1), "iterations")
	}
	fmt.Println(err)
	// Output:
	// coder 2 of 2 verified, 95 of 100 within 2 iterations
	// <nil>
}

// A file of settings is put into a folder of the user's, and taken away again only if
// nobody has edited it.
func ExampleFile_Own() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	f := progress.File{Path: filepath.Join(dir, "ralph.json")}
	const ours = `{"hook": "ralph hook"}` + "\n"
	fmt.Println(f.Own(ours, true))
	if err := f.Replace([]byte(`{"hook": "mine"}` + "\n")); err != nil {
		fmt.Println(err)
	}
	fmt.Println(f.Own(ours, false)) // it is no longer ours: it stays
	text, err := os.ReadFile(f.Path)
	fmt.Print(string(text), err)
	// Output:
	// <nil>
	// <nil>
	// {"hook": "mine"}
	// <nil>
}

func ExampleAgo() {
	now := time.Date(2026, 1, 29, 12, 0, 0, 0, time.UTC)
	fmt.Println(progress.Ago(now.Add(-5*time.Minute), now))
	fmt.Println(progress.Ago(now.Add(-26*time.Hour), now))
	fmt.Println(progress.Ago(now, time.Time{}))
	// Output:
	// 5m ago
	// 26h ago
	// 2026-01-29T12:00:00Z
}

// JSON for a terminal: what a terminal would obey is escaped, and the value is the same.
func ExamplePrintableJSON() {
	fmt.Printf("%s\n", progress.PrintableJSON([]byte("{\"answer\":\"\u202edone\"}")))
	// Output: {"answer":"\u202edone"}
}

// A service runs what it is asked for. It is stopped with a context, and its successor
// goes on with what it was running.
func ExamplePool() {
	dir, remove := scratch()
	defer remove()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan bool)
	pool := &progress.Pool{
		Dir: dir,
		Build: func(s ralph.State, meta map[string]string) (*ralph.Local, error) {
			if meta["agent"] != "polite" {
				return nil, fmt.Errorf("there is no agent %q here", meta["agent"])
			}
			return &ralph.Local{Runner: ralph.Replay("<promise>COMPLETE</promise>"), Verifier: verify.String{}}, nil
		},
	}
	go func() {
		pool.Run(ctx)
		close(ended)
	}()
	task := ralph.Task{ID: "T1", Prompt: "Do it."}
	if _, err := pool.Start(ctx, ralph.Start(task), map[string]string{"agent": "polite"}); err != nil {
		fmt.Println(err)
	}
	for r := range dir.Follow(ctx, "T1", "") {
		if r.Kind == ralph.EventLoopStopped {
			fmt.Println(r.Event.State.Stop)
			break
		}
	}
	task.ID = "T2"
	_, err := pool.Start(ctx, ralph.Start(task), map[string]string{"agent": "rude"})
	fmt.Println(err)
	stop()
	<-ended
	// Output:
	// verified
	// there is no agent "rude" here
}
