package ralph

import "time"

// Version is the version of the JSON form of [State] and [Event]. Fields are
// added, never renamed.
const Version = 1

// An Outcome is what is shown of an iteration, in logs and on terminals. Nothing is
// decided by it: a program reads [Iteration.Fault], [Iteration.Claimed] and
// [Iteration.Verdict].
type Outcome string

const (
	OutcomeSuccess     Outcome = "success"     // ended well: nothing was claimed, or the claim was verified
	OutcomeFailure     Outcome = "failure"     // a fault, or a claim that was rejected
	OutcomeSkipped     Outcome = "skipped"     // given up in favour of another task
	OutcomeInterrupted Outcome = "interrupted" // to be run again: it was interrupted, or waits for a rate limit
)

// A Fault is how a run of the agent ended, if not well. "" = it ended well.
//
// What is retried is run again as another attempt of the same iteration, at most
// [Limits.Retries] times.
type Fault string

const (
	FaultError       Fault = "error"       // the run broke; retried
	FaultIncomplete  Fault = "incomplete"  // its stream has no end event; retried
	FaultEmpty       Fault = "empty"       // it said nothing; retried
	FaultPermanent   Fault = "permanent"   // retrying cannot help; the loop stops
	FaultRateLimit   Fault = "rate_limit"  // the provider said so; the loop waits
	FaultTimeout     Fault = "timeout"     // iteration or idle time-out; not retried
	FaultBudget      Fault = "budget"      // stopped in mid-run by [State.Over]
	FaultInterrupted Fault = "interrupted" // the context was done, or the process died
)

// A StopReason is why a loop stopped. "" = it has not.
//
// Verified is the only success. After blocked, stalled and failed a person has to look
// before [State.Reopen]; after a limit it is enough to raise it; cancelled and invalid
// are final.
type StopReason string

const (
	StopVerified    StopReason = "verified"     // the task is done
	StopBlocked     StopReason = "blocked"      // the agent made the blocked promise
	StopIterations  StopReason = "iterations"   // Limits.Iterations
	StopDuration    StopReason = "duration"     // Limits.Duration
	StopCost        StopReason = "cost"         // Limits.CostUSD
	StopTokens      StopReason = "tokens"       // Limits.Tokens
	StopFailed      StopReason = "failed"       // Limits.Failures, or a permanent fault
	StopStalled     StopReason = "stalled"      // Limits.Stalls
	StopRateLimited StopReason = "rate_limited" // Limits.Wait
	StopCancelled   StopReason = "cancelled"    // [State.Cancel]
	StopInvalid     StopReason = "invalid"      // the task, or an iteration, makes no sense
)

// An Iteration is what happened in one attempt at an iteration, which is not
// always a whole one: an iteration that is retried gives several.
//
// [State.Next] learns nothing else of an attempt: a program that fills in Iterations,
// and feeds them to it, is a driver. What the agent said is not in it, but only what
// was found in the agent's answer.
type Iteration struct {
	Number  int           `json:"number"`  // of the iteration, from 1
	Attempt int           `json:"attempt"` // at this iteration, from 1
	Start   time.Time     `json:"start,omitzero"`
	End     time.Time     `json:"end,omitzero"`
	Elapsed time.Duration `json:"elapsed,omitempty"` // of running and verifying

	// Fault is how the run of the agent ended, "" = well; Error is its text for people.
	// RetryAfter is how long a rate limit lasts; 0 = the provider did not say.
	Outcome    Outcome       `json:"outcome,omitempty"`
	Fault      Fault         `json:"fault,omitempty"`
	Error      string        `json:"error,omitempty"`
	RetryAfter time.Duration `json:"retry_after,omitempty"`

	// Claimed says that the agent made the promise, Blocked that it made the blocked one;
	// never both. Obstacle is what it said last before that, at most 1 KiB. Line is where
	// the promise stands in the answer, from 1. NearMiss is why what was there is no
	// promise, a Why of [Promise]; "" = there was one, or nothing like it. Verdict is what
	// the verifier found; the zero Verdict if nothing was verified.
	Claimed  bool    `json:"claimed,omitempty"`
	Blocked  bool    `json:"blocked,omitempty"`
	Obstacle string  `json:"obstacle,omitempty"`
	Line     int     `json:"line,omitempty"`
	NearMiss string  `json:"near_miss,omitempty"`
	Verdict  Verdict `json:"verdict,omitzero"`

	// Usage is what the agent has used; what the verification has is in Verdict.
	Usage   Usage  `json:"usage,omitzero"`
	Model   string `json:"model,omitempty"`   // see [Response]
	Session string `json:"session,omitempty"` // see [Response]
	// Files are those that changed in this attempt, by what the workspace shows and by
	// what the agent says, at most 200.
	Files     []string `json:"files,omitempty"`
	Learnings []string `json:"learnings,omitempty"` // see [Response]
	// Workspace is the digest of the workspace after the attempt; "" = unknown. Unseen is
	// why it could not be looked at; "" = it could, or [State.Unseen] has said so already.
	Workspace string `json:"workspace,omitempty"`
	Unseen    string `json:"unseen,omitempty"`
	Omitted   int64  `json:"omitted,omitempty"` // see [Response], in bytes
	// Ended are the command lines of processes that the agent had left running and that
	// were ended, at most 20. The next prompt tells the agent, which may wonder where its
	// server has gone.
	Ended []string `json:"ended,omitempty"`
}

