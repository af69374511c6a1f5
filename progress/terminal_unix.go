//go:build unix

package progress

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// isTerminal asks for a size: only terminals have one, be it that they do not know it.
func isTerminal(c syscall.Conn) (is bool) {
	onTerminal(c, func(fd uintptr) {
		_, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ)
		is = err == nil
	})
	return is
}

// terminalSize is 0, 0 if it is not known.
// It is asked at each drawing, and the signal of a change (SIGWINCH) is not waited for:
// a drawing is due each second anyway, and Windows has no such signal.
func terminalSize(c syscall.Conn) (columns, rows int) {
	onTerminal(c, func(fd uintptr) {
		if size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ); err == nil {
			columns, rows = int(size.Col), int(size.Row)
		}
	})
	return columns, rows
}
