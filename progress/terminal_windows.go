package progress

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// isTerminal switches on that a console understands control sequences, as those of
// Windows 10 and later can, and leaves it on: other programs that write there do too.
// To restore it at the end would turn the lines of a program that still writes there into
// garbage.
func isTerminal(c syscall.Conn) (is bool) {
	onTerminal(c, func(fd uintptr) {
		var mode uint32
		if windows.GetConsoleMode(windows.Handle(fd), &mode) == nil {
			is = windows.SetConsoleMode(windows.Handle(fd), mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
		}
	})
	return is
}

// terminalSize is that of the window, and not of all that can be scrolled back to;
// 0, 0 if it is not known.
func terminalSize(c syscall.Conn) (columns, rows int) {
	onTerminal(c, func(fd uintptr) {
		var info windows.ConsoleScreenBufferInfo
		if windows.GetConsoleScreenBufferInfo(windows.Handle(fd), &info) == nil {
			columns, rows = int(info.Window.Right-info.Window.Left)+1, int(info.Window.Bottom-info.Window.Top)+1
		}
	})
	return columns, rows
}
