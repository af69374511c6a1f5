package ralph

import "github.com/ralph-loop/ralph/internal/sandbox"

// A Sandbox takes rights away from a command: to write and to read files, to use the
// network, to see other processes. It holds for the command and for all that it starts,
// and they cannot leave it. The zero value has the command write to its workspace and
// its temporary folder, and nowhere else.
//
//	agent.Sandbox = &ralph.Sandbox{Write: []string{home + "/.claude", home + "/.cache/go-build"}, PIDs: true}
//
// The workspace is the folder in which the command works: a task's for an agent and
// for a verifier, an empty one for a judge, which never writes to the task's. The
// temporary folder is new for each run, and TMPDIR names it. Both are always
// writable, and so are /dev/null, zero, tty, ptmx, pts and shm. The repository of a
// linked git worktree lies outside the workspace; git commit needs it in Write.
//
// It is the kernel's work, on Linux alone: Landlock (5.13 and later) for files, and
// namespaces, which some distributions and most containers refuse to other users
// than root. What the system cannot do is told once in a program: in
// [Response.Warnings] and on the display by a [Command], in the check's detail by a
// verifier. With Require the run is an error instead. On macOS and Windows, the
// command is not restricted; Wrap can name a command that restricts it.
//
// A kernel before 6.2 lets the command empty files anywhere; one before 5.19 keeps it
// from moving files from folder to folder. From 6.12 on the command can neither signal
// a process outside nor connect to an abstract socket there. Setuid programs such as
// sudo give it no more rights. A command that runs as root keeps those rights of root
// that are not about files. No kernel keeps a command from changing the mode and the
// times of files, nor from talking to services through sockets that are files, such as
// docker's and tmux's, if they let this user.
type Sandbox struct {
	// Write are files and folders that may be written to, beside the workspace and
	// the temporary folder; Read are those that may be read and executed, beside all
	// that may be written to. Read nil = everything may be read; otherwise it must
	// hold what programs need, such as /usr, /lib, /lib64, /bin, /etc and /proc. Paths
	// are absolute. One that is not there when a run starts cannot be granted, and is
	// left out; links in the workspace are not followed.
	Write, Read []string

	// Hide are files and folders that are shown empty: an exam, say. Their names are
	// seen. Where there is no Landlock, /proc shows what other processes see unless
	// PIDs is set, and root can take the cover away.
	Hide []string

	// Protect are the folders that no run may write to: those that hold the records of
	// loops, as progress.Dir keeps them, for an agent that can write there can say that
	// it was verified. It is an error if the workspace or a path of Write holds one, or
	// lies in one. Nil = the one in which progress.WorkspaceDir is,
	// $XDG_STATE_HOME/ralph or ~/.local/state/ralph.
	Protect []string

	// NoNet gives the command a network of its own, in which there is only the
	// loopback interface.
	NoNet bool

	// PIDs gives the command a process-ID namespace of its own, with the caller's user
	// and group, its own /proc, and a shell as the first process: when the command
	// ends, all that it has started ends, whatever that has done to its marks. A command
	// that is ended by a signal has the exit status that the shell gives it, 128 and the
	// signal's number. With Read, /proc cannot be read, for Read grants that of the
	// system alone.
	PIDs bool

	// Wrap is a program with its arguments that runs the command, which comes after
	// them: bwrap …, sandbox-exec …, docker run …. It restricts the command as it
	// likes, and has to let it have the workspace and TMPDIR; Write, Read, Hide, NoNet
	// and PIDs must not be set. A command that it starts through a service, as docker
	// does, is not ended with it by us.
	Wrap []string

	// Require makes it an error, not a warning, if the system cannot do what is asked.
	Require bool
}

// Validate reports what makes no sense for a command that works in dir, "" = the
// current folder: a path that is not absolute, Wrap beside what the kernel is to do,
// a folder of Protect that could be written to, a workspace that is hidden. It does
// not ask what the system can do. Nil is valid.
func (s *Sandbox) Validate(dir string) error {
	return prefixed((*sandbox.Spec)(s).Validate(dir))
}
