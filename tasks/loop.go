package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// A loop is that of an item, or a check: a loop in which no agent is run. A check is
// made a loop so that it is recorded, limited and paid for by the same rules, and not
// by a second copy of them.
type loop struct {
	// as on record, which says of an attempt what the session makes of it. The driver's
	// own state differs: it does not know of boxes.
	state  ralph.State
	asking *answer // what is to be verified before anything else is done
	check  bool
	gone   bool // the item is not in the list: its loop is not gone on with
}

// checkSuffix tells a check's name from that of the item's loop. Two loops of one name
// would be one in a log.
const checkSuffix = " (check)"

// errLeft ends an item's loop because the session goes on with something else. It is no
// failure.
var errLeft = errors.New("the session goes on")

// unlimited is more iterations than any item gets. A loop without a number of
// iterations must have another limit, but here the session's own limits hold.
const unlimited = 1 << 30

// work runs the loop of one item. The error ends the session.
//
// A loop that is running goes on although a limit is reached: its attempt has been paid
// for, and what is left is to end and to judge it. With an answer its last attempt was
// broken off, and what that has done is verified: it is taken for one that runs and has
// answered, so that the agent is not started again for what may be done.
func (r *session) work(ctx context.Context, it Item, a *answer) error {
	s := r.state(it)
	if err := r.limits(); err != nil && !s.Running && a == nil {
		return err
	}
	if s.Done() {
		return s.Err()
	}
	if a != nil {
		s.Running, s.Mark, s.Wait, s.Unwaited = true, "", 0, 0
	}
	s, err := r.drive(ctx, it, s, &loop{asking: a})
	return r.settle(ctx, s, err)
}

// drive runs a loop and notes what came of it. All loops of a session go through here,
// whether they begin, go on or only check, so that what they use is counted in one
// place.
func (r *session) drive(ctx context.Context, it Item, s ralph.State, l *loop) (ralph.State, error) {
	r.item, r.seen, r.loop, r.ended = it, seen{}, l, nil
	l.state = s
	if _, there := find(r.items, it.Key); !l.check {
		l.gone = s.Running && !there
		r.report.IterationsRun += IterationsRun(s) - IterationsRun(r.loops[s.Task.ID])
	}
	local := &ralph.Local{
		Runner: r.Runner, Prompt: r.prompt, Verifier: ralph.VerifierFunc(r.verify), Pending: r.answered,
		Log:     ralph.ProgressLogFunc(func(logCtx context.Context, ev ralph.Event) error { return r.log(ctx, logCtx, ev) }),
		Control: r.control, Output: r.Output, Live: r.Live, Workspace: r.Workspace, Evidence: r.Evidence,
	}
	if r.Answered == nil && l.asking == nil {
		local.Pending = nil // no answer is found again
	}
	if r.Learn != nil {
		local.Learn = func(ctx context.Context, s ralph.State) (ralph.Lesson, error) {
			return r.Learn(ctx, s, r.misses(), r.misses())
		}
	}
	// a check changes nothing in the workspace, and to look at it costs time
	if l.check {
		local.Workspace = func(context.Context, string) (string, []string, error) { return "", nil, nil }
	}
	// The driver may leave a loop open that record has closed: an attempt that a limit
	// ended, whose box is ticked.
	s, err := local.Run(ctx, s)
	if s.Running && !l.state.Running { // log has ended what was interrupted
		s = l.state
	}
	if !s.Done() && l.state.Done() { // by what record has made of the attempt
		s = l.state
		if errors.Is(err, errLeft) {
			err = nil
		}
		if told := r.tell(ctx, s); err == nil {
			err = told
		}
	}
	lastCost := r.spent.LastCost
	r.spent, r.report.Usage = s, s.Usage
	if l.check {
		r.spent.LastCost = lastCost // the next attempt will cost more
	} else {
		r.loops[s.Task.ID] = s
	}
	return s, err
}

// answered is the answer of the attempt that is Running: it has been given, and is to
// be verified. For a check it is made up from what ticked the box: the driver then asks
// the Verifier as after any answer, and counts no cost for the agent.
func (r *session) answered(ctx context.Context, s ralph.State) (ev *ralph.Event, err error) {
	if a := r.loop.asking; a != nil {
		text := cmp.Or(a.output, "The box of "+r.item.Key+" is ticked.") // an answer that is blank is a fault
		now := time.Now().UTC().Round(0)
		return &ralph.Event{
			V: ralph.Version, Kind: ralph.EventAnswered, Time: now, Loop: s.Loop, Task: s.Task.ID, Answer: &ralph.Response{Output: text, Omitted: a.omitted},
			Iteration: ralph.Iteration{Number: s.Iteration, Attempt: s.Attempt, Start: now, Usage: ralph.Usage{CostUSD: new(0.0)}},
		}, nil
	}
	if r.Answered != nil {
		ev, err = r.Answered(ctx, s)
	}
	// The process died between the answer and its verdict. What the list shows now is
	// all that is known of what it showed then.
	if err == nil && ev != nil && ev.Answer != nil {
		r.answer = &answer{output: ev.Answer.Output, omitted: ev.Answer.Omitted}
		r.look(ctx)
	}
	return ev, err
}

