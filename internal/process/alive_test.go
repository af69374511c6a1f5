package process_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/ralph-loop/ralph/internal/process"
)

// TestAlive: a process is alive until it was waited for, whose ever it is.
func TestAlive(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !process.Alive(os.Getpid()) || !process.Alive(os.Getppid()) || !process.Alive(cmd.Process.Pid) {
		t.Error("one that lives does not")
	}
	if err := cmd.Wait(); err != nil || process.Alive(cmd.Process.Pid) {
		t.Errorf("it has ended: %v", err)
	}
}
