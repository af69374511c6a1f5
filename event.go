package ralph

import "time"

// Version is the version of the JSON form of [State] and [Event]. Fields are
// added, never renamed.
const Version = 1

// An Outcome is what is shown of an iteration. Nothing is decided by it.
type Outcome string

const (
	OutcomeSuccess     Outcome = "success"     // ended well: nothing was claimed, or the claim was verified
	OutcomeFailure     Outcome = "failure"     // a fault, or a claim that was rejected
	OutcomeSkipped     Outcome = "skipped"     // given up in favour of another task
	OutcomeInterrupted Outcome = "interrupted" // to be run again: it was interrupted, or waits for a rate limit
)

// A Fault is how a run of the agent ended, if not well. "" = it ended well.
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
type Iteration struct {
	Number  int           `json:"number"`  // of the iteration, from 1
	Attempt int           `json:"attempt"` // at this iteration, from 1
	Start   time.Time     `json:"start,omitzero"`
	End     time.Time     `json:"end,omitzero"`
	Elapsed time.Duration `json:"elapsed,omitempty"` // of running and verifying

	Outcome    Outcome       `json:"outcome,omitempty"`
	Fault      Fault         `json:"fault,omitempty"`
	Error      string        `json:"error,omitempty"`       // of the fault, for people
	RetryAfter time.Duration `json:"retry_after,omitempty"` // of a rate limit; 0 = not said

	Claimed  bool    `json:"claimed,omitempty"`   // the agent made the promise
	Blocked  bool    `json:"blocked,omitempty"`   // the agent made the blocked promise
	Obstacle string  `json:"obstacle,omitempty"`  // its last words before that, at most 1 KiB
	Line     int     `json:"line,omitempty"`      // of the promise in the answer, from 1
	NearMiss string  `json:"near_miss,omitempty"` // why what was there is no promise, see [Promise]
	Verdict  Verdict `json:"verdict,omitzero"`

	Usage     Usage    `json:"usage,omitzero"`
	Model     string   `json:"model,omitempty"`
	Session   string   `json:"session,omitempty"`   // the agent's own session ID
	Files     []string `json:"files,omitempty"`     // changed in this attempt, at most 200
	Learnings []string `json:"learnings,omitempty"` // what the agent says it learned
	Workspace string   `json:"workspace,omitempty"` // digest after the attempt; "" = unknown
	Unseen    string   `json:"unseen,omitempty"`    // why the workspace could not be looked at; "" = it could, or State.Unseen has said it already
	Omitted   int64    `json:"omitted,omitempty"`   // bytes left out of the answer
	Ended     []string `json:"ended,omitempty"`     // command lines of processes that the agent had left running and that were ended, at most 20
}

// An EventKind says what an [Event] records.
type EventKind string

const (
	EventLoopStarted      EventKind = "loop_started"      // State as it starts or goes on; Meta
	EventIterationStarted EventKind = "iteration_started" // Iteration: number, attempt, start; Meta["mark"]: Request.Mark
	EventRunning          EventKind = "running"           // Iteration: usage and elapsed time so far of the attempt that runs
	EventAnswered         EventKind = "answered"          // Answer, and Iteration: the whole attempt before its verdict
	EventIterationEnded   EventKind = "iteration_ended"   // Iteration; of a [Hook]'s loop also State, as for EventHook
	EventWaiting          EventKind = "waiting"           // until State.NotBefore, Text says why; with State, a wait ended early: its Elapsed, Waited and Unwaited
	EventLearned          EventKind = "learned"           // what earlier loops have taught: State.Task.Limits, State.Lessons; Text says what it changed and why
	EventGuided           EventKind = "guided"            // Text, or State.Guidance (and Late) as it stands now
	EventLimitsChanged    EventKind = "limits_changed"    // State.Task.Limits
	EventPaused           EventKind = "paused"
	EventContinued        EventKind = "continued"
	EventReopened         EventKind = "reopened"     // [State.Reopen]
	EventRequested        EventKind = "requested"    // a change that another process asks for: the event it would be, its kind in Meta["kind"]; it changes nothing until the driver takes it over
	EventCancelled        EventKind = "cancelled"    // Text is the reason
	EventHook             EventKind = "hook"         // State as a [Hook] goes on by, with the zero Task if that is as before, and Iteration, the last one; without State the loop has not changed
	EventStep             EventKind = "step"         // Meta and Text: what a driver of many loops records of itself; it changes nothing of a loop
	EventLoopStopped      EventKind = "loop_stopped" // State at the end: the completion record
)

// An Event is one thing that happened in a loop. The events of a loop, folded
// by [State.Apply], give its state.
type Event struct {
	V         int               `json:"v"`
	Kind      EventKind         `json:"kind"`
	Time      time.Time         `json:"time"` // UTC
	Loop      string            `json:"loop,omitempty"`
	Task      string            `json:"task,omitempty"`  // the task's ID
	Agent     string            `json:"agent,omitempty"` // the task's agent
	Iteration Iteration         `json:"iteration,omitzero"`
	State     *State            `json:"state,omitempty"` // not to be changed
	Answer    *Response         `json:"answer,omitempty"`
	Text      string            `json:"text,omitempty"`
	Meta      map[string]string `json:"meta,omitempty"` // what resuming needs: to build runner and verifier, or the mark of an attempt
}
