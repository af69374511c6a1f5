//go:build unix

package main

import "syscall"

// apartFromUs is for a process that goes on when this one, and its terminal, have gone.
func apartFromUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
