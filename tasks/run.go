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
//	start   the list is read for the first time, and what earlier runs have left is
//	        taken over (resume.go)
//	next    its first open box is the item to work on
//	work    which gets a loop of its own (loop.go). In each attempt
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
// read the list, and only by take do they change what is known of it. Each question has
// one place that answers it, so that the log, the report and the next prompt cannot
// tell different things: whether an item is done is said by isDone, whether it may be
// worked on by next, and what an attempt was by record.
type session struct {
	*Session
	path   string
	report Report

	items   []Item            // the list as last read, in the order of the work
	waits   *waits            // which of them, and of those that are no longer in the list, wait for which; nil = none does
	last    map[string]Item   // each item when it was last in the list, by key
	renamed map[string]string // the new key of an item without an ID whose text was changed, by the old one
	before  map[string]bool   // the keys that were done at the start
	// given up: not worked on again in this session, but asked about if somebody ticks
	// it
	skipped map[string]bool
	running []Item // in the middle of whose attempts the process died that ran them

	bounds ralph.Limits           // the session's limits as they are now, see Relimit
	loops  map[string]ralph.State // of the items, as on record, by key
	spent  ralph.State            // that of the last loop, which carries on what those before it have used

	stalled int // iterations in a row, of this run, that have changed nothing

	proof        // what is verified
	item  Item   // the one that is worked on
	loop  *loop  // that of the item
	ended error  // what control or Keep has ended the loop for
	seen  seen   // what the list showed after the last attempt at it
	note  string // for the next item's first prompt; "" = the last answer claimed nothing false
}

// A seen is what the list showed after an attempt.
type seen struct {
	newly int   // boxes that the attempt has ticked
	err   error // the list could not be read
}

// start reads the list and finds every mistake that can be found before an agent has
// cost anything: of the configuration, the list, the template, the Runner and the
// Verifier. What is pending is handed to Keep as the last of all, so that a session
// which is refused leaves what an earlier one has kept as it was.
func (s *Session) start(ctx context.Context) (*session, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r := &session{
		Session: s, path: s.Path, bounds: s.Limits,
		last: map[string]Item{}, renamed: map[string]string{}, before: map[string]bool{}, skipped: map[string]bool{}, loops: map[string]ralph.State{},
	}
	items, err := s.read(ctx)
	if err == nil && r.path == "" {
		err = plugin.Call("tasks: Source", func() error { r.path = place(s.Source, items); return nil })
	}
	if err != nil {
		return nil, err
	}
	r.begin(items)
	r.take(ctx, items)
	r.miss()
	running := r.takeOver()
	first, open := r.next()
	if len(running) > 0 {
		first, open = running[0], true
	}
	// With Begun it is no mistake to find nothing open: the session was killed between
	// its last box and its end, and what is left is to report.
	if !open && len(s.Begun) == 0 {
		return nil, r.nothing()
	}
	r.report.FeatureBranch = s.Feature
	if s.Feature == "" {
		r.report.FeatureBranch = feature(ctx, s.Dir, r.path)
	}
	if !open {
		return r, r.keep()
	}
	if _, err := r.fill(first); err != nil { // finds mistakes in the template before anything is run
		return nil, err
	}
	if err := r.prepare(ctx, first); err != nil {
		return nil, err
	}
	if err := r.keep(); err != nil {
		return nil, err
	}
	r.running = running
	return r, nil
}

// validate refuses a session that cannot be run. The rules of limits are those of all
// loops, so an unlimited number of iterations without any other limit is refused here
// too.
func (s *Session) validate() error {
	switch {
	case s.Source == nil:
		return errors.New("tasks: Session has no Source")
	case s.Runner == nil:
		return errors.New("tasks: Session has no Runner, which is the agent")
	}
	return s.Limits.Validate()
}

// nothing is the error of a session that has nothing to do. It is no success: who
// starts one expects work, and has probably named another file than the one that is
// meant. What an earlier check rejects is told apart from a list that is really done,
// for it can only be mended by hand.
func (r *session) nothing() error {
	list := cmp.Or(r.path, "the list")
	left, waiting := r.stuck()
	switch {
	case len(left) == 0:
		return fmt.Errorf("tasks: %s: there is nothing to do: all tasks are done, %d in all", list, len(r.items))
	case r.Verifier != nil:
		return fmt.Errorf("tasks: %s: there is nothing to do: all tasks are done but %s, which an earlier check rejects and which is no longer in the list: put it back%s", list, listed(left), waiting)
	}
	return fmt.Errorf("tasks: %s: there is nothing to do: all boxes are ticked, but an earlier check rejects %s: verify what is there, and put back what is not%s", list, listed(left), waiting)
}

// read reads the list. A panic of the source is an error with its stack, as
// those of the session's other parts are. Each call asks the source anew. A copy would
// be wrong as soon as the agent has ticked a box.
func (s *Session) read(ctx context.Context) (items []Item, err error) {
	err = plugin.Call("tasks: Source", func() (err error) { items, err = s.Source.Items(ctx); return })
	return items, err
}

