package ralph

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits say how much a loop may spend. The zero value is a safe default:
// 10 iterations, 3 retries of each, and a stop after 3 failed ones in a row.
// Money is in US dollars, tokens are input and output together, and times are
// summed over resumes.
type Limits struct {
	// Iterations is the number of iterations. 0 = 10; negative = unlimited,
	// which needs a Duration, Tokens or CostUSD.
	Iterations int `json:"iterations,omitempty"`
	// Retries is how many more times one iteration is run after a fault.
	// 0 = 3; negative = none.
	Retries int `json:"retries,omitempty"`
	// Failures is the number of consecutive iterations that failed, by fault
	// or because a check could not run, after which the loop stops. 0 = 3;
	// negative = never.
	Failures int `json:"failures,omitempty"`
	// Stalls is the number of consecutive iterations without any change in
	// the workspace after which the loop stops. 0 = off. An iteration of which
	// it is not known whether it changed anything is not a stall, and what the agent
	// says, be it the same as before, does not matter.
	Stalls int `json:"stalls,omitempty"`
	// Blocked is the number of consecutive iterations that must end with
	// [Task.Blocked] before the loop stops and calls a person; before that the agent is
	// asked for another way. 0 = 1, so that the first one stops it; negative = never.
	Blocked int `json:"blocked,omitempty"`

	// IterationTimeout bounds one run of the agent. 0 = none.
	IterationTimeout time.Duration `json:"iteration_timeout,omitempty"`
	// VerifyTimeout bounds one verification; what it finds later is not taken.
	// 0 = 5 minutes, so that a verifier that hangs does not hang the loop, or
	// longer where the verifier's own time-outs say so (a method
	// Takes(Task) time.Duration, which may be negative for "no bound"); negative
	// = none.
	VerifyTimeout time.Duration `json:"verify_timeout,omitempty"`
	// Duration bounds the time of running, verifying and waiting, summed over
	// resumes; time between resumes is not counted. It also ends a run in
	// progress. 0 = none. If this program is killed, up to ten seconds of the
	// run that was in progress are not counted, and nothing of a verification.
	Duration time.Duration `json:"duration,omitempty"`
	// Wait bounds the waiting for rate limits in all. 0 = 24 hours; negative =
	// no limit.
	Wait time.Duration `json:"wait,omitempty"`

	// CostUSD and Tokens (input and output) bound what the loop spends, the verifications
	// included, summed over resumes. They are checked before each attempt, against a
	// forecast: what the last whole iteration cost, or, before there is one, the last
	// attempt that was interrupted. They are checked again while the attempt runs, as far
	// as the agent tells what it uses, and after it. 0 = none. They bound nothing if the
	// agent does not tell what it uses; a loop that has no other bound stops then. A cost
	// may also be estimated, see [Usage].
	CostUSD float64 `json:"cost_usd,omitempty"`
	Tokens  int64   `json:"tokens,omitempty"`
	// Priced stops a loop that has a CostUSD after the first answer whose cost is not
	// known, the agent's or that of a judge, for then CostUSD cannot be kept; an attempt
	// that broke or was interrupted is no answer. [State.Reopen] and [State.Limit] let it
	// go on to the next one. False = it goes on as long as another limit bounds it.
	Priced bool `json:"priced,omitempty"`
}

// The effective limits.
func (l Limits) iterations() int     { return cmp.Or(l.Iterations, 10) }
func (l Limits) retries() int        { return max(cmp.Or(l.Retries, 3), 0) }
func (l Limits) failures() int       { return cmp.Or(l.Failures, 3) }
func (l Limits) blocked() int        { return cmp.Or(l.Blocked, 1) }
func (l Limits) wait() time.Duration { return cmp.Or(l.Wait, 24*time.Hour) }