// log sees what happens in a loop before it is recorded.
//
// The list is read when the agent has answered, and not when it is verified: the log
// then has the answer and what it changed in the order in which it happened, also if
// the process dies in between. Iterations are counted by what the record says and not
// by the driver, so that the report of a resumed session adds up to the same.
func (r *session) log(ctx, logCtx context.Context, ev ralph.Event) error {
	l := r.loop
	if ev.Kind == ralph.EventAnswered && ev.Text != "" && l.asking != nil { // these are no words of the agent's
		ev.Iteration.Outcome, ev.Iteration.Fault, ev.Iteration.Error = ralph.OutcomeInterrupted, ralph.FaultInterrupted, ev.Text
		ev.Iteration.Claimed, ev.Iteration.Line = false, 0
		ev.Kind, ev.Answer, ev.Text = ralph.EventIterationEnded, nil, ""
	}
	switch ev.Kind {
	case ralph.EventIterationStarted:
		r.note = "" // it is in this attempt's prompt
		r.attempts++
	case ralph.EventAnswered:
		r.answer = &answer{output: ev.Answer.Output, omitted: ev.Answer.Omitted}
		r.look(ctx)
	case ralph.EventIterationEnded:
		r.record(&ev.Iteration)
		if l.asking != nil {
			ev.Text, l.asking = "the box was ticked before: verified without an attempt", nil
		}
	}
	// Stalls are counted over all items, since a loop of its own that each item gets
	// would never see more than its misses.
	ran, stalled := IterationsRun(l.state), l.state.Stalled
	l.state = l.state.Apply(ev)
	switch {
	case ev.Kind != ralph.EventIterationEnded || l.check || !settled(ev.Iteration.Fault):
	case l.state.Stalled > stalled && r.seen.newly == 0:
		r.stalled++
	default:
		r.stalled = 0
	}
	r.report.IterationsRun += IterationsRun(l.state) - ran
	if ev.Kind == ralph.EventIterationEnded && l.state.Stop == ralph.StopCancelled && settled(ev.Iteration.Fault) {
		r.report.IterationsRun++ // it came to its end all the same, as the loop was cancelled
	}
	return errors.Join(r.append(logCtx, ev), r.keep()) // settle tells which
}

// append records an event. Without a Log a session works all the same, but cannot be
// resumed.
func (r *session) append(ctx context.Context, ev ralph.Event) error {
	if r.Log == nil {
		return nil
	}
	return r.Log.Append(ctx, ev)
}

// fresh is the state of a loop of the item's that has not begun. It has used what the
// session has used so far, so that the state itself keeps the session to its limits of
// money, tokens and time: an attempt that runs out of them is ended while it runs.
func (r *session) fresh(it Item, limits ralph.Limits) ralph.State {
	task := ralph.Task{
		ID: it.Key, Title: it.Text, Dir: r.Dir, Acceptance: it.Acceptance, Always: true,
		// It is verified whether or not the agent claims anything, since the box is the
		// claim.
		Promise: r.Promise, Blocked: cmp.Or(r.Blocked, "BLOCKED"), Limits: limits, Guarded: r.guarded, Method: r.Method,
	}
	if r.Verifier != nil {
		task.Prompt = it.DescribeIn(r.items) // for those who judge; the agent's prompt is made of the template
	}
	s := ralph.Start(task)
	if r.Name != "" {
		s.Loop = r.Name + "/" + s.Loop
	}
	return r.carry(s)
}

// carry gives a loop what those before it have used; and a pause, which is the
// session's: a person who pauses does not know which item is next.
func (r *session) carry(s ralph.State) ralph.State {
	s.Usage, s.Verifying, s.LastCost, s.Unpriced = r.spent.Usage, r.spent.Verifying, r.spent.LastCost, r.spent.Unpriced
	s.Elapsed, s.Waited, s.Updated = r.spent.Elapsed, r.spent.Waited, r.spent.Updated
	return s.Pause(r.spent.Paused)
}

// state is that from which an item's loop goes on, or begins. An item whose loop is
// over is worked on again if its box was unticked, or it was given up and has changed:
// its iterations count on, so that they have one record, and it gets all of its misses
// again, for it is asked for anew.
func (r *session) state(it Item) ralph.State {
	limits := r.ofItem()
	was, begun := r.loops[it.Key]
	if begun && goesOn(was) {
		// It has the iterations that it was given: with new misses at each restart an
		// item that cannot be done would never be given up.
		if limits.Iterations = was.Task.Limits.Iterations; limits.Iterations < 0 {
			limits.Iterations = unlimited
		}
		if !was.Running { // else it is the last one, and has told what it uses
			was = r.carry(was)
		}
		return was.Limit(limits).Reopen()
	}
	ran := 0
	if begun {
		ran = IterationsRun(was)
	}
	switch m := r.misses(); {
	case m >= 0:
		limits.Iterations = ran + m
	case r.bounds.Iterations >= 0:
		limits.Iterations = unlimited
	}
	s := r.fresh(it, limits)
	s.Iteration, s.Feedback = ran+1, r.firstFeedback(it)
	if ran > 0 {
		s.Base = was.Base
	}
	return s.Limit(limits)
}

