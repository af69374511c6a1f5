package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/process"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// External runs a command and looks at how it ends and what it prints. It is
// the verifier to prefer: a test suite cannot be talked into passing. It does
// not ask whether the claim was promised or how the agent's run ended, because
// it looks at the work.
//
// Nothing of the command is left running. The whole process tree is ended at
// the time-out, at cancellation and after a normal exit, and a process that
// holds its output open cannot hang the check. Whatever the command prints,
// little is held in memory: both ends are quoted in the feedback, and the
// whole, unless it is empty, goes to a file in [ralph.Claim.Evidence] if that
// is set. What a terminal should not be shown (control sequences, invisible
// characters) is taken out of the file. The file has mode 0600, and folders
// that are made for it 0700. The check has the digest of all that was printed,
// both streams in the order in which they arrived.
//
// A command that ends otherwise than expected is a failed check
// ([ralph.CheckFailed]). One that takes too long is a time-out
// ([ralph.CheckTimeout]). One that cannot be started is unable
// ([ralph.CheckUnable]): its program or its folder is missing or may not be
// used, or the shell says so, with exit code 126 or 127. Only the first is held
// against the agent's work.
//
// A command believes what its tools find in the home folder, where the agent
// can write too: after "go env -w GOFLAGS=-run=NoSuch" every test passes. So
// when a loop starts, Prepare notes what the known tools (go, npm, yarn, pnpm,
// pytest, cargo, git, curl and some more) read there, and which programs
// outside the workspace are run. Tools are found by their names: in the
// command, in the scripts of the workspace that it names, and in the Makefile
// or package.json of the folder where it runs and of folders that it names.
//
// If such a file has changed when the claim is verified, the claim is rejected
// and the file is named. go and npm can be told which file to read: if the old
// file was short and held no secret, they read what it said when the loop
// started, and the verdict has a warning instead. If a program has changed, or
// another was put before it in PATH, the check is unable and names both. The
// credentials that npm login writes do not count, nor does the name under which
// git commits. AcceptConfig takes things as they are. A task that was not
// prepared is checked without any of this.
//
// In [ralph.Task.Guarded] the key is "//config/" and the file, with a SHA-256
// or "absent", or "//program/" and the name, with the path and a SHA-256. These
// are facts about one machine, so a task that is verified on another one needs
// AcceptConfig.
//
// The zero value has no command and is an error. An External is safe for
// concurrent use.
type External struct {
	// Args are the program and its arguments; no shell is involved, so nothing
	// in them has to be quoted. Shell is one line for sh -c instead, for a line
	// that a user wrote. Exactly one of the two must be set.
	Args  []string
	Shell string

	// Dir is the working directory, inside the task's workspace. "" = the
	// workspace. A path that leaves it, also through a symbolic link, is an
	// error; if the folder does not exist, the check is unable.
	Dir string
	// Env is added to what InheritEnv lets through, as "NAME=value". It wins
	// where both have a name. A value may be a secret: it is not told, except
	// by Starts.
	Env []string
	// InheritEnv names the variables of this process's environment that the
	// command gets. A name that ends in * stands for all that begin so, "*" for
	// all. An empty list that is not nil lets none through.
	//
	// nil = what tools need to be found and to work: the system's variables,
	// proxies, and the caches, registries and settings of Go, Node, Python,
	// Rust, Java and others, together with what .npmrc files quote. Other
	// variables, such as keys, are kept from the command, because it runs what
	// the agent wrote. If it fails, their names are told, since it may have
	// needed one. The variables by which agents' clients know their own
	// sessions are never passed on.
	InheritEnv []string
	// Timeout ends the command. 0 = 5 minutes, negative = none. A loop bounds a
	// whole verification as well, see VerifyTimeout in [ralph.Limits]; Takes
	// tells it what this check needs.
	Timeout time.Duration

	// ExitCode is the exit code that is expected. 0 = success, as usual.
	ExitCode int
	// Contains must each be printed, on standard output or standard error, and
	// Excludes on neither. Upper and lower case count, unlike in [String]: what
	// a program prints is exact. They are looked for in all that is printed,
	// however much, byte by byte as it comes, before secrets are hidden. A text
	// that begins on one stream and ends on the other is not found. A blank
	// entry is an error.
	Contains []string
	Excludes []string

	// Redact returns a text without its secrets, as the method String of
	// progress.Redactor does. Everything that leaves the verifier goes through
	// it: the feedback, the names and details of the checks, errors, the names
	// of evidence files, and what is kept in them, which is what was printed,
	// 64 KiB at a time. A secret that comes in pieces is hidden too, if it is
	// not longer than 8 KiB, or begins like one. Contains, Excludes and the
	// digest are about what was printed, before it is hidden. Redact may be
	// called concurrently. Nil = nothing is hidden.
	Redact func(string) string

	// AcceptConfig lets the check run even if a file that its tools read from
	// the home folder, or the program itself, has changed since the loop
	// started; a warning says what has. It is for a person who has looked at
	// the change. false = the change rejects, or makes the check unable.
	AcceptConfig bool

	// Sandbox restricts what the command may do, and gives it a temporary
	// folder of its own. Nil = nothing is restricted: the command runs what the
	// agent wrote with the rights of this process.
	Sandbox *ralph.Sandbox

	// These are for templates, which add a file for results to a command but
	// keep its name in the record.
	writes  []string // what it may write to in the Sandbox, beside what that says
	title   string   // what it is called; "" = the command
	results results  // nil = its tests are not counted
}

