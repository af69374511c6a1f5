package progress

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// limitsChanged says which limits are others than before, and what they were; "" = none.
// What was before is told too: who reads it was perhaps not who has changed them.
func limitsChanged(old, now ralph.Limits) string {
	var changes []string
	for _, l := range []struct{ name, old, now string }{
		{"iterations", most(int64(old.Iterations), 10), most(int64(now.Iterations), 10)},
		{"duration", longest(old.Duration), longest(now.Duration)},
		{"cost", dearest(old.CostUSD), dearest(now.CostUSD)},
		{"tokens", most(old.Tokens, 0), most(now.Tokens, 0)},
		{"stalls", most(int64(old.Stalls), 0), most(int64(now.Stalls), 0)},
		{"failures", most(int64(old.Failures), 3), most(int64(now.Failures), 3)},
		{"retries", retried(old.Retries), retried(now.Retries)},
		{"blocked", most(int64(old.Blocked), 1), most(int64(now.Blocked), 1)},
		{"time of an iteration", longest(old.IterationTimeout), longest(now.IterationTimeout)},
		{"time of a verification", longest(cmp.Or(old.VerifyTimeout, 5*time.Minute)), longest(cmp.Or(now.VerifyTimeout, 5*time.Minute))},
		{"wait", longest(cmp.Or(old.Wait, 24*time.Hour)), longest(cmp.Or(now.Wait, 24*time.Hour))},
	} {
		if l.old != l.now {
			changes = append(changes, l.name+" "+l.now+" (was "+l.old+")")
		}
	}
	return strings.Join(changes, ", ")
}

// unbounded is a limit that is none.
const unbounded = "no limit"

// most is a limit of a number, with what 0 stands for; 0 = no limit.
func most(n, zero int64) string {
	if n = cmp.Or(n, zero); n <= 0 {
		return unbounded
	}
	return strconv.FormatInt(n, 10)
}

func longest(d time.Duration) string {
	if d <= 0 {
		return unbounded
	}
	return lasted(d)
}

func dearest(usd float64) string {
	if usd <= 0 {
		return unbounded
	}
	return "$" + strings.TrimSuffix(strconv.FormatFloat(usd, 'f', 2, 64), ".00")
}

// retried is how often is retried; a negative number is never.
func retried(n int) string { return strconv.Itoa(max(cmp.Or(n, 3), 0)) }
