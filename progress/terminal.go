package progress

import (
	"io"
	"strconv"
	"syscall"
)

// DisplayOn returns a [Display] on w, with what w is: Terminal, Colours and Size are
// set, the rest is for the caller to set before it is used. Give it os.Stderr and
// os.Getenv, and W may then be replaced by a writer before the same terminal. A getenv of nil
// is an empty environment.
//
// It is a terminal if w has a file descriptor that is one, TERM is not "dumb", and CI
// is not set, for what a build server records of a terminal is read as a file. It gets
// colours unless NO_COLOR is set. A variable that is empty is not set, and neither is a
// CI that says "false" or "0".
//
// A console of Windows is told to understand control sequences; it is no terminal here
// if it cannot.
func DisplayOn(w io.Writer, getenv func(string) string) *Display {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	d := &Display{W: w}
	conn, ok := w.(syscall.Conn)
	if !ok || getenv("TERM") == "dumb" || isSet(getenv("CI")) || !isTerminal(conn) {
		return d
	}
	d.Terminal, d.Colours = true, getenv("NO_COLOR") == ""
	d.Size = func() (columns, rows int) { return terminalSize(conn) }
	return d
}

// isSet reports whether a variable of the environment switches something on.
func isSet(value string) bool {
	on, err := strconv.ParseBool(value)
	return value != "" && (err != nil || on)
}

// onTerminal calls do with the file descriptor. It goes this way, and not by Fd, because
// that would change how the file is read and written.
func onTerminal(c syscall.Conn, do func(fd uintptr)) {
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(do) // a file that is closed is no terminal
	}
}
