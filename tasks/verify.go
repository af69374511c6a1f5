package tasks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// maxWhy bounds what is kept of the reason for which an item was rejected, in bytes. It
// is kept for each item and told in the next prompt; the whole output is in the log.
const maxWhy = 2 << 10

// A proof is what a session knows of its ticked boxes beyond the list. With a Verifier
// a box counts if its item is accepted. Without one it counts unless an earlier check
// has rejected the item: to leave the Verifier out must not be a way around it.
type proof struct {
	accepted map[string]bool   // done when all began, or verified since
	pending  map[string]string // not verified: why it was rejected, "" = not asked
	kept     map[string]string // pending, as Keep was told last
	// the attempt that ticked the box, which may have been made for another item; nil =
	// none in this session
	ticked map[string]*answer
	// the number of attempts there had been when the Verifier was asked last: it is
	// asked again only if the agent has worked since, for else it would say the same
	asked    map[string]int
	attempts int
	answer   *answer           // of the last attempt
	said     string            // by the Verifier about it
	guarded  map[string]string // what must be as it was when the session began
	base     string            // the commit it began at
}

// An answer is what a box is ticked with, for a claim that is verified later.
type answer struct {
	output  string
	omitted int64
	it      ralph.Iteration
}

// begin takes over what earlier runs have left. Boxes that are ticked and of which
// nothing is pending count as done: projects begin with lists that are half done, and
// their work is not this session's to judge.
func (r *session) begin(items []Item) {
	r.proof = proof{
		accepted: map[string]bool{}, ticked: map[string]*answer{}, asked: map[string]int{},
		pending: maps.Clone(r.Pending), kept: maps.Clone(r.Pending),
	}
	if r.pending == nil {
		r.pending = map[string]string{}
	}
	for _, it := range items {
		if _, pending := r.pending[it.Key]; it.Done && !pending {
			r.accepted[it.Key] = true
		}
	}
}

// miss notes what was rejected in an earlier run and is not in the list now: a task is
// not done by removing it. Of those that nobody has judged nothing is claimed, and so
// they may go.
func (r *session) miss() {
	for key, why := range r.pending {
		if why != "" && r.removed(key, "") {
			r.last[key] = Item{Key: key}
		}
	}
}

// prepare asks the Verifier and the Runner whether they can work, and the Verifier for
// what must stay as it is: from here on, for all items. It is asked once: were it asked
// for each item, the next would begin with what the agent has done to its tests during
// the last.
func (r *session) prepare(ctx context.Context, first Item) error {
	v := r.Verifier
	if v == nil {
		v = ralph.VerifierFunc(r.verify)
	}
	s := r.agreed(r.fresh(first, ralph.Limits{}))
	s, err := (&ralph.Local{Runner: r.Runner, Verifier: v, Prompt: r.prompt}).Prepare(ctx, s)
	r.guarded, r.base = s.Task.Guarded, s.Base
	return err
}

// isDone reports whether an item counts as done. This is the one place that says so,
// for the order, the limits, the report and the next prompt.
func (r *session) isDone(it Item) bool {
	if r.Verifier == nil {
		return it.Done && r.pending[it.Key] == ""
	}
	return it.Done && r.accepted[it.Key]
}

// unjudged reports whether an item is ticked, and not known to be right or wrong. It is
// neither done nor rejected: "no" and "not asked" are different answers.
func (r *session) unjudged(it Item) bool {
	return it.Done && !r.isDone(it) && r.pending[it.Key] == ""
}

// unasked reports whether the Verifier is to be asked about an item before the agent is
// run for it: its box is ticked, and since the last answer the agent has worked. Agents
// tick more than one box in an attempt, and people tick boxes; most of those are right,
// and a check costs less than an attempt.
func (r *session) unasked(it Item) bool {
	at, asked := r.asked[it.Key]
	return r.Verifier != nil && it.Done && !r.isDone(it) && (!asked || at < r.attempts)
}

// noteTick notes how a box is found in the list. One that is open again has to be
// verified again, and a rejection is settled by it: who unticks a box agrees that it
// was not done. What comes into the list while there is a Verifier is pending from the
// start, so that a crash between tick and check leaves it so.
func (r *session) noteTick(it Item, newly bool) {
	_, pending := r.pending[it.Key]
	switch {
	case newly:
		r.ticked[it.Key] = r.answer
	case !it.Done:
		delete(r.accepted, it.Key)
		delete(r.asked, it.Key)
	}
	if !it.Done && pending || r.Verifier != nil && !pending && !r.accepted[it.Key] {
		r.pending[it.Key] = ""
	}
}

// check asks the Verifier about the item that is worked on. What is asked of a check
// has a folder for evidence of its own: the loops of checks all have one iteration, and
// would write over each other.
func (r *session) check(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	r.asked[r.item.Key] = r.attempts
	c.Promised = true
	if r.loop.asking != nil {
		c = r.loop.asking.claim(c)
	}
	if r.loop.check && c.Evidence != "" {
		c.Evidence = filepath.Join(filepath.Dir(c.Evidence), fmt.Sprintf("asked-%03d", r.report.IterationsRun))
	}
	v, err := r.Verifier.Verify(ctx, c)
	if err == nil && !v.Passed {
		v.Feedback = because(v)
	}
	r.said = v.Feedback
	return v, err
}

