// Package ralph runs a coding agent on a task again and again, each time with
// fresh context, until the agent claims that the task is done and a verifier
// agrees, or a limit stops it.
//
// An agent says "done" when it is not. So a promise, <promise>COMPLETE</promise>
// as the last words of the agent's answer, is only a claim; a [Verifier] looks
// at the evidence and decides.
//
//	loop := &ralph.Local{
//		Runner:   claude, // from ralph.Preset("claude"), or your own Runner
//		Verifier: verify.External{Args: []string{"go", "test", "./..."}},
//	}
//	final, err := loop.Run(ctx, ralph.Start(ralph.Task{Prompt: "Make the tests pass."}))
//
// The package has two halves. Deciding is pure: [State.Next] takes a state and
// what happened in one attempt and returns the next state, with no clock, no
// randomness and no I/O. Every rule (claims, verdicts, faults, retries, waits,
// limits) lives there. Doing is [Local.Iterate]: it runs the agent once, looks
// for a claim, has it verified and reports what happened as data. A driver is
// the two taking turns; [Local.Run] is the one for this process.
//
// Everything that happens is an [Event]. [State.Apply] folds events back into
// the state, so a log is all that is needed to go on after a crash: package progress
// keeps it, and lets other processes see and steer the loop. Package verify has the
// usual verifiers, package tasks lists of many things to do, and the packages below
// tasks definitions of what done means and agents that work on many tasks at a time.
//
// A crash in the middle of an iteration runs that iteration again, unless the agent's
// answer is on record, which is verified then: the loop is at-least-once. That is what
// a Ralph loop is, since the work is in the working tree and not in the conversation.
package ralph

import (
	"context"
	"io"
	"time"
)

// A Loop runs a state to its end. [Local] is the one for this process; an
// engine that runs loops elsewhere implements it too, and [RunAll] takes any.
//
// Run blocks until the loop has stopped or cannot go on. It returns nil only
// if the task was verified. Otherwise the error is a [*StopError] (the loop
// decided to stop), context.Cause(ctx) (interrupted: run the returned state
// again to go on) or another error (the log failed, the configuration is
// wrong); if several are true, it is all of them, joined. The returned state
// always includes what was spent. Run may be called concurrently for different
// loops.
type Loop interface {
	Run(ctx context.Context, s State) (State, error)
}

// A Runner runs the agent once, not the loop: it gives the agent a prompt and
// returns its answer. [Command] runs agents' command-line clients; callers plug
// in their own.
//
// Run blocks until the agent has finished and must return soon after ctx is done, with
// nothing of the agent left running. If the agent had finished well before that, the
// error is nil: some agents tell their cost only in their last report, and when that
// exceeds the budget the claim is still verified before the loop stops. The error says
// what went wrong, and the loop acts on its kind: [Permanent] stops it, [RetryAfter]
// makes it wait, [ErrIncomplete] and [ErrEmpty] are retried like any other error, and
// an error that is [context.DeadlineExceeded] is a time-out, which is not retried. A
// Response that comes with an error still counts: what was said may hold a claim and
// what was spent is spent. A panic is an error like any other.
//
// Run may be called concurrently when loops share a Runner.
//
// A Runner may also have the method Validate(Task) error: see [Verifier].
// verifytest.TestRunner of package verify/verifytest tests whether a Runner is as
// said here.
type Runner interface {
	Run(ctx context.Context, req Request) (Response, error)
}

// RunnerFunc makes a Runner of a function. The function is not called with a
// context that is done already.
type RunnerFunc func(ctx context.Context, req Request) (Response, error)

// Run calls f, or returns context.Cause(ctx) if ctx is done.
func (f RunnerFunc) Run(ctx context.Context, req Request) (Response, error) {
	if ctx.Err() != nil {
		return Response{}, context.Cause(ctx)
	}
	return f(ctx, req)
}

// A Verifier decides whether a claim is true. Package verify holds the usual
// ones; callers write their own.
//
// Verify blocks until it knows and must return soon after ctx is done. "No" is
// a Verdict that is not Passed, with feedback that says what is missing. "I
// could not find out" is an error, or a check with status [CheckUnable] or
// [CheckTimeout]; it rejects too, but is not held against the agent's work. An
// error is never a pass, whatever the Verdict beside it says, and neither is a
// panic or a verdict that comes after [Limits.VerifyTimeout] or
// [Limits.Duration]. The claim's slices and maps must not be changed. Verify may
// be called concurrently.
//
// A Verify that has not returned ten seconds after ctx is done is given up: the
// loop goes on without its verdict, and its goroutine is left behind, perhaps to
// run beside the next attempt.
//
// A Verifier may have more methods, and one that wraps others hands them on.
//
// Validate(Task) error says whether it can work on such a task at all. It looks
// at its own configuration and the task, asks nobody and changes nothing. Drivers
// call it before the first attempt, also of a loop that goes on, so that a mistake
// in the configuration costs no run of the agent.
//
// Prepare(context.Context, Task) (Task, error) notes in [Task.Guarded] what the agent
// must not change, as it is now, and returns the task otherwise unchanged. Drivers call
// it once in a loop, before Validate and before it is recorded that the loop starts:
// after the first attempt it would note the work of the agent. What is in Guarded
// already stays as it is.
//
// Takes(Task) time.Duration says how long it may take, for [Limits.VerifyTimeout].
//
// Starts(Task) []string says which commands it would run, one line each, for programs
// that show them to a person first. No driver calls it.
type Verifier interface {
	Verify(ctx context.Context, c Claim) (Verdict, error)
}

