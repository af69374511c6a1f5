package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ralph-loop/ralph"
)

// Session works a list off, item by item (S0's session): it takes the first that
// is open, has the agent work on it, reads the list again, and goes on until none
// is open. The agent ticks the boxes; a session writes nothing to the list.
//
// Each item is a loop of its own, verified when its box is ticked, promise or not.
// An iteration in which any box was newly ticked counts as a success, but the
// misses of the item that was asked for go on unless it was its own. At the third
// miss in a row, or at once when the agent says that it is blocked, the item is
// skipped. What is a miss is seen in the list, and what is an error in how the run
// ended: nothing is decided by words (S0's "error signals").
//
// The promise is for the whole list. As long as an item is open it is a false
// claim: it is rejected, and the next prompt names what is open (FAILURES 8, 9).
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
	// TASKS_PATH, PROGRESS_PATH, CURRENT_TASK and ITERATION_NUMBER (S0), and what
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
	// Feature is the session's name. "" = that of [Feature].
	Feature string

	// Promise is the agent's claim that the whole list is done; "" =
	// [ralph.DefaultPromise]. Blocked says that it cannot go on with the item;
	// "" = "BLOCKED".
	Promise, Blocked string

	// Limits bound the session as a whole: Iterations over all items (0 = 10;
	// negative = unlimited, which needs another limit), CostUSD, Tokens, Duration
	// and Wait. Time-outs are those of an iteration. Retries, Failures and Stalls
	// do not apply: what they are for, Misses is for.
	Limits ralph.Limits
	// Misses is the number of misses in a row after which an item is skipped. 0 =
	// 3, negative = never.
	Misses int

	// Output, Workspace and Control are those of [ralph.Local].
	Output    func(ralph.Request) (display, raw io.Writer)
	Workspace func(ctx context.Context, dir string) (digest string, files []string, err error)
	Control   func(context.Context, ralph.State) (ralph.State, error)
}

// A Report is what came of a session: S0's fields, and more.
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
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		if err = r.item(ctx, it); err != nil {
			break
		}
	}
	return r.end(ctx, err)
}

// A session is one run of a Session.
type session struct {
	*Session
	report  Report
	before  map[string]bool // keys that were done when it started
	ticked  map[string]bool // keys that were newly done after some iteration
	known   map[string]Item // every item with an ID, as last seen
	items   []Item          // as last read
	skipped map[string]bool
	path    string

	note    string      // for the next item's first prompt; "" = the last answer claimed nothing false
	spent   ralph.State // that of the last loop, which carries on what those before it have used
	current current
}

// A current is what is known of the iteration that runs.
type current struct {
	item  Item
	newly int // boxes ticked in it
}

