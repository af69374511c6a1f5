package tasks

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/term"
)

// Session works a list off, item by item: it takes the first that is open and waits for
// no other, see [InOrder], has the agent work on it, reads the list again, and goes on
// until none is open. The agent ticks the boxes; a session writes nothing to the list,
// since two writers of one file overwrite each other.
//
// An item that has parts comes when they are done, and its prompt lists them. An item
// that the agent gives parts while it works on it is left until they are done. An item
// that was given up, or taken out of the list, is not done, and what waits for it is
// not worked on: a list cannot be finished by making it shorter.
//
// An item is known by its ID. One without an ID is known by its text; if an attempt
// removes it and adds another without an ID, that is taken for the same item under a
// new text.
//
// Each item is a loop of its own, done when its box is ticked, whether the agent
// printed the promise or not, and the Verifier, if there is one, agrees. An iteration
// after which the current item is not done is a miss, also if the agent ticked other
// boxes. Without a Verifier an iteration in which any box was newly ticked is shown as
// a success, but only ticking the current item's box resets its misses. At the third
// miss in a row, or at once when the agent says that it is blocked, the item is
// skipped. Whether an iteration is a miss is read from the list, and whether it failed
// from how the run ended; nothing is decided by what the agent's text says.
//
// The promise is for the whole list. As long as an item is open it is a false claim: it
// is rejected, and the next prompt names what is open.
//
// A Session is configuration: Run does not change it, and it may be run again. Two runs
// at the same time would work on the same items; nothing here prevents that, a lock is
// the caller's. After a crash or an interrupt a new Run goes on where the list and
// Pending say; with Begun it is the same session that goes on, with what it had used so
// far.
type Session struct {
	// Source is the list: a [ListFile], [PRDFile], [TaskmasterFile], [Backlog] or your
	// own. It is read again after every iteration. Methods that it may have beside
	// Items are in the comment of [Source].
	Source Source
	// Runner is the agent. It is called for one item at a time; ralph.Request.Task is
	// the item's key.
	Runner ralph.Runner
	// Log is told what happens in the loops of the items, in the order in which it
	// happens. An error ends the session: what is not on record cannot be resumed. nil
	// = nothing is recorded. progress.Markdown makes progress.txt of it.
	Log ralph.ProgressLog

	// Dir is the workspace, in which the agent and the Verifier work. "" = the current
	// directory.
	Dir string
	// Template is the prompt, for [ralph.Template]: FEATURE_NAME, DOCUMENTS, SPEC_PATH,
	// TASKS_PATH, PROGRESS_PATH, CURRENT_TASK, HOW_DONE and ITERATION_NUMBER, and what
	// is in Values, which go before these. A name that is neither is an error before
	// anything is run. "" = [DefaultTemplate]. What the agent must know of earlier
	// iterations follows it.
	Template string
	// Values may be used in Template beside the names above, and replace those of the
	// same name.
	Values map[string]string
	// Path is the list's path in the prompt. "" = what the source's method Filename
	// says, or for a folder of tasks the one that they are in; if there is neither, the
	// prompt speaks of "the list of tasks".
	Path string
	// Progress is the path of progress.txt in the prompt. "" = beside Path. It is only
	// named: what writes that file is the Log.
	Progress string
	// Spec is the path of the specification in the prompt. "" = spec.md beside
	// Path, or if only other Documents are there the first of them.
	Spec string
	// Documents are the paths of what describes the feature, in the prompt, behind Spec.
	// nil = what [Documents] finds beside Path.
	Documents []string
	// Feature is the session's name, in the prompt and as Report.FeatureBranch.
	// "" = the git branch that is checked out in Dir, or if there is none the
	// name of the folder that Path is in.
	Feature string

	// Promise is the agent's claim that the whole list is done; "" =
	// [ralph.DefaultPromise]. Blocked says that it cannot go on with the item;
	// "" = "BLOCKED".
	Promise, Blocked string

	// Limits bound the session as a whole: Iterations over all items (0 = 10; negative
	// = unlimited, which needs another limit), CostUSD in US dollars, Tokens, Duration
	// and Wait, and Stalls in a row whichever items they are of. IterationTimeout and
	// VerifyTimeout are those of one iteration; VerifyTimeout (0 = 5 minutes, negative
	// = none) is for reading the list after it, and for the Verifier. Retries, Failures
	// and Blocked are ignored; Misses replaces them: whatever a run came to, what
	// counts is whether the item is done after it.
	Limits ralph.Limits
	// Misses is the number of misses in a row after which an item is skipped. 0 = 3,
	// negative = never: then one task that the agent cannot do uses up the whole
	// budget.
	Misses int

	// Verifier says whether an item whose box is ticked is done. It is asked about the
	// item that is worked on after each attempt that leaves its box ticked, and about
	// any other whose box is ticked when its turn comes, before the agent is run for
	// it. If it rejects, nothing is unticked, but the item is not done, and the agent
	// is told why; after an attempt at the item that is a miss. The claim's Task is the
	// item, and its Promised is true: to tick a box is to say that the task is done. If
	// the verifier cannot tell, the session ends rather than give the item up, since an
	// agent cannot mend a check that does not run.
	//
	// nil = a box that is ticked is enough, see Report.Unverified.
	Verifier ralph.Verifier
	// HowVerified tells the agent how an item is verified whose box is ticked: "the
	// command `go test ./...` must succeed". "" = it is not told.
	HowVerified string
	// Method is the [ralph.Task.Method] of the items' loops.
	Method string
	// Learn says what the loop of an item that begins learns from earlier ones, see
	// [ralph.Local.Learn]; progress.Dir.Learn is such a function. Both usual and most
	// are Misses: how many iterations an item has as a rule, and how many it may have
	// at most. nil = nothing.
	Learn func(ctx context.Context, s ralph.State, usual, most int) (ralph.Lesson, error)
	// Pending are the items that are not verified, as an earlier run handed them to
	// Keep: by key, why they were rejected, "" = nobody was asked. Their ticked boxes
	// prove nothing, so the Verifier is asked about them first. One that was rejected
	// remains when it is no longer in the list. Without a Verifier nobody could accept
	// those that were rejected: they stay open, and are not worked on until they are
	// unticked. Boxes that are ticked at the start and not pending are done: a session
	// does not check what was there before it.
	Pending map[string]string
	// Keep is told which items are pending now: before the first attempt, and when that
	// has changed. The map is a copy, which Keep may hold on to. It must store them
	// where the agent cannot write, for the Pending of the next run, so that a box
	// which was ticked before a crash is not taken for done after it;
	// [PendingFile.Keep] does. An error ends the session. It is not called
	// concurrently. nil = not kept.
	Keep func(pending map[string]string) error

	// Name is what the loops of the items are named after: Name, a slash, and the
	// item's key. "" = the key alone. Where an item is verified before the agent is run
	// for it, that is a loop of its own, whose name ends in " (check)".
	Name string
	// Begun are the loops of this session's earlier runs, those of checks too, as on
	// record. Their keys may be any names, such as the loops' own: the item that one is
	// of is its State.Task.ID. With them the session goes on as if it had not been
	// interrupted: what was used and run counts for its limits and its Report, items
	// that were given up stay so, an item has the misses left that it had, and what
	// must stay as it was when the session began is still compared with that.
	//
	// A loop that is Running goes on before all else: what is left of its attempt is
	// ended, and its answer verified if Answered has it. Loops of items that are done
	// or are no longer in the list only count. But an item whose loop was broken off in
	// the middle of an attempt, and which is gone from the list since, remains open;
	// unless it has no ID, and there is an item in the list that it may have become.
	// nil = the session begins.
	Begun map[string]ralph.State
	// Since is when the first run of the session began, and DoneBefore are the keys of
	// the items that were done then, for a session that goes on. The zero Since = it
	// begins with this run. Where DoneBefore is nil and there are Begun, an item that
	// is done now and has no loop is taken for done before.
	Since      time.Time
	DoneBefore []string
	// Answered is the [ralph.Local.Pending] of the items' loops. nil = none.
	Answered func(context.Context, ralph.State) (*ralph.Event, error)
	// Relimit is asked what the limits of the session are from now on, before each
	// attempt and before each verification that follows no attempt. It is told what
	// they were, so that a person can raise or lower them while the session runs. If
	// the new ones are reached, the session ends, and the loop of the item stays where
	// it was. An error, or limits that are not valid, end it too. It is not called
	// concurrently. nil = Limits.
	Relimit func(context.Context, ralph.Limits) (ralph.Limits, error)

	// Output, Live, Workspace, Control and Evidence are those of [ralph.Local]. What Control
	// cancels ends the session, and not the item alone. While an attempt runs, Control
	// is called on another goroutine.
	Output    func(ralph.Request) (display, raw io.Writer)
	Live      func(ralph.Request, ralph.Usage)
	Workspace func(ctx context.Context, dir string) (digest string, files []string, err error)
	Control   func(context.Context, ralph.State) (ralph.State, error)
	Evidence  string
}