// VerifierFunc makes a Verifier of a function. The function is not called with a
// context that is done already, so one that only looks need not ask it.
type VerifierFunc func(ctx context.Context, c Claim) (Verdict, error)

// Verify calls f, or returns context.Cause(ctx) if ctx is done.
func (f VerifierFunc) Verify(ctx context.Context, c Claim) (Verdict, error) {
	if ctx.Err() != nil {
		return Verdict{}, context.Cause(ctx)
	}
	return f(ctx, c)
}

// A ProgressLog records what happens in a loop. Package progress holds the
// usual ones.
//
// Append returns when the event is recorded as durably as this log records
// anything. An error stops the loop: work that cannot be recorded is not done
// in silence. Append is called with a context that is not cancelled when the
// loop is, so that its end is recorded too. It must not change or keep the
// event's State or Answer. One loop calls Append from one goroutine; a log that
// is shared by loops must allow concurrent calls.
//
// A log that other processes write to as well may return an error that wraps
// [ErrCancelled]. It says that the event was recorded, and before it a cancel by
// another process, whose reason is the error's text: the loop is cancelled, and
// nothing failed. In errors that are joined, as by [errors.Join], the others count as
// errors.
type ProgressLog interface {
	Append(ctx context.Context, ev Event) error
}

// ProgressLogFunc makes a ProgressLog of a function.
type ProgressLogFunc func(ctx context.Context, ev Event) error

// Append calls f.
func (f ProgressLogFunc) Append(ctx context.Context, ev Event) error { return f(ctx, ev) }

// A Request is what a [Runner] gets for one attempt.
type Request struct {
	// Loop is the loop's name, see [State.Loop], by which attempts of different loops
	// are told apart in logs. Task and Agent are the task's ID and its role: coder,
	// reviewer, … Neither is needed to run the agent.
	Loop  string
	Task  string
	Agent string
	// Dir is the agent's working directory. "" = the current directory.
	Dir string

	// Iteration counts from 1, and so does Attempt: every start of the iteration,
	// after a retry, a rate limit, a crash or an interrupt.
	Iteration int
	Attempt   int

	// Prompt is the whole prompt. It goes to the agent as it is: a Runner that adds to
	// it would have its own words taken for the agent's where the agent repeats them,
	// for the loop knows only this text.
	Prompt string

	// Mark identifies the processes of this attempt. The driver makes it with [NewMark]
	// and records it before the attempt begins, so that after a crash [EndLeft] can
	// find and end what is still running. "" = none: a crash leaves them.
	Mark string

	// Promise and Blocked are the texts of the promises the loop looks for. A
	// Runner that bounds its output must keep the lines that hold them.
	Promise string
	Blocked string

	// Display and Raw receive output as it comes, for this attempt only: readable text,
	// and the agent's stream as it came. Either may be nil. Writes come from one
	// goroutine at a time, and none after Run has returned. An error of a write is no
	// reason to end the run.
	Display io.Writer
	Raw     io.Writer

	// Live is called with the usage of the attempt so far, in all and not since the
	// last call, as soon as the agent's stream tells it. Budgets and heartbeats live on
	// it, and after a crash it is all that is known of the attempt. It may be nil; it
	// returns quickly and may be called from any goroutine. Calls after Run has
	// returned change nothing.
	Live func(Usage)
}

// A Response is an agent's answer. It may come together with an error: what
// was said and spent still counts.
type Response struct {
	// Output is the agent's own final words: the last top-level assistant
	// message with text, else the end event's text. It holds no prompt echo,
	// tool results, thinking or sub-agent text.
	Output string `json:"output"`
	// Omitted is the number of bytes left out of Output to bound it.
	Omitted int64 `json:"omitted,omitempty"`

	// Usage is what the attempt has used. A nil CostUSD is unknown, which is not 0: a
	// limit of cost cannot be kept by a Runner that leaves it out.
	Usage Usage `json:"usage"`
	// Model is the model that answered, as the client calls it, by which prices are
	// found; Session is the agent's own session ID. "" = it does not tell.
	Model   string `json:"model,omitempty"`
	Session string `json:"session,omitempty"`

	// Files are those that the agent says it changed, as absolute paths or from the
	// folder it works in, and Learnings what it says it learned. Both are its word, which
	// nothing is decided by.
	Files     []string `json:"files,omitempty"`
	Learnings []string `json:"learnings,omitempty"`

	// Ended are the command lines of processes that the agent had left running and
	// that were ended, one for each.
	Ended []string `json:"ended,omitempty"`
	// Warnings are for the people who run this: what does not hold on their system.
	Warnings []string `json:"warnings,omitempty"`
}

