// Package verifytest is the conformance kit for verifiers and runners: it
// checks that an implementation of [ralph.Verifier], or of [ralph.Runner],
// keeps the contract that loops rely on.
//
//	func TestMine(t *testing.T) {
//		if err := verifytest.TestVerifier(Mine{}, good, bad); err != nil {
//			t.Error(err)
//		}
//	}
//
// The kit takes no *testing.T, so it also works in a program that loads verifiers
// of others, and its report can be tested itself. It reports every broken rule by
// its name, and not only the first one, so that they can be mended together.
package verifytest

import (
	"context"
	"crypto/rand"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

const (
	firstWait  = 2 * time.Minute  // for the first verdict, which may compile something
	soon       = 10 * time.Second // for returning after the context is done; more where verdicts take long
	lingerWait = 2 * time.Second  // for goroutines that are about to end, in pauses that grow
	cheap      = 50 * time.Millisecond

	maxFeedback = 8 << 10 // bytes
	maxChecks   = 64
)

// TestVerifier tests a verifier with a claim that it must accept and one that
// it must reject. It returns nil, or one error that joins a line for each rule
// that is broken. A line begins with the rule's name:
//
//	returns        every call returns: the first within two minutes, others in about the time it took
//	accepts        the good claim passes
//	rejects        the bad claim is rejected, by a verdict and not by an error, which would
//	               say that nothing could be found out
//	feedback       a rejection says what is missing
//	error          a verdict that comes with an error is not Passed
//	checks         a verdict that is Passed has no check that failed, was unable or timed out;
//	               what decides nothing is a warning, or skipped
//	bounds         feedback of at most 8 KiB, at most 64 checks
//	deterministic  the same claim gets the same verdict, again and again
//	concurrent     eight concurrent calls return the verdicts that single ones do
//	cancel         with a context that is done, a call returns soon, with an error and without a
//	               pass; with one that ends while it runs, with an error or the verdict that
//	               the claim gets otherwise, and never with an error and a pass
//	unmodified     the claim's slices and maps are not written to, not even beyond their
//	               length (by append), and not after the call either
//	kept           a verdict that was returned is not written to by later calls
//	goroutines     no goroutine that a call has started outlives it, apart from the moment it
//	               takes to end
//
// Verdicts are the same if they pass alike, say the same and have the same
// checks. Durations do not count, also where texts mention them ("0.2s"), nor
// do addresses (0xc000…), nor digests, which are of outputs that may mention
// them. The details of checks do not count if the claim names a folder for
// evidence, for they may name files in it.
//
// A rule that cannot be judged because another one is broken is not reported:
// of a verifier that passes on every other call it is not said that its
// concurrent calls disagree.
//
// The claims must be such that they are decided within a minute or so, for the
// verifier is called some twenty times, more often if it is quick. Every call
// gets its own copy of its claim. A panic of the verifier is not recovered: in
// a test, its stack is what one wants to see. Goroutines are found by a label
// in the goroutine profile, so other tests may run at the same time; the idle
// connections of an HTTP client are goroutines too, so a verifier that keeps
// some has to close them. Data races are for the race detector to find: run the
// test with -race.
//
// A verifier that is nil, and two claims that are equal, are errors about the
// test and name no rule. Two calls of TestVerifier may run at the same time.
func TestVerifier(v ralph.Verifier, good, bad ralph.Claim) error {
	if f, ok := v.(ralph.VerifierFunc); v == nil || ok && f == nil {
		return errors.New("verifier: it is nil")
	}
	if reflect.DeepEqual(good, bad) {
		return errors.New("claims: the good and the bad claim are the same; no verifier can tell them apart")
	}
	k := &kit{v: v, id: rand.Text(), broken: broken{}, first: map[string]*call{}}
	k.claims = []named{{"the good claim", good}, {"the bad claim", bad}}
	// The context lives until the end: a goroutine that waits for a loop to be
	// cancelled is left for as long as the loop runs.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ok := k.sequential(ctx)
	k.untouched()
	if ok && k.concurrent(ctx) {
		k.cancelled()
		k.cancelledLate()
	}
	k.goroutines(k.routines(), signalLoop)
	k.untouched()
	return k.err("returns", "accepts", "rejects", "feedback", "error", "checks", "bounds", "deterministic",
		"concurrent", "cancel", "unmodified", "kept", "goroutines")
}

// A kit is one run of TestVerifier.
type kit struct {
	v      ralph.Verifier
	id     string // of the profile labels
	claims []named
	calls  []*call
	first  map[string]*call // by the claim's name
	broken
}

// routines are all calls so far, for what does not care what was called.
func (k *kit) routines() []*routine {
	var all []*routine
	for _, c := range k.calls {
		all = append(all, &c.routine)
	}
	return all
}

// A named is a claim, and what the report calls it.
type named struct {
	name  string
	claim ralph.Claim
}

// patience is how long a call may take when a call that nothing disturbed took
// as long as the first one did.
func (k *kit) patience() time.Duration {
	longest := time.Duration(0)
	for _, c := range k.first {
		longest = max(longest, c.took)
	}
	return soon + 20*longest
}

// sequential calls the verifier with one claim after the other, three times
// each or, if that is cheap, many times: a verifier that counts its calls may
// change its mind only at the tenth. It reports false if a call does not
// return, after which nothing else can be tested.
func (k *kit) sequential(ctx context.Context) bool {
	start := time.Now()
	for i := 0; i < 3 || i < 16 && time.Since(start) < cheap; i++ {
		for _, n := range k.claims {
			c := k.start(ctx, n, nil)
			wait := firstWait
			if i > 0 {
				wait = k.patience()
			}
			if !c.wait(wait) {
				k.report("returns", "%s", c.missing(wait))
				return false
			}
			k.judge(c)
			if i == 0 {
				k.first[n.name] = c
			} else if diff := differ(k.first[n.name], c); diff != "" {
				k.report("deterministic", "%s got different verdicts: %s", n.name, diff)
			}
		}
	}
	// The first verdict of a verifier that changes its mind says nothing.
	if len(k.broken["deterministic"]) == 0 {
		k.decides()
	}
	return true
}

// decides looks at the first verdicts on the two claims. It is asked only of a
// verifier that always says the same, since otherwise its first verdict says
// nothing.
func (k *kit) decides() {
	good, bad := k.first[k.claims[0].name], k.first[k.claims[1].name]
	switch {
	case good.err != nil && !good.verdict.Passed:
		k.report("accepts", "the good claim got an error: %v", good.err)
	case good.err == nil && !good.verdict.Passed:
		k.report("accepts", "the good claim was rejected: %s", short(good.verdict.Feedback))
	}
	switch {
	case bad.err != nil && !bad.verdict.Passed:
		k.report("rejects", "the bad claim got an error instead of a verdict: %v", bad.err)
	case bad.err == nil && bad.verdict.Passed:
		k.report("rejects", "the bad claim passed")
	}
}

// judge looks at one verdict by itself, at each one: a rule may be kept at
// first and broken later.
func (k *kit) judge(c *call) {
	v := c.verdict
	if c.err != nil && v.Passed {
		k.report("error", "%s got a verdict that is Passed together with an error: %v", c.name, c.err)
	}
	if c.err == nil && !v.Passed && strings.TrimSpace(v.Feedback) == "" {
		k.report("feedback", "%s was rejected without any", c.name)
	}
	if len(v.Feedback) > maxFeedback {
		k.report("bounds", "%s got %d bytes of feedback; at most %d are allowed", c.name, len(v.Feedback), maxFeedback)
	}
	if len(v.Checks) > maxChecks {
		k.report("bounds", "%s got %d checks; at most %d are allowed", c.name, len(v.Checks), maxChecks)
	}
	for _, check := range v.Checks {
		switch check.Status {
		case ralph.CheckFailed, ralph.CheckUnable, ralph.CheckTimeout:
			if v.Passed && c.err == nil {
				k.report("checks", "%s passed although the check %q says %s", c.name, short(check.Name), check.Status)
			}
		}
	}
}

// concurrent makes eight calls at once, and does that again in other mixtures
// of the claims if it is cheap, for calls must overlap to disturb each other.
// Both claims at once show a verifier that keeps the claim of another call;
// eight of the same kind show one that cannot be asked twice about the same. It
// reports false if calls do not return.
func (k *kit) concurrent(ctx context.Context) bool {
	if len(k.broken["deterministic"])+len(k.broken["kept"]) > 0 {
		return true // there are no verdicts to agree on
	}
	start := time.Now()
	for round := 0; round < 1 || round < 12 && time.Since(start) < cheap; round++ {
		gate := make(chan struct{})
		var calls []*call
		for i := range 8 {
			n := k.claims[i%2]
			if round%3 > 0 {
				n = k.claims[round%3-1]
			}
			calls = append(calls, k.start(ctx, n, gate))
		}
		close(gate)
		// They hang together, as a rule: one that is waited for in full is
		// enough.
		wait, hung := k.patience(), 0
		for _, c := range calls {
			if !c.wait(wait) {
				hung++
				wait = 0 // the others had as much time
			} else if diff := differ(k.first[c.name], c); diff != "" {
				k.report("concurrent", "%s got another verdict than alone: %s", c.name, diff)
			}
		}
		if hung > 0 {
			k.report("concurrent", "%d of 8 calls did not return", hung)
			return false
		}
		if len(k.broken["concurrent"]) > 0 {
			return k.recheck(ctx)
		}
	}
	return true
}

// recheck asks once more without company: a verifier that changes its mind does
// so alone too, and then its concurrent calls are not what is wrong.
func (k *kit) recheck(ctx context.Context) bool {
	for i := range 12 {
		n := k.claims[i%2]
		c := k.start(ctx, n, nil)
		if !c.wait(k.patience()) {
			k.report("returns", "%s", c.missing(k.patience()))
			return false
		}
		if diff := differ(k.first[n.name], c); diff != "" {
			delete(k.broken, "concurrent")
			k.report("deterministic", "%s got different verdicts: %s", n.name, diff)
			break
		}
	}
	return true
}

// cancelled calls the verifier with contexts that are done already: one that
// was cancelled, and one whose time is up. A verdict that comes all the same,
// be it only a rejection, would be recorded as if somebody had looked.
func (k *kit) cancelled() {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ralph.ErrCancelled)
	k.done(ctx)
	late, stop := context.WithTimeout(context.Background(), 0)
	defer stop()
	k.done(late)
}