// verifyTimeout is the time for a verification that may take as long as stated;
// 0 = it is not stated, negative, like the result = without bound.
func (l Limits) verifyTimeout(stated time.Duration) time.Duration {
	if stated >= 0 {
		stated = max(stated, 5*time.Minute)
	}
	return cmp.Or(l.VerifyTimeout, stated)
}

// Validate reports everything that is wrong with the limits, a line for each
// problem.
func (l Limits) Validate() error { return invalid(l.problems()) }

func (l Limits) problems() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("limits: "+format, args...)) }
	if math.IsNaN(l.CostUSD) || math.IsInf(l.CostUSD, 0) || l.CostUSD < 0 {
		bad("cost_usd is %v; it must be 0 (none) or a positive amount", l.CostUSD)
	}
	if l.Tokens < 0 {
		bad("tokens is %d; it must be 0 (none) or positive", l.Tokens)
	}
	if l.Stalls < 0 {
		bad("stalls is %d; it must be 0 (off) or positive", l.Stalls)
	}
	if l.IterationTimeout < 0 {
		bad("iteration_timeout is %v; it must be 0 (none) or positive", l.IterationTimeout)
	}
	if l.Duration < 0 {
		bad("duration is %v; it must be 0 (none) or positive", l.Duration)
	}
	if l.Iterations < 0 && l.Duration <= 0 && l.Tokens <= 0 && !(l.CostUSD > 0) {
		bad("unlimited iterations need a duration, tokens or cost_usd to stop at")
	}
	return errs
}

// Back-off. A retry comes soon, since agents' clients retry themselves; a rate
// limit without a reset time is asked about rarely.
const (
	retryBase, retryMax         = 500 * time.Millisecond, 5 * time.Minute
	rateLimitBase, rateLimitMax = time.Minute, 30 * time.Minute
)

// Over reports which budget is spent, with an attempt in progress that has
// used live so far and runs for elapsed; "" = none. Drivers ask it while the
// agent runs.
func (s State) Over(live Usage, elapsed time.Duration) StopReason {
	l := s.Task.Limits
	u := s.settled().Add(s.counted(live))
	cost := u.cost()
	switch {
	case l.CostUSD > 0 && cost != nil && *cost >= l.CostUSD:
		return StopCost
	case l.Tokens > 0 && u.tokens() >= l.Tokens:
		return StopTokens
	case l.Duration > 0 && addSat(addSat(s.Elapsed, s.Unwaited), max(elapsed, s.Ran, 0)) >= l.Duration:
		return StopDuration
	}
	return ""
}

// budget is the budget that ended a run when none is seen to be spent: what the
// agent told while it ran may have been more than what it reported at the end.
func (s State) budget() StopReason {
	switch l := s.Task.Limits; {
	case l.CostUSD > 0:
		return StopCost
	case l.Tokens > 0:
		return StopTokens
	}
	return StopDuration
}

// reached reports the limit that forbids the attempt s.Iteration, s.Attempt.
func (s State) reached() (StopReason, string) {
	l := s.Task.Limits
	if reason, detail := s.stuck(); reason != "" {
		return reason, detail
	}
	if l.Stalls > 0 && s.Stalled >= l.Stalls {
		return StopStalled, fmt.Sprintf("%d iterations in a row changed nothing: %s", s.Stalled, s.compared())
	}
	if n := l.failures(); n >= 0 && s.Failures >= n {
		return StopFailed, fmt.Sprintf("%d failed iterations in a row", s.Failures)
	}
	if n := l.iterations(); n >= 0 && s.Iteration > n {
		return StopIterations, fmt.Sprintf("the limit of iterations, %d, is reached, and the task is not verified", n)
	}
	if stop, spent := s.passed(); stop != "" {
		return stop, spent
	}
	if spent, last := s.Usage.cost(), s.forecast(); l.CostUSD > 0 && spent != nil && last != nil && *spent+*last > l.CostUSD {
		return StopCost, fmt.Sprintf("spent %s of %s; another iteration like the last (%s) would exceed it", s.Usage.Cost(), usd(l.CostUSD), Usage{CostUSD: last, Estimated: s.Usage.Estimated}.Cost())
	}
	return s.blind()
}

