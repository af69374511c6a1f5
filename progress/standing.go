package progress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// A Standing is an Entry as people and programs ask for it: where a loop stands, with
// what would else have to be computed from its state and from other loops. It is only
// shown: no loop goes on from it. In JSON its fields stand beside those of the entry.
type Standing struct {
	Entry
	Task              string    `json:"task"`                // the task's ID
	Stage             string    `json:"stage,omitempty"`     // the task's agent
	Iteration         int       `json:"iteration"`           // the one it is at, from 1; of a session: over all its loops
	MaxIterations     int       `json:"max_iterations"`      // negative = unlimited
	StartedAt         time.Time `json:"started_at"`          // Entry.Started
	CompletionPromise string    `json:"completion_promise"`  // never ""
	NotBefore         time.Time `json:"not_before,omitzero"` // of one that waits: until when
	// Used is what it has used, a session or a pipeline with all of its loops, and
	// Elapsed the time that counts for [ralph.Limits.Duration].
	Used    ralph.Usage   `json:"used,omitzero"`
	Elapsed time.Duration `json:"elapsed,omitempty"`
	// Left is what a loop whose process has died has left running, see [ralph.Left]; as
	// far as that can be found out.
	Left             []string `json:"left,omitempty"`
	*SessionStanding          // nil = it is no session, and no pipeline
}

// A SessionStanding is what the Standing of a session, or of a pipeline, tells beside
// that, by its entry and its loops. Which tasks of a pipeline are done only its own
// record tells, and none is counted here: package pipeline reads it.
type SessionStanding struct {
	FeatureBranch  string     `json:"feature_branch"` // the session's task
	StartTime      time.Time  `json:"start_time"`
	EndTime        *time.Time `json:"end_time"` // null = it is not over
	IterationsRun  int        `json:"iterations_run"`
	TasksCompleted int        `json:"tasks_completed"`
	TasksRemaining int        `json:"tasks_remaining"` // of Meta["tasks"], the number that were open at the start
}

// Stand returns where a loop, a session or a pipeline stands; for the latter two the
// folder is read, as [Dir.Parts] does. A session whose Meta["unlimited"] is "true", or a
// pipeline, has no number of iterations of its own: MaxIterations is -1.
func (d *Dir) Stand(ctx context.Context, e Entry) Standing {
	if !e.hasParts() {
		return stand(e, nil)
	}
	return stand(e, d.Parts(ctx, e))
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

func partsOf(session Entry, among []Entry) (parts []Entry) {
	for i := range among { // entries are large, and looked through once for each session
		if e := &among[i]; e.Parent != "" && e.Parent == session.Loop && !e.Started.Before(session.Started) {
			parts = append(parts, *e)
		}
	}
	return parts
}

// Standings returns where all stand, in the order in which they began. The error joins
// those of journals that cannot be read.
func (d *Dir) Standings(ctx context.Context) ([]Standing, error) {
	var entries []Entry
	var errs []error
	for e, err := range d.Loops(ctx) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return a.Started.Compare(b.Started) })
	all := make([]Standing, 0, len(entries)) // [] in JSON if there is none
	for _, e := range entries {
		all = append(all, stand(e, entries))
	}
	return all, errors.Join(errs...)
}

