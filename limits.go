package ralph

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds on what a state carries, in bytes and numbers. Text that is kept has
// no control characters, so it at most doubles as JSON; of many small texts that
// is made sure of, see fit.
const (
	maxFeedback    = 8 << 10
	maxKept        = 2 << 10 // of the feedback in a verdict that is kept as record
	maxGuidance    = 6 << 10
	maxDetail      = 1 << 10
	maxChecks      = 64
	maxChecksBytes = 8 << 10
	maxFiles       = 200
	maxFilesBytes  = 16 << 10
	maxRecordBytes = 4 << 10 // of the files in a state
)

// Back-off. A retry comes soon, since agents' clients retry themselves; a rate
// limit without a reset time is asked about rarely.
const (
	retryBase, retryMax         = 500 * time.Millisecond, 5 * time.Minute
	rateLimitBase, rateLimitMax = time.Minute, 30 * time.Minute
)

const undecidedNote = "The checks could not be run, so this says nothing about your work: "

// Over reports which budget is spent, with an attempt in progress that has
// used live so far and runs for elapsed; "" = none. Drivers ask it while the
// agent runs.
func (s State) Over(live Usage, elapsed time.Duration) StopReason {
	l := s.Task.Limits
	u := s.Usage.add(live)
	cost := u.cost()
	switch {
	case l.CostUSD > 0 && cost != nil && *cost >= l.CostUSD:
		return StopCost
	case l.Tokens > 0 && addSat(u.InputTokens, u.OutputTokens) >= l.Tokens:
		return StopTokens
	case l.Duration > 0 && addSat(s.Elapsed, max(elapsed, 0)) >= l.Duration:
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
	if l.Stalls > 0 && s.Stalled >= l.Stalls {
		return StopStalled, fmt.Sprintf("%d iterations in a row changed nothing", s.Stalled)
	}
	if n := l.failures(); n >= 0 && s.Failures >= n {
		return StopFailed, fmt.Sprintf("%d failed iterations in a row", s.Failures)
	}
	if n := l.iterations(); n >= 0 && s.Iteration > n {
		return StopIterations, fmt.Sprintf("the limit of iterations, %d, is reached, and the task is not verified", n)
	}
	switch s.Over(Usage{}, 0) {
	case StopCost:
		return StopCost, fmt.Sprintf("spent %s of %s", usd(*s.Usage.CostUSD), usd(l.CostUSD))
	case StopTokens:
		return StopTokens, fmt.Sprintf("used %d of %d tokens", addSat(s.Usage.InputTokens, s.Usage.OutputTokens), l.Tokens)
	case StopDuration:
		return StopDuration, fmt.Sprintf("used %v of %v", s.Elapsed, l.Duration)
	}
	if l.CostUSD > 0 {
		if spent, last := s.Usage.cost(), s.LastCost; spent != nil && last != nil && *spent+*last > l.CostUSD {
			return StopCost, fmt.Sprintf("spent %s of %s; another iteration like the last (%s) would exceed it", usd(*spent), usd(l.CostUSD), usd(*last))
		}
		if s.Unpriced > 0 && l.iterations() < 0 && l.Duration <= 0 && l.Tokens <= 0 {
			return StopCost, "cost_usd is the only limit, and the agent does not say what it costs"
		}
	}
	return "", ""
}

func usd(v float64) string { return "$" + strconv.FormatFloat(v, 'f', 4, 64) }

// backoff grows with n, from base to bound. Its jitter comes from a hash of the
// loop and the attempt, so that loops spread out and a replay waits the same.
func (s State) backoff(base, bound time.Duration, n int) time.Duration {
	d := bound
	if n <= 16 && base<<(n-1) < bound { // further on the shift would overflow
		d = base << (n - 1)
	}
	h := fnv.New32a()
	fmt.Fprintf(h, "%s\x00%d\x00%d", s.Loop, s.Iteration, s.Attempt)
	half, r := int64(d/2), int64(h.Sum32()>>8) // r of 1<<24, in two steps that do not overflow
	return time.Duration(half + half>>24*r + half&(1<<24-1)*r>>24)
}

// add returns the sum. An unknown cost adds nothing and does not make the sum
// unknown: State.Unpriced counts those.
func (u Usage) add(v Usage) Usage {
	sum := Usage{
		Requests:     addSat(max(u.Requests, 0), max(v.Requests, 0)),
		Messages:     addSat(max(u.Messages, 0), max(v.Messages, 0)),
		InputTokens:  addSat(max(u.InputTokens, 0), max(v.InputTokens, 0)),
		OutputTokens: addSat(max(u.OutputTokens, 0), max(v.OutputTokens, 0)),
	}
	switch a, b := u.cost(), v.cost(); {
	case a != nil && b != nil:
		c := min(*a+*b, math.MaxFloat64)
		sum.CostUSD = &c
	case a != nil:
		sum.CostUSD = a
	default:
		sum.CostUSD = b
	}
	return sum
}

// cost is the cost as a copy, nil if it is unknown or no amount at all.
func (u Usage) cost() *float64 {
	if u.CostUSD == nil || math.IsNaN(*u.CostUSD) || math.IsInf(*u.CostUSD, 0) || *u.CostUSD < 0 {
		return nil
	}
	c := *u.CostUSD
	return &c
}

// addSat adds two numbers that are not negative and stays at the largest.
func addSat[T int64 | time.Duration](a, b T) T {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxInt64
}

// undecided reports whether the verdict rejects only because checks could not
// run, which says nothing about the work.
func (v Verdict) undecided() bool {
	unable := false
	for _, c := range v.Checks {
		switch c.Status {
		case CheckFailed:
			return false
		case CheckUnable, CheckTimeout:
			unable = true
		}
	}
	return unable && !v.Passed
}

// bounded returns a copy of the verdict that is small enough to be kept.
func (v Verdict) bounded() Verdict {
	v.Feedback = clip(v.Feedback, maxKept)
	if len(v.Checks) == 0 {
		return v
	}
	checks := make([]Check, 0, min(len(v.Checks), maxChecks))
	share := maxChecksBytes / min(len(v.Checks), maxChecks)
	for _, c := range gravest(v.Checks) {
		c.Name = fit(c.Name, min(share, 128))
		c.Detail = fit(c.Detail, max(share-len(c.Name), 32))
		c.Digest = fit(c.Digest, 80)
		if c.ExitCode != nil {
			code := *c.ExitCode
			c.ExitCode = &code
		}
		checks = append(checks, c)
	}
	v.Checks = checks
	return v
}

// gravest returns as many checks as are kept, in their order: of more, those
// that say why a verdict rejects go before others.
func gravest(checks []Check) []Check {
	if len(checks) <= maxChecks {
		return checks
	}
	gravity := func(c Check) int {
		return slices.Index([]CheckStatus{CheckTimeout, CheckUnable, CheckFailed}, c.Status)
	}
	order := make([]int, len(checks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return gravity(checks[b]) - gravity(checks[a]) })
	kept := order[:maxChecks]
	slices.Sort(kept)
	var out []Check
	for _, i := range kept {
		out = append(out, checks[i])
	}
	return out
}

// clip makes text fit to be kept and shown: valid UTF-8, no control characters
// but line feed and tab, and at most limit bytes. What is too long loses its
// middle, for the first and the last lines say most.
func clip(text string, limit int) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, isControl) {
		text = strings.Map(func(r rune) rune {
			if isControl(r) {
				return -1
			}
			return r
		}, strings.ToValidUTF8(text, "\uFFFD"))
	}
	if len(text) <= limit {
		return text
	}
	mark := fmt.Sprintf("\n… %d bytes left out …\n", len(text)-limit)
	if len(mark) >= limit {
		return text[:runeStart(text, limit)]
	}
	head := runeStart(text, (limit-len(mark))/3)
	tail := len(text) - (limit - len(mark) - head)
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + mark + text[tail:]
}

// fit is clip for the bytes that a text has as JSON.
func fit(text string, limit int) string {
	text = clip(text, limit)
	if len(text)+strings.Count(text, `"`)+strings.Count(text, `\`)+strings.Count(text, "\n")+strings.Count(text, "\t") > limit {
		return clip(text, limit/2)
	}
	return text
}

// short makes a digest of a digest that is too long to be kept.
func short(digest string) string {
	if len(digest) <= 128 {
		return digest
	}
	sum := sha256.Sum256([]byte(digest))
	return hex.EncodeToString(sum[:])
}

// isControl leaves line feed and tab alone.
func isControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// runeStart is the last rune border at or before n.
func runeStart(text string, n int) int {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}
