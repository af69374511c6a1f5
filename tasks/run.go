package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// A session is one run of a Session. This file follows a box through it, from top
// to bottom, and settle.go to its end:
//
//	start   the list is read for the first time
//	next    its first open box is the item to work on
//	work    which gets a loop of its own. In each attempt
//	prompt      the agent is told of it (prompt.go), and runs;
//	look        when it has answered the list is read: what it shows now is seen;
//	verify      the verdict is computed from what was seen, and if the box is
//	            ticked the caller's Verifier is asked (verify.go),
//	record      and with it what the log and the report say of the attempt
//	settle  what follows for the session when the loop has ended
//	ask     or, if its box is ticked already, the Verifier is asked alone
//	end     the report
//
// The loop's driver calls look, verify and record in this order, for it records
// the answer before it has it verified; verify is left out where the agent is
// blocked or its run broke off. Only look, and control before a second attempt,
// read the list, and only by take do they change what is known of it.
type session struct {
	*Session
	path   string
	report Report

	items   []Item          // the list as last read
	last    map[string]Item // each item when it was last in the list, by key
	before  map[string]bool // the keys that were done at the start
	skipped map[string]bool

	proof             // what is verified
	item  Item        // the one that is worked on
	seen  seen        // what the list showed after the last attempt at it
	note  string      // for the next item's first prompt; "" = the last answer claimed nothing false
	spent ralph.State // that of the last loop, which carries on what those before it have used
}

// A seen is what the list showed after an attempt.
type seen struct {
	newly int   // boxes that the attempt has ticked
	fresh Item  // the first of them that was not in the list and has no ID
	err   error // the list could not be read
}

