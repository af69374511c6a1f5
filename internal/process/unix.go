//go:build unix

package process

import (
	"os"
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

func exitOf(s *os.ProcessState) (code int, signal string) {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return -1, w.Signal().String()
	}
	return s.ExitCode(), ""
}
