package progress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// A Standing is an [Entry] with what people and programs want to know besides, and
// would have to compute from its state and from other loops. It is only shown: no loop
// goes on from it. In JSON its fields stand beside those of the entry.
type Standing struct {
	Entry
	// Task and Stage are the task's ID and its agent.
	Task  string `json:"task"`
	Stage string `json:"stage,omitempty"`
	// Iteration is the one it is at, from 1, of a session over all its loops; MaxIterations
	// the limit of them, negative = unlimited.
	Iteration     int `json:"iteration"`
	MaxIterations int `json:"max_iterations"`
	// StartedAt is Entry.Started, and CompletionPromise the effective promise, never "":
	// both under the keys by which other tools know them.
	StartedAt         time.Time `json:"started_at"`
	CompletionPromise string    `json:"completion_promise"`
	// NotBefore is until when a loop waits; zero = it does not.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Used is what it has used, a session or a pipeline with all of its loops, and
	// Elapsed the time that counts for [ralph.Limits.Duration], in nanoseconds in JSON.
	Used ralph.Usage `json:"used,omitzero"`
	// Unpriced is how many of its attempts have a cost that is not known and not in Used,
	// with those that were interrupted; of a pipeline it is 0.
	Unpriced int           `json:"unpriced,omitempty"`
	Elapsed  time.Duration `json:"elapsed,omitempty"`
	// Left are the command lines of what a process that has died has left running of
	// the loop, see [ralph.Left], as far as that can be found out. They still work in
	// its workspace: [Dir.Cancel], or running the loop again, ends them.
	Left []string `json:"left,omitempty"`
	// What only a session or a pipeline has; nil = it is neither.
	*SessionStanding
}

// A SessionStanding is the part of a [Standing] that only sessions and pipelines have.
// It is made of the entry and of the loops that belong to it. Which tasks of a pipeline
// are done is told by its own record alone, which package pipeline reads; here none of
// them is counted.
type SessionStanding struct {
	FeatureBranch string    `json:"feature_branch"` // the ID of the session's task
	StartTime     time.Time `json:"start_time"`     // Entry.Started
	// EndTime is when it ended; nil, in JSON null, = it is not over.
	EndTime *time.Time `json:"end_time"`
	// IterationsRun is over all its loops, without those of checks in which no agent ran.
	IterationsRun int `json:"iterations_run"`
	// TasksCompleted are those whose last loop was verified, and TasksRemaining those of
	// Meta["tasks"], the number that were open when it began, that are not.
	TasksCompleted int `json:"tasks_completed"`
	TasksRemaining int `json:"tasks_remaining"`
}

// Stand returns where a loop, a session or a pipeline stands. For the latter two all
// journals of the folder are read, as by [Dir.Parts]; [Dir.Standings] returns all of
// them and reads the folder once. A session whose Meta["unlimited"] is "true", or a
// pipeline, has no number of iterations of its own: MaxIterations is -1.
func (d *Dir) Stand(ctx context.Context, e Entry) Standing {
	var parts []Entry
	if e.hasParts() {
		parts = d.Parts(ctx, e)
	}
	st := stand(e, parts)
	st.Left = leftOf(e)
	return st
}

// leftOf are the command lines of what a dead process has left running of a loop.
func leftOf(e Entry) []string {
	if e.Status != StatusInterrupted || !e.State.Running {
		return nil
	}
	left, _ := ralph.Left(e.State.Mark) // what cannot be found out is told when it goes on
	return left
}

// Parts returns the loops of a session, or of a pipeline, that have begun since it did.
// Those whose journals cannot be read are left out; [Dir.Loops] says why they cannot.
func (d *Dir) Parts(ctx context.Context, session Entry) []Entry {
	var all []Entry
	for e, err := range d.Loops(ctx) {
		if err == nil {
			all = append(all, e)
		}
	}
	return partsOf(session, all)
}

// A loop that is older than the session is of an earlier run of the same name.
func partsOf(session Entry, among []Entry) (parts []Entry) {
	for i := range among { // entries are large, and looked through once for each session
		if e := &among[i]; e.Parent != "" && e.Parent == session.Loop && !e.Started.Before(session.Started) {
			parts = append(parts, *e)
		}
	}
	return parts
}