func (s *Session) start(ctx context.Context) (*session, error) {
	switch {
	case s.Source == nil:
		return nil, errors.New("tasks: Session has no Source")
	case s.Runner == nil:
		return nil, errors.New("tasks: Session has no Runner, which is the agent")
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	if err := s.Limits.Validate(); err != nil {
		return nil, err
	}
	r := &session{Session: s, path: s.Path, last: map[string]Item{}, before: map[string]bool{}, skipped: map[string]bool{}}
	switch src := s.Source.(type) {
	case ListFile:
		r.path = cmp.Or(r.path, src.Path)
	case PRDFile:
		r.path = cmp.Or(r.path, src.Path)
	}
	items, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	r.begin(items)
	r.take(items)
	r.miss()
	for _, it := range items {
		r.before[it.Key] = r.isDone(it)
	}
	first, open := r.next()
	if left := r.remaining(); !open && len(left) > 0 {
		what := "all boxes are ticked, but an earlier check rejects %s: verify what is there, and put back what is not"
		if s.Verifier != nil {
			what = "all tasks are done but %s, which an earlier check rejects and which is no longer in the list: put it back"
		}
		return nil, fmt.Errorf("tasks: %s: there is nothing to do: "+what, cmp.Or(r.path, "the list"), listed(left))
	} else if !open {
		return nil, fmt.Errorf("tasks: %s: there is nothing to do: all tasks are done, %d in all", cmp.Or(r.path, "the list"), len(items))
	}
	r.report = Report{StartTime: time.Now().UTC().Round(0), Status: SessionRunning, MaxIterations: cmp.Or(s.Limits.Iterations, 10), FeatureBranch: s.Feature}
	if s.Feature == "" {
		r.report.FeatureBranch = feature(ctx, s.Dir, r.path)
	}
	if _, err := r.fill(first); err != nil { // finds mistakes in the template before anything is run
		return nil, err
	}
	if err := r.prepare(ctx, first); err != nil {
		return nil, err
	}
	return r, r.keep()
}

// read reads the list. A panic of the source is an error with its stack, as
// those of the session's other parts are.
func (s *Session) read(ctx context.Context) (items []Item, err error) {
	err = plugin.Call("tasks: Source", func() (err error) { items, err = s.Source.Items(ctx); return })
	return items, err
}

// take notes what the list holds now, and returns how many of its boxes are
// ticked that were not when they were last in it: it may have been broken in
// between.
func (r *session) take(items []Item) (newly int, fresh Item) {
	for _, it := range items {
		was, known := r.last[it.Key]
		if it.Done && !was.Done && (known || it.ID == "") { // without an ID it may have another text now, and so another key
			newly++
			if !known && fresh.Key == "" {
				fresh = it
			}
		}
		r.noteTick(it, it.Done && !was.Done)
		r.last[it.Key] = it
	}
	r.items = items
	return newly, fresh
}

// next is the first item that is open and was not skipped. If there is none, it
// is one that was skipped and may have been done since.
func (r *session) next() (Item, bool) {
	for _, last := range [...]bool{false, true} {
		for _, it := range r.items {
			held := it.Done && r.Verifier == nil // nobody could say when it is done
			if !r.isDone(it) && !held && (!r.skipped[it.Key] || last && r.unasked(it)) {
				return it, true
			}
		}
	}
	return Item{}, false
}

// work runs the loop of one item. The error ends the session.
func (r *session) work(ctx context.Context, it Item) error {
	limits, err := r.limits()
	if err != nil {
		return err
	}
	state := r.state(it, limits)
	state.Feedback = r.firstFeedback(it)
	if state = state.Limit(limits); state.Done() {
		return state.Err()
	}
	loop := &ralph.Local{
		Runner: r.Runner, Prompt: r.prompt, Verifier: ralph.VerifierFunc(r.verify),
		Log: ralph.ProgressLogFunc(func(logCtx context.Context, ev ralph.Event) error {
			switch ev.Kind {
			case ralph.EventIterationStarted:
				r.note = "" // it is in this attempt's prompt
				r.attempts++
			case ralph.EventAnswered:
				r.answer = &answer{output: ev.Answer.Output, omitted: ev.Answer.Omitted}
				r.look(ctx)
			case ralph.EventIterationEnded:
				r.record(&ev.Iteration)
			}
			return errors.Join(r.append(logCtx, ev), r.keep()) // settle tells which
		}),
		Control: r.control, Output: r.Output, Workspace: r.Workspace, Evidence: r.Evidence,
	}
	r.item, r.seen, r.boxed = it, seen{}, false
	state, err = loop.Run(ctx, state)
	r.spent, r.report.Usage = state, state.Usage
	return r.settle(ctx, state, err)
}

// state is that of an item's loop. It has used what the session has used so far, so
// that the state itself keeps the session to its limits of money, tokens and time.
func (r *session) state(it Item, limits ralph.Limits) ralph.State {
	task := ralph.Task{
		ID: it.Key, Title: it.Text, Dir: r.Dir, Acceptance: it.Acceptance, Always: true,
		Promise: r.Promise, Blocked: cmp.Or(r.Blocked, "BLOCKED"), Limits: limits, Guarded: r.guarded,
	}
	if r.Verifier != nil {
		task.Prompt = it.describe() // for those who judge; the agent's prompt is made of the template
	}
	s := ralph.Start(task)
	s.Usage, s.Verifying, s.LastCost, s.Unpriced = r.spent.Usage, r.spent.Verifying, r.spent.LastCost, r.spent.Unpriced
	s.Elapsed, s.Waited = r.spent.Elapsed, r.spent.Waited
	return s
}

// append records an event.
func (r *session) append(ctx context.Context, ev ralph.Event) error {
	if r.Log == nil {
		return nil
	}
	return r.Log.Append(ctx, ev)
}

// limits are those of the next item's loop: the session's, but for the number of
// iterations, which is over all items. The error says that it is reached.
func (r *session) limits() (ralph.Limits, error) {
	l := r.Limits
	stop := func(reason ralph.StopReason, detail string) (ralph.Limits, error) {
		return l, &ralph.StopError{Task: r.report.FeatureBranch, Reason: reason, Detail: detail}
	}
	used, most := r.report.IterationsRun, r.report.MaxIterations
	l.Iterations, l.Retries, l.Failures, l.Stalls = r.misses(), -1, -1, 0
	switch {
	case most > 0 && used >= most:
		return stop(ralph.StopIterations, fmt.Sprintf("the limit of iterations, %d, is reached, and tasks are open", most))
	case most > 0 && (l.Iterations < 0 || most-used < l.Iterations):
		l.Iterations = most - used
	case most < 0 && r.spent.Unpriced > 0 && l.CostUSD > 0 && l.Duration <= 0 && l.Tokens <= 0:
		// A loop of few iterations does not need this; all of them together do.
		return stop(ralph.StopCost, "cost_usd is the only limit, and the agent does not say what it costs")
	}
	return l, nil
}

func (r *session) misses() int { return max(cmp.Or(r.Misses, 3), -1) }

// control ends the wait for another attempt at an item that is done: an attempt
// that the provider's limit ended may have ticked the box, or a person has.
func (r *session) control(ctx context.Context, s ralph.State) (ralph.State, error) {
	if r.Control != nil {
		var err error
		if s, err = r.Control(ctx, s); err != nil {
			return s, err
		}
	}
	if s.Attempt > 1 && !s.Running && !s.Done() {
		if items, err := r.read(ctx); err == nil {
			r.take(items)
		}
		it, _ := find(r.items, r.item.Key)
		if r.isDone(it) || r.unasked(it) && r.pending[it.Key] == "" {
			r.boxed = true
			return s.Cancel("the box of " + r.item.Key + " is ticked"), nil
		}
	}
	return s, nil
}

// done reports whether the item is done.
func (r *session) done() bool {
	it, _ := find(r.items, r.item.Key)
	return r.isDone(it)
}

// look reads the list after an attempt, also after one that was interrupted:
// what the agent has ticked by then counts.
func (r *session) look(ctx context.Context) {
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if most := cmp.Or(r.Limits.VerifyTimeout, 5*time.Minute); most > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, most)
		defer stop()
	}
	items, err := r.read(ctx)
	r.seen = seen{err: err}
	if err == nil {
		r.seen.newly, r.seen.fresh = r.take(items)
		r.follow()
	}
}

