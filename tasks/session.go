package tasks

import (
	"context"
	"io"
	"time"

	"github.com/ralph-loop/ralph"
)

// Session works a list off, item by item: it takes the first that is open, has
// the agent work on it, reads the list again, and goes on until none is open.
// The agent ticks the boxes; a session writes nothing to the list.
//
// Each item is a loop of its own, verified when its box is ticked, promise or not.
// An iteration in which any box was newly ticked counts as a success, but only
// ticking the current item's box resets its misses. At the third miss in a row,
// or at once when the agent says that it is blocked, the item is skipped. What is
// a miss is seen in the list, and what is an error in how the run ended: nothing
// is decided by words.
//
// The promise is for the whole list. As long as an item is open it is a false
// claim: it is rejected, and the next prompt names what is open.
//
// A Session is configuration, and may be run again; two at the same time would
// work on the same items. After a crash or an interrupt a new Run goes on where
// the list says.
type Session struct {
	// Source is the list: [ListFile], [PRDFile] or your own. It is read again
	// after every iteration.
	Source Source
	// Runner is the agent.
	Runner ralph.Runner
	// Log is told what happens in the loops of the items. Nil = nothing is
	// recorded. progress.Markdown makes progress.txt of it.
	Log ralph.ProgressLog

	// Dir is the workspace. "" = the current directory.
	Dir string
	// Template is the prompt, for [ralph.Template]: FEATURE_NAME, SPEC_PATH,
	// TASKS_PATH, PROGRESS_PATH, CURRENT_TASK and ITERATION_NUMBER, and what
	// is in Values. "" = [DefaultTemplate]. What the agent must know of earlier
	// iterations follows it.
	Template string
	Values   map[string]string
	// Path is the list's path in the prompt. "" = that of a ListFile or PRDFile.
	Path string
	// Progress is the path of progress.txt in the prompt. "" = beside Path.
	Progress string
	// Spec is the path of the specification in the prompt. "" = spec.md beside
	// Path.
	Spec string
	// Feature is the session's name, in the prompt and as Report.FeatureBranch.
	// "" = the git branch that is checked out in Dir, or if there is none the
	// name of the folder that Path is in.
	Feature string

	// Promise is the agent's claim that the whole list is done; "" =
	// [ralph.DefaultPromise]. Blocked says that it cannot go on with the item;
	// "" = "BLOCKED".
	Promise, Blocked string

	// Limits bound the session as a whole: Iterations over all items (0 = 10;
	// negative = unlimited, which needs another limit), CostUSD, Tokens, Duration
	// and Wait. Time-outs are those of an iteration; VerifyTimeout is for reading
	// the list after it. Retries, Failures and Stalls are ignored; Misses replaces
	// them.
	Limits ralph.Limits
	// Misses is the number of misses in a row after which an item is skipped. 0 =
	// 3, negative = never.
	Misses int

	// Output, Workspace and Control are those of [ralph.Local].
	Output    func(ralph.Request) (display, raw io.Writer)
	Workspace func(ctx context.Context, dir string) (digest string, files []string, err error)
	Control   func(context.Context, ralph.State) (ralph.State, error)
}

// A Report is what came of a session.
type Report struct {
	FeatureBranch  string        `json:"feature_branch"`
	StartTime      time.Time     `json:"start_time"`
	EndTime        time.Time     `json:"end_time"`
	Status         SessionStatus `json:"status"`
	MaxIterations  int           `json:"max_iterations"` // negative = unlimited
	IterationsRun  int           `json:"iterations_run"`
	TasksCompleted int           `json:"tasks_completed"` // marked done during the session
	TasksRemaining int           `json:"tasks_remaining"` // open at its end, skipped ones too

	Skipped []string    `json:"skipped,omitempty"` // keys of items that were given up
	Usage   ralph.Usage `json:"usage,omitzero"`
	Detail  string      `json:"detail,omitempty"` // why it ended, for people
}

// A SessionStatus is how a session ended.
type SessionStatus string

const (
	SessionRunning     SessionStatus = "running"
	SessionCompleted   SessionStatus = "completed"   // no item is open
	SessionInterrupted SessionStatus = "interrupted" // the context was done
	SessionFailed      SessionStatus = "failed"      // a limit, or only skipped items are open
)

// Run runs a session until no item is open, which is the only nil error. Else the
// error is a [*ralph.StopError] (a limit; the agent cannot run at all; or, with
// [ralph.StopStalled], only items are open that were skipped or were taken out of
// the list), context.Cause(ctx), or another (the list cannot be read, the log
// failed). It is an error to start on a list without open items. The report is
// exact in each case.
func (s *Session) Run(ctx context.Context) (Report, error) {
	r, err := s.start(ctx)
	if err != nil {
		return Report{}, err
	}
	for it, open := r.next(); open && err == nil; it, open = r.next() {
		err = r.work(ctx, it)
	}
	return r.end(ctx, err)
}
