package ralph

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/term"
)

// A State is where a loop stands. It is a plain value: its methods are pure,
// return a new one and never write through a slice, map or pointer, so states
// may be kept, compared and shared between goroutines. A State without its
// Task stays under 64 KiB as JSON.
type State struct {
	// V is the [Version] of the JSON form. Loop is the loop's name, which [Start] makes of
	// the task's ID and agent: one name is one loop in a log. Task is what is to be done,
	// with the limits as they are by now.
	V    int    `json:"v"`
	Loop string `json:"loop,omitempty"`
	Task Task   `json:"task"`

	// Iteration and Attempt are the numbers of the attempt that runs or is next, or, in
	// a stopped state, of the last one. Both count from 1, Attempt in each iteration
	// anew. NextIteration and NextAttempt are where a loop that has stopped would go
	// on, see [State.Reopen]; 0 = it cannot go on.
	Iteration     int `json:"iteration"`
	Attempt       int `json:"attempt"`
	NextIteration int `json:"next_iteration,omitempty"`
	NextAttempt   int `json:"next_attempt,omitempty"`
	// Base is the commit that the workspace was at when the loop began, as git names
	// it; before the first commit it is git's empty tree. "" = it is not known, or
	// the workspace is in no git work tree. [Local.Prepare] finds it out.
	Base string `json:"base,omitempty"`
	// Prepared says that the verifier has prepared the task, see [Verifier]. It is not
	// asked again: by now the agent may have changed what was to be guarded.
	Prepared bool `json:"prepared,omitempty"`
	// Running says that this attempt has begun and has not ended. In a state
	// folded from a log it says that the process died in it.
	Running bool `json:"running,omitempty"`
	// Mark is the recorded [Request.Mark] of the attempt that is Running, see [EndLeft].
	Mark string `json:"mark,omitempty"`
	// Uncounted says that the loop was cancelled before the end of this attempt
	// was told. If it ran, what it spent still counts, once.
	Uncounted bool `json:"uncounted,omitempty"`

	// Counters for the limits of the same names, and for the waits. Retries counts the
	// retries of this iteration. The others count in a row, and go back to 0 when the
	// row breaks: Failures counts failed iterations, RateLimits rate limits, Stalled
	// iterations that changed nothing, Blocked iterations whose agent said that it is
	// blocked.
	Retries    int `json:"retries,omitempty"`
	Failures   int `json:"failures,omitempty"`
	RateLimits int `json:"rate_limits,omitempty"`
	Stalled    int `json:"stalled,omitempty"`
	Blocked    int `json:"blocked,omitempty"`
	// Repeated is how many claims in a row were rejected with the same words, although
	// the workspace changed in between, or may have. Times, durations and addresses in
	// those words may differ. From the third on the prompt says so.
	Repeated int `json:"repeated,omitempty"`

	// Usage is what the loop has used in all, Verifying the part of it that
	// verifications have used. Its CostUSD is the sum of what is known, and so at least
	// that was spent. While an attempt runs, Usage includes what this attempt has told
	// so far ([EventRunning]), and Settled is what was used before it; nil = the
	// attempt has told nothing.
	Usage     Usage  `json:"usage,omitzero"`
	Settled   *Usage `json:"settled,omitempty"`
	Verifying Usage  `json:"verifying,omitzero"`
	// LastCost is what the last whole iteration cost in USD, with its retries and
	// verifications, as far as known; Spent is what the one that is under way has cost
	// by now. Attempts that were interrupted or rate limited are not in it; Partial is
	// what the last one of these cost, since the last whole iteration. Nil is unknown.
	LastCost *float64 `json:"last_cost,omitempty"`
	Spent    *float64 `json:"spent,omitempty"`
	Partial  *float64 `json:"partial,omitempty"`
	// Unpriced is how many attempts had a cost that is not known, their own or that of
	// their verification. Blind says why that of the last answer is not, where
	// [Limits.Priced] wants it; "" = it is known, or nobody asks.
	Unpriced int    `json:"unpriced,omitempty"`
	Blind    string `json:"blind,omitempty"`

	// Asked is the limit of iterations that held before [State.Finish] has lowered it:
	// somebody has asked the loop to end. It says so to people, and Next does not look at
	// it. Negative = there was none; 0 = nobody has asked, or limits were set since.
	Asked int `json:"asked,omitempty"`

	// Elapsed is the time spent running, verifying and waiting; Waited is how much
	// of it was for rate limits. A wait is counted when it is decided on: of a wait
	// that was interrupted, Unwaited is the rest that was taken back. Ran is how
	// long the attempt that is Running had run when it last told its usage; Elapsed
	// does not include it.
	Elapsed  time.Duration `json:"elapsed,omitempty"`
	Ran      time.Duration `json:"ran,omitempty"`
	Waited   time.Duration `json:"waited,omitempty"`
	Unwaited time.Duration `json:"unwaited,omitempty"`
	// Wait is how long the next attempt has to wait, counted from Updated; in a stopped
	// state it is for the attempt that [State.Reopen] would lead to. Updated is when the
	// last attempt ended, in UTC; the zero time = none has.
	Wait    time.Duration `json:"wait,omitempty"`
	Updated time.Time     `json:"updated,omitzero"`

	// What the next prompt says of the iterations before it, see [State.Continuation]:
	// Feedback is why the last claim was rejected, NearMiss why the last answer's tag was
	// no promise (a Why of [Promise]), Obstacle the agent's words when it was blocked.
	Feedback string `json:"feedback,omitempty"`
	NearMiss string `json:"near_miss,omitempty"`
	Obstacle string `json:"obstacle,omitempty"`
	// Guidance is advice from people, oldest first. The last ones, Late of them, came
	// while the attempt ran, so that its prompt does not hold them: they stay for the
	// next. Lessons are why claims in earlier loops were rejected, for the prompts of the
	// first iteration, see [Lesson].
	Guidance []string `json:"guidance,omitempty"`
	Late     int      `json:"late,omitempty"`
	Lessons  []string `json:"lessons,omitempty"`
	// Ended are the command lines of processes that the agent had left running, for the
	// next prompt, see [Iteration.Ended].
	Ended []string `json:"ended,omitempty"`

	// Workspace is the digest of the workspace after the last iteration; "" = unknown.
	// Unseen says why it could not be looked at when the loop started, or since;
	// "" = it could. Without a look a stall cannot be told.
	Workspace string `json:"workspace,omitempty"`
	Unseen    string `json:"unseen,omitempty"`
	// Paused says that no attempt is to begin, see [State.Pause]. The one that runs is
	// not ended by it.
	Paused bool `json:"paused,omitempty"`

	// With Stop these are the completion record: the last verdict, the line of
	// the promise in the last claim, the files that were changed in all, as far as
	// known (the first of them, 4 KiB). Usage, Elapsed and Task.Guarded belong to
	// it.
	Verdict Verdict  `json:"verdict,omitzero"`
	Line    int      `json:"line,omitempty"`
	Files   []string `json:"files,omitempty"`

	// Stop is why the loop has stopped; "" = it has not. Detail says more of it, for
	// people.
	Stop   StopReason `json:"stop,omitempty"`
	Detail string     `json:"detail,omitempty"`
}