// A Report is what came of a session. It is written as JSON as it is: times are UTC,
// keys of items are those of [Item.Key]. The zero Report is that of a session that did
// not begin.
type Report struct {
	// FeatureBranch is the session's name, see [Session.Feature].
	FeatureBranch string        `json:"feature_branch"`
	StartTime     time.Time     `json:"start_time"`
	EndTime       time.Time     `json:"end_time"`
	Status        SessionStatus `json:"status"`
	// MaxIterations is the limit at the end of the session; negative = unlimited.
	MaxIterations int `json:"max_iterations"`
	// IterationsRun counts the attempts that came to their end, of all runs of the
	// session, see [IterationsRun].
	IterationsRun int `json:"iterations_run"`
	// TasksCompleted are the items that were done during the session: verified, or
	// ticked where there is no Verifier. What was done before it is not among them.
	TasksCompleted int `json:"tasks_completed"`
	// TasksRemaining are the items that are open at its end, also those that were
	// skipped, rejected or taken out of the list.
	TasksRemaining int `json:"tasks_remaining"`

	// Skipped are the keys of the items that were given up, in that order.
	Skipped []string `json:"skipped,omitempty"`
	// Waiting are keys of items that are open because they wait for others which were
	// given up, or are rejected, or wait so themselves: an item for its parts, and for
	// what it comes after.
	Waiting []string `json:"waiting,omitempty"`
	// Unverified are keys of items whose boxes were ticked in the session, or are
	// pending, and about which nobody was asked, or nobody could tell. Without a
	// Verifier they count as completed all the same; with one they remain.
	Unverified []string `json:"unverified,omitempty"`
	// Rejected are keys of items whose boxes are ticked and which the Verifier, of this
	// run or an earlier one, rejects; Pending says why. They remain.
	Rejected []string `json:"rejected,omitempty"`
	// Pending is what Keep was told last, for Session.Pending.
	Pending map[string]string `json:"pending,omitempty"`

	// Usage is what the agent and the Verifier have used, of all runs of the session.
	Usage ralph.Usage `json:"usage,omitzero"`
	// Elapsed is how long they have worked and waited, of all runs of the session, as
	// [ralph.State.Elapsed]: the time between two runs does not count. Unpriced counts the
	// attempts whose cost nobody has told.
	Elapsed  time.Duration `json:"elapsed,omitzero"`
	Unpriced int           `json:"unpriced,omitzero"`
	// Detail says why the session ended, for people: it is the text of the error.
	Detail string `json:"detail,omitempty"`
}

