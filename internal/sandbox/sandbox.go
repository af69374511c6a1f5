// Package sandbox starts a command with fewer rights than this program has.
//
// What the command may write and read is restricted by Landlock, which holds for a
// thread and what it starts: so the command is started by a thread that is
// restricted for it and ends afterwards. Process IDs, the network and what is hidden
// are the command's own namespaces. Nothing is asked of the rest of the program.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/ralph-loop/ralph/internal/environ"
	"github.com/ralph-loop/ralph/internal/file"
)

// A Spec is what a user asks for; its fields are those of ralph.Sandbox.
type Spec struct {
	Write, Read   []string
	Hide, Protect []string
	NoNet, PIDs   bool
	Wrap          []string
	Require       bool
}

// Rules are a Spec for one run.
type Rules struct {
	write, read, hide []string // absolute; read nil = everything
	noNet, pids       bool
	require           bool
}

// Validate reports what makes no sense for a command that works in dir.
func (s *Spec) Validate(dir string) error {
	_, err := s.Rules(dir)
	return err
}

// Rules are those for a command that works in dir, "" = the current one, and may
// write to it and to the folders in more. Nil = none are asked for, or Wrap has its
// own.
func (s *Spec) Rules(dir string, more ...string) (*Rules, error) {
	if s == nil {
		return nil, nil
	}
	if err := s.check(); err != nil || len(s.Wrap) > 0 {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	own := append([]string{dir}, more...)
	r := &Rules{
		write: slices.Concat(own, outside(s.Write, slices.Concat(own, s.Write))),
		read:  outside(s.Read, slices.Concat(own, s.Write)),
		hide:  outside(s.Hide, s.Hide),
		noNet: s.NoNet, pids: s.PIDs, require: s.Require,
	}
	for _, path := range s.Hide {
		if file.Within(file.Real(path), file.Real(dir)) {
			return nil, fmt.Errorf("sandbox: %s is to be hidden, but the command works in it, in %s", path, dir)
		}
	}
	return r, s.protect(dir, r.write)
}

// check reports what makes no sense wherever the command works.
func (s *Spec) check() error {
	if len(s.Wrap) > 0 {
		if s.Write != nil || s.Read != nil || s.Hide != nil || s.NoNet || s.PIDs {
			return errors.New("sandbox: Wrap is set, and so are others of Write, Read, Hide, NoNet and PIDs; the command in Wrap has rules of its own")
		}
		if s.Wrap[0] == "" {
			return errors.New("sandbox: the program of Wrap is empty")
		}
	}
	for _, path := range slices.Concat(s.Write, s.Read, s.Hide, s.Protect) {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("sandbox: the path %q is not absolute", path)
		}
	}
	return nil
}

// Args is the command line that is started for args.
func (s *Spec) Args(args []string) []string {
	if s == nil || len(s.Wrap) == 0 || len(args) == 0 {
		return args
	}
	return slices.Concat(s.Wrap, args)
}

// protect is an error if something that must not be written to would be.
func (s *Spec) protect(dir string, write []string) error {
	protected := s.Protect
	if protected == nil {
		if home, err := environ.StateHome(); err == nil {
			protected = []string{filepath.Join(home, "ralph")}
		}
	}
	for _, p := range protected {
		for _, w := range write {
			what := "it"
			if w == dir {
				what = "the workspace"
			}
			switch {
			case file.Within(file.Real(w), file.Real(p)):
				return fmt.Errorf("sandbox: %s cannot be made writable: %s holds %s, where it is on record what was agreed; keep that elsewhere ($XDG_STATE_HOME, or what --state names; Sandbox.Protect)", w, what, p)
			case file.Within(file.Real(p), file.Real(w)):
				return fmt.Errorf("sandbox: %s cannot be made writable: %s lies in %s, where it is on record what was agreed", w, what, p)
			}
		}
	}
	return nil
}

// outside are the paths that do not lie in one of the roots, or are one. What lies in
// one that may be written to may be a link that the last run has made, to anywhere.
func outside(paths, roots []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return slices.ContainsFunc(roots, func(root string) bool {
			return filepath.Clean(root) != filepath.Clean(path) && (file.Within(root, path) || file.Within(file.Real(root), path))
		})
	})
}

// A Launch is what Start needs of who starts the command.
type Launch struct {
	// Start starts a command on the thread that it is called on. It is called
	// again for another command, if this one was not to be.
	Start func(*exec.Cmd) (*exec.Cmd, error)
	// Kill ends a command that was started, and waits for its end.
	Kill func(*exec.Cmd)
	// Warn is told what does not hold on this system, and why; the reason may be nil.
	Warn func(what string, why error)
	// Over is closed when the command is gone. Until then the thread that has started
	// it lives, unless it has namespaces.
	Over <-chan struct{}
}

// A Front is a shell in front of the command, the first process of its PID namespace.
// It outlives the command, so that what that has left can be seen, until it is killed
// or closed.
type Front struct {
	status *os.File // closed by the shell when the command has ended; the command can write to it too
	open   *os.File // the shell ends when this is closed
}

// Await waits until the command has ended, or says so, or the shell was killed.
func (f *Front) Await() { _, _ = f.status.Read(make([]byte, 1)) }

// Close ends the shell, once the command has ended, with the command's exit status.
func (f *Front) Close() {
	f.status.Close()
	f.open.Close()
}

// lacks deals with what the system cannot do.
func (r *Rules) lacks(l Launch, what string, why error) error {
	if !r.require {
		l.Warn("sandbox: "+what, why)
		return nil
	}
	if why == nil {
		why = errors.New("it has none")
	}
	return fmt.Errorf("sandbox: it is required, but %s: %w: %w", what, errors.ErrUnsupported, why)
}

// Again returns a command that was not started, as it was.
func Again(cmd *exec.Cmd) *exec.Cmd {
	again := &exec.Cmd{
		Path: cmd.Path, Args: cmd.Args, Dir: cmd.Dir, Env: cmd.Env, ExtraFiles: cmd.ExtraFiles,
		Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr,
	}
	if cmd.SysProcAttr != nil {
		attr := *cmd.SysProcAttr
		again.SysProcAttr = &attr
	}
	return again
}

// exists leaves out what is not there.
func exists(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, err := os.Stat(path)
		return err != nil
	})
}
