//go:build unix && !linux

package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

func grow(*os.File) {}

// awaitExit reaps the child; the group's ID stays taken while anybody is in it.
func awaitExit(cmd *exec.Cmd) { cmd.Wait() }

// A tree is the processes of a run. Only its process group can be ended here:
// tools that an agent starts in sessions of their own survive.
type tree struct {
	root  int
	ended []string // never told
}

func newTree(pid int, _ mark) *tree   { return &tree{root: pid} }
func (t *tree) signal(s signal)       { syscall.Kill(-t.root, s) }
func (t *tree) note()                 {}
func (t *tree) sweep()                {}
func (t *tree) end()                  { t.signal(kill) }
func (t *tree) endWriters([]*os.File) {}

func ownLimit() uint64 { return 0 }

func held(f func(), _ <-chan struct{}) { f() }

func launch(cmd *exec.Cmd, _ mark, known func(pid int)) (started *exec.Cmd, unmarked, err error) {
	if err := cmd.Start(); err != nil {
		return cmd, nil, err
	}
	known(cmd.Process.Pid)
	return cmd, nil, nil
}

// End is for Linux alone: elsewhere nothing tells whose a process is.
func End(text string) ([]string, error) {
	if _, err := parseMark(text); err != nil {
		return nil, err
	}
	return nil, errors.ErrUnsupported
}

// Left is for Linux alone, as End is.
func Left(text string) ([]string, error) { return End(text) }