// passed reports the budget that is spent, with what was spent of it.
func (s State) passed() (StopReason, string) {
	l, stop := s.Task.Limits, s.Over(Usage{}, 0)
	switch stop {
	case StopCost:
		return stop, fmt.Sprintf("spent %s of %s", s.Usage.Cost(), usd(l.CostUSD))
	case StopTokens:
		return stop, fmt.Sprintf("used %d of %d tokens", s.Usage.tokens(), l.Tokens)
	case StopDuration:
		return stop, fmt.Sprintf("used %v of %v", addSat(s.Elapsed, s.Unwaited), l.Duration)
	}
	return "", ""
}

// midrun reports the budget that ended an attempt while it ran.
func (s State) midrun() (StopReason, string) {
	if stop, spent := s.passed(); stop != "" {
		return stop, spent + "; ended in mid-run"
	}
	return s.budget(), "ended in mid-run"
}

// compared says what a stall was found by.
func (s State) compared() string {
	what := "the workspace"
	if strings.HasPrefix(s.Workspace, "git:") {
		what = "git's view of the workspace (the commit, and files that differ from it or are new; not those it ignores, nor what this loop writes)"
	}
	return fmt.Sprintf("%s was %s before and after each", what, s.Workspace)
}

// blind reports whether the loop goes on without seeing what it spends: costs must be
// known, and are not, or it is unlimited, and its budgets are all of what the agent does
// not tell.
func (s State) blind() (StopReason, string) {
	l := s.Task.Limits
	if s.Blind != "" {
		return StopCost, "cost_usd is a limit, but " + s.Blind
	}
	if l.iterations() >= 0 || l.Duration > 0 {
		return "", ""
	}
	noCost := s.Unpriced > 0
	noTokens := s.Iteration > 1 && s.Usage.tokens() <= s.Verifying.tokens() // what verifications tell says nothing about the agent
	switch {
	case l.CostUSD > 0 && l.Tokens <= 0 && noCost:
		return StopCost, "cost_usd is the only limit, and the agent does not say what it costs"
	case l.Tokens > 0 && l.CostUSD <= 0 && noTokens:
		return StopTokens, "tokens is the only limit, and the agent does not say how many it uses"
	case l.CostUSD > 0 && l.Tokens > 0 && noCost && noTokens:
		return StopCost, "cost_usd and tokens are the only limits, and the agent does not say what it uses"
	}
	return "", ""
}

// spend counts what an attempt has used: what it told at its end, and no less than
// what it told while it ran.
func (s State) spend(it Iteration) State {
	s = s.resumeWait(s.Unwaited) // a driver that does not count its waits has waited
	used := s.counted(it.Usage)
	s.Usage = s.settled().Add(used).Add(it.Verdict.Usage)
	s.Elapsed = addSat(s.Elapsed, max(it.Elapsed, s.Ran, 0))
	s.Running, s.Mark, s.Uncounted, s.Wait, s.Settled, s.Ran = false, "", false, 0, nil, 0
	s.Verifying = s.Verifying.Add(it.Verdict.Usage)
	s.Unseen = cmp.Or(fit(it.Unseen, maxUnseen), s.Unseen)
	s.Files = boundedList(slices.Concat(s.Files, it.Files), maxRecordBytes)
	if it.Claimed || it.Blocked {
		s.Line = it.Line
	}
	if !it.End.IsZero() {
		s.Updated = it.End.UTC().Round(0)
	}
	return s.price(it, used)
}

