package termtest

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// OnTerminal runs a command on a pseudo-terminal of its own, of so many columns and rows:
// its controlling terminal, and what it has for standard input, output and error where it
// has no others. What is typed is there from the beginning, and ends it. It returns all
// that was shown, which a terminal may hand on only after the command has ended, and the
// error of the command.
func OnTerminal(cmd *exec.Cmd, columns, rows int, typed string) (shown string, err error) {
	var text strings.Builder
	err = Show(cmd, columns, rows, typed, &text)
	return text.String(), err
}

// Show is [OnTerminal] for what is looked at as it is shown: it is written to w piece by
// piece, when it comes. Errors of w end nothing.
func Show(cmd *exec.Cmd, columns, rows int, typed string, w io.Writer) error {
	master, slave, err := openPty(columns, rows)
	if err != nil {
		return fmt.Errorf("pseudo-terminal: %w", err)
	}
	defer master.Close()
	if cmd.Stdin == nil {
		cmd.Stdin = slave
	}
	if cmd.Stdout == nil {
		cmd.Stdout = slave
	}
	if cmd.Stderr == nil {
		cmd.Stderr = slave
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, slave)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2 + len(cmd.ExtraFiles)}
	err = cmd.Start()
	slave.Close()
	if err != nil {
		return err
	}
	if _, err := io.WriteString(master, typed+"\x04"); err != nil {
		return err
	}
	for piece := make([]byte, 4096); ; {
		n, err := master.Read(piece) // it ends with EIO, when nobody has the terminal any more
		_, _ = w.Write(piece[:n])
		if err != nil {
			return cmd.Wait()
		}
	}
}

// openPty opens both ends of a pseudo-terminal.
func openPty(columns, rows int) (master, slave *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	var number int
	raw, err := master.SyscallConn()
	if err == nil {
		var in error
		err = raw.Control(func(fd uintptr) {
			if in = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); in == nil {
				number, in = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
			}
			if in == nil {
				in = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)})
			}
		})
		err = cmp.Or(err, in)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
	}
	return master, slave, err
}
