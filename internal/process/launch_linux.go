package process

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ralph-loop/ralph/internal/sandbox"
)

// ownLimit is this program's hard limit of file locks.
func ownLimit() uint64 {
	limit, err := hardLimit(0)
	if err != nil || math.MaxUint == math.MaxUint32 { // no room for a mark
		return 0
	}
	return limit
}

// hardLimit is a process's hard limit of file locks; 0 = this program's. The
// kernel tells it of processes of the same user.
func hardLimit(pid int) (uint64, error) {
	var l unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &l)
	return l.Max, err
}

// held calls f on a thread that lives until over is closed.
func held(f func(), over <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		f()
		close(done)
		<-over
	}()
	<-done
}

// launch starts the command, which is stopped before it does anything, until it
// has the mark's limit and known was called with its process ID. Without the
// limit, it says why: it runs all the same.
func launch(cmd *exec.Cmd, m mark, known func(pid int)) (started *exec.Cmd, unmarked, err error) {
	if cmd.SysProcAttr.Cloneflags == 0 {
		// If this program is killed before the watchdog knows of the command, that must not
		// go on. Who starts it has it that this thread lives until it is gone. In a PID
		// namespace it would not know its parent; there a shell waits for our word.
		cmd.SysProcAttr.Pdeathsig = terminate
	}
	switch {
	case m.limit == 0:
		unmarked = errors.New("this program itself runs under a limit that leaves no room for it")
	case !elevated(cmd.Path): // traced, they would not be what they are
		runtime.LockOSThread() // the thread that starts a process is the one that traces it
		defer runtime.UnlockOSThread()
		traced := sandbox.Again(cmd)
		traced.SysProcAttr.Ptrace = true
		if unmarked = traced.Start(); unmarked == nil {
			pid := traced.Process.Pid
			unmarked = setLimit(pid, m.limit)
			known(pid)
			switch err := release(pid); err {
			case nil:
			case errRan:
				unmarked = err
			default:
				traced.Process.Kill()
				host.forget(pid)
				traced.Wait()
				return traced, nil, err
			}
			return traced, unmarked, nil
		}
	}
	if err := cmd.Start(); err != nil {
		return cmd, nil, err // for the same reason, if it was tried before
	}
	known(cmd.Process.Pid)
	return cmd, unmarked, nil
}

// elevated reports whether a program gets more rights when it is started, which
// the kernel refuses to one that is traced.
func elevated(program string) bool {
	if info, err := os.Stat(program); err != nil || info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		return true
	}
	size, err := unix.Getxattr(program, "security.capability", nil)
	return err == nil && size > 0
}

func setLimit(pid int, limit uint64) error {
	if err := unix.Prlimit(pid, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
		return err
	}
	if got, err := hardLimit(pid); err != nil || got != limit {
		return errors.New("the system does not keep the limit")
	}
	return nil
}

// errRan: a process was not stopped, for it is not traced; emulators only say so.
var errRan = errors.New("the system does not stop a program at its start")

// release lets a traced process go, once it has stopped at its exec. Its stop is
// not waited for: a program that reaps all its children could take it away.
func release(pid int) error {
	const nap = 20 * time.Microsecond
	for waited := time.Now(); ; {
		err := syscall.PtraceDetach(pid)
		if err != syscall.ESRCH {
			return err
		}
		if gone(pid) { // somebody has killed it
			return nil
		}
		switch waits := time.Since(waited); {
		case waits > giveUp:
			return fmt.Errorf("it did not stop at its start: %w", err)
		case waits > giveUp/100 && !traced(pid):
			return errRan
		}
		ts := unix.NsecToTimespec(int64(nap))
		syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
	}
}

// gone reports whether a child has ended, without its file in /proc, which a thread
// that is restricted may not read.
func gone(pid int) bool {
	var info unix.Siginfo
	const exited, dumped = 1, 3 // CLD_EXITED to CLD_DUMPED; its tracer is told of its stops too
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == unix.ECHILD || err == nil && info.Code >= exited && info.Code <= dumped
}

// traced reports whether a process is traced, or cannot be looked at.
func traced(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	return err != nil || !bytes.Contains(status, []byte("\nTracerPid:\t0\n"))
}
