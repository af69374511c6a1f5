package progress_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// hookProgram is a process that a host starts for one event: its arguments are the folder, the
// session, the event's name and what the agent said. It begins when its input ends, and adds a
// line to the file "prompts" for each prompt that it injects.
func hookProgram(args []string) error {
	folder, session, turn, text := args[0], args[1], args[2], args[3]
	c := newChat(&progress.Dir{Path: filepath.Join(folder, "journals")})
	c.hook.Inject = func(_ context.Context, session, prompt string) error {
		f, err := os.OpenFile(filepath.Join(folder, "prompts"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(prompt, "\n")
		_, err = fmt.Fprintf(f, "%s %s\n", session, first)
		return errors.Join(err, f.Close())
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	_, err := c.hook.Idle(context.Background(), ralph.Turn{Session: session, ID: turn, Text: text})
	return err
}

// cancelProgram cancels a loop: its arguments are the folder of the journals and the loop. It
// prints a line when it begins.
func cancelProgram(args []string) error {
	fmt.Println("now")
	_, err := (&progress.Dir{Path: args[0]}).Cancel(args[1], "by another process")
	return err
}

// hookCrowd is how many processes there are, or sessions.
const hookCrowd = 50

// together starts programs that begin at once, and waits for them.
func together(t *testing.T, programs ...[]string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	input, begin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer begin.Close()
	var all sync.WaitGroup
	for _, args := range programs {
		var out bytes.Buffer
		cmd := withContext(ctx, program(args...))
		cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, &out)
			}
		})
	}
	input.Close()
	begin.Close()
	all.Wait()
}

// TestHookCrowd: fifty processes with an event each. Of as many sessions each goes on; of one
// session, whose one event it is, one prompt is injected, and one iteration is spent.
func TestHookCrowd(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	d := &progress.Dir{Path: filepath.Join(folder, "journals")}
	c := newChat(d)
	prompts := func() []string {
		return strings.Split(strings.TrimSpace(read(t, filepath.Join(folder, "prompts"))), "\n")
	}
	session := func(n int) string { return fmt.Sprintf("s%02d", n) }

	var programs [][]string
	for n := range hookCrowd {
		c.start(t, session(n), ralph.Task{Prompt: "Do it."})
		programs = append(programs, []string{"hook", folder, session(n), "turn-1", "I have worked."})
	}
	together(t, programs...)
	count := map[string]int{}
	for _, line := range prompts() {
		count[line]++
	}
	for n := range hookCrowd {
		if x := state(t, d, session(n)); x.State.Iteration != 2 || !x.State.Running || x.Busy != "" || count[session(n)+" [RALPH LOOP - ITERATION 2/100]"] != 1 {
			t.Errorf("%+v", x)
		}
	}

	programs = nil
	for range hookCrowd {
		programs = append(programs, []string{"hook", folder, session(0), "turn-2", "I have worked."})
	}
	together(t, programs...)
	lines := prompts()
	if n := len(lines) - hookCrowd; n != 1 || lines[hookCrowd] != session(0)+" [RALPH LOOP - ITERATION 3/100]" {
		t.Errorf("%d prompts: %q", n, lines[hookCrowd:])
	}
	if x := state(t, d, session(0)); x.State.Iteration != 3 || !x.State.Running || x.Busy != "" {
		t.Errorf("%+v", x)
	}
}

// TestHookManySessions: fifty sessions at once in one process, each told of its events by two
// goroutines and two Dirs.
func TestHookManySessions(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	chats := []*chat{newChat(&progress.Dir{Path: path}), newChat(&progress.Dir{Path: path})}
	const last = 4
	var all sync.WaitGroup
	for n := range hookCrowd {
		session := fmt.Sprint(n)
		chats[0].start(t, session, ralph.Task{Prompt: "Do " + session, Limits: ralph.Limits{Iterations: last}})
		all.Go(func() {
			for turn := range last {
				var both sync.WaitGroup
				for _, c := range chats {
					both.Go(func() {
						if _, err := c.hook.Idle(t.Context(), ralph.Turn{Session: session, ID: fmt.Sprint(turn), Text: "I have worked."}); err != nil {
							t.Error(err)
						}
					})
				}
				both.Wait()
			}
		})
	}
	all.Wait()
	for n := range hookCrowd {
		session := fmt.Sprint(n)
		prompts := append(chats[0].prompts[session], chats[1].prompts[session]...)
		if len(prompts) != last-1 {
			t.Errorf("%s: %d prompts", session, len(prompts))
		}
		for _, p := range prompts {
			if !strings.HasSuffix(p, "Do "+session) {
				t.Errorf("%s is told %q", session, p)
			}
		}
		if e, err := (&progress.Dir{Path: path}).Look(session); err != nil || e.State.Stop != ralph.StopIterations || e.State.Iteration != last {
			t.Errorf("%+v, %v", e, err)
		}
	}
}

// TestHookCancelMeanwhile: who cancels while an update is prepared waits for it, and it is
// cancelled then.
func TestHookCancelMeanwhile(t *testing.T) {
	t.Parallel()
	d := &progress.Dir{Path: t.TempDir()}
	put(t, d, "s", someState("s"))
	cmd := program("cancel", d.Path, "s")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Update(t.Context(), "s", func(x ralph.HookState) (ralph.HookState, error) {
		if err := cmd.Start(); err != nil {
			return x, err
		}
		_, err := io.ReadFull(out, make([]byte, 4))
		x.State.Running = true
		return x, err
	}); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(out); err != nil || len(text) > 0 {
		t.Errorf("%v: %s", err, text)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	e, err := d.Look("s")
	if err != nil || e.Status != progress.StatusCancelled || !e.State.Running || e.State.Detail != "by another process" {
		t.Errorf("%+v, %v", e, err)
	}
	if err := d.Update(t.Context(), "s", func(x ralph.HookState) (ralph.HookState, error) {
		if !x.IsZero() {
			t.Errorf("%+v", x)
		}
		return x, nil
	}); err != nil {
		t.Error(err)
	}
}
