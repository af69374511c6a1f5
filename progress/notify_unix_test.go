//go:build unix

package progress_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/progress"
)

// TestNotifier: what comes of the program is told, and none of its processes is left.
func TestNotifier(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tell := func(limit time.Duration, args ...string) error {
		return progress.Notifier{Args: args, Timeout: limit, Output: &out}.Tell(t.Context(), append(os.Environ(), "SAID=so"))
	}
	if err := tell(0, "sh", "-c", "echo $SAID"); err != nil || out.String() != "so\n" {
		t.Errorf("%v, %q", err, out.String())
	}
	if err := tell(0, "sh", "-c", "exit 3"); err == nil || err.Error() != "exit status 3" {
		t.Error(err)
	}
	if err := tell(0, filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("what is not there was started")
	}
	if err := tell(0, "no-such-program"); !errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
	pid := filepath.Join(t.TempDir(), "pid")
	err := tell(time.Second, "sh", "-c", `sleep 100 & echo $! >"$0"; wait`, pid)
	if err == nil || err.Error() != "took longer than 1s, and was ended" {
		t.Error(err)
	}
	text, _ := os.ReadFile(pid)
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(child, 0); err == nil {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(child) + "/stat")
		if !strings.Contains(string(stat), ") Z ") { // its new parent may be slow to take note of it
			t.Errorf("its child %d is left: %s", child, stat)
		}
	}
}
