//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
	"github.com/ralph-loop/ralph/progress"
)

// loopMode makes this test binary a program that runs a loop: its lines are the
// loop's workspace, the folder for its journal, the agent and the folder of the
// agent's client.
const loopMode = "RALPH_E2E_LOOP"

func TestMain(m *testing.M) {
	mode := os.Getenv(loopMode)
	if mode == "" {
		os.Exit(m.Run())
	}
	os.Unsetenv(loopMode)
	if err := loopProgram(strings.Split(mode, "\n")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func loopProgram(args []string) error {
	dir, journals, agent, bin := args[0], args[1], args[2], args[3]
	runner, err := clientIn(bin, agent)
	if err != nil {
		return err
	}
	j, err := (&progress.Dir{Path: journals}).Create(ralph.Start(ralph.Task{ID: "hello", Dir: dir, Prompt: e2ePrompt}), progress.KindLoop)
	if err != nil {
		return err
	}
	_, err = j.Run(context.Background(), numbered(runner, &e2eLog{}))
	return errors.Join(err, j.Close())
}

// numbered is a loop whose prompts tell which attempt they are for.
func numbered(runner ralph.Runner, log *e2eLog) *ralph.Local {
	l := helloLoop(runner, log)
	l.Prompt = func(_ context.Context, s ralph.State) (string, error) {
		return fmt.Sprintf("%s\nThis is attempt %d.%d of it.\n", e2ePrompt, s.Iteration, s.Attempt), nil
	}
	return l
}

// A program that runs a loop is killed in the middle of a tool, with its watchdog
// or without, and the loop goes on from its journal. The first iteration is over
// then; the tool of the second has left a child in a session of its own.
func TestE2ECrash(t *testing.T) {
	for name, watchdog := range map[string]bool{"program": false, "watchdog too": true} {
		t.Run(name, func(t *testing.T) {
			eachAgent(t, crashScript, func(e *e2eRun) { e.crash(watchdog) })
		})
	}
}

func crashScript(dir string) []modelserver.Turn {
	const tool = `setsid sh -c 'echo up >started; exec sleep 301' </dev/null >/dev/null 2>&1 &
sleep 300`
	return append([]modelserver.Turn{
		{Shell: "cd " + dir + "\necho one >one.txt"}, {Text: "The first part is done."},
		{Shell: "cd " + dir + "\n" + tool},
	}, falseClaim(dir)[1:]...)
}

func (e *e2eRun) crash(watchdog bool) {
	d := &progress.Dir{Path: filepath.Join(e.TempDir(), "journals")}
	e.Cleanup(func() {
		if e.Failed() {
			journal, _ := os.ReadFile(d.File("hello"))
			e.Logf("on record:\n%s", journal)
		}
	})
	e.killInTool(e.program(d.Path), watchdog)
	seen, err := d.Look("hello")
	if s := seen.State; err != nil || seen.Status != progress.StatusInterrupted || !s.Running || s.Iteration != 2 || s.Attempt != 1 {
		e.Fatalf("on record: %s at %d.%d (%v), want interrupted at 2.1", seen.Status, s.Iteration, s.Attempt, err)
	}
	if watchdog {
		left, err := ralph.Left(seen.State.Mark)
		if err != nil || !slices.ContainsFunc(left, sleeper) {
			e.Errorf("left: %q (%v), want the tool's sleep 301 among it", left, err)
		}
	} else {
		e.endedSoon()
	}
	j, err := d.Open("hello")
	if err != nil {
		e.Fatal(err)
	}
	defer j.Close()
	log := e.newLog()
	s, err := j.Run(e.context(), numbered(e.command(), log))
	if err != nil || s.Stop != ralph.StopVerified || s.Iteration != 2 || s.Attempt != 2 || len(log.ended) != 2 {
		e.Fatalf("stopped: %s at %d.%d (%v), want verified at 2.2; faults %q", s.Stop, s.Iteration, s.Attempt, err, log.faults())
	}
	// Claude, whose output nobody reads any more, may have ended its tool by itself.
	told := slices.ContainsFunc(log.ended[0].Ended, sleeper) || watchdog && e.agent == "claude"
	if cut := log.ended[0]; cut.Number != 2 || cut.Attempt != 1 || cut.Fault != ralph.FaultInterrupted ||
		told != watchdog {
		e.Errorf("the attempt that was killed is recorded as %+v", cut)
	}
	if diff := cmp.Diff([]string{"1.1", "1.1", "2.1", "2.2", "2.2"}, e.askedFor()); diff != "" {
		e.Errorf("attempts for which the model was called (-want +got):\n%s", diff)
	}
	e.nothingRuns()
}

func sleeper(line string) bool { return strings.HasSuffix(strings.TrimSpace(line), "sleep 301") }

// program is this test binary as a program that runs a loop with the client.
func (e *e2eRun) program(journals string) *exec.Cmd {
	e.Helper()
	cmd := exec.CommandContext(e.context(), os.Args[0])
	cmd.Env = append(os.Environ(), e.env...)
	cmd.Env = append(cmd.Env, "TMPDIR="+e.TempDir(), loopMode+"="+strings.Join([]string{e.dir, journals, e.agent, e.bin}, "\n"))
	cmd.WaitDelay = time.Minute
	return cmd
}

// killInTool kills a program, and its watchdog before it if that is wanted, when the
// client runs its tool.
func (e *e2eRun) killInTool(cmd *exec.Cmd, watchdog bool) {
	e.Helper()
	e.inTool(cmd, func() {
		pids := []int{cmd.Process.Pid}
		if watchdog {
			pids = append(watchdogsOf(cmd.Process.Pid), pids...)
			if len(pids) != 2 {
				e.Errorf("%d watchdogs, want 1", len(pids)-1)
			}
		}
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signal() != syscall.SIGKILL {
		e.Errorf("the program was not killed: %v", cmd.ProcessState)
	}
}

// inTool starts a program, does something to it when the client runs the tool that
// says so to the pipe "started", and waits for its end. It returns what the program
// wrote to its standard error.
func (e *e2eRun) inTool(cmd *exec.Cmd, do func()) *bytes.Buffer {
	e.Helper()
	started := e.fifo("started")
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		e.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait() // who called looks at the state
		giveUp(started)
	}()
	err := readLine(started)
	sleeps := func() bool { // the program, and not only a shell that is about to start it
		return slices.ContainsFunc(e.runs("sleep"), func(p e2eProcess) bool { return strings.HasSuffix(p.args[0], "sleep") })
	}
	for deadline := time.Now().Add(5 * time.Second); err == nil && !sleeps() && time.Now().Before(deadline); {
		exec.Command("true").Run() // something else
	}
	if err != nil || !sleeps() {
		e.Errorf("the tool does not run (%v)", err)
	}
	do()
	<-ended
	e.Cleanup(func() {
		if e.Failed() {
			e.Logf("standard error:\n%s", stderr)
		}
	})
	return stderr
}

// watchdogsOf lists the watchdogs of a program: they have nothing in their
// environment that is the run's.
func watchdogsOf(program int) []int {
	var pids []int
	for _, p := range processes() {
		if len(p.args) > 0 && p.args[len(p.args)-1] == "ralph-watchdog" && isChild(p.pid, program) {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// endedSoon checks that nothing of the run lives two seconds after a kill.
func (e *e2eRun) endedSoon() {
	e.Helper()
	e.endedWithin(2 * time.Second)
}

func (e *e2eRun) endedWithin(limit time.Duration) {
	e.Helper()
	for deadline := time.Now().Add(limit); len(e.runs("")) > 0 && time.Now().Before(deadline); {
		exec.Command("true").Run() // something else
	}
	e.nothingRuns()
}

// askedFor lists the attempts of numbered for which the model was called.
func (e *e2eRun) askedFor() []string {
	var at []string
	for _, q := range e.server.Requests() {
		_, rest, _ := strings.Cut(strings.Join(q.User, "\n"), "This is attempt ")
		number, _, _ := strings.Cut(rest, " of it.")
		at = append(at, number)
	}
	return at
}
