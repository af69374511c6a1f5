//go:build unix

package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/sqlite"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// workers are what the processes of these tests do, by mode, until they are killed.
var workers = map[string]func(ctx context.Context, path, name string) error{
	"write": write, "migrate": migrate, "take": take, "hold": hold,
}

// write records events and changes a session, and says so of each.
func write(ctx context.Context, path, name string) error {
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	first := 0
	for _, err := range db.Records(ctx, name) {
		if err != nil {
			return err
		}
		first++
	}
	if first == 0 {
		s := ralph.Start(ralph.Task{ID: name, Prompt: "Do it.", Limits: ralph.Limits{Iterations: -1, Duration: 1 << 60}})
		err = db.Append(ctx, ralph.Event{Kind: ralph.EventLoopStarted, Loop: name, Task: name, State: &s})
		first = 1
	}
	for i := first; err == nil; i++ {
		text := fmt.Sprint(i, " ", strings.Repeat("advice ", i%9*300)) // of more than one page
		err = db.Append(ctx, ralph.Event{Kind: ralph.EventGuided, Loop: name, Task: name, Text: text})
		if err == nil {
			err = db.Update(ctx, "shared", func(x ralph.HookState) (ralph.HookState, error) { x.Seen++; return x, nil })
		}
		if err == nil {
			fmt.Println("wrote", i)
		}
	}
	return err
}

// migrate turns one layout into the other and back.
func migrate(ctx context.Context, path, _ string) error {
	for {
		for _, to := range []sqlite.Layout{sqlite.Tables, sqlite.Column} {
			if err := sqlite.Migrate(ctx, path, to); err != nil {
				return err
			}
			fmt.Println("migrated", to)
		}
	}
}

// take takes all tasks that it can have.
func take(ctx context.Context, path, name string) error {
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	s := &sqlite.Source{DB: db, What: name}
	defs, err := s.Read(ctx)
	for _, d := range defs {
		mine := false
		if err == nil {
			mine, err = s.Take(ctx, d.ID)
		}
		if mine && err == nil {
			fmt.Println("took", d.ID)
			err = s.Write(ctx, d.ID, pipeline.Update{Status: spec.StatusDone})
		}
	}
	return err
}

// hold takes one task and works on it for ever.
func hold(ctx context.Context, path, id string) error {
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	s := &sqlite.Source{DB: db}
	if _, err = s.Read(ctx); err != nil {
		return err
	}
	if mine, err := s.Take(ctx, id); err != nil || !mine {
		return fmt.Errorf("it is not to be had: %w", err)
	}
	fmt.Println("took", id)
	_, err = io.Copy(io.Discard, os.Stdin) // nobody writes
	return err
}

// A process is one of the workers.
type process struct {
	*exec.Cmd
	lines *bufio.Scanner
	stdin io.WriteCloser
}

func start(t *testing.T, db *sqlite.DB, mode, name string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], db.Path(), name)}
	p.Env, p.Stderr = append(os.Environ(), workerMode+"="+mode), os.Stderr
	out, err := p.StdoutPipe()
	if err == nil {
		p.stdin, err = p.StdinPipe()
	}
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	t.Cleanup(func() { p.kill() })
	return p
}

// says returns the next line; "" = there is none.
func (p *process) says() string {
	if !p.lines.Scan() {
		return ""
	}
	return p.lines.Text()
}

// kill ends it in the middle of whatever it does, and returns all that it had still said.
func (p *process) kill() (rest []string) {
	_ = p.Process.Kill()
	for p.lines.Scan() {
		rest = append(rest, p.lines.Text())
	}
	_ = p.Wait()
	return rest
}

// TestKilled kills processes in the middle of their writes, again and again. What one had
// said that it wrote is there, in order and without a gap; all is as it was agreed; and the
// next ones go on.
func TestKilled(t *testing.T) {
	t.Parallel()
	m := maker{rand.New(rand.NewPCG(1, 2))}
	var defs []spec.Definition
	for i := range 10 {
		defs = append(defs, m.valid(t, fmt.Sprint("T", i)))
	}
	db := fresh(t, sqlite.Column, defs...)
	said := map[string]int{}
	for round := range 4 {
		var started []*process
		for _, name := range []string{"w0", "w1", "w2"} {
			started = append(started, start(t, db, "write", name))
		}
		started = append(started, start(t, db, "migrate", ""))
		for range 2 + m.IntN(10) {
			started[m.IntN(3)].says()
		}
		started[3].says()
		written := 0
		for i, p := range started {
			for _, line := range p.kill() {
				if n := 0; i < 3 {
					if _, err := fmt.Sscanf(line, "wrote %d", &n); err == nil {
						said[p.Args[2]] = max(said[p.Args[2]], n)
					}
				}
			}
		}
		if err := db.Check(t.Context()); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		equal(t, "after a kill", defs, all(t, db))
		for _, name := range []string{"w0", "w1", "w2"} {
			written += max(0, recorded(t, db, name, said[name])-1)
		}
		seen := 0
		for x, err := range db.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			seen = x.Seen
		}
		if seen > written || seen < written-3*(round+1) {
			t.Errorf("round %d: %d updates of %d are there", round, seen, written)
		}
	}
}

// recorded looks at the record of a loop: each event once, in order, none is missing of those
// that were said to be written, and the loop stands where they lead.
func recorded(t *testing.T, db *sqlite.DB, name string, said int) (n int) {
	t.Helper()
	var folded ralph.State
	for rec, err := range db.Records(t.Context(), name) {
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 && !strings.HasPrefix(rec.Event.Text, fmt.Sprint(n, " ")) {
			t.Fatalf("%s: event %d is %.20q", name, n, rec.Event.Text)
		}
		folded = folded.Apply(rec.Event)
		n++
	}
	if n <= said && said > 0 {
		t.Errorf("%s: it had said that it wrote %d, and %d are there", name, said, n-1)
	}
	if n == 0 {
		return 0
	}
	is, err := db.State(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(folded, is); d != "" {
		t.Errorf("%s: %s", name, d)
	}
	return n
}

// TestTwoProcesses: they share the tasks, and none is taken twice.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	var defs []spec.Definition
	var want []string
	for i := range 60 {
		defs = append(defs, spec.Definition{ID: fmt.Sprintf("T%02d", i), Title: "One"})
		want = append(want, fmt.Sprintf("took T%02d", i))
	}
	db := fresh(t, sqlite.Column, defs...)
	var wait sync.WaitGroup
	var mu sync.Mutex
	var took []string
	for _, name := range []string{"one", "two", "three"} {
		p := start(t, db, "take", name)
		wait.Go(func() {
			for line := p.says(); line != ""; line = p.says() {
				mu.Lock()
				took = append(took, line)
				mu.Unlock()
			}
			if err := p.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	slices.Sort(took)
	if d := cmp.Diff(want, took); d != "" {
		t.Error(d)
	}
}

// TestDeadTaker: the task of a process that was killed can be taken at once, and that of one
// that lives cannot, also if it is suspended and can do nothing to say so.
func TestDeadTaker(t *testing.T) {
	t.Parallel()
	db := fresh(t, sqlite.Column, three()...)
	p := start(t, db, "hold", "A")
	if got := p.says(); got != "took A" {
		t.Fatal(got)
	}
	s := read(t, db)
	takes(t, s, "A", false)
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	takes(t, s, "A", false)
	takes(t, s, "C", true)
	p.kill()
	takes(t, s, "A", true)
	if d := cmp.Diff([]string{"running"}, query(t, db.Path(), "SELECT status FROM tasks WHERE id = 'A'")); d != "" {
		t.Error(d)
	}
}
