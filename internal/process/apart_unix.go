//go:build unix

package process

import "syscall"

// Apart is for a process that goes on when this one, and its terminal, have gone.
func Apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
