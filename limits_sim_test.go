package ralph_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// TestBudgetsSimulated runs 10,000 loops with random limits, requests, faults and judges,
// which are interrupted and killed at random moments and go on from their record. What
// really happens is counted apart from the state: no limit is exceeded by more than one
// request of the agent's and the verification of what it claimed with it; no loop stops
// before a limit is reached; and the state says what was spent.
func TestBudgetsSimulated(t *testing.T) {
	t.Parallel()
	const loops = 10_000
	stops := map[ralph.StopReason]int{}
	for seed := range uint64(loops) {
		w := &world{T: t, rand: rand.New(rand.NewPCG(seed, 16)), seed: seed}
		stops[w.loop()]++
		if t.Failed() {
			return
		}
	}
	for _, reason := range []ralph.StopReason{ralph.StopCost, ralph.StopTokens, ralph.StopDuration, ralph.StopIterations, ralph.StopVerified, ralph.StopFailed} {
		if stops[reason] < loops/200 {
			t.Errorf("%d of %d loops stopped by %q, so nothing is shown of it: %v", stops[reason], loops, reason, stops)
		}
	}
}

// spending is what requests cost and take.
type spending struct {
	cost   float64
	tokens int64
	took   time.Duration
}

func (a spending) plus(b spending) spending {
	return spending{a.cost + b.cost, a.tokens + b.tokens, a.took + b.took}
}

func (a spending) most(b spending) spending {
	return spending{max(a.cost, b.cost), max(a.tokens, b.tokens), max(a.took, b.took)}
}

func (a spending) usage() ralph.Usage {
	return ralph.Usage{InputTokens: a.tokens - a.tokens/3, OutputTokens: a.tokens / 3, CostUSD: &a.cost}
}

// A world is what really happens in a simulated loop.
type world struct {
	*testing.T
	rand   *rand.Rand
	seed   uint64
	s      ralph.State
	events []ralph.Event

	spent     spending
	largest   spending // request, and judge's
	judged    spending
	iteration float64 // what the one that is under way has cost, as a forecast counts it
	whole     float64 // the last one, or before there is one the last attempt that was interrupted
	completed int
}

func (w *world) request(share float64) spending {
	q := spending{share * 0.2 * w.rand.Float64(), int64(share * 2000 * w.rand.Float64()), time.Duration(share * float64(2*time.Minute) * w.rand.Float64())}
	if w.rand.IntN(20) == 0 {
		q.cost = 0
	}
	return q
}

// record records an event, as JSON, and applies it.
func (w *world) record(ev ralph.Event) {
	text, err := json.Marshal(ev)
	if err != nil {
		w.Fatal(err)
	}
	var read ralph.Event
	if err := json.Unmarshal(text, &read); err != nil {
		w.Fatal(err)
	}
	w.events = append(w.events, read)
	w.s = w.s.Apply(ev)
}

// loop runs a loop to its end, and returns why it has stopped.
func (w *world) loop() ralph.StopReason {
	l := ralph.Limits{Iterations: 1 + w.rand.IntN(15), Retries: w.rand.IntN(4) - 1, Failures: w.rand.IntN(5) - 1, Wait: -1, Priced: w.rand.IntN(2) == 0}
	if w.rand.IntN(2) == 0 {
		l.CostUSD = 0.05 + 3*w.rand.Float64()
	}
	if w.rand.IntN(3) == 0 {
		l.Tokens = 1 + w.rand.Int64N(30_000)
	}
	if w.rand.IntN(3) == 0 {
		l.Duration = time.Second + time.Duration(w.rand.Int64N(int64(time.Hour)))
	}
	s := ralph.Start(ralph.Task{ID: fmt.Sprint("t", w.seed), Prompt: "Do it.", Limits: l})
	w.record(ralph.Event{Kind: ralph.EventLoopStarted, State: &s})
	for !w.s.Done() {
		w.attempt(l)
		if w.rand.IntN(10) == 0 { // another process goes on
			w.s = fold(w.events)
		}
	}
	w.check(l)
	return w.s.Stop
}

func fold(events []ralph.Event) (s ralph.State) {
	for _, ev := range events {
		s = s.Apply(ev)
	}
	return s
}

