//go:build unix

package process

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

//go:embed watchdog.sh
var script string

// A watchdog is a shell that outlives this program, if that dies while it has
// runs, for as long as it takes to end them. It has a session of its own, so that
// a terminal's signals do not reach it, and reads from a pipe whose other end
// nobody else has: it ends when that is closed, however that comes about.
type watchdog struct {
	cmd  *exec.Cmd
	pipe *os.File
}

// watch tells the watchdog of a run, before its command does anything.
func (h *supervisor) watch(pid int, m mark) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs[pid] = fmt.Sprintf("+%d %s %s\n", pid, m.id, m.begins())
	if h.dog != nil {
		if h.dog.tell(h.runs[pid]) == nil {
			return nil
		}
		h.dog.end() // somebody has killed or stopped it
		h.dog = nil
	}
	dog, err := newWatchdog()
	if err != nil {
		return err
	}
	for _, run := range h.runs {
		if err := dog.tell(run); err != nil {
			dog.end()
			return err
		}
	}
	h.dog = dog
	return nil
}

// forget tells it that nothing is left of a run. Its process ID must still be
// taken.
func (h *supervisor) forget(pid int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.runs, pid)
	if h.dog != nil && h.dog.tell(fmt.Sprintf("-%d\n", pid)) != nil {
		h.dog.end() // it must not go by what it knows
		h.dog = nil
	}
}

func newWatchdog() (*watchdog, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	d := &watchdog{pipe: w, cmd: &exec.Cmd{
		Path: "/bin/sh", Args: []string{"sh", "-c", script, "ralph-watchdog"}, Dir: "/",
		// It is of the runs that this program is of itself.
		Env: append(slices.DeleteFunc(os.Environ(), func(e string) bool { return !strings.HasPrefix(e, marker) }),
			"PATH=/usr/bin:/bin"),
		Stdin: r, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}}
	if err := d.cmd.Start(); err != nil {
		w.Close()
		return nil, err
	}
	return d, nil
}

// tell writes a line, all of it or none, and does not wait: a watchdog that does
// not read must not hold up the runs.
func (d *watchdog) tell(line string) error {
	c, err := d.pipe.SyscallConn()
	if err != nil {
		return err
	}
	n := 0
	werr := c.Write(func(fd uintptr) bool {
		for {
			if n, err = syscall.Write(int(fd), []byte(line)); err != syscall.EINTR {
				return true
			}
		}
	})
	if err = errors.Join(werr, err); err == nil && n != len(line) {
		err = io.ErrShortWrite
	}
	return err
}

// end ends the watchdog and nothing else.
func (d *watchdog) end() {
	d.cmd.Process.Kill()
	d.pipe.Close()
	d.cmd.Wait()
}