// Start starts nothing: it returns the state of a loop that has not run yet,
// which is then given to [Local.Run] or another driver. The state shares nothing
// with t. If the task is not valid, the state is done, with [StopInvalid].
//
// The loop is named after the task's ID and agent. Without either it has no
// name; its driver gives it one.
func Start(t Task) State {
	s := State{V: Version, Loop: short(t.ID), Task: t.clone(), Iteration: 1, Attempt: 1}
	if t.Agent != "" {
		s.Loop = short(strings.TrimPrefix(t.ID+"."+t.Agent, "."))
	}
	if problems := t.problems(); len(problems) > 0 {
		return s.stop(StopInvalid, strings.ReplaceAll(errors.Join(problems...).Error(), "\n", "; "))
	}
	return s
}

// Done reports whether the loop has stopped.
func (s State) Done() bool { return s.Stop != "" }

// Begun reports whether an attempt has begun. From then on the loop keeps to what was
// agreed when it started: the agent may have changed what would be found now.
func (s State) Begun() bool { return s.Running || s.Iteration > 1 || s.Attempt > 1 }

// Completed is the number of iterations that are over and not run again: for people who
// want to know how far the loop has come. An iteration that was interrupted or waits
// for its retry is not among them.
func (s State) Completed() int {
	switch {
	case s.NextIteration > 0 && s.Stop != StopFailed:
		return s.NextIteration - 1
	case s.Stop == StopVerified || s.Stop == StopFailed:
		return s.Iteration
	}
	return max(s.Iteration-1, 0)
}