// done makes the calls with a context that is done. They may take as long as
// others: a verifier that is about to return is not hurried.
func (k *kit) done(ctx context.Context) {
	for _, n := range k.claims {
		c := k.start(ctx, n, nil)
		switch {
		case !c.wait(k.patience()):
			k.report("cancel", "%s after its context was done", c.missing(k.patience()))
			return
		case c.verdict.Passed && c.err == nil:
			k.report("cancel", "%s passed although the context was done before", c.name)
		case c.verdict.Passed:
			k.report("cancel", "%s got a verdict that is Passed, with an error, although the context was done before", c.name)
		case c.err == nil:
			k.report("cancel", "%s was rejected without an error although the context was done before", c.name)
		}
	}
}

// cancelledLate cancels the context right after the verifier has looked at it
// once, twice and, if that is cheap, more often, which is while it runs. No
// clock is needed for that. What was found out by then may be returned; what
// was not is no rejection: "the tests were killed" must not be told to an agent
// as "your tests fail".
func (k *kit) cancelledLate() {
	if len(k.broken["cancel"])+len(k.broken["deterministic"])+len(k.broken["concurrent"])+
		len(k.broken["accepts"])+len(k.broken["rejects"])+len(k.broken["error"])+len(k.broken["kept"]) > 0 {
		return // its verdicts say nothing
	}
	start := time.Now()
	for looks := int64(1); looks <= 2 || looks <= 12 && time.Since(start) < cheap; looks++ {
		for _, n := range k.claims {
			c := k.prepare(n)
			c.looks = looks
			c.run(context.Background(), nil, c.verify)
			if !c.wait(k.patience()) {
				k.report("cancel", "%s after its context was cancelled while it ran", c.missing(k.patience()))
				return
			}
			switch diff := differ(k.first[n.name], c); {
			case c.verdict.Passed && c.err != nil:
				k.report("cancel", "%s got a verdict that is Passed together with an error when its context was cancelled while it ran", c.name)
			case c.err == nil && diff != "":
				k.report("cancel", "%s got another verdict, and no error, when its context was cancelled while it ran: %s", c.name, diff)
			}
		}
	}
}

// untouched looks at what calls were given and what they have returned, after
// all of them. It is called twice, before calls run beside each other and at
// the end, so that a verifier which shares its verdicts is told so and not only
// that its concurrent calls disagree.
func (k *kit) untouched() {
	for _, c := range k.calls {
		if !c.returned() {
			continue // it may be writing at this moment
		}
		for _, field := range c.changed() {
			k.report("unmodified", "%s of %s was written to", field, c.name)
		}
		if !reflect.DeepEqual(c.shown, c.verdict) {
			k.report("kept", "the verdict on %s was changed after it was returned", c.name)
		}
	}
}

// short is a text as the report quotes it, cut at the border of a character.
func short(text string) string {
	if r := []rune(text); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return text
}
