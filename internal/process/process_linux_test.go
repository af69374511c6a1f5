package process

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sh runs a shell script and returns what it printed to both streams.
func sh(t *testing.T, ctx context.Context, script string, c Cmd) (Exit, string, error) {
	t.Helper()
	var out bytes.Buffer
	c.Args = []string{"/bin/sh", "-c", script}
	c.Stdout = &out
	e, err := Run(ctx, c)
	checkNoneLeft(t)
	return e, out.String(), err
}

// checkNoneLeft fails if a child of a run of this test lives. Runs of other
// tests of this package are in flight at the same time, so the tests name their
// processes by a variable of their own.
func checkNoneLeft(t *testing.T) {
	t.Helper()
	if left := with(t, own(t)); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
		for _, pid := range left {
			if p, err := os.FindProcess(pid); err == nil {
				p.Kill()
			}
		}
	}
}

// with returns the processes that have a variable in their environment.
func with(t *testing.T, variable string) []int {
	t.Helper()
	var found []int
	for _, pid := range pids() {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err == nil && bytes.Contains(env, []byte(variable+"\x00")) {
			found = append(found, pid)
		}
	}
	return found
}

// own is the variable that the processes of a test are known by, of this run of the
// tests alone: there may be another one at the same time.
func own(t *testing.T) string { return fmt.Sprintf("PROCESS_TEST=%s:%d", t.Name(), os.Getpid()) }

func env(t *testing.T) []string { return append(os.Environ(), own(t)) }

func TestRun(t *testing.T) {
	t.Parallel()
	// What is left says that it is there before its parent ends, and keeps its name.
	const stays, then = "sh -c 'echo >$FIFO; sleep 300; :'", "read x <$FIFO; echo a"
	for _, tt := range []struct {
		name, script string
		want         Exit
		out          string
	}{
		{"ends well", "echo hello", Exit{}, "hello\n"},
		{"exit code", "exit 7", Exit{Code: 7}, ""},
		{"dies of a signal", "kill -9 $$", Exit{Code: -1, Signal: "killed"}, ""},
		{"reads its input", "cat", Exit{}, "the prompt"},
		{"closes its output early", "echo a; exec >&-; exec 2>&-; sleep 0; exit 3", Exit{Code: 3}, "a\n"},
		{"leaves a child in a session of its own", "setsid " + stays + " >/dev/null 2>&1 </dev/null & " + then, Exit{}, "a\n"},
		{"leaves a grandchild twice removed", "(setsid sh -c 'sleep 300 & echo >$FIFO; sleep 300; :' >/dev/null 2>&1 &) ; " + then, Exit{}, "a\n"},
		{"leaves one that ignores signals", "setsid sh -c 'trap \"\" INT TERM HUP; echo >$FIFO; sleep 300; sleep 300' >/dev/null 2>&1 & " + then, Exit{}, "a\n"},
		{"leaves one that holds its output", "setsid " + stays + " & " + then, Exit{Cut: true}, "a\n"},
		{"leaves one that holds its output and cleared its environment", "env -i PROCESS_TEST=\"$PROCESS_TEST\" FIFO=$FIFO setsid " + stays + " & " + then, Exit{Cut: true}, "a\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, out, err := sh(t, t.Context(), tt.script, Cmd{Stdin: []byte("the prompt"), Env: append(env(t), "FIFO="+fifo(t)), Drain: 200 * time.Millisecond})
			left := got.Ended
			got.Ended = nil
			if err != nil || !reflect.DeepEqual(got, tt.want) || out != tt.out {
				t.Errorf("got %+v, %v, %q; want %+v, %q", got, err, out, tt.want, tt.out)
			}
			if leaves := strings.HasPrefix(tt.name, "leaves"); leaves != slices.ContainsFunc(left, func(line string) bool { return strings.Contains(line, "sleep 300") }) {
				t.Errorf("ended %q", left)
			}
		})
	}
}

func TestRunLateOutput(t *testing.T) {
	t.Parallel()
	// The child's own child prints after it has exited, as a tee does.
	e, out, err := sh(t, t.Context(), "(read x <&3; echo late) 3<$FIFO & echo early; exec 4>$FIFO; echo go >&4 & exit 0",
		Cmd{Env: append(env(t), "FIFO="+fifo(t))})
	if err != nil || e.Code != 0 || !strings.Contains(out, "late\n") {
		t.Errorf("got %+v, %v, %q", e, err, out)
	}
}

