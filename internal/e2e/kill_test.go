//go:build linux

package e2e_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
)

// A model that does not go on talking is ended by a time-out, which is a fault
// of its own and is not retried. The time-outs are short, and it is the same if
// the client has not even asked when they pass.
func TestE2ETimeout(t *testing.T) {
	tests := []struct {
		name string
		turn modelserver.Turn
		set  func(*ralph.Command, *ralph.Limits)
	}{
		{"iteration", modelserver.Turn{Break: modelserver.BreakHang},
			func(_ *ralph.Command, l *ralph.Limits) { l.IterationTimeout = 3 * time.Second }},
		{"idle", modelserver.Turn{Break: modelserver.BreakHang, Text: claim},
			func(c *ralph.Command, _ *ralph.Limits) { c.IdleTimeout = 2 * time.Second }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			script := forEver(tt.turn)
			eachAgent(t, script, func(e *e2eRun) {
				l, c := ralph.Limits{Failures: 1}, e.command()
				tt.set(c, &l)
				s, log, err := e.run(e.context(), c, l)
				if diff := cmp.Diff([]ralph.Fault{ralph.FaultTimeout}, log.faults()); diff != "" || s.Stop != ralph.StopFailed {
					e.Errorf("stopped: %s (%v), faults (-want +got):\n%s", s.Stop, err, diff)
				}
			})
		})
	}
}

// A run that is broken off while the model thinks is an attempt that does not
// count: the loop goes on from where it was.
func TestE2EBreakOffWhileThinking(t *testing.T) {
	script := func(dir string) []modelserver.Turn {
		return append([]modelserver.Turn{{Break: modelserver.BreakHang}}, falseClaim(dir)[1:]...)
	}
	eachAgent(t, script, func(e *e2eRun) {
		ctx, cancel := context.WithCancelCause(e.context())
		defer cancel(nil)
		brokenOff := errors.New("broken off")
		waited := make(chan error, 1)
		go func() {
			_, err := e.server.Wait(ctx, 1)
			waited <- err
			cancel(brokenOff)
		}()
		s, log, err := e.run(ctx, e.command(), ralph.Limits{})
		if waitErr := <-waited; waitErr != nil {
			e.Fatal(waitErr)
		}
		if diff := cmp.Diff([]ralph.Fault{ralph.FaultInterrupted}, log.faults()); diff != "" || !errors.Is(err, brokenOff) {
			e.Fatalf("error %v, faults (-want +got):\n%s", err, diff)
		}
		e.nothingRuns()
		s, _, err = e.goOn(e.context(), e.command(), s)
		if err != nil || s.Iteration != 1 || s.Attempt != 2 {
			e.Errorf("went on to iteration %d, attempt %d: %v, want 1, 2", s.Iteration, s.Attempt, err)
		}
	})
}

// slowTool runs a shell tool that tells started that it runs, and does not end.
func slowTool(dir string) []modelserver.Turn {
	return []modelserver.Turn{
		{Shell: "echo up > " + filepath.Join(dir, "started") + "; sleep 300"},
		{Text: claim},
	}
}

// A loop that is cancelled in the middle of a slow tool leaves nothing behind,
// though the tool is in a session of its own, and is over.
func TestE2ECancelInTool(t *testing.T) {
	eachAgent(t, slowTool, func(e *e2eRun) {
		e.write("hello.txt", "hello\n")
		started := e.fifo("started")
		ctx, cancel := context.WithCancelCause(e.context())
		defer cancel(nil)
		tools := make(chan []e2eProcess, 1)
		go func() {
			defer close(tools)
			if readLine(started) == nil {
				tools <- e.runs("sleep")
				cancel(ralph.ErrCancelled)
			}
		}()
		s, log, err := e.run(ctx, e.command(), ralph.Limits{})
		giveUp(started)
		if diff := cmp.Diff([]ralph.Fault{ralph.FaultInterrupted}, log.faults()); diff != "" || !errors.Is(err, ralph.ErrCancelled) {
			e.Fatalf("error %v, faults (-want +got):\n%s", err, diff)
		}
		if len(<-tools) == 0 {
			e.Error("the tool did not run when it was to be ended")
		}
		if s.Stop != ralph.StopCancelled || s.Iteration != 1 || s.Attempt != 1 {
			e.Errorf("stopped: %q at %d.%d, want cancelled at 1.1", s.Stop, s.Iteration, s.Attempt)
		}
		e.nothingRuns()
	})
}

// A tool may leave a child in a session of its own, which has nothing to do
// with the client any more. It ends with the run, though the run ends well.
func TestE2EOrphan(t *testing.T) {
	const tool = `mkfifo up
setsid sh -c 'env | grep ^RALPH_RUN_ > mark; echo > up; exec sleep 300' < /dev/null > /dev/null 2>&1 &
cat up`
	script := func(dir string) []modelserver.Turn {
		return []modelserver.Turn{{Shell: "cd " + dir + "\n" + tool}, {Text: claim}}
	}
	eachAgent(t, script, func(e *e2eRun) {
		e.write("hello.txt", "hello\n")
		_, log, err := e.run(e.context(), e.command(), ralph.Limits{})
		if err != nil {
			e.Fatalf("%v, faults %q", err, log.faults())
		}
		mark, err := os.ReadFile(filepath.Join(e.dir, "mark"))
		if err != nil || !strings.HasPrefix(string(mark), "RALPH_RUN_") {
			e.Errorf("the child's mark is %q (%v), so it was not the run's", mark, err)
		}
		e.nothingRuns()
		if left := processes(strings.TrimSpace(string(mark))); left != nil {
			e.Errorf("left behind: %v", left)
		}
	})
}

// fifo makes a pipe in the workspace and opens it so that neither side waits
// for the other to open it.
func (e *e2eRun) fifo(name string) *os.File {
	e.Helper()
	path := filepath.Join(e.dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		e.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { f.Close() })
	return f
}

// readLine returns when something was written to a pipe, or its reader was told
// to give up.
func readLine(f io.Reader) error {
	_, err := f.Read(make([]byte, 64))
	return err
}

// giveUp ends readLine.
func giveUp(f *os.File) { f.SetReadDeadline(time.Unix(1, 0)) }
