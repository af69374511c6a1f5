package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/process"
)

// External runs a command and looks at how it ends and what it prints (S1).
// It is the verifier to prefer: a test suite cannot be talked into passing.
//
// Nothing of the command is left running: the whole process tree dies at the
// time-out, at cancellation and after a normal exit, and a process that holds
// its output open cannot hang it. Whatever it prints, little is held in memory.
//
// A command that ends otherwise than expected is a failed check, one that cannot
// be started an unable one, one that takes too long a time-out; only the first
// is held against the agent's work.
type External struct {
	// Args are the program and its arguments; no shell is involved. Shell is
	// one line for sh -c instead, where a user wrote one. Exactly one is set.
	Args  []string
	Shell string

	// Dir is the working directory inside the task's workspace. "" = the
	// workspace. A path that leaves it, also through a symbolic link, is an
	// error.
	Dir string
	// Env is added to this process's environment, "NAME=value".
	Env []string
	// Timeout ends the command. 0 = 5 minutes, negative = none.
	Timeout time.Duration

	// ExitCode is the exit code that is expected.
	ExitCode int
	// Contains must each be in standard output or standard error, Excludes in
	// neither. Upper and lower case count. They are looked for in all that is
	// printed, however much.
	Contains []string
	Excludes []string
}

var _ ralph.Verifier = External{}

var errTimeout = errors.New("time-out")

// Verify implements [ralph.Verifier].
func (e External) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if ctx.Err() != nil {
		return ralph.Verdict{}, context.Cause(ctx)
	}
	args, err := e.args()
	if err != nil {
		return ralph.Verdict{}, err
	}
	if err := notBlank("External", e.Contains, e.Excludes); err != nil {
		return ralph.Verdict{}, err
	}
	name := e.name()
	dir, err := inside(c.Task.Dir, e.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return judge(ralph.Check{Name: name, Status: ralph.CheckUnable, Detail: fmt.Sprintf("%s could not be run: %v", name, err)}), nil
	}
	if err != nil {
		return ralph.Verdict{}, err
	}

	runCtx := ctx
	limit := cmp.Or(e.Timeout, 5*time.Minute)
	if limit > 0 {
		var stop context.CancelFunc
		runCtx, stop = context.WithTimeoutCause(ctx, limit, errTimeout)
		defer stop()
	}
	out := newOutput(e.Contains, e.Excludes)
	evidence := out.keep(c.Evidence, name)
	start := time.Now()
	exit, err := process.Run(runCtx, process.Cmd{
		Args: args, Dir: dir, Env: append(os.Environ(), e.Env...),
		Stdout: out.stream(), Stderr: out.stream(), Grace: time.Second,
	})
	check := ralph.Check{Name: name, Duration: time.Since(start), Digest: out.digest()}
	note := evidence()
	if ctx.Err() != nil && err != nil {
		return ralph.Verdict{}, context.Cause(ctx)
	}
	e.decide(&check, exit, err, limit, out)
	v := judge(check)
	if !v.Passed {
		v.Feedback = out.explain(check.Detail)
	}
	if note != "" {
		v.Checks[0].Detail = strings.TrimSpace(v.Checks[0].Detail + "\n" + note)
	}
	return v, nil
}

// decide sets the check's status, detail and exit code.
func (e External) decide(check *ralph.Check, exit process.Exit, err error, limit time.Duration, out *output) {
	what := check.Name
	switch {
	case errors.Is(err, process.ErrStart):
		check.Status, check.Digest = ralph.CheckUnable, ""
		check.Detail = fmt.Sprintf("%s could not be run: %s", what, startError(err))
		return
	case err != nil:
		check.Status = ralph.CheckTimeout
		check.Detail = fmt.Sprintf("%s did not end within %v", what, limit)
		return
	}
	if exit.Signal == "" {
		check.ExitCode = &exit.Code
	}
	var missing []string
	switch {
	case exit.Signal != "":
		missing = append(missing, fmt.Sprintf("%s was %s", what, exit))
	case exit.Code != e.ExitCode && e.Shell != "" && (exit.Code == 126 || exit.Code == 127):
		// The shell's way to say that there is no such command.
		check.Status = ralph.CheckUnable
		check.Detail = fmt.Sprintf("%s could not be run: the shell did not find or could not start a command in it (exit code %d)", what, exit.Code)
		return
	case exit.Code != e.ExitCode:
		missing = append(missing, fmt.Sprintf("%s ended with exit code %d, expected %d", what, exit.Code, e.ExitCode))
	}
	for _, want := range out.missing() {
		missing = append(missing, fmt.Sprintf("%s did not print %q", what, want))
	}
	for _, bad := range out.forbidden() {
		missing = append(missing, fmt.Sprintf("%s printed %q", what, bad))
	}
	check.Status, check.Detail = ralph.CheckPassed, strings.Join(missing, "; ")
	if len(missing) > 0 {
		check.Status = ralph.CheckFailed
	}
}

func startError(err error) string {
	if errors.Is(err, exec.ErrNotFound) {
		return err.Error() + " (is it installed, and in PATH?)"
	}
	return err.Error()
}

func (e External) args() ([]string, error) {
	switch {
	case len(e.Args) > 0 && e.Shell != "":
		return nil, errors.New("verify.External: both Args and Shell are set; one is the command")
	case e.Shell != "" && strings.TrimSpace(e.Shell) != "":
		return []string{"/bin/sh", "-c", e.Shell}, nil
	case len(e.Args) > 0 && e.Args[0] != "":
		return e.Args, nil
	}
	return nil, errors.New("verify.External: there is no command; set Args or Shell")
}

// name is the command as a person would write it, on one line.
func (e External) name() string {
	name := strings.Join(strings.Fields(e.Shell), " ")
	if e.Shell == "" {
		name = strings.Join(e.Args, " ")
	}
	return ends(strings.ToValidUTF8(name, "\uFFFD"), 150, 50)
}

// inside returns the folder dir of the workspace as an absolute path without
// symbolic links.
func inside(workspace, dir string) (string, error) {
	root, err := filepath.Abs(workspace)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return "", fmt.Errorf("workspace: %w", err)
	}
	if dir == "" {
		return root, nil
	}
	target := dir
	if !filepath.IsAbs(target) {
		target = filepath.Join(root, dir)
	}
	outside := fmt.Errorf("verify.External: Dir %q is outside the workspace %s", dir, root)
	if abs, _ := filepath.Abs(workspace); !within(root, target) && !within(abs, target) {
		return "", outside
	}
	real, err := filepath.EvalSymlinks(target)
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	if !within(root, real) {
		return "", outside
	}
	return real, nil
}

func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}