// verify says whether the item is done, by what was seen in the list.
func (r *session) verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if err := r.seen.err; err != nil {
		if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
			return ralph.Verdict{}, err
		}
		// The agent broke the file and can repair it.
		text := "the task list can no longer be read, which ends the session unless you restore it: " + err.Error()
		return ralph.Verdict{Feedback: text, Checks: []ralph.Check{{Name: "task list", Status: ralph.CheckFailed, Detail: text}}}, nil
	}
	check, advice := r.box()
	v := ralph.Verdict{Passed: check.Status == ralph.CheckPassed}
	var err error
	if v.Passed && r.Verifier != nil {
		v, err = r.check(ctx, c)
		advice = v.Feedback
	}
	if v.Passed && r.Verifier == nil {
		v.Checks = []ralph.Check{byWord()}
	}
	v.Checks = append([]ralph.Check{check}, v.Checks...)
	early := r.early(v.Passed)
	if c.Promised && early != "" {
		v.Checks = append(v.Checks, ralph.Check{Name: "promise", Status: ralph.CheckWarning, Detail: early})
		advice += "\n" + early
	}
	if !v.Passed {
		v.Feedback = advice
	}
	return v, err
}

// box is the check of the item's box, and what the agent is told if it fails.
func (r *session) box() (check ralph.Check, advice string) {
	it, there := find(r.items, r.item.Key)
	check = ralph.Check{Name: "box of " + r.item.Key, Status: ralph.CheckFailed}
	switch {
	case there && it.Done:
		check.Status = ralph.CheckPassed
	case there:
		check.Detail = fmt.Sprintf("the box of %s is not ticked", it.Key)
		advice = check.Detail + ": tick it when the task is done, and only then."
	case r.item.ID == "" && r.seen.newly > 0:
		// Without an ID the text is all that it can be known by, and was changed
		// when the box was ticked.
		check.Status, check.Detail = ralph.CheckPassed, "its text was changed"
	default:
		check.Detail = fmt.Sprintf("%s is no longer in the list", r.item.Key)
		advice = check.Detail + ": put it back, and tick its box when it is done. A task is not done by removing it."
	}
	return check, advice
}

// byWord is the check of an item that nobody but the agent was asked about.
func byWord() ralph.Check {
	return ralph.Check{Name: "unverified: ticked by the agent", Status: ralph.CheckWarning}
}

// early says what a claim that everything is done leaves out, "" if nothing.
// Passed says that the item is done, though it is not noted yet.
func (r *session) early(passed bool) string {
	open, are := slices.DeleteFunc(r.remaining(), func(it Item) bool {
		return r.unjudged(it) || passed && it.Key == r.item.Key
	}), "tasks are"
	switch len(open) {
	case 0:
		return ""
	case 1:
		are = "task is"
	}
	return fmt.Sprintf("The last answer claimed that everything is done, but %d %s open: %s.", len(open), are, listed(open))
}

// record makes of an iteration that has ended, verified or not, what it was in
// the session, for the log and the report.
func (r *session) record(it *ralph.Iteration) {
	r.decide(*it)
	if it.Claimed {
		r.note = r.early(false)
	}
	if check, _ := r.box(); r.Verifier == nil && !settled(it.Fault) && check.Status == ralph.CheckPassed {
		// It will not be made again, so it is on record as the success it is: else
		// the log would not tell who did the task.
		it.Fault, it.Verdict = "", ralph.Verdict{Passed: true, Checks: []ralph.Check{check, byWord()}}
	}
	it.Outcome = r.outcome(*it)
	if settled(it.Fault) {
		r.report.IterationsRun++
	}
}

// outcome is what is shown of an iteration.
func (r *session) outcome(it ralph.Iteration) ralph.Outcome {
	done := it.Verdict.Passed || r.done()
	switch {
	case !settled(it.Fault):
		return it.Outcome
	case !done && (it.Blocked || it.Number == r.misses()):
		return ralph.OutcomeSkipped
	case (done || r.seen.newly > 0 && r.Verifier == nil) && it.Fault == "":
		return ralph.OutcomeSuccess
	}
	return ralph.OutcomeFailure
}