// Standings returns a Standing for each loop, session and pipeline on record, in the
// order in which they began. The error joins the errors of journals that cannot be
// read. The other Standings are returned beside the error, since one broken journal is
// no reason to show nothing.
func (d *Dir) Standings(ctx context.Context) ([]Standing, error) {
	return standings(d.Loops(ctx), true)
}

// standings makes them of entries and errors, and looks for what is left running, if that
// is wanted.
func standings(loops iter.Seq2[Entry, error], left bool) ([]Standing, error) {
	var entries []Entry
	var errs []error
	for e, err := range loops {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return a.Started.Compare(b.Started) })
	all := make([]Standing, 0, len(entries)) // [] in JSON if there is none
	for _, e := range entries {
		st := stand(e, entries)
		if left {
			st.Left = leftOf(e)
		}
		all = append(all, st)
	}
	return all, errors.Join(errs...)
}

// stand makes the standing of an entry, with its loops among those. It counts a task
// once, by its newest loop, since a task that is tried again has several.
func stand(e Entry, among []Entry) Standing {
	s := e.State
	st := Standing{
		Entry: e, Task: s.Task.ID, Stage: s.Task.Agent, Iteration: s.Iteration, MaxIterations: cmp.Or(s.Task.Limits.Iterations, 10),
		Used: s.Usage, Elapsed: s.Elapsed + s.Ran, Unpriced: s.Unpriced + e.Untold,
		StartedAt: e.Started, CompletionPromise: cmp.Or(s.Task.Promise, ralph.DefaultPromise),
	}
	if e.Status == StatusWaiting {
		st.NotBefore = s.NotBefore()
	}
	if !e.hasParts() {
		return st
	}
	of := &SessionStanding{FeatureBranch: s.Task.ID, StartTime: e.Started}
	if s.Done() {
		of.EndTime = &e.Active
	}
	last := map[string]Entry{} // of each task
	untold := 0
	for _, part := range partsOf(e, among) {
		if !isCheck(part.Loop) { // of a box that was ticked before: no agent ran
			of.IterationsRun += part.State.Completed()
		}
		st.took(part)
		untold += part.Untold
		if id := part.State.Task.ID; !part.Active.Before(last[id].Active) {
			last[id] = part
		}
	}
	for _, part := range last {
		if part.State.Stop == ralph.StopVerified && e.Kind == KindSession {
			of.TasksCompleted++
		}
	}
	if e.Kind == KindSession {
		st.Unpriced += untold
	}
	open, _ := strconv.Atoi(e.Meta["tasks"])
	of.TasksRemaining = max(open-of.TasksCompleted, 0)
	st.Iteration, st.SessionStanding = of.IterationsRun, of
	// The iteration that is under way has not been completed by any loop yet.
	if e.Holder != nil && !s.Done() {
		st.Iteration++
	}
	if e.Kind == KindPipeline || e.Meta["unlimited"] == "true" {
		st.MaxIterations = -1
	}
	return st
}

// took takes over what a session has used by one of its loops: each has what those
// before it have used. So the one with the most has all of it; a sum would count the
// first loop once for each that came after.
func (st *Standing) took(part Entry) {
	if s := part.State; st.Kind == KindSession && s.Elapsed+s.Ran >= st.Elapsed {
		st.Used, st.Elapsed, st.Unpriced = s.Usage, s.Elapsed+s.Ran, s.Unpriced
	}
}

// Spent says for people what was used in money, and how much of the limits of money,
// tokens and time: "≈ $0.37 of $5.0000, 1200 of 5000 tokens, 4m0s of 8h0m0s"; "" =
// nothing is known of the cost, and there are no such limits. An unknown part is said
// to be unknown: to leave it out would look like nothing.
func (st Standing) Spent() string {
	var all []string
	l := st.State.Task.Limits
	switch known := (ralph.Usage{}).Add(st.Used).CostUSD != nil; {
	case l.CostUSD > 0 && known:
		all = append(all, st.Used.Cost()+" of "+ralph.Usage{CostUSD: &l.CostUSD}.Cost()+costless(st.Unpriced))
	case l.CostUSD > 0:
		all = append(all, "an unknown part of "+ralph.Usage{CostUSD: &l.CostUSD}.Cost())
	case known:
		all = append(all, st.Used.Cost()+costless(st.Unpriced))
	}
	switch n := max(st.Used.InputTokens, 0) + max(st.Used.OutputTokens, 0); {
	case l.Tokens > 0 && n > 0:
		all = append(all, fmt.Sprintf("%d of %d tokens", n, l.Tokens))
	case l.Tokens > 0: // none were told
		all = append(all, fmt.Sprintf("an unknown part of %d tokens", l.Tokens))
	}
	if l.Duration > 0 {
		all = append(all, fmt.Sprintf("%v of %v", st.Elapsed.Round(time.Second), l.Duration))
	}
	return strings.Join(all, ", ")
}

