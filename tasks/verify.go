package tasks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// maxWhy bounds what is kept of the reason for which an item was rejected, in bytes.
const maxWhy = 2 << 10

// A proof is what a session knows of its ticked boxes beyond the list. With a
// Verifier a box counts if its item is accepted. Without one it counts unless an
// earlier check has rejected the item.
type proof struct {
	accepted map[string]bool    // done when all began, or verified since
	pending  map[string]string  // not verified: why it was rejected, "" = not asked
	kept     map[string]string  // pending, as Keep was told last
	keepErr  error              // of Keep
	ticked   map[string]*answer // the attempt that ticked the box; nil = none in this session
	asked    map[string]int     // the number of attempts there had been when the Verifier was asked last
	attempts int
	answer   *answer           // of the last attempt
	said     string            // by the Verifier about it
	boxed    bool              // control has ended the item's loop, for its box is ticked
	guarded  map[string]string // what must be as it was when the session began
	base     string            // the commit it began at
}

// An answer is what a box is ticked with, for a claim that is verified later.
type answer struct {
	output  string
	omitted int64
	it      ralph.Iteration
}

// begin takes over what earlier runs have left.
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

// miss notes what was rejected in an earlier run and is not in the list now: a
// task is not done by removing it. Without an ID it may have another text.
func (r *session) miss() {
	for key, why := range r.pending {
		var it Item
		it.read(key + " .")
		if _, there := find(r.items, key); why != "" && !there && it.ID == key {
			r.last[key] = Item{ID: key, Key: key}
		}
	}
}

// prepare asks the Verifier and the Runner whether they can work, and the Verifier
// for what must stay as it is: from here on, for all items.
func (r *session) prepare(ctx context.Context, first Item) error {
	v := r.Verifier
	if v == nil {
		v = ralph.VerifierFunc(r.verify)
	}
	s, err := (&ralph.Local{Runner: r.Runner, Verifier: v, Prompt: r.prompt}).Prepare(ctx, r.state(first, ralph.Limits{}))
	r.guarded, r.base = s.Task.Guarded, s.Base
	return err
}

// isDone reports whether an item counts as done.
func (r *session) isDone(it Item) bool {
	if r.Verifier == nil {
		return it.Done && r.pending[it.Key] == ""
	}
	return it.Done && r.accepted[it.Key]
}

// unjudged reports whether an item is ticked, and not known to be right or wrong.
func (r *session) unjudged(it Item) bool {
	return it.Done && !r.isDone(it) && r.pending[it.Key] == ""
}

// unasked reports whether the Verifier is to be asked about an item before the agent
// is run for it: its box is ticked, and since the last answer the agent has worked.
func (r *session) unasked(it Item) bool {
	at, asked := r.asked[it.Key]
	return r.Verifier != nil && it.Done && !r.isDone(it) && (!asked || at < r.attempts)
}

// noteTick notes how a box is found in the list. One that is open again has to be
// verified again, and a rejection is settled by it.
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

// follow goes on with the item under the text that it has got as its box was
// ticked: without an ID it has no other name.
func (r *session) follow() {
	if _, there := find(r.items, r.item.Key); there || r.Verifier == nil || r.item.Key == "" || r.item.ID != "" || r.seen.fresh.Key == "" {
		return
	}
	delete(r.pending, r.item.Key)
	r.item = r.seen.fresh
}

// check asks the Verifier about the item that is worked on.
func (r *session) check(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	r.asked[r.item.Key] = r.attempts
	c.Promised = true
	v, err := r.Verifier.Verify(ctx, c)
	if err == nil && !v.Passed {
		v.Feedback = because(v)
	}
	r.said = v.Feedback
	return v, err
}

func because(v ralph.Verdict) string {
	return cmp.Or(v.Feedback, "the check rejects the task, and does not say why")
}

// decide takes over the verdict of an attempt as it is recorded: what came too late
// is none.
func (r *session) decide(it ralph.Iteration) {
	if r.answer != nil {
		r.answer.it = ralph.Iteration{Number: it.Number, Attempt: it.Attempt, Start: it.Start, Fault: it.Fault, Files: it.Files}
	}
	if r.Verifier == nil || r.asked[r.item.Key] != r.attempts {
		return
	}
	if it.Fault == ralph.FaultInterrupted {
		delete(r.asked, r.item.Key) // the answer was not heard
		return
	}
	it.Verdict.Feedback = r.said // without what the session adds
	r.settleProof(r.item.Key, it.Verdict)
}

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

// firstFeedback is what the first prompt for an item begins with.
func (r *session) firstFeedback(it Item) string {
	if why := r.pending[it.Key]; it.Done && why != "" {
		return strings.TrimSpace(why + "\n" + r.note)
	}
	return r.note
}

