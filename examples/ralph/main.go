// Command ralph runs a coding agent in a loop until its work is verified. It is
// a thin example of what package ralph does.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/process"
)

// Exit codes.
const (
	exitOK          = 0 // verified; for prompt also S3's "limit reached"
	exitConfig      = 1 // pre-flight or configuration
	exitUsage       = 2
	exitNotVerified = 3
	exitAgent       = 4
	exitGit         = 5
	exitSignal      = 128 // plus the signal's number, as shells have it: 130 is SIGINT
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// An env is what a command may touch.
type env struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
}

func (e env) say(format string, args ...any) { fmt.Fprintf(e.stderr, "ralph: "+format+"\n", args...) }

// An exitError ends a command with a code and one line.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func fail(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

// A signalError is the cause of a context that a signal ended.
type signalError struct{ sig os.Signal }

func (e signalError) Error() string { return e.sig.String() }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	stdout, stderr = &outlet{Writer: stdout, cancel: cancel}, &outlet{Writer: stderr, cancel: cancel}
	ctx, stop := withSignals(ctx, cancel)
	defer stop()
	e := env{ctx, stdin, stdout, stderr}
	err := dispatch(e, args)
	code := exitCode(ctx, err)
	_, interrupted := errors.AsType[signalError](context.Cause(ctx))
	switch text := ""; {
	case interrupted && err != nil:
		e.say("interrupted; what was done is in the files: run it again to go on")
	case err != nil:
		if text = strings.TrimPrefix(err.Error(), "tasks: "); text != "" { // which package says so is for programmers
			e.say("%s", text)
		}
	}
	return code
}

// withSignals makes a context end with the first signal that ends
// programs. With the second, what still runs is killed at once, so that also
// the impatient, and a terminal that hangs up more than once, leave no agent
// behind; the third ends this process.
func withSignals(ctx context.Context, cancel context.CancelCauseFunc) (context.Context, func()) {
	hurry, done := make(chan struct{}), make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // it shall not end us, see outlet
	go func() {
		for n := 0; ; {
			select {
			case sig := <-signals:
				cancel(signalError{sig})
				if n++; n == 2 {
					close(hurry)
					signal.Stop(signals)
				}
			case <-done:
				return
			}
		}
	}()
	return process.Hurry(ctx, hurry), func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// An outlet is standard output or error. When nobody reads it any more the run
// ends, as other programs do, but in good order: with the Ctrl-C that reaches us,
// a tee behind us has gone before we are done.
type outlet struct {
	io.Writer
	cancel  context.CancelCauseFunc
	midLine bool
}

func (o *outlet) Write(p []byte) (int, error) {
	if len(p) > 0 {
		o.midLine = p[len(p)-1] != '\n'
	}
	n, err := o.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		o.cancel(signalError{syscall.SIGPIPE})
	}
	return n, err
}

// exitCode is the code for the error of a command.
func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	if cause, ok := errors.AsType[signalError](context.Cause(ctx)); ok {
		if sig, ok := cause.sig.(syscall.Signal); ok {
			return exitSignal + int(sig)
		}
		return exitSignal
	}
	if x, ok := errors.AsType[*exitError](err); ok {
		return x.code
	}
	return exitConfig
}

type command struct {
	name, args, short, example string
	hidden                     bool
	run                        func(e env, f *flags, args []string) error
	flags                      func(f *flags)
}

func commands() []command {
	return []command{
		{name: "plan", args: "[N]", short: "have the specifications turned into implementation_plan.md, in at most N iterations (10)",
			example: "ralph plan 3", run: runPlan, flags: modeFlags},
		{name: "build", args: "[N]", short: "have implementation_plan.md worked through, in at most N iterations (10)",
			example: "ralph build 20 --verify 'go test ./...'", run: runBuild, flags: modeFlags},
		{name: "prompt", args: "FILE [N]", short: "run a prompt file until the work is verified, at most N iterations (10)",
			example: "ralph prompt prompts/refactor.md 20 --verify 'go test ./...'", run: runPrompt, flags: modeFlags},
		{name: "run", args: "[FILE]", short: "work off a task list, definitions or a prd.json, task by task",
			example: "ralph run specs/001-shop/tasks.md --max 20", run: runRun, flags: runFlags},
		{name: "verify", args: "FILE [TASK]", short: "verify the work of a definition, without any agent",
			example: "ralph verify tasks.yaml TASK-001 --stage coder", run: runVerify, flags: verifyFlags},
		{name: "task", args: "create ID SPEC TITLE | list FILE | check FILE | prompt", short: "write, list and check definitions; print what an agent must be told to write them",
			example: "ralph task create TASK-001 shop 'Add a cart' --outcome 'Articles can be collected' --acceptance 'POST /cart adds one' --coder-verify-cmd 'go test ./cart'", run: runTask, flags: taskCommandFlags},
		{name: "log", args: "FILE", short: "print an execution log or a progress.txt as a table", example: "ralph log .ralph/log.jsonl", run: runLog},
		{name: "agents", short: "list the known agents, which are installed, and what each can tell", example: "ralph agents", run: runAgents},
		{name: "demo", short: "see a loop at work: no key, no network", example: "ralph demo", run: runDemo, flags: demoFlags},
		{name: "demo-agent", hidden: true, run: runDemoAgent},
		{name: "version", short: "print the version", example: "ralph version", run: runVersion},
	}
}

func dispatch(e env, args []string) error {
	if len(args) == 0 {
		usage(e.stderr)
		return fail(exitUsage, "no command")
	}
	args = commandFirst(args)
	name, args := args[0], args[1:]
	if name == "help" && len(args) > 0 {
		name, args = args[0], []string{"--help"}
	}
	if name == "help" || name == "-h" || name == "--help" {
		usage(e.stdout)
		return nil
	}
	var names []string
	for _, c := range commands() {
		if c.name == name {
			f := newFlags(c)
			rest, err := f.parse(args)
			if err != nil {
				return err
			}
			if f.help {
				f.usage(e.stdout)
				return nil
			}
			return c.run(e, f, rest)
		}
		if !c.hidden {
			names = append(names, c.name)
		}
	}
	return fail(exitUsage, "unknown command %q%s; 'ralph --help' lists them", name, didYouMean(name, names))
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "ralph runs a coding agent in a loop until it claims that the task is done and a check agrees.\n\nUsage: ralph COMMAND [FLAGS]\n\nCommands:")
	for _, c := range commands() {
		if !c.hidden {
			fmt.Fprintf(w, "  %-8s %-9s %s\n", c.name, c.args, c.short)
		}
	}
	fmt.Fprint(w, `
'ralph help COMMAND' tells more.

Example: ralph demo

Exit codes: 0 verified, or the limit of iterations was reached (--strict: 3); 1 configuration;
2 usage; 3 not verified; 4 the agent failed; 5 git; 128 and a signal's number, like 130, interrupted.
`)
}

func runVersion(e env, _ *flags, args []string) error {
	if len(args) > 0 {
		return fail(exitUsage, "version takes no arguments")
	}
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	fmt.Fprintf(e.stdout, "ralph %s (state version %d)\n", version, ralph.Version)
	return nil
}
