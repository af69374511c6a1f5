package process

import (
	"errors"
	"io/fs"
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

type tree struct{ ended []string }

func newTree(int, mark) *tree       { return &tree{} }
func (*tree) signal(signal)         {}
func (*tree) note()                 {}
func (*tree) sweep()                {}
func (*tree) end()                  {}
func (*tree) endWriters([]*os.File) {}

func ownLimit() uint64 { return 0 }

func held(f func(), _ <-chan struct{}) { f() }

func launch(cmd *exec.Cmd, _ mark, known func(pid int)) (started *exec.Cmd, unmarked, err error) {
	return cmd, nil, errors.ErrUnsupported
}

// End and Left are for Linux alone.
func End(string) ([]string, error)  { return nil, errors.ErrUnsupported }
func Left(string) ([]string, error) { return nil, errors.ErrUnsupported }

func (h *supervisor) watch(int, mark) error { return errors.ErrUnsupported }
func (h *supervisor) forget(int)            {}

type watchdog struct{}

func owned(fs.FileInfo) bool { return false }

func lock(string) (*os.File, error) { return nil, errors.ErrUnsupported }