// because is why a verdict rejects. An agent that is told nothing would change
// something at random.
func because(v ralph.Verdict) string {
	return cmp.Or(v.Feedback, "the check rejects the task, and does not say why")
}

// decide takes over the verdict of an attempt as it is recorded. The check itself does
// not: the driver drops a verdict that came too late, when ctx was done, and then the
// session would go by one that the log does not have.
func (r *session) decide(it ralph.Iteration) {
	if r.answer != nil && r.loop.asking == nil {
		r.answer.it = ralph.Iteration{Number: it.Number, Attempt: it.Attempt, Start: it.Start, Fault: it.Fault, Files: it.Files}
	}
	if at, asked := r.asked[r.item.Key]; r.Verifier == nil || !asked || at != r.attempts {
		return
	}
	if it.Fault == ralph.FaultInterrupted {
		delete(r.asked, r.item.Key) // the answer was not heard
		return
	}
	it.Verdict.Feedback = r.said // without what the session adds
	r.settleProof(r.item.Key, it.Verdict)
}

// settleProof notes what a verdict says of an item. One that could not tell changes
// nothing: the item stays what it was before it was asked about.
func (r *session) settleProof(key string, v ralph.Verdict) {
	switch {
	case v.Passed:
		r.accepted[key] = true
		delete(r.pending, key)
	case !v.Undecided():
		why := because(v)
		r.pending[key] = strings.ToValidUTF8(why[:min(len(why), maxWhy)], "")
	}
}

// firstFeedback is what the first prompt for an item begins with: why an earlier run
// has rejected it, and that the last answer, about another item, claimed too much.
func (r *session) firstFeedback(it Item) string {
	if why := r.pending[it.Key]; it.Done && why != "" {
		return strings.TrimSpace(why + "\n" + r.note)
	}
	return r.note
}

// ask has an item verified whose box is ticked, before the agent is run for it. The
// error ends the session; it is nil if the Verifier rejects.
//
// Was an attempt at the item broken off, then that ticked the box: this is how it
// ends, and its loop goes on from there. Else the item's loop, if it has begun,
// is not concerned: that somebody else's work is asked about is no iteration.
func (r *session) ask(ctx context.Context, it Item) error {
	a := cmp.Or(r.ticked[it.Key], &answer{it: ralph.Iteration{Fault: ralph.FaultEmpty}})
	begun, there := r.loops[it.Key]
	there = there && !begun.Done()
	if there && begun.Attempt > 1 && r.pending[it.Key] == "" {
		return r.work(ctx, it, a)
	}
	if err := r.limits(); err != nil && r.spent.Blind != "" {
		return err // what it would cost is not known either
	}
	limits := r.bounds
	limits.Iterations, limits.Retries, limits.Failures, limits.Stalls = 1, -1, -1, 0
	s := r.fresh(it, limits)
	s.Loop += checkSuffix
	s.Task.Blocked, s.Base, s.LastCost = "", r.base, nil // it is not asked what the agent said, and a check costs less than an attempt
	if s = s.Limit(limits); s.Done() {
		return s.Err()
	}
	s.Running = true
	after, err := r.drive(ctx, it, s, &loop{check: true, asking: a})
	switch {
	case r.ended != nil:
		return r.ended
	// It has a loop of its own that is not over, and would be gone on with at the next
	// resume.
	case after.Stop == ralph.StopVerified && err == nil && there:
		return r.finish(ctx, r.carry(begun))
	case after.Stop != ralph.StopIterations:
		if ctx.Err() != nil && err != nil {
			return context.Cause(ctx)
		}
		return err
	case after.Verdict.Undecided():
		return r.undecided(it.Key, after.Verdict)
	}
	return nil
}

// claim is the claim of an attempt that ticked the box. If there was none in this
// session there are no words, only what is in the workspace; and so it must be a
// Verifier that looks there which accepts it.
func (a *answer) claim(c ralph.Claim) ralph.Claim {
	c.Fault, c.Files = a.it.Fault, a.it.Files
	c.Output, c.Omitted = a.output, a.omitted
	if a.it.Number > 0 {
		c.Iteration, c.Attempt, c.Start = a.it.Number, a.it.Attempt, a.it.Start
	}
	return c
}

// undecided ends the session: what cannot be verified is not given up, and to work
// on it once more tells nobody anything.
func (r *session) undecided(key string, v ralph.Verdict) error {
	return &ralph.StopError{Task: r.report.FeatureBranch, Reason: ralph.StopFailed, Detail: fmt.Sprintf("whether %s is done cannot be verified: %s", key, because(v))}
}

// keep tells the caller what is pending, if that has changed. It is called after each
// event and gets a copy, so it compares first: most events change nothing, and what
// Keep does is mostly to write a file.
func (r *session) keep() error {
	if r.Keep == nil || maps.Equal(r.pending, r.kept) {
		return nil
	}
	if err := plugin.Call("Session.Keep", func() error { return r.Keep(maps.Clone(r.pending)) }); err != nil {
		r.ended = fmt.Errorf("tasks: what is not verified cannot be kept: %w", err)
		return r.ended
	}
	r.kept = maps.Clone(r.pending)
	return nil
}
