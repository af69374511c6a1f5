//go:build linux

package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/modelserver"
)

// The built command line tool, with real clients.
func TestE2ECLI(t *testing.T) {
	tool := builtTool(t)
	tests := []struct {
		name   string
		script func(dir string) []modelserver.Turn
		args   []string
		exit   int
		stdout string
		stderr []string
	}{
		{"false claim", falseClaim, nil, 0, "\n2 iterations in ",
			[]string{" iteration 1/2 · ", "rejected", " iteration 2/2 · ", "All done."}},
		{"sandbox", falseClaim, []string{"--sandbox"}, 0, "\n2 iterations in ", []string{"All done."}},
		{"never", forEver(modelserver.Turn{Text: claim}), []string{"--strict"}, 3, "not verified: limit of 2 iterations reached", nil},
		{"500", forEver(modelserver.Turn{Status: 500}), nil, 4, "\n1 iteration in ", []string{" iteration 1/2: "}},
		{"401", forEver(modelserver.Turn{Status: 401}), nil, 4, "\n1 iteration in ", []string{"login"}},
		{"hang", forEver(modelserver.Turn{Break: modelserver.BreakHang}), []string{"--timeout", "2s", "--strict"}, 4, "\n1 iteration in ", []string{"time-out"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachAgent(t, tt.script, func(e *e2eRun) {
				var stdout, stderr bytes.Buffer
				cmd := e.cli(tool(e), append([]string{"2"}, tt.args...)...)
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				err := cmd.Run()
				if got := cmd.ProcessState.ExitCode(); got != tt.exit {
					e.Errorf("%v, want exit status %d", err, tt.exit)
				}
				if !strings.Contains(stdout.String(), tt.stdout) || strings.Contains(stdout.String(), "All done.") {
					e.Errorf("standard output is not the result %q:\n%s", tt.stdout, &stdout)
				}
				if strings.Contains(stderr.String(), ".js:") {
					e.Error("a stack trace of the client's is shown")
				}
				if again := asksAgain()[e.agent]; tt.name == "500" && !strings.Contains(stderr.String(), "\n"+again) {
					e.Errorf("that the client asks again is not shown: %q", again)
				}
				for _, want := range tt.stderr {
					if !strings.Contains(stderr.String(), want) {
						e.Errorf("%q is not shown", want)
					}
				}
				if e.Failed() {
					e.Logf("standard error:\n%s", &stderr)
				}
			})
		})
	}
	t.Run("signal", func(t *testing.T) {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
			t.Run(s.String(), func(t *testing.T) { testCLISignal(t, tool, s) })
		}
	})
	t.Run("waiting", func(t *testing.T) { testCLIWaiting(t, tool) })
}

// asksAgain is how it is shown that a client asks the model again, after status 500.
func asksAgain() map[string]string {
	return map[string]string{
		"claude": "→ retry 1/1 in ", "codex": "→ Reconnecting... 1/1 ", "copilot": "→ attempt 1 failed: HTTP 500\n",
		"gemini": "→ Attempt 1 failed with status 500\n", // the others say nothing of it
	}
}

