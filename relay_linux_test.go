package ralph_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph"
)

func limitFiles(n int) {
	if n == 0 {
		return
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(n), Max: uint64(n)}); err != nil {
		panic(err)
	}
}

// TestRelayFull: a Relay whose program can open no more files answers again when it can.
func TestRelayFull(t *testing.T) {
	t.Parallel()
	_, _, place := startRelay(t, "30")
	_, path, _ := strings.Cut(place, "@")
	var silent []net.Conn
	for range 100 {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		silent = append(silent, conn)
	}
	if _, err := io.ReadAll(silent[0]); err != nil { // it was there, and was not waited for any longer
		t.Error(err)
	}
	for _, conn := range silent {
		conn.Close()
	}
	if a, err := ralph.AskRelay(t.Context(), ralph.Ask{Kind: ralph.AskStop, Session: "c"}, place); err != nil || !a.Ours {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestRelayLaunch: the client has the place, the caller's streams, and leaves nothing
// running, whatever it does to be rid of its parents.
func TestRelayLaunch(t *testing.T) {
	needsProc(t)
	t.Parallel()
	r := newRelay(t, ralph.Task{})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	in, toIt, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	toIt.WriteString("what the user types\n")
	toIt.Close()
	r.Hook.Verifier = nil
	if _, err := r.Launch(t.Context(), exec.Command("true")); err == nil {
		t.Error("without a Verifier")
	}
	q := `{"kind":"stop","session":"c","text":"I go on."}`
	hook := strings.Join([]string{"RALPH_TEST_ASK='" + q + "'", agentMode + "=ask", os.Args[0]}, " ")
	r = newRelay(t, ralph.Task{})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `cat; `+hook+`; setsid sh -c '(sleep 3011 &)' >/dev/null 2>&1; nohup sleep 3012 >/dev/null 2>&1 & exit 7`)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = in, out, out, append(os.Environ(), ralph.RelayPlace+"=another's")
	ended, err := r.Launch(t.Context(), cmd)
	if err != nil || len(ended) != 2 || // what they are called may not be what they become
		cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("%q, %v, %v", ended, err, cmd.ProcessState)
	}
	if text, err := os.ReadFile(out.Name()); err != nil || !strings.HasPrefix(string(text), "what the user types\n[RALPH LOOP - ITERATION 2/100]") {
		t.Errorf("%s, %v", text, err)
	}
	r.iteration(t, 2)
}

// TestRelayLaunchCut: what holds the client's output open does not keep it, and is ended.
func TestRelayLaunchCut(t *testing.T) {
	needsProc(t)
	t.Parallel()
	r := newRelay(t, ralph.Task{})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd := exec.Command("sh", "-c", `setsid sleep 3013 & echo said`)
	cmd.Stdout, cmd.WaitDelay = &out, 1
	if ended, err := r.Launch(t.Context(), cmd); err != nil || len(ended) != 1 {
		t.Errorf("%q, %v", ended, err)
	}
}

// TestRelayLaunchStopped: the client is asked to end, and killed if it does not; so are
// the hooks that wait.
func TestRelayLaunchStopped(t *testing.T) {
	needsProc(t)
	t.Parallel()
	for name, tt := range map[string]struct{ trap, ends string }{
		"heeds it":         {"trap 'exit 3' TERM", "exit status 3"},
		"does not heed it": {"trap '' TERM", "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRelay(t, ralph.Task{})
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			out, to, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				_, _ = bufio.NewReader(out).ReadString('\n')
				cancel()
			}()
			cmd := exec.Command("sh", "-c", tt.trap+"; echo ready; while :; do read x; done")
			in, keep, err := os.Pipe() // nobody types
			if err != nil {
				t.Fatal(err)
			}
			defer errors.Join(in.Close(), keep.Close())
			cmd.Stdin, cmd.Stdout = in, to
			ended, err := r.Launch(ctx, cmd)
			to.Close()
			if err != nil || len(ended) > 0 || cmd.ProcessState.String() != tt.ends {
				t.Errorf("%q, %v, %v", ended, err, cmd.ProcessState)
			}
		})
	}
}

// TestRelayLaunchFails: a client that cannot be started is an error that leaves nothing.
func TestRelayLaunchFails(t *testing.T) {
	h := newRelay(t, ralph.Task{}).Hook
	t.Setenv("TMPDIR", t.TempDir())
	r := &ralph.Relay{Hook: h, Session: "s", File: filepath.Join(t.TempDir(), "place")}
	cmd := exec.Command(filepath.Join(t.TempDir(), "none"))
	ended, err := r.Launch(t.Context(), cmd)
	if !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "ralph: ") || ended != nil || cmd.Process != nil {
		t.Errorf("%q, %v", ended, err)
	}
	if left, err := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	gone(t, r.File)
}

// TestRelayLaunchAgain: a client that was launched by a process which was killed is ended,
// with what it has started, before another one is launched in its session.
func TestRelayLaunchAgain(t *testing.T) {
	needsProc(t)
	t.Parallel()
	r := newRelay(t, ralph.Task{})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	mark := ralph.NewMark()
	id, _, _ := strings.Cut(mark, "-")
	old := exec.Command("sh", "-c", "echo up; sleep 300; :")
	old.Env, old.SysProcAttr = append(os.Environ(), "RALPH_RUN_"+id+"=1"), &syscall.SysProcAttr{Setsid: true}
	out, err := old.StdoutPipe()
	if err := errors.Join(err, old.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	err = r.store.Update(t.Context(), "s", func(x ralph.HookState) (ralph.HookState, error) {
		x.Mark = mark // as the process that was killed has left it
		return x, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var during string
	r.Hook.Notify = func(ctx context.Context, n ralph.Notice) {
		if x, err := r.Hook.State(ctx, "s"); err == nil {
			during = x.Mark
		}
		if !strings.HasPrefix(n.Message, "No hook of the session has asked") {
			t.Errorf("%+v", n)
		}
	}
	ended, err := r.Launch(t.Context(), exec.Command("true"))
	if err != nil || len(ended) == 0 || !strings.Contains(strings.Join(ended, "\n"), "sleep 300") {
		t.Errorf("%q, %v", ended, err)
	}
	if err := old.Wait(); err == nil {
		t.Error("the old client was not ended")
	}
	if x, err := r.Hook.State(t.Context(), "s"); err != nil || x.Mark != "" || during == "" || during == mark {
		t.Errorf("the mark is %q, and was %q: %v", x.Mark, during, err)
	}
}
