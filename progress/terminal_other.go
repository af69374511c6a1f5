//go:build !unix && !windows

package progress

import "syscall"

func isTerminal(syscall.Conn) bool { return false }

func terminalSize(syscall.Conn) (columns, rows int) { return 0, 0 }