// An EventKind says what an [Event] records. The fields that an event has depend on its
// kind; the others are zero. Every event says of which loop it is, and when it was.
type EventKind string

const (
	// EventLoopStarted has the State by which the loop starts or goes on, and Meta.
	EventLoopStarted EventKind = "loop_started"
	// EventIterationStarted has the Iteration's Number, Attempt and Start, and in
	// Meta["mark"] its [Request.Mark]. Without an end that follows, the process died.
	EventIterationStarted EventKind = "iteration_started"
	// EventRunning has in Iteration the usage and the elapsed time so far of the attempt
	// that runs: what is known of it if no end follows.
	EventRunning EventKind = "running"
	// EventAnswered has the Answer, and the Iteration as it is before its verdict. With a
	// Text it comes again: the verification was interrupted, and Text says by what; its
	// time is in Elapsed.
	EventAnswered EventKind = "answered"
	// EventIterationEnded has the whole Iteration; of a [Hook]'s loop also State, as for
	// EventHook.
	EventIterationEnded EventKind = "iteration_ended"
	// EventWaiting says that the loop waits until State.NotBefore, and Text why. With a
	// State it says that a wait has ended early: its Elapsed, Waited and Unwaited hold.
	EventWaiting EventKind = "waiting"
	// EventLearned has what was learned from earlier loops: State.Task.Limits and
	// State.Lessons. Text says what that changes, and why.
	EventLearned EventKind = "learned"
	// EventGuided has advice in Text, or all of it as it is now in State.Guidance and Late.
	EventGuided EventKind = "guided"
	// EventLimitsChanged has the new limits, all of them, in State.Task.Limits, and
	// State.Asked if they are to end the loop.
	EventLimitsChanged EventKind = "limits_changed"
	EventPaused        EventKind = "paused"    // see [State.Pause]
	EventContinued     EventKind = "continued" // see [State.Pause]
	EventReopened      EventKind = "reopened"  // see [State.Reopen]
	// EventRequested is a change that another process asks for: the event it would be, with
	// its kind in Meta["kind"]. It changes nothing until the driver takes it over, for two
	// processes that change one state would lose each other's changes.
	EventRequested EventKind = "requested"
	// EventCancelled has the reason in Text. It is final.
	EventCancelled EventKind = "cancelled"
	// EventHook has the State by which a [Hook] goes on, with the zero Task if that is as
	// before, and the last Iteration. Without a State the loop has not changed.
	EventHook EventKind = "hook"
	// EventStep is what a driver of many loops records of itself, in Meta and Text. It
	// changes nothing of a loop.
	EventStep EventKind = "step"
	// EventLoopStopped has the State at the end: the completion record.
	EventLoopStopped EventKind = "loop_stopped"
)

// An Event is one thing that happened in a loop. The events of a loop, folded
// by [State.Apply], give its state.
//
// It is a plain value that JSON keeps: what reads a log needs no Go, and kinds that a
// reader does not know are to be passed over, for later versions add some.
type Event struct {
	V         int       `json:"v"`
	Kind      EventKind `json:"kind"`
	Time      time.Time `json:"time"` // UTC
	Loop      string    `json:"loop,omitempty"`
	Task      string    `json:"task,omitempty"`  // the task's ID
	Agent     string    `json:"agent,omitempty"` // the task's agent
	Iteration Iteration `json:"iteration,omitzero"`
	// State is shared by all who get the event, and not to be changed. Nil = none.
	State  *State            `json:"state,omitempty"`
	Answer *Response         `json:"answer,omitempty"`
	Text   string            `json:"text,omitempty"`
	Meta   map[string]string `json:"meta,omitempty"` // what resuming needs: to build runner and verifier, or the mark of an attempt
}
