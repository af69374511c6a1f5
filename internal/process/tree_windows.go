package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

type signal int

const (
	interrupt signal = iota
	terminate
	kill
)

// supported refuses: without a job object that holds all of an agent's
// processes, some would be left behind, which is worse than not to start.
func supported() error {
	return errors.New("running commands is not supported on Windows, where their processes could not all be ended; use WSL")
}

func ownGroup() *syscall.SysProcAttr { return nil }

func grow(*os.File) {}

func awaitExit(cmd *exec.Cmd) { cmd.Wait() }

func exitOf(s *os.ProcessState) (code int, signal string) { return s.ExitCode(), "" }

type tree struct{}

func newTree(int, string) *tree     { return &tree{} }
func (*tree) signal(signal)         {}
func (*tree) note()                 {}
func (*tree) end()                  {}
func (*tree) endWriters([]*os.File) {}