// Err returns nil if the loop goes on or its task was verified, else a
// [*StopError].
func (s State) Err() error {
	if s.Stop == "" || s.Stop == StopVerified {
		return nil
	}
	return &StopError{Task: s.Task.ID, Reason: s.Stop, Detail: s.Detail}
}

// Request returns what a [Runner] is asked next; the zero Request if the loop
// has stopped. Its writers and Live are for the driver to set.
func (s State) Request() Request {
	if s.Done() {
		return Request{}
	}
	return Request{
		Loop: s.Loop, Task: s.Task.ID, Agent: s.Task.Agent, Dir: s.Task.Dir,
		Iteration: s.Iteration, Attempt: s.Attempt,
		Prompt:  s.Prompt(),
		Mark:    s.Mark,
		Promise: s.Task.promise(), Blocked: s.Task.Blocked,
	}
}

// Next returns the state after an attempt. The order of its questions is the
// loop's whole policy: is this the expected attempt; was its answer a claim
// that passed; did the agent say it is blocked; was there a fault, is there a
// retry, is the loop stalled; and only then the limits, so that a claim
// verified in the last allowed iteration is a success.
//
// An attempt that was counted already is ignored; one that is ahead of the
// expected attempt stops the loop with [StopInvalid], for the record has a
// hole. A stopped loop stays stopped.
//
// That order is what is easily got wrong. Loops that ask for the limits first throw
// away work that was done in the last iteration; loops that take a fault for the end of
// an answer throw away a claim that was made before it.
func (s State) Next(it Iteration) State {
	order := cmp.Or(cmp.Compare(it.Number, s.Iteration), cmp.Compare(it.Attempt, s.Attempt))
	if s.Done() || order != 0 {
		return s.unexpected(it, order)
	}
	s = s.spend(it).judge(it).left(it)
	switch {
	case passed(s.Task, it):
		return s.whole().stop(StopVerified, "")
	case it.Blocked:
		return s.blocked(it)
	}
	return s.follow(it)
}

// blocked decides what comes after the agent said that it cannot go on: a person is
// called, or it is asked for another way.
func (s State) blocked(it Iteration) State {
	s.Blocked++
	s.Obstacle = bound(it.Obstacle, maxObstacle)
	if reason, detail := s.stuck(); reason != "" {
		return s.whole().stop(reason, detail).before(s.Iteration+1, 1)
	}
	if it.Fault == FaultBudget {
		s.Blocked-- // it is run again, and counts then
		return s.follow(it)
	}
	return s.endIteration(it)
}

// stuck reports whether enough iterations in a row have said that they are blocked.
func (s State) stuck() (StopReason, string) {
	if n := s.Task.Limits.blocked(); n < 0 || s.Blocked < max(n, 1) {
		return "", ""
	}
	detail := "the agent says that it cannot go on"
	if s.Blocked > 1 {
		detail += fmt.Sprintf(", %d times in a row", s.Blocked)
	}
	return StopBlocked, strings.TrimSuffix(detail+": "+term.Line(s.Obstacle), ": ")
}

// unexpected returns the state after an attempt that it does not wait for.
//
// Events may come twice, from a log that was read twice or a queue that delivers at
// least once, so an old one is no error. A gap is: to count on would forget what the
// missing attempt spent.
func (s State) unexpected(it Iteration, order int) State {
	switch {
	case s.Done() && order == 0 && (s.Running || s.Uncounted):
		return s.spend(it) // cancelled in mid-run: what was spent still counts
	case s.Done() || order < 0:
		return s
	}
	return s.stop(StopInvalid, fmt.Sprintf("iteration %d, attempt %d came where iteration %d, attempt %d was expected",
		it.Number, it.Attempt, s.Iteration, s.Attempt))
}