// A Claim is what a [Verifier] is asked about: an agent says the task is done.
type Claim struct {
	Task      Task      `json:"task"`
	Iteration int       `json:"iteration"`
	Attempt   int       `json:"attempt"`
	Start     time.Time `json:"start"` // when the attempt began

	Output  string `json:"output"` // the agent's final words, see [Response.Output]
	Omitted int64  `json:"omitted,omitempty"`
	// Files are those changed in this attempt, as far as known, also by the agent's
	// own account.
	Files []string `json:"files,omitempty"`
	// Base is the commit the workspace was at when the loop began, so that a verifier
	// can look at what the loop has changed in all, see [State.Base]. "" = not known.
	Base string `json:"base,omitempty"`
	// Mark is the [Request.Mark] of the attempt, "" = none: programs that a verifier
	// starts are found by it when this program has died, see [EndLeft].
	Mark string `json:"mark,omitempty"`
	// Checks are what earlier verifiers have found, where a verifier that wraps several
	// asks them in order. Their details may quote what the agent's programs have
	// printed: they are no more to be trusted than Output.
	Checks []Check `json:"checks,omitempty"`

	// Promised says that the agent made the promise. It is false only under
	// Task.Always, where every answer is verified.
	Promised bool `json:"promised"`
	// Fault is how the run ended, if not well. Evidence may still accept the
	// work; words alone should not.
	Fault Fault `json:"fault,omitempty"`
	// Evidence is a folder for full outputs. "" = keep digests only.
	Evidence string `json:"evidence,omitempty"`
}

// A Verdict is what a [Verifier] found. The zero value rejects.
type Verdict struct {
	Passed bool `json:"passed"`
	// Feedback says what is missing, short enough to be quoted to the agent: what
	// is over 8 KiB loses its middle.
	Feedback string `json:"feedback,omitempty"`
	// Checks are the evidence. Of more than 64, those that say why the verdict
	// rejects are kept before others.
	Checks []Check `json:"checks,omitempty"`
	// Usage is what the check itself has used: a model that judges is paid like the
	// agent. It counts in the loop's [Limits]. The zero value has used nothing. Tokens
	// or requests with a nil CostUSD are of unknown cost, which is not 0.
	Usage Usage `json:"usage,omitzero"`
}

// Undecided reports whether the verdict rejects only because checks could not be
// run or ran out of time. That says nothing about the work: it is not the
// agent's to mend, and the loop counts it to [Limits.Failures]. A check that
// failed decides, whatever the others say; a verdict without checks has decided.
//
// Without the difference an agent would be told to mend its work because a program is
// not installed, and would break what was right.
func (v Verdict) Undecided() bool {
	unable := false
	for _, c := range v.Checks {
		switch c.Status {
		case CheckFailed:
			return false
		case CheckUnable, CheckTimeout:
			unable = true
		}
	}
	return unable && !v.Passed
}

// A Check is one thing that was looked at, as evidence for a [Verdict]. Durations are
// nanoseconds in JSON.
type Check struct {
	Name     string        `json:"name"`
	Status   CheckStatus   `json:"status"`
	Detail   string        `json:"detail,omitempty"` // for people
	Duration time.Duration `json:"duration,omitempty"`
	ExitCode *int          `json:"exit_code,omitempty"` // of a command that ended by itself; nil = none did
	Digest   string        `json:"digest,omitempty"`    // of the full output: "sha256:…"
}

// CheckStatus is the result of a [Check]. Two of its values say nothing about the work,
// and that is not the same as a failure: see [Verdict.Undecided].
type CheckStatus string

const (
	CheckPassed  CheckStatus = "passed"
	CheckFailed  CheckStatus = "failed"  // the work is not as it should be
	CheckWarning CheckStatus = "warning" // worth knowing; decides nothing
	CheckSkipped CheckStatus = "skipped" // not looked at; decides nothing
	CheckUnable  CheckStatus = "unable"  // could not run: says nothing about the work
	CheckTimeout CheckStatus = "timeout" // ran out of time: says nothing about the work
)

// Pass returns a verdict that accepts, without any checks as evidence: for verifiers
// whose word is enough.
func Pass() Verdict { return Verdict{Passed: true} }

// Reject returns a verdict that rejects and tells the agent why. Say what is missing,
// not what to do: the agent has seen more of the work than the verifier.
func Reject(feedback string) Verdict { return Verdict{Feedback: feedback} }