// ask has an item verified whose box is ticked, without an attempt of its own. The
// error ends the session; it is nil if the Verifier rejects.
func (r *session) ask(ctx context.Context, it Item) error {
	limits := r.Limits
	limits.Iterations, limits.Retries, limits.Failures, limits.Stalls = 1, -1, -1, 0
	s := r.state(it, limits)
	s.Task.Blocked, s.Base = "", r.base // it is not asked what the agent said
	if reason := s.Over(ralph.Usage{}, 0); reason != "" {
		return &ralph.StopError{Task: r.report.FeatureBranch, Reason: reason, Detail: "the limit is reached before the check of " + it.Key}
	}
	if s.Done() {
		return s.Err()
	}
	a := cmp.Or(r.ticked[it.Key], &answer{it: ralph.Iteration{Fault: ralph.FaultEmpty}})
	r.asked[it.Key] = r.attempts
	loop := &ralph.Local{
		Runner: r.Runner, Evidence: r.Evidence,
		Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil },
		Verifier: ralph.VerifierFunc(func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
			return r.Verifier.Verify(ctx, a.claim(c, r.attempts))
		}),
	}
	got, err := loop.Observe(ctx, s, ralph.Response{Output: a.output, Omitted: a.omitted, Usage: ralph.Usage{CostUSD: new(0.0)}})
	switch {
	case err != nil:
		return err
	case got.Fault == ralph.FaultInterrupted:
		delete(r.asked, it.Key)
		err = context.Cause(ctx)
	}
	got.Fault, got.Error, got.Outcome = "", "", ralph.OutcomeFailure
	if got.Verdict.Passed {
		got.Outcome = ralph.OutcomeSuccess
	}
	after, lastCost := s.Next(got), r.spent.LastCost
	r.spent, r.report.Usage = after, after.Usage
	r.spent.LastCost = lastCost // the next attempt will cost more than a check
	if err != nil {
		return err
	}
	if err := r.recordAsked(ctx, s, got, after); err != nil {
		return err
	}
	r.settleProof(it.Key, got.Verdict)
	if err := r.keep(); err != nil {
		return err
	}
	if got.Verdict.Undecided() {
		return r.undecided(it.Key, got.Verdict)
	}
	return nil
}

// claim is the claim of an attempt that ticked the box. If there was none in this
// session there are no words, only what is in the workspace.
func (a *answer) claim(c ralph.Claim, attempts int) ralph.Claim {
	c.Promised, c.Fault, c.Files = true, a.it.Fault, a.it.Files
	if a.it.Number > 0 {
		c.Iteration, c.Attempt, c.Start = a.it.Number, a.it.Attempt, a.it.Start
	}
	if c.Evidence != "" { // beside those of the item's own attempts
		c.Evidence = filepath.Join(filepath.Dir(c.Evidence), fmt.Sprintf("asked-%03d", attempts))
	}
	return c
}

// recordAsked records a verification without an attempt: a loop in which only an
// iteration's end is told.
func (r *session) recordAsked(ctx context.Context, s ralph.State, it ralph.Iteration, after ralph.State) error {
	events := []ralph.Event{
		{Kind: ralph.EventLoopStarted, State: &s},
		{Kind: ralph.EventIterationEnded, Iteration: it, Text: "the box was ticked before: verified without an attempt"},
	}
	if it.Verdict.Passed {
		events = append(events, ralph.Event{Kind: ralph.EventLoopStopped, State: &after})
	}
	for _, ev := range events {
		ev.V, ev.Time, ev.Loop, ev.Task = ralph.Version, time.Now().UTC().Round(0), s.Loop, s.Task.ID
		if err := plugin.Call("Session.Log", func() error { return r.append(context.WithoutCancel(ctx), ev) }); err != nil {
			return fmt.Errorf("tasks: progress log: %w", err)
		}
	}
	return nil
}

// undecided ends the session: what cannot be verified is not given up, and to work
// on it once more tells nobody anything.
func (r *session) undecided(key string, v ralph.Verdict) error {
	return &ralph.StopError{Task: r.report.FeatureBranch, Reason: ralph.StopFailed, Detail: fmt.Sprintf("whether %s is done cannot be verified: %s", key, because(v))}
}

// keep tells the caller what is pending, if that has changed.
func (r *session) keep() error {
	if r.Keep == nil || maps.Equal(r.pending, r.kept) {
		return nil
	}
	if err := plugin.Call("Session.Keep", func() error { return r.Keep(maps.Clone(r.pending)) }); err != nil {
		r.keepErr = fmt.Errorf("tasks: what is not verified cannot be kept: %w", err)
		return r.keepErr
	}
	r.kept = maps.Clone(r.pending)
	return nil
}
