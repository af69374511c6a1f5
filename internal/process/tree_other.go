//go:build unix && !linux

package process

import (
	"os"
	"os/exec"
	"syscall"
)

func grow(*os.File) {}

// awaitExit reaps the child; the group's ID stays taken while anybody is in it.
func awaitExit(cmd *exec.Cmd) { cmd.Wait() }

// A tree is the processes of a run. Only its process group can be ended here:
// tools that an agent starts in sessions of their own survive.
type tree struct{ root int }

func newTree(pid int, _ string) *tree { return &tree{pid} }
func (t *tree) signal(s signal)       { syscall.Kill(-t.root, s) }
func (t *tree) note()                 {}
func (t *tree) end()                  { t.signal(kill) }
func (t *tree) endWriters([]*os.File) {}
