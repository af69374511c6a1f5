package process

import "syscall"

// die has a process be asked to end when the thread that starts it is gone.
func die(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
