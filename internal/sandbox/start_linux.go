package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// What is started in front of the command. It waits until its namespaces are set up;
// 3 is closed if they cannot be. A command that were itself the first process of a PID
// namespace would not be ended by SIGINT and SIGTERM, so there the shell stays. It
// holds none of the command's files when it tells of its end, and stays until 3 is
// closed, which ends all that is left.
const (
	waiting = `read -r ralph_go <&3 && [ "$ralph_go" = go ] || exit 126; `
	replace = waiting + `exec "$@" 3<&-`
	inFront = `ralph_end=; trap ralph_end=1 INT TERM; ` + waiting + `[ "$ralph_end" ] || "$@" 3<&- 4>&-; ralph_end=$?; ` +
		`exec <&- >&- 2>&- 4>&-; read -r ralph_go <&3; exit $ralph_end`
)

// Start starts a command under the rules. What the system cannot do is told to
// Warn, or an error where it is required. What is started may be a shell in front of
// the command.
func (r *Rules) Start(cmd *exec.Cmd, l Launch) (*exec.Cmd, *Front, error) {
	set, err := r.landlock(l)
	if err != nil {
		return cmd, nil, err
	}
	defer set.Close() // nil is closed too
	for _, want := range r.wanted() {
		started, front, err := want.start(cmd, set, l)
		if err == nil {
			return started, front, nil
		}
		if err := r.unread(err); err != nil {
			return cmd, nil, err
		}
		if err := r.lacks(l, want.lack, err); err != nil {
			return cmd, nil, err
		}
	}
	started, err := restricted(Again(cmd), set, l)
	if err != nil {
		return cmd, nil, cmp.Or(r.unread(err), err)
	}
	return started, nil, nil
}

// unread is what to say of a program that could not be started, if Read may be why.
func (r *Rules) unread(err error) error {
	if r.read == nil || !errors.Is(err, syscall.EACCES) {
		return nil
	}
	return fmt.Errorf("sandbox: Read must hold the program, /bin/sh, and what loads them: %w", err)
}

// restricted starts a command under the rules for files; nil = there are none.
func restricted(cmd *exec.Cmd, set *os.File, l Launch) (started *exec.Cmd, err error) {
	onThread(func() {
		if set != nil {
			err = restrict(set)
		}
		if err == nil {
			started, err = l.Start(cmd)
		}
	}, l.Over)
	return started, err
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
	var lacks []string
	if r.pids {
		full.flags |= unix.CLONE_NEWPID | unix.CLONE_NEWNS
		lacks = append(lacks, "the system does not give it a PID namespace, so its processes are found by other means")
	}
	if len(full.hide) > 0 {
		full.flags |= unix.CLONE_NEWNS
		lacks = append(lacks, "nothing can be hidden from it")
	}
	full.lack = strings.Join(lacks, ", and ")
	net := namespaces{flags: unix.CLONE_NEWNET, lack: "the system does not give it a network of its own, so it has this one"}
	if full.flags != 0 {
		all = append(all, full)
	}
	if r.noNet {
		for i := range all {
			all[i].flags |= net.flags
		}
		all = append(all, net)
	}
	return all
}

// start starts the command in the namespaces. An error means that they are not to be
// had, and that nothing was left. Without a PID namespace there is no Front.
func (n namespaces) start(cmd *exec.Cmd, set *os.File, l Launch) (*exec.Cmd, *Front, error) {
	gate, open, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer gate.Close()
	status, told, err := os.Pipe()
	if err != nil {
		open.Close()
		return nil, nil, err
	}
	defer told.Close()
	front := &Front{status: status, open: open}
	if os.Geteuid() != 0 {
		n.flags |= unix.CLONE_NEWUSER
	}
	l.Over = nil
	started, err := restricted(n.shell(cmd, gate, told), set, l)
	if err != nil {
		front.Close()
		return nil, nil, err
	}
	if err := n.setUp(started.Process.Pid); err != nil {
		l.Kill(started)
		front.Close()
		return nil, nil, err
	}
	_, _ = open.WriteString("go\n") // if it was killed, its end tells
	if n.flags&unix.CLONE_NEWPID == 0 {
		front.Close()
		return started, nil, nil
	}
	return started, front, nil
}

// shell is what is started in place of the command.
func (n namespaces) shell(cmd *exec.Cmd, gate, told *os.File) *exec.Cmd {
	script := replace
	if n.flags&unix.CLONE_NEWPID != 0 {
		script = inFront
	}
	shell := Again(cmd)
	shell.Path = "/bin/sh"
	shell.Args = append([]string{"sh", "-c", script, "ralph", cmd.Path}, cmd.Args[1:]...)
	shell.ExtraFiles = []*os.File{gate}
	if n.flags&unix.CLONE_NEWPID != 0 {
		shell.ExtraFiles = append(shell.ExtraFiles, told)
	}
	if shell.SysProcAttr == nil {
		shell.SysProcAttr = &syscall.SysProcAttr{}
	}
	shell.SysProcAttr.Cloneflags |= n.flags
	return shell
}