var _ ralph.Verifier = External{}

// errTimeout tells the end of the command's own time from that of the caller's,
// which is an error and not a verdict.
var errTimeout = errors.New("time-out")

// Verify implements [ralph.Verifier]. An error says that the command is not one
// that can be run as it is written, or is context.Cause(ctx). A command that
// cannot be started is no error but a check that is unable, since that may be
// so on this machine, or today, only.
func (e External) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	return hider(e.Redact).leaving(e.surrounded(c, func(e External) (ralph.Verdict, error) { return e.verify(ctx, c) }))
}

// verify runs the command, whatever surrounds it.
func (e External) verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if ctx.Err() != nil {
		return ralph.Verdict{}, context.Cause(ctx)
	}
	args, err := e.args()
	if err != nil {
		return ralph.Verdict{}, err
	}
	dir, err := inside(c.Task.Dir, e.Dir)
	// A folder that is missing may be one that the agent was to make, or has
	// removed. Neither is a mistake of the configuration, as a folder outside
	// of the workspace is.
	if errors.Is(err, fs.ErrNotExist) {
		name := e.name()
		return judge(ralph.Check{Name: name, Status: ralph.CheckUnable, Detail: fmt.Sprintf("%s could not be run: %v", name, err)}), nil
	}
	if err != nil {
		return ralph.Verdict{}, fmt.Errorf("verify: External: %w", err)
	}
	limited, stop := ctx, context.CancelFunc(func() {})
	if limit := e.limit(); limit > 0 {
		limited, stop = context.WithTimeoutCause(ctx, limit, errTimeout)
	}
	defer stop()
	v, err := e.run(limited, args, dir, c)
	if err != nil {
		return ralph.Verdict{}, fmt.Errorf("verify: External: %w", err)
	}
	if ctx.Err() != nil { // what was found before may not be all
		return ralph.Verdict{}, context.Cause(ctx)
	}
	return v, nil
}

// run runs the command until ctx is done, which is its time-out.
func (e External) run(ctx context.Context, args []string, dir string, c ralph.Claim) (ralph.Verdict, error) {
	rules, temp, done, err := e.confined(c.Task.Dir)
	if err != nil {
		return ralph.Verdict{}, err
	}
	defer done()
	name := e.name()
	out := newOutput(e.Contains, e.Excludes, e.Redact)
	out.folder, out.name = c.Evidence, name
	// Results are read from what the tool prints before the record sees it: go
	// test -json would bury the feedback in braces otherwise.
	stdout := out.stream()
	if e.results != nil {
		stdout = e.results.stdout(stdout)
	}
	var warnings []string
	start := time.Now()
	env, dropped := e.environ(dir, temp...)
	if under := process.Under(c.Mark); under != "" { // what outlives this program and its watchdog is found by it
		env = append(env, under)
	}
	exit, err := process.Run(ctx, process.Cmd{
		Args: (*sandbox.Spec)(e.Sandbox).Args(args), Dir: dir, Env: env, Sandbox: rules,
		Stdout: stdout, Stderr: out.stream(), Grace: time.Second,
		Warn: func(text string) { warnings = append(warnings, text) },
	})
	check := ralph.Check{Name: name, Duration: time.Since(start)}
	// The three outcomes stay apart from here on: it could not be started, it
	// did not end in time, it ended.
	started := !errors.Is(err, process.ErrStart)
	tests, cut := -1, []string(nil) // that passed; -1 = not counted
	if e.results != nil {
		tests, cut = e.results.end()
	}
	note := strings.Join(append(warnings, out.end()), "\n")
	switch {
	case !started:
		check.Status = ralph.CheckUnable
		check.Detail = fmt.Sprintf("%s could not be run: %v", name, err)
		if errors.Is(err, exec.ErrNotFound) { // the commonest reason
			check.Detail += " (is it installed, and in PATH?)"
		}
	case err != nil:
		check.Status = ralph.CheckTimeout
		check.Detail = fmt.Sprintf("%s did not end within %v", name, e.limit())
	default:
		e.decide(&check, exit, out, tests, cut)
	}
	// Hidden before it is cut. The other way round, a cut through a secret
	// would leave a half that no rule knows.
	check.Detail = ends(hider(e.Redact).text(check.Detail), detailBytes-300, 290)
	v := judge(check)
	if started {
		v.Checks[0].Digest = out.digest()
		if !v.Passed {
			v.Feedback = out.explain(check.Detail)
		}
	}
	// A check that lacks a variable fails in ways that look like the agent's
	// fault. The names are told, never the values; and only where the default
	// decided, because whoever set InheritEnv knows what it lets through.
	if check.Status == ralph.CheckFailed && e.InheritEnv == nil && len(dropped) > 0 {
		note = strings.TrimSpace(note + "\nit gets the variables that are let through, and not these: " + oneLine(strings.Join(dropped, ", "), 400, 0))
	}
	v.Checks[0].Detail = strings.TrimSpace(check.Detail + "\n" + note)
	return v, nil
}

