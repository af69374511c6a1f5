//go:build unix && !linux

package process

import (
	"os"
	"os/exec"
	"syscall"
)

type signal = syscall.Signal

const (
	interrupt = syscall.SIGINT
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

func supported() error { return nil }

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func grow(*os.File) {}

// awaitExit reaps the child; the group's ID stays taken while anybody is in it.
func awaitExit(cmd *exec.Cmd) { cmd.Wait() }

func exitOf(s *os.ProcessState) (code int, signal string) {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return -1, w.Signal().String()
	}
	return s.ExitCode(), ""
}

// A tree is the processes of a run. Only its process group can be ended here:
// tools that an agent starts in sessions of their own survive.
type tree struct{ root int }

func newTree(pid int, _ string) *tree { return &tree{pid} }
func (t *tree) signal(s signal)       { syscall.Kill(-t.root, s) }
func (t *tree) note()                 {}
func (t *tree) end()                  { t.signal(kill) }