// builtTool builds the tool when it is first asked for: not at all, if no client is
// there.
func builtTool(t *testing.T) func(*e2eRun) string {
	bin := filepath.Join(t.TempDir(), "ralph")
	build := sync.OnceValue(func() error {
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "github.com/ralph-loop/ralph/examples/ralph").CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	return func(e *e2eRun) string {
		e.Helper()
		if err := build(); err != nil {
			e.Fatal(err)
		}
		return bin
	}
}

// A signal in the middle of a tool ends all: the tool, the client, the loop. Then
// the loop is shown as interrupted, and the same command goes on with it.
func testCLISignal(t *testing.T, tool func(*e2eRun) string, s syscall.Signal) {
	script := func(dir string) []modelserver.Turn { return append(slowTool(dir)[:1], falseClaim(dir)[1:]...) }
	eachAgent(t, script, func(e *e2eRun) {
		bin := tool(e)
		cmd := e.cli(bin, "2")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		want := 128 + int(s)
		e.inTool(cmd, func() {
			pid := cmd.Process.Pid
			switch s {
			case syscall.SIGKILL:
				want = -1
			case syscall.SIGINT:
				pid = -pid // as a terminal does it
			}
			syscall.Kill(pid, s)
		})
		if got := cmd.ProcessState.ExitCode(); got != want {
			e.Errorf("exit status %d, want %d", got, want)
		}
		if s == syscall.SIGKILL {
			e.endedSoon()
		} else {
			e.nothingRuns()
		}
		calls := len(e.server.Requests())
		status, err := e.ralph(bin, "status").CombinedOutput()
		at := regexp.MustCompile(`(?m)\ANo active Ralph loops.\nInterrupted:\n  prompt:\S+prompt.md: iteration 1/2, last activity \d+s ago(?:, spent \S.*)?; 'ralph resume prompt:\S+' goes on\n\z`)
		if err != nil || !at.Match(status) {
			e.Errorf("status: %v\n%s", err, status)
		}
		var stdout, stderr bytes.Buffer
		cmd = e.cli(bin, "2")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err = cmd.Run()
		if err != nil || !strings.HasPrefix(stdout.String(), "verified") || !strings.Contains(stdout.String(), "\n1 iteration in ") || calls != 1 || len(e.server.Requests()) != 3 {
			e.Errorf("%v after %d and then %d calls of the model: %s", err, calls, len(e.server.Requests()), &stdout)
		}
		for _, want := range []string{"going on with 'prompt:", " iteration 1/2, attempt 2 · "} {
			if !strings.Contains(stderr.String(), want) {
				e.Errorf("%q is not shown:\n%s", want, &stderr)
			}
		}
		e.nothingRuns()
	})
}

// A rate limit is waited for, and waiting can be interrupted.
func testCLIWaiting(t *testing.T, tool func(*e2eRun) string) {
	eachAgent(t, forEver(modelserver.Turn{Status: 429}), func(e *e2eRun) {
		cmd := e.cli(tool(e))
		stderr, err := cmd.StderrPipe()
		if err != nil {
			e.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			e.Fatal(err)
		}
		waits := false
		for lines := bufio.NewScanner(stderr); !waits && lines.Scan(); {
			waits = strings.Contains(lines.Text(), " waiting ")
		}
		if !waits {
			e.Error("the rate limit is not waited for")
		}
		e.nothingRunsBut("ralph")
		cmd.Process.Signal(os.Interrupt)
		io.Copy(io.Discard, stderr)
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
			e.Errorf("%v, want exit status 130", err)
		}
	})
}

// cli is the tool on a prompt file, with hello.txt as the proof, to be ended
// like any other process of the test if the test ends.
func (e *e2eRun) cli(bin string, args ...string) *exec.Cmd {
	e.Helper()
	prompt := filepath.Join(e.home, "prompt.md")
	if err := os.WriteFile(prompt, []byte(e2ePrompt+"\nWhen it is done, end with this line:\n<promise>COMPLETE</promise>\nNot before.\n"), 0o644); err != nil {
		e.Fatal(err)
	}
	args = append([]string{"prompt", prompt}, args...)
	return e.ralph(bin, append(args, "--agent", e.agent, "--verify", "test -f hello.txt")...)
}

// ralph is the tool in the workspace.
func (e *e2eRun) ralph(bin string, args ...string) *exec.Cmd {
	e.Helper()
	cmd := exec.CommandContext(e.context(), bin, args...)
	cmd.Dir = e.dir
	cmd.Env = append(os.Environ(), e.env...)
	cmd.Env = append(cmd.Env, fmt.Sprintf("PATH=%s:%s", e.bin, os.Getenv("PATH")))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	return cmd
}

func forEver(t modelserver.Turn) func(string) []modelserver.Turn {
	t.Repeat = true
	return func(string) []modelserver.Turn { return []modelserver.Turn{t} }
}

// nothingRunsBut checks that of the run's processes only one program is there.
func (e *e2eRun) nothingRunsBut(program string) {
	e.Helper()
	for _, p := range e.runs("") {
		if len(p.args) == 0 || filepath.Base(p.args[0]) != program {
			e.Errorf("runs: %d: %q", p.pid, p.args)
		}
	}
}
