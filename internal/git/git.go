// Package git asks git what it knows of a folder, and has it keep the work of agents
// in work trees of their own: see [Repo]. It holds every call of git.
//
// A workspace's own configuration must not run anything because somebody looks at
// it: see [Look].
package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/process"
)

// A NoneError says that a folder is in no work tree.
type NoneError struct{ Said string } // git's words; "" = they tell no more

func (e *NoneError) Error() string { return strings.TrimSuffix("not in a git work tree: "+e.Said, ": ") }

// patience is how long a look may take: what lies in a repository can make git
// open a pipe that nobody writes to.
const patience = time.Minute

var errPatience = fmt.Errorf("git: no answer within %v", patience)

// TopLevel returns the top of the work tree that holds dir ("" = the current
// folder). The error is a [NoneError] if there is none, wraps [exec.ErrNotFound]
// if there is no git, and an error of io/fs if dir is no folder.
func TopLevel(ctx context.Context, dir string) (string, error) {
	if _, err := os.ReadDir(cmp.Or(dir, ".")); err != nil {
		return "", err
	}
	c := &call{dir: dir}
	out := c.run(ctx, "rev-parse", "--show-toplevel")
	if exit, ok := errors.AsType[*exitError](c.err); ok {
		if !below(dir) {
			exit.said = ""
		}
		return "", &NoneError{exit.said}
	}
	return filepath.FromSlash(strings.TrimSuffix(out, "\n")), c.err
}

// below reports whether a folder, or one above it, has what a work tree begins with. If
// not, git's "not a git repository" tells nothing new; else it says what is wrong with it.
func below(dir string) bool {
	at, err := filepath.Abs(dir)
	for err == nil {
		if _, bad := os.Lstat(filepath.Join(at, ".git")); bad == nil {
			return true
		}
		if filepath.Dir(at) == at {
			return false
		}
		at = filepath.Dir(at)
	}
	return true
}

// Branch returns the branch that is checked out in dir ("" = the current folder),
// also one without commits; "" if none is.
func Branch(ctx context.Context, dir string) (string, error) {
	c := &call{dir: dir}
	branch := c.branch(ctx)
	return branch, c.err
}

func (c *call) branch(ctx context.Context) string {
	out, _ := c.ask(ctx, "symbolic-ref", "--quiet", "HEAD") // the short name is another one beside a tag of that name
	return strings.TrimPrefix(strings.TrimSuffix(out, "\n"), "refs/heads/")
}

// An exitError is how git ended, if not well.
type exitError struct {
	command string
	code    int
	said    string
	out     string // what it had written until then
}

func (e *exitError) Error() string {
	return fmt.Sprintf("git %s: exit status %d: %s", e.command, e.code, e.said)
}

// A call is how git is called. Once a command of it has failed, the rest does nothing, and
// answers as if there was nothing: whoever acts on an answer asks for err before.
type call struct {
	err error

	dir     string   // "" = the current folder
	options []string // before the command
	env     []string // beside what every call has
	input   string
	guard   func() error  // asked before; nil = nothing is asked
	bound   time.Duration // 0 = patience
	alone   bool          // without a terminal, or whatever else can ask a user
}

// do runs git on a folder, whatever the environment says: in a git hook it names
// another repository. It takes no locks that it can do without, asks nobody
// anything, speaks English, transfers nothing, and starts no program but those
// that are configured as filters, see [Look].
func (c *call) do(ctx context.Context, args ...string) (string, error) {
	if c.guard != nil {
		if err := c.guard(); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(c.bound, patience), errPatience)
	defer cancel()
	// What is off: a program that tells what changed; hooks; a file that is read;
	// what has git take a file for unchanged that is not; and that a folder of
	// somebody else is not looked at, as in a container: nothing of it is started.
	all := []string{"--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "diff.orderFile=" + os.DevNull,
		"-c", "core.trustctime=true", "-c", "core.checkStat=default", "-c", "safe.directory=*"}
	cmd := exec.CommandContext(ctx, "git", slices.Concat(all, c.options, args)...)
	var out, said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, &out, &said
	cmd.WaitDelay = 5 * time.Second
	if c.input != "" {
		cmd.Stdin = strings.NewReader(c.input)
	}
	cmd.Env = environ()
	if c.alone {
		cmd.SysProcAttr = process.Apart()
		cmd.Env = append(cmd.Env, "GIT_ASKPASS=", "SSH_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GPG_TTY=", "DISPLAY=", "WAYLAND_DISPLAY=")
	}
	cmd.Env = append(cmd.Env, c.env...)
	err := process.Brief(cmd)
	if err == nil {
		return out.String(), nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		first, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return "", &exitError{args[0], exit.ExitCode(), first, out.String()}
	}
	return "", fmt.Errorf("git %s: %w", args[0], err)
}

// run is [call.do] unless something has failed before.
func (c *call) run(ctx context.Context, args ...string) (out string) {
	if c.err == nil {
		out, c.err = c.do(ctx, args...)
	}
	return out
}

// line is run for a command that writes one line.
func (c *call) line(ctx context.Context, args ...string) string {
	return strings.TrimSpace(c.run(ctx, args...))
}

// ask is run for a command that says no by its exit status, 1.
func (c *call) ask(ctx context.Context, args ...string) (out string, yes bool) {
	failed := c.err
	out = c.run(ctx, args...)
	if exit, ok := errors.AsType[*exitError](c.err); ok && failed == nil && exit.code == 1 {
		c.err = nil
		return exit.out, false
	}
	return out, c.err == nil
}

func (c *call) yes(ctx context.Context, args ...string) bool {
	_, yes := c.ask(ctx, args...)
	return yes
}

// inTurn does one step after the other, up to the first that fails.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// ours has an error begin with git's name.
func ours(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("git: %w", err)
}

// environ is this process's environment without what names another repository,
// and with what keeps git from writing, asking and transferring: in a partial
// clone it fetches an object that is missing, by means that are configured. One
// object does not stand for another.
func environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains([]string{
			"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
			"GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE",
		}, name)
	})
	return append(env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C")
}