// take notes what the list holds now, and returns how many of its boxes are ticked that
// were not when they were last in it. They are compared with what each item was when it
// was last seen, and not with the last list: that may have been broken, and half of the
// boxes missing.
//
// A box with an ID that was never seen before does not count: an agent that adds a task
// and ticks it has done nothing of what it was asked for.
func (r *session) take(ctx context.Context, items []Item) (newly int) {
	var came []Item
	for _, it := range items {
		was, known := r.last[it.Key]
		if it.ID == "" && !known {
			came = append(came, it)
		}
		if it.Done && !was.Done && (known || it.ID == "") { // without an ID it may have another text now, and so another key
			newly++
		}
		r.noteTick(it, it.Done && !was.Done)
		r.last[it.Key] = it
	}
	before := r.items
	r.items = InOrder(items)
	r.rename(ctx, missing(before, items), came)
	r.waits = waitsOf(slices.Concat(r.items, r.lost()))
	r.follow()
	return newly
}

// waitsFor are the items that are not done and that one has to wait for. What is done
// is asked anew each time, since here it is the Verifier's word and not the box alone.
func (r *session) waitsFor(key string) []Item {
	if r.waits == nil {
		return nil
	}
	i, there := r.waits.at[key]
	if !there {
		return nil
	}
	return r.waits.open(i, r.isDone, map[int][]Item{})
}

// next is the first item that is open, was not skipped and waits for none. If there is
// none, it is one that was skipped and has been ticked since, by a later attempt or by
// a person: to verify it costs less than an attempt, and may save the session. It is
// asked for last, since to go back to it each time would spend the session on what was
// given up.
func (r *session) next() (Item, bool) {
	for _, last := range [...]bool{false, true} {
		for _, it := range r.items {
			held := it.Done && r.Verifier == nil // nobody could say when it is done
			if !r.isDone(it) && !held && (!r.skipped[it.Key] || last && r.unasked(it)) && len(r.waitsFor(it.Key)) == 0 {
				return it, true
			}
		}
	}
	return Item{}, false
}

// done reports whether the item that is worked on is done. It is looked up in the list
// as it is now: r.item is what it was when its loop began.
func (r *session) done() bool {
	it, _ := find(r.items, r.item.Key)
	return r.isDone(it)
}

// look reads the list after an attempt, also after one that was interrupted: what the
// agent has ticked by then counts. So it must not end with ctx, and has a time of its
// own instead; a source that hangs would else hang the session for ever.
func (r *session) look(ctx context.Context) {
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if most := cmp.Or(r.bounds.VerifyTimeout, 5*time.Minute); most > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, most)
		defer stop()
	}
	items, err := r.read(ctx)
	r.seen = seen{err: err}
	if err == nil {
		r.seen.newly = r.take(ctx, items)
	}
}

// verify says whether the item is done, by what was seen in the list. It does not read
// the list itself: between two reads the agent's children may have changed it, and the
// verdict would not be about what the log shows.
//
// A list that cannot be read is a check that failed and no error, since the agent may
// have broken it and can repair it. Only a source that was too slow, or ctx that is
// done, is nobody's mistake that an agent could mend.
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

// box is the check of the item's box, and what the agent is told if it fails. An item
// that is gone is told of in other words than one that is open: to remove a task is the
// cheapest way to have none left, and the agent must know that it does not count.
func (r *session) box() (check ralph.Check, advice string) {
	it, there := find(r.items, r.item.Key)
	check = ralph.Check{Name: "box of " + r.item.Key, Status: ralph.CheckFailed}
	switch {
	case there && it.Done:
		check.Status = ralph.CheckPassed
	case there:
		check.Detail = fmt.Sprintf("the box of %s is not ticked", it.Key)
		advice = check.Detail + ": tick it when the task is done, and only then."
	default:
		check.Detail = fmt.Sprintf("%s is no longer in the list", r.item.Key)
		advice = check.Detail + ": put it back, and tick its box when it is done. A task is not done by removing it."
	}
	return check, advice
}

// byWord is the check of an item that nobody but the agent was asked about. It is a
// warning and not a pass, so that whoever reads the log later can tell such items from
// those that were verified.
func byWord() ralph.Check {
	return ralph.Check{Name: "unverified: ticked by the agent", Status: ralph.CheckWarning}
}

// early says what a claim that everything is done leaves out, "" if nothing. Passed
// says that the item is done, though it is not noted yet. Items that are ticked and not
// yet verified are not held against the claim: that nobody has asked the Verifier is
// not the agent's mistake.
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

// record makes of an iteration that has ended, verified or not, what it was in the
// session, for the log and the report. It changes the iteration before it is recorded,
// so that a resume, which only knows the record, comes to the same.
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
}

// outcome is what is shown of an iteration. What will be made again is left as the loop
// has it. Skipped is the one with which the item is given up: the agent is blocked, or
// it was the last of the misses, unless the item has got parts and only waits. A
// success needs the item done, or without a Verifier any box that is newly ticked.
func (r *session) outcome(it ralph.Iteration) ralph.Outcome {
	done := it.Verdict.Passed || r.done()
	switch {
	case !settled(it.Fault):
		return it.Outcome
	case !done && !r.loop.check && len(r.waitsFor(r.item.Key)) == 0 && (it.Blocked || it.Number == r.loop.state.Task.Limits.Iterations):
		return ralph.OutcomeSkipped
	case (done || r.seen.newly > 0 && r.Verifier == nil) && it.Fault == "":
		return ralph.OutcomeSuccess
	}
	return ralph.OutcomeFailure
}
