package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// Exit codes, all of them.
const (
	exitOK          = 0
	exitConfig      = 1
	exitUsage       = 2
	exitNotVerified = 3
	exitAgent       = 4
	exitGit         = 5
	exitSignal      = 128 // plus the signal's number, as shells have it: 130 is SIGINT

	exitCodes = "0 verified, or the limit of iterations was reached (--strict, --verify, --judge, --guard: 3); 1 configuration; 2 usage; " +
		"3 not verified; 4 the agent failed; 5 git; 128 and a signal's number, like 130, interrupted."
)

// An exitError ends a command with a code and one line.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func fail(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, safe(args)...)}
}

// safe makes what goes into a line of ours safe to show, each part by itself: names
// of files and tasks may come from anybody.
func safe(args []any) []any {
	args = slices.Clone(args)
	for i, arg := range args {
		switch arg := arg.(type) {
		case ours:
		case error:
			args[i] = ours{arg}
		case string:
			args[i] = strings.ReplaceAll(progress.Printable(arg), "\n", " ")
		}
	}
	return args
}

// ours is an error as a user of this program reads it: which of the library's
// packages it comes from says nothing to them, and the limits have the names of flags.
type ours struct{ error }

func (o ours) Unwrap() error { return o.error }

func (o ours) Error() string {
	text := ": " + o.error.Error()
	for _, name := range []string{"ralph: ", "tasks: ", "spec: ", "verify: ", "progress: ", "pipeline: "} {
		text = strings.ReplaceAll(text, ": "+name, ": ")
	}
	return progress.Printable(strings.NewReplacer("cost_usd and tokens are ", "--max-cost and --max-tokens are ", "cost_usd ", "--max-cost ").Replace(text[len(": "):]))
}

// A signalError is the cause of a context that a signal ended.
type signalError struct{ syscall.Signal }

func (e signalError) Error() string { return e.String() }

// exitCode is the code for the error of a command.
func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	if cause, ok := errors.AsType[signalError](context.Cause(ctx)); ok {
		return exitSignal + int(cause.Signal)
	}
	if x, ok := errors.AsType[*exitError](err); ok {
		return x.code
	}
	return exitConfig
}

// stopCode is the code for a loop that stopped.
func stopCode(reason ralph.StopReason) int {
	switch reason {
	case ralph.StopVerified:
		return exitOK
	case ralph.StopFailed, ralph.StopRateLimited:
		return exitAgent
	case ralph.StopInvalid:
		return exitConfig
	}
	return exitNotVerified
}

// agentFailed is the error of a loop that its agent has ended.
func agentFailed(stop *ralph.StopError) error {
	return fail(exitAgent, "the agent %s: %s", map[bool]string{true: "is rate limited", false: "failed"}[stop.Reason == ralph.StopRateLimited], strings.TrimPrefix(line(stop.Detail), "the agent failed, "))
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
	detail := line(strings.TrimSuffix(": "+stop.Detail, ": "))
	switch code := stopCode(stop.Reason); {
	case stop.Reason == ralph.StopIterations && !strict:
		if !e.end.told {
			e.say("incomplete%s", detail)
		}
		return nil
	case stop.Reason == ralph.StopIterations:
		return fail(code, "incomplete%s", detail)
	case code == exitAgent:
		return agentFailed(stop)
	case code == exitConfig:
		return fail(code, "%s", strings.TrimPrefix(detail, ": "))
	default:
		return fail(code, "not verified (%s)%s", stop.Reason, detail)
	}
}