// goesOn reports whether a loop is not over for good, but for what settle and takeOver
// make of it. One that a limit of the session ended, or a cancel, goes on when there is
// a new limit; one that is verified, blocked or out of iterations has said all it can.
func goesOn(s ralph.State) bool {
	given := s.Stop == ralph.StopIterations || s.Stop == ralph.StopBlocked
	return !s.Done() || s.NextIteration > 0 && s.Stop != ralph.StopVerified && !given
}

// limits says whether a limit of the session is reached that its loops do not know of.
// Money, tokens and time are carried from loop to loop, and each loop's own rules end
// it there. What is left are sums over loops: of iterations, of stalls, and of answers
// without a cost.
func (r *session) limits() error {
	l := r.bounds
	stop := func(reason ralph.StopReason, detail string) error {
		return &ralph.StopError{Task: r.report.FeatureBranch, Reason: reason, Detail: detail}
	}
	switch used, most := r.report.IterationsRun, r.report.MaxIterations; {
	case r.spent.Blind != "" && l.Priced && l.CostUSD > 0: // it may have been the last answer of its loop
		return stop(ralph.StopCost, "cost_usd is a limit, but "+r.spent.Blind)
	case l.Stalls > 0 && r.stalled >= l.Stalls:
		return stop(ralph.StopStalled, fmt.Sprintf("%d iterations in a row ticked no box and changed no file", r.stalled))
	case most > 0 && used >= most:
		return stop(ralph.StopIterations, fmt.Sprintf("the limit of iterations, %d, is reached, and tasks are open", most))
	case most < 0 && r.spent.Unpriced > 0 && l.CostUSD > 0 && l.Duration <= 0 && l.Tokens <= 0:
		// A loop of few iterations does not need this; all of them together do.
		return stop(ralph.StopCost, "cost_usd is the only limit, and the agent does not say what it costs")
	}
	return nil
}

// ofItem are the session's limits as those of an item's loop, but for the number of
// iterations. Retries and failures are off: each run that does not tick the box is a
// miss, whatever came of it.
func (r *session) ofItem() ralph.Limits {
	l := r.bounds
	l.Retries, l.Failures, l.Stalls, l.Blocked = -1, -1, 0, 0
	return l
}

// misses is Misses with its default; -1 = never.
func (r *session) misses() int { return max(cmp.Or(r.Misses, 3), -1) }

// relimit asks what the session's limits are now. They hold from here on, also for the
// sums so far: who lowers a limit means what was spent too.
func (r *session) relimit(ctx context.Context) error {
	if r.Relimit == nil {
		return nil
	}
	l := r.bounds
	err := plugin.Call("Session.Relimit", func() (err error) { l, err = r.Relimit(ctx, l); return })
	if err == nil {
		err = l.Validate()
	}
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("tasks: limits of the session: %s", strings.TrimPrefix(err.Error(), "ralph: "))
	}
	if l != r.bounds {
		r.spent.Blind = "" // as by State.Limit
	}
	r.bounds, r.report.MaxIterations = l, cmp.Or(l.Iterations, 10)
	return nil
}

// control is asked before each attempt, while the loop waits, and while an attempt
// runs: then it is called on a goroutine of its own, and touches nothing of the
// session. State.Running tells the one from the other.
func (r *session) control(ctx context.Context, s ralph.State) (ralph.State, error) {
	if !s.Running {
		limits := r.bounds
		if r.ended = r.goesOn(ctx, s); r.ended != nil {
			return s, r.ended
		}
		if r.bounds != limits {
			l := r.ofItem()
			l.Iterations = s.Task.Limits.Iterations
			if s = s.Limit(l); s.Done() {
				return s, nil
			}
		}
	}
	if r.Control == nil {
		return s, nil
	}
	return r.Control(ctx, s)
}

// goesOn says why an item's loop does not go on: errLeft, or what ends the session. An
// attempt that the provider's limit ended may have ticked the box, or a person has,
// during hours of waiting: then no other is waited for, or paid for.
func (r *session) goesOn(ctx context.Context, s ralph.State) error {
	if err := r.relimit(ctx); err != nil {
		return err
	}
	if err := r.limits(); err != nil {
		return err
	}
	if r.loop.check || r.loop.gone || len(r.waitsFor(r.item.Key)) > 0 { // it has got parts
		return errLeft
	}
	// The list was read after the attempt before: to read it once more would be to read
	// it twice in each iteration.
	if s.Attempt == 1 {
		return nil
	}
	if items, err := r.read(ctx); err == nil {
		r.take(ctx, items)
	}
	if it, _ := find(r.items, r.item.Key); r.isDone(it) || r.unasked(it) && r.pending[it.Key] == "" {
		return errLeft
	}
	return nil
}
