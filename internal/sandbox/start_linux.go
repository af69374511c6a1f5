package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// What the first process of the namespaces is, until they are set up. A command
// that were itself the first process of a PID namespace would not be ended by
// SIGINT and SIGTERM, so there the shell stays in front of it.
const (
	waiting = `read -r go <&3 && [ "$go" = go ] || exit 126; exec 3<&-; `
	inFront = waiting + `"$@"; exit $?`
	replace = waiting + `exec "$@"`
)

func (r *Rules) start(cmd *exec.Cmd, l Launch) (*exec.Cmd, error) {
	set, err := r.landlock(l)
	if err != nil {
		return cmd, err
	}
	defer set.Close() // nil is closed too
	for _, want := range r.wanted() {
		started, err := want.start(cmd, set, l)
		if err == nil {
			return started, nil
		}
		if err := r.lacks(l, want.lack, err); err != nil {
			return cmd, err
		}
	}
	var started *exec.Cmd
	onThread(func() {
		if set != nil {
			if err = restrict(set); err != nil {
				return
			}
		}
		started, err = l.Start(Again(cmd))
	})
	if err != nil {
		return cmd, err
	}
	return started, nil
}

// landlock makes the rules for files; nil = the kernel has none.
func (r *Rules) landlock(l Launch) (*os.File, error) {
	v, err := version()
	switch {
	case err != nil:
		return nil, r.lacks(l, "this system has no Landlock (Linux 5.13 and later), so what the command writes and reads is not restricted", err)
	case v < withEmptying:
		if err := r.lacks(l, "the Landlock of this kernel (before Linux 6.2) does not keep the command from emptying files", nil); err != nil {
			return nil, err
		}
	}
	if v < withMoving {
		l.Warn("sandbox: the Landlock of this kernel (before Linux 5.19) keeps the command from moving files between folders", nil)
	}
	return r.ruleset(v)
}

// Namespaces are those that a command gets for itself.
type namespaces struct {
	flags uintptr
	hide  []string
	lack  string // what is not so if they are not to be had
}

// wanted are the namespaces to try, one after the other.
func (r *Rules) wanted() []namespaces {
	var all []namespaces
	full := namespaces{hide: exists(r.hide)}
	if r.pids {
		full.flags |= unix.CLONE_NEWPID | unix.CLONE_NEWNS
		full.lack = "the system does not give it a PID namespace, so its processes are found by other means"
	}
	if len(full.hide) > 0 {
		full.flags |= unix.CLONE_NEWNS
		full.lack = join(full.lack, "nothing can be hidden from it")
	}
	net := namespaces{flags: unix.CLONE_NEWNET, lack: "the system does not give it a network of its own, so it has this one"}
	if r.noNet && full.flags != 0 {
		both := full
		both.flags |= net.flags
		all = append(all, both)
	} else if full.flags != 0 {
		all = append(all, full)
	}
	if r.noNet {
		all = append(all, net)
	}
	return all
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", and " + b
}

// start starts the command in the namespaces. An error means that they are not to be
// had, and that nothing was left.
func (n namespaces) start(cmd *exec.Cmd, set *os.File, l Launch) (started *exec.Cmd, err error) {
	gate, open, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer open.Close()
	inside := Again(cmd)
	script := replace
	if n.flags&unix.CLONE_NEWPID != 0 {
		script = inFront
	}
	inside.Path = "/bin/sh"
	inside.Args = append([]string{"sh", "-c", script, "ralph", cmd.Path}, cmd.Args[1:]...)
	inside.ExtraFiles = []*os.File{gate}
	if inside.SysProcAttr == nil {
		inside.SysProcAttr = &syscall.SysProcAttr{}
	}
	if os.Geteuid() != 0 {
		n.flags |= unix.CLONE_NEWUSER
	}
	inside.SysProcAttr.Cloneflags |= n.flags
	onThread(func() {
		if set != nil {
			if err = restrict(set); err != nil {
				return
			}
		}
		started, err = l.Start(inside)
	})
	gate.Close()
	if err != nil {
		return nil, err
	}
	if err := n.setUp(started.Process.Pid); err != nil {
		l.Kill(started)
		return nil, err
	}
	if _, err := open.WriteString("go\n"); err != nil && !errors.Is(err, syscall.EPIPE) { // it was killed already
		l.Kill(started)
		return nil, err
	}
	return started, nil
}
