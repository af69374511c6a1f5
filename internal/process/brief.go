package process

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Brief runs a command that does one thing and tidies up if it is asked to end before it
// has done it. It is asked when its context is done, and on Linux when this program is
// killed, so that it does not go on beside what is started next. After its WaitDelay it
// is killed.
func Brief(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	die(cmd.SysProcAttr)
	cmd.Cancel = func() error {
		if runtime.GOOS == "windows" {
			return cmd.Process.Kill()
		}
		return cmd.Process.Signal(syscall.SIGTERM)
	}
	runtime.LockOSThread() // it is asked when the thread ends, too
	defer runtime.UnlockOSThread()
	return cmd.Run()
}