// price takes over what an attempt that used so much has cost.
func (s State) price(it Iteration, used Usage) State {
	cost := used.Add(it.Verdict.Usage).cost()
	if it.Fault == FaultInterrupted || it.Fault == FaultRateLimit { // another iteration would not have that
		s.Partial = cmp.Or(cost, s.Partial)
	} else {
		s.Spent = Usage{CostUSD: s.Spent}.Add(Usage{CostUSD: cost}).cost()
	}
	unknown := it.unknown(used)
	if unknown != "" && unpriced(it.Fault) {
		s.Unpriced++
	}
	if l := s.Task.Limits; l.Priced && l.CostUSD > 0 && (it.Fault == "" || it.Fault == FaultTimeout) {
		s.Blind = bound(unknown, maxDetail/2)
	}
	return s
}

// unknown says why it is not known what an attempt cost, and what to set; "" = it is known.
func (it Iteration) unknown(used Usage) string {
	const answer = "what the last answer cost is not known: the agent "
	const instead = "; set a price (--prices), or tokens (--max-tokens) or a duration (--max-duration) in place of the cost"
	untold := used.cost() == nil || used.Estimated && it.Usage.unpriced() // what was estimated was only a part
	switch {
	case untold && used.tokens() == 0: // a price would not help
		return answer + "told neither its cost nor its tokens; set a duration (--max-duration) or iterations (--max) in place of the cost"
	case untold && it.Model == "":
		return answer + "does not tell it, nor its model" + instead
	case untold:
		return answer + fmt.Sprintf("does not tell it, and there is no price for its model, %s, or the tokens that it used", it.Model) + instead
	case it.Verdict.Usage.unpriced():
		return "what the last verification cost is not known" + instead
	}
	return ""
}

// whole closes the account of an iteration that will not be run again.
func (s State) whole() State {
	if s.Spent != nil {
		s.LastCost, s.Spent, s.Partial = s.Spent, nil, nil
	}
	return s
}

// forecast is what another iteration may cost; nil = nobody knows.
func (s State) forecast() *float64 { return cmp.Or(s.LastCost, s.Partial) }

// unpriced reports whether an attempt that ended in f and does not tell all of
// its cost may have cost something that the loop must allow for.
func unpriced(f Fault) bool {
	return f != FaultRateLimit && f != FaultInterrupted && f != FaultPermanent
}

// tell takes over what the attempt that runs tells of itself: all that it has used
// so far.
func (s State) tell(it Iteration) State {
	settled, used := Usage{}.Add(s.settled()), s.counted(it.Usage)
	s.Settled, s.Usage, s.Ran = &settled, settled.Add(used), max(it.Elapsed, s.Ran)
	return s
}

// settled is what was used before the attempt that runs.
func (s State) settled() Usage {
	if s.Running && s.Settled != nil {
		return *s.Settled
	}
	return s.Usage
}

// counted raises what the attempt that runs is said to have used to what it has told.
func (s State) counted(u Usage) Usage {
	if !s.Running || s.Settled == nil {
		return u
	}
	return u.atLeast(s.Usage.since(*s.Settled))
}

// usd is an amount for people. What is more than nothing is not shown as nothing.
func usd(v float64) string {
	decimals := 4
	if v < 0.00005 {
		decimals = -1 // all that it has, and of nothing no more than 0
	}
	return "$" + strconv.FormatFloat(v, 'f', decimals, 64)
}

// backoff grows with n, from base to bound. Its jitter comes from a hash of the
// loop and the attempt, so that loops spread out and a replay waits the same.
func (s State) backoff(base, bound time.Duration, n int) time.Duration {
	n = max(n, 1)
	d := bound
	if n <= 16 && base<<(n-1) < bound { // further on the shift would overflow
		d = base << (n - 1)
	}
	h := fnv.New32a()
	fmt.Fprintf(h, "%s\x00%d\x00%d", s.Loop, s.Iteration, s.Attempt)
	half, r := int64(d/2), int64(h.Sum32()>>8) // r of 1<<24, in two steps that do not overflow
	return time.Duration(half + half>>24*r + half&(1<<24-1)*r>>24)
}