// Left names the items that a person may have to look at, and why, in one line that a
// terminal may show: "skipped: T002; ticked by the agent, not verified: T003". "" = there
// are none.
func (r Report) Left() string {
	var all []string
	for _, kind := range []struct {
		what string
		keys []string
	}{{"skipped", r.Skipped}, {"waiting", r.Waiting}, {"rejected", r.Rejected}, {"ticked by the agent, not verified", r.Unverified}} {
		if len(kind.keys) > 0 {
			all = append(all, kind.what+": "+term.Cut(term.Line(strings.Join(kind.keys, ", ")), 300))
		}
	}
	return strings.Join(all, "; ")
}

// A SessionStatus is how a session ended. Programs may switch on it; why it ended is in
// [Report.Detail], which is for people.
type SessionStatus string

const (
	// The session has not ended. Run never returns it; it is for those who show a
	// session while it runs.
	SessionRunning SessionStatus = "running"
	// No item is open.
	SessionCompleted SessionStatus = "completed"
	// The context was done before the last item was.
	SessionInterrupted SessionStatus = "interrupted"
	// A limit is reached, or all items that are open were skipped or wait for such, or
	// there was an error.
	SessionFailed SessionStatus = "failed"
)

// Run runs a session until no item is open, which is the only nil error. Else the error
// is a [*ralph.StopError] (a limit; the agent cannot run at all; or, with
// [ralph.StopStalled], only items are open that were skipped, wait for such, or were
// taken out of the list), context.Cause(ctx), or another (the list cannot be read, the
// log failed).
//
// It is an error to start on a list without open items, or with a Verifier or Runner
// that says that it cannot work on the first of them: then nothing is run, nothing is
// recorded, and the report is the zero value. Else the report is exact, whatever the
// error.
//
// Run blocks until the session has ended. When ctx is done, the attempt that runs is
// ended, and what the list shows then is still read and reported.
func (s *Session) Run(ctx context.Context) (Report, error) {
	r, err := s.start(ctx)
	if err != nil {
		return Report{}, err
	}
	err = r.resume(ctx)
	for it, open := r.next(); open && err == nil; it, open = r.next() {
		switch err = r.relimit(ctx); {
		case err != nil:
		case r.unasked(it):
			err = r.ask(ctx, it)
		default:
			err = r.work(ctx, it, nil)
		}
	}
	return r.end(ctx, err)
}