// Name is what people call it: a loop that is named after its task and agent, like
// TASK-001.coder, also in a session, by its task; else its name.
func (st Standing) Name() string {
	name, usual := st.Loop, ralph.Start(st.State.Task).Loop
	// The loop's name is made of both, so the task alone says as much, and the agent
	// stands beside it.
	if st.Kind == KindLoop && (name == usual || strings.HasSuffix(name, "/"+usual)) {
		name = st.Task
	}
	return PrintableLine(name)
}

// Where is the iteration it is at: "iteration 3/15". Of a session or a pipeline it also
// says how many tasks are done.
func (st Standing) Where() string {
	text := fmt.Sprintf("iteration %d", st.Iteration)
	// That somebody has asked it to stop has lowered the limit, and is not what was allowed.
	if most := cmp.Or(st.State.Asked, st.MaxIterations); st.MaxIterations > 0 && most > 0 {
		text += fmt.Sprintf("/%d", most)
	}
	if of := st.SessionStanding; of != nil {
		text += fmt.Sprintf(" (%d of %d done)", of.TasksCompleted, of.TasksCompleted+of.TasksRemaining)
	}
	return text
}

// Came says in a word or two for people how it has ended: "verified", "limit of time",
// "stopped on request"; "" = it has not. The words may change.
//
// Of a session that was stopped by a limit, or stalled, "failed" would say less, and
// something else than its closing lines.
func (st Standing) Came() string {
	switch stop := st.State.Stop; {
	case st.hasParts() && st.Status != StatusFailed:
		return string(st.Status)
	case stop == ralph.StopIterations && st.State.Asked != 0:
		return "stopped on request"
	case stop == ralph.StopDuration:
		return "limit of time"
	case slices.Contains([]ralph.StopReason{ralph.StopIterations, ralph.StopCost, ralph.StopTokens}, stop):
		return "limit of " + string(stop)
	default:
		return strings.ReplaceAll(string(stop), "_", " ")
	}
}

// Line says all of it for people, on one line:
//
//	TASK-001 (coder): iteration 3/15, started 5m ago
//
// with when it was last active if it is not running. Times are relative to now, or
// absolute if that is the zero time.
//
// The words may change; programs read the fields. What comes from tasks and agents is
// printable and stays on the line.
func (st Standing) Line(now time.Time) string {
	text := st.Name()
	if st.Stage != "" {
		text += " (" + PrintableLine(st.Stage) + ")"
	}
	text += ": "
	switch st.Status {
	case StatusRunning, StatusWaiting, StatusPaused:
		text += st.Where() + ", started " + Ago(st.Started, now)
	case StatusInterrupted:
		text += st.Where() + ", last activity " + Ago(st.Active, now)
	default:
		text += st.Came() + " at " + st.Where() + ", " + Ago(st.Active, now)
	}
	text += strings.TrimSuffix(", spent "+st.Spent(), ", spent ")
	switch st.Status {
	case StatusWaiting:
		text += ", waiting until " + st.NotBefore.Local().Format(time.TimeOnly)
	case StatusPaused:
		text += ", paused"
	}
	if st.Status == StatusPaused || st.Status == StatusRunning && st.Kind == KindHook {
		text += ", last activity " + Ago(st.Active, now)
	}
	if !st.State.Done() && st.Kind == KindHook && st.Holder == nil {
		text += ", no process stays with it" // a host may have none
	}
	return text
}

// Ago says for people how long before now something was: "5m ago". If now is the zero
// time, it returns the time t itself instead, in RFC 3339. A time after now, as the
// clock of another machine may give it, is "0s ago".
func Ago(t, now time.Time) string {
	if now.IsZero() {
		return t.Format(time.RFC3339Nano)
	}
	d := max(now.Sub(t), 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}