// A daemon that prints for ever is not waited for, though somebody is always
// handing over what it printed.
func TestRunEndlessOutput(t *testing.T) {
	t.Parallel()
	e, err := Run(t.Context(), Cmd{Args: []string{"/bin/sh", "-c", "(while :; do echo daemon; done) & exit 3"}, Env: env(t), Stdout: busy{}})
	if err != nil || e.Code != 3 || !e.Cut {
		t.Errorf("got %+v, %v", e, err)
	}
	checkNoneLeft(t)
}

// busy is a writer that takes its time.
type busy struct{}

func (busy) Write(p []byte) (int, error) {
	sum := sha256.Sum256(p)
	for range 20 {
		sum = sha256.Sum256(append(p[:len(p):len(p)], sum[:]...))
	}
	return len(p), nil
}

func fifo(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fifo")
	if out, err := exec.Command("mkfifo", name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return name
}

func TestRunStartErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		cmd  Cmd
		want error
	}{
		{"no command", Cmd{}, ErrStart},
		{"not found", Cmd{Args: []string{"no-such-program-here"}}, exec.ErrNotFound},
		{"file not found", Cmd{Args: []string{"/no/such/program"}}, fs.ErrNotExist},
		{"not executable", Cmd{Args: []string{plain}}, fs.ErrPermission},
		{"folder not found", Cmd{Args: []string{"true"}, Dir: filepath.Join(dir, "gone")}, fs.ErrNotExist},
		{"folder is a file", Cmd{Args: []string{"true"}, Dir: plain}, fs.ErrInvalid},
		{"only in the current folder", Cmd{Args: []string{"plain"}, Dir: dir, Env: []string{"PATH=.:"}}, exec.ErrNotFound},
	} {
		if _, err := Run(t.Context(), tt.cmd); !errors.Is(err, tt.want) || !errors.Is(err, ErrStart) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestRunStopped ends commands that have begun, and looks for what is left. The
// script says when it is ready by printing a line.
func TestRunStopped(t *testing.T) {
	t.Parallel()
	cause := errors.New("enough")
	for _, tt := range []struct {
		name, script string
		grace        time.Duration
		signal       string
	}{
		{"goes at once", "echo ready; exec sleep 300", 0, "interrupt"},
		{"ignores the interrupt", "trap '' INT; echo ready; while :; do sleep 300; done", 50 * time.Millisecond, "terminated"},
		{"ignores everything", "trap '' INT TERM; echo ready; while :; do sleep 300; done", 50 * time.Millisecond, "killed"},
		{"has children in sessions of their own", "setsid sleep 300 & setsid -f setsid sleep 300; echo ready; exec sleep 300", 0, "interrupt"},
		{"has one that cleared its environment", "env -i PROCESS_TEST=\"$PROCESS_TEST\" setsid sleep 300 & echo ready; exec sleep 300", 0, "interrupt"},
		{"starts more and more", "trap '' INT TERM; storm() { while :; do setsid sleep 300 & setsid sleep 1 & sleep 0.01; done; }; storm & echo ready; storm", 50 * time.Millisecond, "killed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			e, err := Run(ctx, Cmd{Args: []string{"/bin/sh", "-c", tt.script}, Env: env(t), Grace: tt.grace,
				Stdout: onOutput(func() { cancel(cause) })})
			checkNoneLeft(t)
			if !errors.Is(err, cause) || !e.Stopped || e.Signal != tt.signal {
				t.Errorf("got %+v, %v; want %s", e, err, tt.signal)
			}
		})
	}
}

type onOutput func()

func (f onOutput) Write(p []byte) (int, error) { f(); return len(p), nil }

func TestRunAnswersTheInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	var out bytes.Buffer
	e, err := Run(ctx, Cmd{Args: []string{"/bin/sh", "-c", `trap 'echo bye; exit 0' INT; echo ready; while :; do sleep 300 & wait; done`},
		Env: env(t), Stdout: io.MultiWriter(&out, onOutput(func() { cancel(nil) }))})
	checkNoneLeft(t)
	if err == nil || !e.Stopped || e.Code != 0 || out.String() != "ready\nbye\n" {
		t.Errorf("got %+v, %v, %q", e, err, out.String())
	}
}