// confined returns the rights that the Sandbox leaves to the command, and what
// it adds to the environment, until done is called. The temporary folder is
// made even if the Sandbox would let the command write to the system's: two
// checks that run at once must not find each other's files.
func (e External) confined(workspace string) (rules *sandbox.Rules, env []string, done func(), err error) {
	if e.Sandbox == nil {
		return nil, nil, func() {}, nil
	}
	tmp, err := process.NewTempDir("")
	if err != nil {
		return nil, nil, nil, fmt.Errorf("temporary folder: %w", err)
	}
	done = func() { _ = tmp.Remove() } // the next program that makes one removes what is left
	rules, err = (*sandbox.Spec)(e.Sandbox).Rules(workspace, append(slices.Clone(e.writes), tmp.Path)...)
	if err != nil {
		done()
		return nil, nil, nil, err
	}
	return rules, []string{"TMPDIR=" + tmp.Path}, done, nil
}

// decide sets the status, the detail and the exit code of a command that ended
// by itself. tests is how many have passed, negative = they were not counted;
// cut are programs that ended before they had run their tests. All that is
// wrong is told at once, so that an agent does not mend one thing in each
// iteration.
func (e External) decide(check *ralph.Check, exit process.Exit, out *output, tests int, cut []string) {
	// A command that a signal ended has no exit code of its own. 128 and the
	// signal's number is a shell's custom and would be made up here.
	if exit.Signal == "" {
		check.ExitCode = &exit.Code
	}
	var wrong []string
	switch {
	case exit.Signal != "":
		wrong = append(wrong, fmt.Sprintf("was %s, expected exit code %d", exit, e.ExitCode))
	case exit.Code != e.ExitCode && e.Shell != "" && (exit.Code == 126 || exit.Code == 127):
		// The shell's way to say that there is no such command.
		check.Status = ralph.CheckUnable
		check.Detail = fmt.Sprintf("%s could not be run: the shell did not find or could not start a command in it (exit code %d)", check.Name, exit.Code)
		return
	case exit.Code != e.ExitCode:
		wrong = append(wrong, fmt.Sprintf("ended with exit code %d, expected %d", exit.Code, e.ExitCode))
	}
	if missing := out.missing(); len(missing) > 0 {
		wrong = append(wrong, "did not print "+quoted(missing))
	}
	if forbidden := out.forbidden(); len(forbidden) > 0 {
		wrong = append(wrong, "must not print but printed "+quoted(forbidden))
	}
	says, short := counted(tests, cut)
	if len(wrong) == 0 && short != "" {
		wrong = append(wrong, short)
	}
	check.Status, check.Detail = ralph.CheckPassed, says
	if len(wrong) > 0 {
		check.Status = ralph.CheckFailed
		check.Detail = check.Name + " " + strings.Join(wrong, "; ")
	}
}

// counted says how many tests have passed of a command that ended well, or why
// that is no success. An agent that deletes the tests gets an exit code of 0,
// so at least one must have passed.
func counted(tests int, cut []string) (says, wrong string) {
	switch {
	case tests < 0:
		return "", ""
	case tests == 0:
		return "", "ended well, but no test has passed; at least one must"
	case len(cut) > 0:
		return "", "ended well, but before all tests had run: " + quoted(cut)
	case tests == 1:
		return "1 test passed", ""
	}
	return fmt.Sprintf("%d tests passed", tests), ""
}
