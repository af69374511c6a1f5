//go:build unix

package process

import "syscall"

// Alive reports whether there is a process of that ID, running or not reaped.
func Alive(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }
