package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// agentFlags say who works. Every command that runs an agent takes them.
func agentFlags(f *flags) {
	f.StringVar(&f.agent, "agent", "", "the `NAME` of a known agent: "+strings.Join(ralph.Presets(), ", ")+"; default: the first one installed")
	f.StringVar(&f.agentCmd, "agent-cmd", "", "any other agent: a `COMMAND` that reads the prompt from standard input")
	f.StringVar(&f.format, "format", "", "how it prints, a `FORMAT`: "+formats()+" (default with --agent-cmd: text)")
	f.StringVar(&f.model, "model", "", "the `MODEL` it is to use")
	f.DurationVar(&f.timeout, "timeout", 0, "end an iteration after this `TIME`, like 30m (0: never)")
	f.DurationVar(&f.idleTimeout, "idle-timeout", 0, "end an iteration that prints nothing for this `TIME` (0: never)")
	f.Float64Var(&f.maxCost, "max-cost", 0, "stop at this cost in `USD` (0: no limit)")
}

// taskFlags say when the work is done.
func taskFlags(f *flags) {
	f.StringVar(&f.verify, "verify", "", "a shell `COMMAND` that succeeds when the task is done")
	f.BoolVar(&f.always, "always", false, "verify after every iteration, whether the agent claims to be done or not")
	f.StringVar(&f.promise, "promise", ralph.DefaultPromise, "the `TEXT` of the completion promise")
	f.StringVar(&f.match, "match", "last-line", "which text counts as the promise, a `RULE`: last-line, own-line, anywhere, fold")
	f.StringVar(&f.blocked, "blocked", "", "the `TEXT` of a promise that says \"I cannot go on\"")
	f.BoolVar(&f.strict, "strict", false, "exit with 3 when the limit of iterations is reached")
	f.BoolVar(&f.dryRun, "dry-run", false, "print the prompt and the command, and run nothing")
	f.StringVar(&f.dir, "dir", "", "the `FOLDER` to work in (default: the current one)")
}

func formats() string {
	var names []string
	for _, name := range ralph.Formats() {
		names = append(names, string(name))
	}
	return strings.Join(names, ", ")
}

func (f *flags) verifier() (ralph.Verifier, string) {
	if f.verify == "" {
		return verify.String{}, ""
	}
	return verify.External{Shell: f.verify}, "the command `" + f.verify + "` must succeed"
}

// drive runs a loop, shows it on stderr and the result on stdout.
func drive(e env, l *ralph.Local, s ralph.State, log ralph.ProgressLog) (ralph.State, error) {
	if l.Output == nil {
		l.Output = func(ralph.Request) (io.Writer, io.Writer) { return e.stderr, nil }
	}
	l.Log = ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		show(e.stderr, s.Task, ev)
		if log == nil {
			return nil
		}
		return log.Append(ctx, ev)
	})
	s, err := l.Run(e.ctx, s)
	report(e.stdout, s, e.ctx.Err() != nil)
	return s, err
}

// exitFor turns the end of a loop into an exit code.
func exitFor(e env, s ralph.State, err error, strict bool) error {
	if err == nil {
		return nil
	}
	if x, ok := errors.AsType[*exitError](err); ok {
		return x
	}
	stop, ok := errors.AsType[*ralph.StopError](err)
	if !ok {
		if s.Done() && s.Stop == ralph.StopVerified {
			return fail(exitConfig, "the task is verified, but %w", err)
		}
		return fail(exitConfig, "%w", err)
	}
	detail := clean(strings.TrimSuffix(": "+stop.Detail, ": "))
	switch stop.Reason {
	case ralph.StopIterations:
		if !strict {
			e.say("incomplete%s", detail)
			return nil
		}
		return fail(exitNotVerified, "incomplete%s", detail)
	case ralph.StopFailed, ralph.StopRateLimited:
		return fail(exitAgent, "the agent failed (%s)%s", stop.Reason, detail)
	case ralph.StopInvalid:
		return fail(exitConfig, "%s", strings.TrimPrefix(detail, ": "))
	}
	return fail(exitNotVerified, "not verified (%s)%s", stop.Reason, detail)
}