func stand(e Entry, among []Entry) Standing {
	s := e.State
	st := Standing{
		Entry: e, Task: s.Task.ID, Stage: s.Task.Agent, Iteration: s.Iteration, MaxIterations: cmp.Or(s.Task.Limits.Iterations, 10),
		Used: s.Usage, Elapsed: s.Elapsed,
		StartedAt: e.Started, CompletionPromise: cmp.Or(s.Task.Promise, ralph.DefaultPromise),
	}
	if e.Status == StatusWaiting {
		st.NotBefore = s.NotBefore()
	}
	if e.Status == StatusInterrupted && s.Running {
		st.Left, _ = ralph.Left(s.Mark) // what cannot be found out is told when it goes on
	}
	if !e.hasParts() {
		return st
	}
	of := &SessionStanding{FeatureBranch: s.Task.ID, StartTime: e.Started}
	if s.Done() {
		of.EndTime = &e.Active
	}
	last := map[string]Entry{} // of each task
	for _, part := range partsOf(e, among) {
		if !isCheck(part.Loop) { // of a box that was ticked before: no agent ran
			of.IterationsRun += part.State.Completed()
		}
		st.took(part)
		if id := part.State.Task.ID; !part.Active.Before(last[id].Active) {
			last[id] = part
		}
	}
	for _, part := range last {
		if part.State.Stop == ralph.StopVerified && e.Kind == KindSession {
			of.TasksCompleted++
		}
	}
	open, _ := strconv.Atoi(e.Meta["tasks"])
	of.TasksRemaining = max(open-of.TasksCompleted, 0)
	st.Iteration, st.SessionStanding = of.IterationsRun, of
	if e.Holder != nil && !s.Done() {
		st.Iteration++
	}
	if e.Kind == KindPipeline || e.Meta["unlimited"] == "true" {
		st.MaxIterations = -1
	}
	return st
}

// took takes over what a session has used by one of its loops: each has what those
// before it have used.
func (st *Standing) took(part Entry) {
	if s := part.State; st.Kind == KindSession && s.Elapsed >= st.Elapsed {
		st.Used, st.Elapsed = s.Usage, s.Elapsed
	}
}

// Spent says for people what was used in money, and how much of the limits of money,
// tokens and time: "≈ $0.37 of $5.0000, 1200 of 5000 tokens, 4m0s of 8h0m0s"; "" = nothing
// is known of the cost, and there are no such limits.
func (st Standing) Spent() string {
	var all []string
	l := st.State.Task.Limits
	switch known := (ralph.Usage{}).Add(st.Used).CostUSD != nil; {
	case l.CostUSD > 0 && known:
		all = append(all, st.Used.Cost()+" of "+ralph.Usage{CostUSD: &l.CostUSD}.Cost())
	case l.CostUSD > 0:
		all = append(all, "an unknown part of "+ralph.Usage{CostUSD: &l.CostUSD}.Cost())
	case known:
		all = append(all, st.Used.Cost())
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
	if st.Kind == KindLoop && (name == usual || strings.HasSuffix(name, "/"+usual)) {
		name = st.Task
	}
	return PrintableLine(name)
}

// Where is the iteration it is at: "iteration 3/15".
func (st Standing) Where() string {
	text := fmt.Sprintf("iteration %d", st.Iteration)
	if st.MaxIterations > 0 {
		text += fmt.Sprintf("/%d", st.MaxIterations)
	}
	if of := st.SessionStanding; of != nil {
		text += fmt.Sprintf(" (%d of %d done)", of.TasksCompleted, of.TasksCompleted+of.TasksRemaining)
	}
	return text
}

// Line says all of it for people, on one line:
//
//	TASK-001 (coder): iteration 3/15, started 5m ago
//
// with when it was last active if it is not running. Times are relative to now, or
// absolute if that is the zero time.
func (st Standing) Line(now time.Time) string {
	text := st.Name()
	if st.Stage != "" {
		text += " (" + PrintableLine(st.Stage) + ")"
	}
	text += ": "
	how := string(st.State.Stop)
	if st.hasParts() {
		how = string(st.Status)
	}
	switch st.Status {
	case StatusRunning, StatusWaiting, StatusPaused:
		text += st.Where() + ", started " + Ago(st.Started, now)
	case StatusInterrupted:
		text += st.Where() + ", last activity " + Ago(st.Active, now)
	default:
		text += how + " at " + st.Where() + ", " + Ago(st.Active, now)
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

// Ago says for people how long before now something was: "5m ago". With the zero time
// as now it is when it was.
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
