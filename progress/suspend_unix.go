//go:build unix

package progress

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// OnStop has the program stopped with the last line removed, and that drawn again as it
// goes on, when its user types Ctrl-Z (SIGTSTP), until release is called; see
// [Display.Suspend]. It does nothing where there is no terminal, where the program was
// started with the signal ignored, and on systems that have no such signal.
//
// The program alone is stopped. Agents have process groups of their own, which the
// terminal does not reach: an agent works on, waits once the pipe that it prints to is
// full, and what it has said meanwhile is shown when the program goes on. To stop it too
// would break off what it asks of its model. The clock of its time-outs goes on; that of
// [ralph.Command.IdleTimeout] begins anew, for nobody has listened.
func (d *Display) OnStop() (release func()) {
	if !d.Terminal || signal.Ignored(syscall.SIGTSTP) {
		return func() {}
	}
	stops, quit := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(stops, syscall.SIGTSTP)
	go func() {
		for {
			select {
			case <-stops:
				d.Suspend(stopHere)
			case <-quit:
				return
			}
		}
	}()
	return func() {
		signal.Stop(stops)
		close(quit)
	}
}

// stopHere stops this process, and returns when it goes on.
// Go does not give SIGTSTP, once it was caught, its usual effect back. SIGTTOU has the same
// one, and nobody catches it. SIGSTOP was not taken: of a program that no shell has
// started it would stop one that nobody lets go on, where the system passes over the
// others; so the wait has an end. That there is one is because a process is stopped a
// little after the call.
func stopHere() {
	on := make(chan os.Signal, 1)
	signal.Notify(on, syscall.SIGCONT)
	defer signal.Stop(on)
	if syscall.Kill(os.Getpid(), syscall.SIGTTOU) == nil {
		select {
		case <-on:
		case <-time.After(100 * time.Millisecond):
		}
	}
}