func (s *Session) start(ctx context.Context) (*session, error) {
	switch {
	case s.Source == nil:
		return nil, errors.New("tasks.Session: there is no Source of tasks")
	case s.Runner == nil:
		return nil, errors.New("tasks.Session: there is no Runner, which is the agent")
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	if err := s.Limits.Validate(); err != nil {
		return nil, err
	}
	r := &session{Session: s, path: s.Path, skipped: map[string]bool{}, before: map[string]bool{}, ticked: map[string]bool{}, known: map[string]Item{}}
	switch src := s.Source.(type) {
	case ListFile:
		r.path = cmp.Or(r.path, src.Path)
	case PRDFile:
		r.path = cmp.Or(r.path, src.Path)
	}
	items, err := s.Source.Items(ctx)
	if err != nil {
		return nil, err
	}
	if open(items) == 0 {
		return nil, fmt.Errorf("there is nothing to do: all tasks%s are done, %d in all", of(r.path), len(items))
	}
	for _, it := range items {
		if it.Done {
			r.before[it.Key] = true
		}
	}
	r.items = items
	r.remember(items)
	r.report = Report{StartTime: now(), Status: SessionRunning, MaxIterations: cmp.Or(s.Limits.Iterations, 10), FeatureBranch: s.Feature}
	if s.Feature == "" {
		r.report.FeatureBranch = Feature(ctx, s.Dir, r.path)
	}
	if err := r.tryPrompt(); err != nil {
		return nil, err
	}
	return r, nil
}

func of(path string) string {
	if path == "" {
		return ""
	}
	return " of " + path
}

func now() time.Time { return time.Now().UTC().Round(0) }

func open(items []Item) int {
	n := 0
	for _, it := range items {
		if !it.Done {
			n++
		}
	}
	return n
}

// next is the first item that is open and was not skipped.
func (r *session) next() (Item, bool) {
	for _, it := range r.items {
		if !it.Done && !r.skipped[it.Key] {
			return it, true
		}
	}
	return Item{}, false
}

// item runs the loop of one item. The error ends the session.
func (r *session) item(ctx context.Context, it Item) error {
	limits, stop := r.limits()
	if stop != nil {
		return stop
	}
	task := ralph.Task{
		ID: it.Key, Title: it.Text, Dir: r.Dir, Acceptance: it.Acceptance, Always: true,
		Promise: r.Promise, Blocked: cmp.Or(r.Blocked, "BLOCKED"), Limits: limits,
	}
	state := r.begin(task)
	if state.Done() {
		return state.Err()
	}
	loop := &ralph.Local{
		Runner: r.Runner, Verifier: ralph.VerifierFunc(r.verify), Log: ralph.ProgressLogFunc(r.record),
		Prompt: r.prompt, Output: r.Output, Workspace: r.Workspace, Control: r.control,
	}
	r.current = current{item: it}
	s, err := loop.Run(ctx, state)
	r.spent, r.report.Usage = s, s.Usage
	if ctx.Err() != nil && err != nil {
		return context.Cause(ctx)
	}
	stopped, ok := errors.AsType[*ralph.StopError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return err
	case stopped.Reason == ralph.StopCancelled:
		if now, _ := find(r.items, it.Key); now.Done { // see control
			return nil
		}
		return err
	case stopped.Reason == ralph.StopBlocked, stopped.Reason == ralph.StopIterations && s.Iteration == r.misses():
		if err := r.reread(ctx); err != nil {
			return err
		}
		if now, ok := find(r.items, it.Key); !ok || !now.Done { // a box outranks what the answer says
			r.skip(it.Key)
		}
		return nil
	case stopped.Reason == ralph.StopIterations:
		_, stop = r.limits()
		return stop
	}
	return err
}

// control ends the wait for another attempt at an item that is done: an attempt
// that the provider's limit ended may have ticked the box, or a person has.
func (r *session) control(ctx context.Context, s ralph.State) (ralph.State, error) {
	if r.Control != nil {
		var err error
		if s, err = r.Control(ctx, s); err != nil {
			return s, err
		}
	}
	if s.Attempt > 1 && !s.Done() && r.reread(ctx) == nil {
		if it, ok := find(r.items, s.Task.ID); ok && it.Done {
			return s.Cancel("the box of " + it.Key + " is ticked"), nil
		}
	}
	return s, nil
}

// skip gives an item up.
func (r *session) skip(key string) {
	r.skipped[key] = true
	r.report.Skipped = append(r.report.Skipped, key)
}

func (r *session) misses() int {
	switch {
	case r.Misses == 0:
		return 3
	case r.Misses < 0:
		return -1
	}
	return r.Misses
}

// record passes an event on, an iteration with the outcome that it has in a
// session, and counts it.
func (r *session) record(ctx context.Context, ev ralph.Event) error {
	switch ev.Kind {
	case ralph.EventIterationStarted:
		r.note = "" // it is in this attempt's prompt
	case ralph.EventIterationEnded:
		r.unverified(ctx, &ev.Iteration)
		ev.Iteration.Outcome = r.outcome(ev.Iteration)
		if settled(ev.Iteration.Fault) {
			r.report.IterationsRun++
		}
		r.current.newly = 0
	}
	if r.Log == nil {
		return nil
	}
	return r.Log.Append(ctx, ev)
}

// unverified looks at the list after an attempt that no verifier looked at. One
// that was interrupted, or ended by the provider's limit, when the box was ticked
// already will not be made again: it is on record as what it is, a success, or
// the log would not tell who did the task. That the list cannot be read is found
// out by those who read it next.
func (r *session) unverified(ctx context.Context, it *ralph.Iteration) {
	if !it.Blocked && settled(it.Fault) || r.look(ctx) != nil {
		return
	}
	if check, _ := r.box(); !settled(it.Fault) && check.Status == ralph.CheckPassed {
		it.Fault, it.Verdict = "", ralph.Verdict{Passed: true, Checks: []ralph.Check{check}}
	}
}

// settled reports whether an iteration that ended so is not run again.
func settled(f ralph.Fault) bool {
	return f != ralph.FaultInterrupted && f != ralph.FaultRateLimit
}

// outcome is what is shown of an iteration (S0).
func (r *session) outcome(it ralph.Iteration) ralph.Outcome {
	now, _ := find(r.items, r.current.item.Key)
	done := it.Verdict.Passed || now.Done
	switch {
	case !settled(it.Fault):
		return it.Outcome
	case !done && (it.Blocked || it.Number == r.misses()):
		return ralph.OutcomeSkipped
	case (done || r.current.newly > 0) && it.Fault == "":
		return ralph.OutcomeSuccess
	}
	return ralph.OutcomeFailure
}

// end makes the report.
func (r *session) end(ctx context.Context, err error) (Report, error) {
	// What the agent ticked before it was stopped counts.
	if last := r.reread(context.WithoutCancel(ctx)); last != nil && err == nil {
		err = last
	}
	p := &r.report
	p.EndTime = now()
	p.TasksCompleted = len(r.ticked)
	left := r.remaining()
	p.TasksRemaining = len(left)
	_, stopped := errors.AsType[*ralph.StopError](err)
	switch {
	case len(left) == 0 && (err == nil || stopped || ctx.Err() != nil):
		p.Status, err = SessionCompleted, nil
	case ctx.Err() != nil && err != nil:
		p.Status, err = SessionInterrupted, context.Cause(ctx)
	default:
		p.Status = SessionFailed
		if err == nil {
			err = &ralph.StopError{Task: p.FeatureBranch, Reason: ralph.StopStalled, Detail: "given up, or no longer in the list: " + listed(left)}
		}
	}
	if err != nil {
		p.Detail = err.Error()
	}
	return *p, err
}