func TestRunBeforeItBegins(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("no")
	cancel(cause)
	if _, err := Run(ctx, Cmd{Args: []string{"true"}}); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

func TestRunInputNobodyReads(t *testing.T) {
	t.Parallel()
	e, err := Run(t.Context(), Cmd{Args: []string{"true"}, Stdin: bytes.Repeat([]byte("x"), 300<<10)})
	if err != nil || e.Code != 0 {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestRunNested(t *testing.T) {
	t.Parallel()
	// A run inside a run keeps the outer one's mark: the outer finds them all.
	_, out, _ := sh(t, t.Context(), "env | grep -c ^RALPH_RUN_", Cmd{Env: append(env(t), "RALPH_RUN_outer=1")})
	if out != "2\n" {
		t.Errorf("%q marks", out)
	}
}

// BenchmarkRun compares a run of true with the floor in the same run.
func BenchmarkRun(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("run", func(b *testing.B) {
		for b.Loop() {
			if _, err := Run(b.Context(), Cmd{Args: []string{"true"}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestRunRelativeProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\nexit 4\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if e, err := Run(t.Context(), Cmd{Args: []string{"./tool"}, Dir: dir}); err != nil || e.Code != 4 {
		t.Errorf("relative to Dir: %+v, %v", e, err)
	}
	t.Chdir(dir)
	if e, err := Run(t.Context(), Cmd{Args: []string{"./tool"}}); err != nil || e.Code != 4 {
		t.Errorf("relative to the current folder: %+v, %v", e, err)
	}
}

// TestHurry ends a command that heeds no signal, without the time to heed one.
func TestHurry(t *testing.T) {
	t.Parallel()
	now := make(chan struct{})
	ctx, cancel := context.WithCancel(Hurry(t.Context(), now))
	out := writerFunc(func([]byte) { cancel(); close(now) })
	e, err := Run(ctx, Cmd{
		Args: []string{"/bin/sh", "-c", "trap '' INT TERM; setsid sleep 300 & echo ready; while :; do wait; done"},
		Env:  env(t), Stdout: out, Grace: time.Hour,
	})
	checkNoneLeft(t)
	if !e.Stopped || e.Signal != "killed" || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestOutputError: a writer that panics ends the command, not this program.
func TestOutputError(t *testing.T) {
	t.Parallel()
	explode := writerFunc(func([]byte) { panic("boom") })
	for name, c := range map[string]Cmd{"stdout": {Stdout: explode}, "stderr": {Stderr: explode}} {
		for _, script := range []string{"echo x; echo x >&2", "echo x; echo x >&2; setsid sleep 300"} {
			c.Args, c.Env = []string{"/bin/sh", "-c", script}, env(t)
			_, err := Run(t.Context(), c)
			checkNoneLeft(t)
			if _, ok := errors.AsType[*OutputError](err); !ok || !strings.Contains(err.Error(), "panicked: boom") || !strings.Contains(err.Error(), "TestOutputError") {
				t.Errorf("%s, %s: %v", name, script, err)
			}
		}
	}
}

// TestStdinFile writes to a command while it runs, and is told when it has gone.
func TestStdinFile(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	io.WriteString(w, "one\ntwo\n")
	_, out, err := sh(t, t.Context(), "read x; echo got $x", Cmd{Env: env(t), StdinFile: r})
	if out != "got one\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := io.WriteString(w, "three\n"); err == nil {
		t.Error("writing to a command that has ended is no error")
	}
}

// TestSlowWriter: output is handed over in full, also to one who takes longer than
// the command lives and a daemon would be waited for.
func TestSlowWriter(t *testing.T) {
	t.Parallel()
	size := 0
	slow := writerFunc(func(p []byte) {
		if size == 0 { // as long as it takes to give the rest up
			wait, cancel := context.WithTimeout(t.Context(), 1200*time.Millisecond)
			<-wait.Done()
			cancel()
		}
		size += len(p)
	})
	e, err := Run(t.Context(), Cmd{
		Args: []string{"/bin/sh", "-c", "head -c 500000 /dev/zero"}, Env: env(t), Stdout: slow, Drain: 100 * time.Millisecond,
	})
	checkNoneLeft(t)
	if size != 500000 || e.Cut || err != nil {
		t.Errorf("%d bytes, cut %v, %v", size, e.Cut, err)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}