// follow decides what comes after an attempt that ended neither the task nor in a call
// for help. A time-out ends the iteration and is not retried, for the same prompt would
// take as long again; what was done in it stays in the workspace.
func (s State) follow(it Iteration) State {
	switch it.Fault {
	case "", FaultTimeout:
		return s.endIteration(it)
	case FaultInterrupted:
		return s.proceed(s.Iteration, s.Attempt+1)
	case FaultPermanent:
		return s.stop(StopFailed, it.Error).before(s.Iteration, s.Attempt+1)
	case FaultBudget:
		return s.stop(s.midrun()).before(s.Iteration, s.Attempt+1)
	case FaultRateLimit:
		return s.rateLimited(it)
	}
	if s.Retries < s.Task.Limits.retries() { // error, incomplete, empty
		s.Retries++
		return s.wait(s.backoff(retryBase, retryMax, s.Retries)).proceed(s.Iteration, s.Attempt+1)
	}
	return s.endIteration(it)
}

// passed reports whether the iteration is a claim that was verified.
func passed(t Task, it Iteration) bool {
	return it.Verdict.Passed && (it.Claimed || t.Always)
}

// unchanged reports whether it is known that an attempt changed nothing. Unknown is not
// unchanged: without a digest no stall is counted.
func (s State) unchanged(it Iteration) bool {
	return it.Workspace != "" && short(it.Workspace) == s.Workspace && len(it.Files) == 0
}

// endIteration counts an iteration that will not be run again.
//
// A time-out in which files changed is slow progress and no failure. A check that could
// not run is a failure, unless a budget is spent: then it was cut off and says nothing.
func (s State) endIteration(it Iteration) State {
	workspace := short(it.Workspace)
	unchanged := s.unchanged(it)
	if s.Workspace = cmp.Or(workspace, s.Workspace); workspace != "" {
		s.Unseen = ""
	}
	s = s.whole()
	if !it.Blocked {
		s.Blocked, s.Obstacle = 0, ""
	}

	failed := false
	judged := it.Claimed || s.Task.Always
	switch it.Fault {
	case "":
		failed = judged && it.Verdict.Undecided() && s.Over(Usage{}, 0) == "" // else the budget may have cut it off
		if !judged {
			s.Feedback = "" // the prompt that this answer followed quoted it
		}
		s.NearMiss = fit(it.NearMiss, 64)
		s.Guidance = slices.Clone(s.Guidance[len(s.Guidance)-min(max(s.Late, 0), len(s.Guidance)):])
		s.Lessons = nil
	case FaultTimeout:
		failed = unchanged
		s.NearMiss = fit(it.NearMiss, 64)
	default:
		failed = true
	}
	s.Retries = 0
	if failed {
		s.Failures++
	} else {
		s.Failures = 0
	}
	if unchanged {
		s.Stalled++
	} else {
		s.Stalled = 0
	}
	if l := s.Task.Limits.failures(); failed && l >= 0 && s.Failures >= l {
		return s.stop(StopFailed, cmp.Or(it.Error, it.Verdict.Feedback, fmt.Sprintf("%d failed iterations in a row", s.Failures))).before(s.Iteration+1, 1)
	}
	return s.proceed(s.Iteration+1, 1)
}

// proceed makes the attempt the next one, unless a limit is reached. A state that a
// limit stops keeps the numbers of the attempt that ran last, and notes the next one,
// so that [State.Limit] can let it go on there.
func (s State) proceed(iteration, attempt int) State {
	n := s
	n.Iteration, n.Attempt = iteration, attempt
	n.Late = 0 // its prompt will quote all there is
	if reason, detail := n.reached(); reason != "" {
		stopped := s.stop(reason, detail).before(iteration, attempt)
		stopped.Wait = s.Wait
		return stopped
	}
	return n
}

// stop ends the loop. No wait is left: nothing follows that could wait for it.
func (s State) stop(reason StopReason, detail string) State {
	s.Stop, s.Detail = reason, bound(detail, maxDetail)
	s.Wait, s.Unwaited = 0, 0
	return s
}
