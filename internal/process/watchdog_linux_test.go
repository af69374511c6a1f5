package process

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// watched starts a shell script of a run that the watchdog is told of, and returns
// when it has printed a line.
func watched(t *testing.T, h *supervisor, m mark, name, script string) *exec.Cmd {
	t.Helper()
	cmd := &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", script}, SysProcAttr: ownGroup(),
		Env: append(os.Environ(), name, m.variable())}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = w
	cmd, _, err = launch(cmd, m, func(pid int) {
		if err := h.watch(pid, m); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	return cmd
}

// TestWatchdogEndsToolsLast: a client that does not heed the request to end does not
// see its tool end, which it would go on with.
func TestWatchdogEndsToolsLast(t *testing.T) {
	t.Parallel()
	h := &supervisor{told: map[string]bool{}, runs: map[int]string{}}
	wentOn := filepath.Join(t.TempDir(), "went on")
	cmd := watched(t, h, newMark(), own(t), `trap : TERM; setsid sh -c 'echo ready; exec sleep 300'; echo >'`+wentOn+`'; sleep 300`)
	h.dog.pipe.Close()
	if err := h.dog.cmd.Wait(); err != nil {
		t.Errorf("the watchdog: %v", err)
	}
	left := with(t, own(t))
	cmd.Process.Kill() // if it was not
	cmd.Wait()
	if _, err := os.Stat(wentOn); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the client went on: %v", err)
	}
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
