//go:build !unix

package process

import "syscall"

// Apart is for a process that goes on when this one has gone.
func Apart() *syscall.SysProcAttr { return nil }
