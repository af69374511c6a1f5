//go:build !linux

package process

import "syscall"

func die(*syscall.SysProcAttr) {}