// attempt is one run of the agent, as a driver has it.
func (w *world) attempt(l ralph.Limits) {
	if over := w.reached(l); over != "" {
		w.Errorf("seed %d: an attempt begins although the %s is spent", w.seed, over)
	}
	it := ralph.Iteration{Number: w.s.Iteration, Attempt: w.s.Attempt}
	w.record(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: it})
	before := w.s
	var live spending
	for range 1 + w.rand.IntN(6) {
		q := w.request(1)
		live, w.largest = live.plus(q), w.largest.most(q)
		it.Usage, it.Elapsed = live.usage(), live.took
		if before.Over(it.Usage, it.Elapsed) != "" {
			it.Fault = ralph.FaultBudget
			break
		}
		w.record(ralph.Event{Kind: ralph.EventRunning, Iteration: it})
		if w.rand.IntN(40) == 0 { // killed: what it has told is known
			it.Fault, it.Usage, it.Elapsed = ralph.FaultInterrupted, ralph.Usage{}, 0
			break
		}
	}
	if it.Fault == "" {
		it.Fault = []ralph.Fault{"", "", "", "", "", ralph.FaultError, ralph.FaultRateLimit, ralph.FaultIncomplete, ralph.FaultTimeout, ralph.FaultInterrupted}[w.rand.IntN(10)]
		it.RetryAfter = time.Duration(w.rand.IntN(600)) * time.Second
	}
	var judge spending
	if it.Fault == "" && w.rand.IntN(2) == 0 {
		judge = w.request(0.5)
		w.judged = w.judged.most(judge)
		it.Claimed, it.Verdict = true, ralph.Verdict{Passed: w.rand.IntN(8) == 0, Feedback: "no", Usage: judge.usage()}
		it.Elapsed += judge.took
	}
	w.spent = w.spent.plus(live).plus(judge)
	if it.Fault != ralph.FaultInterrupted && it.Fault != ralph.FaultRateLimit {
		w.iteration += live.cost + judge.cost
	} else if w.completed == 0 {
		w.whole = live.cost + judge.cost
	}
	w.record(ralph.Event{Kind: ralph.EventIterationEnded, Iteration: it})
	if w.s.Wait > 0 && !w.s.Done() {
		w.spent.took += w.s.Wait
	}
	if done := w.s.Completed(); done > w.completed {
		w.completed, w.whole, w.iteration = done, w.iteration, 0
	}
}

const rounding = 1 + 1e-9

// reached is the limit that is reached, by what really happened.
func (w *world) reached(l ralph.Limits) ralph.StopReason {
	switch {
	case l.CostUSD > 0 && (w.spent.cost >= l.CostUSD*rounding || w.spent.cost+w.whole > l.CostUSD*rounding):
		return ralph.StopCost
	case l.Tokens > 0 && w.spent.tokens >= l.Tokens:
		return ralph.StopTokens
	case l.Duration > 0 && w.spent.took >= l.Duration:
		return ralph.StopDuration
	case w.completed >= l.Iterations:
		return ralph.StopIterations
	}
	return ""
}

// check compares a loop that has stopped with what really happened.
func (w *world) check(l ralph.Limits) {
	bad := func(format string, args ...any) {
		w.Errorf("seed %d, %s: "+format, append([]any{w.seed, describe(w.s)}, args...)...)
	}
	if over := w.spent.cost - l.CostUSD; l.CostUSD > 0 && over > (w.largest.cost+w.judged.cost)*rounding {
		bad("spent $%v of %v, and the largest request was $%v, a judge's $%v", w.spent.cost, l.CostUSD, w.largest.cost, w.judged.cost)
	}
	if over := w.spent.tokens - l.Tokens; l.Tokens > 0 && over > w.largest.tokens+w.judged.tokens {
		bad("used %d tokens of %d, and the largest request was %d", w.spent.tokens, l.Tokens, w.largest.tokens)
	}
	if over := w.spent.took - l.Duration; l.Duration > 0 && over > w.largest.took+w.judged.took {
		bad("took %v of %v", w.spent.took, l.Duration)
	}
	early := false
	switch w.s.Stop {
	case ralph.StopCost:
		early = w.spent.cost < l.CostUSD/rounding && w.spent.cost+w.whole <= l.CostUSD/rounding
	case ralph.StopTokens:
		early = w.spent.tokens < l.Tokens
	case ralph.StopDuration:
		early = w.spent.took+w.s.Wait < l.Duration
	case ralph.StopIterations:
		early = w.completed < l.Iterations
	}
	if early {
		bad("stopped early: %+v, with $%v for the last iteration, of %+v", w.spent, w.whole, l)
	}
	if got := *w.s.Usage.Add(ralph.Usage{CostUSD: new(0.0)}).CostUSD; got > w.spent.cost*rounding || got < w.spent.cost/rounding {
		bad("says it spent $%v, and spent $%v", got, w.spent.cost)
	}
	if got := w.s.Usage.InputTokens + w.s.Usage.OutputTokens; got != w.spent.tokens {
		bad("says it used %d tokens, and used %d", got, w.spent.tokens)
	}
	if a, b := fold(w.events), w.s; describe(a) != describe(b) {
		bad("its record says %s", describe(a))
	}
}
