package ralph

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Usage is what an attempt, its verification, or a loop so far, has used. The zero
// value is nothing at an unknown cost. Negative counts are taken as 0. It is a plain
// value but for CostUSD, which copies share: its methods return fresh ones and never
// write through it.
type Usage struct {
	Requests     int64 `json:"requests,omitempty"`     // calls to a model
	Messages     int64 `json:"messages,omitempty"`     // the agent's messages
	InputTokens  int64 `json:"input_tokens,omitempty"` // all of them, those of a cache included
	OutputTokens int64 `json:"output_tokens,omitempty"`
	// CacheRead and CacheWrite are the parts of InputTokens that were read from and
	// written to the provider's cache, and are priced otherwise.
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	// CostUSD is the cost in US dollars. Nil is unknown, which is not 0; NaN,
	// infinite and negative costs are unknown too.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	// Estimated says that CostUSD, or a part of it, was computed from tokens and
	// [Prices], and not told by the agent's client.
	Estimated bool `json:"estimated,omitempty"`
}

// Add returns the sum. Counts stay at the largest number rather than overflow.
// An unknown cost adds nothing and does not make the sum unknown, so the sum of
// known and unknown costs is the known part: at least that was spent. A sum of which
// a part is estimated is estimated. It shares nothing with u and v.
func (u Usage) Add(v Usage) Usage {
	sum := u.counts(v, func(a, b int64) int64 { return addSat(max(a, 0), max(b, 0)) })
	sum.CostUSD, sum.Estimated = u.cost(), u.estimated() || v.estimated()
	if cost := v.cost(); sum.CostUSD == nil {
		sum.CostUSD = cost
	} else if cost != nil {
		*sum.CostUSD = min(*sum.CostUSD+*cost, math.MaxFloat64)
	}
	return sum
}

// counts makes one count of each two, at no known cost.
func (u Usage) counts(v Usage, one func(a, b int64) int64) Usage {
	return Usage{
		Requests: one(u.Requests, v.Requests), Messages: one(u.Messages, v.Messages),
		InputTokens: one(u.InputTokens, v.InputTokens), OutputTokens: one(u.OutputTokens, v.OutputTokens),
		CacheRead: one(u.CacheRead, v.CacheRead), CacheWrite: one(u.CacheWrite, v.CacheWrite),
	}
}

// String returns the usage for people, as "3 requests, 1200 tokens in, 340 out,
// $0.0123". Requests and tokens that were not told are left out; a cost that is
// estimated is "≈ $0.37", and one that is not known is "cost unknown".
func (u Usage) String() string {
	var parts []string
	switch {
	case u.Requests == 1:
		parts = append(parts, "1 request")
	case u.Requests > 1:
		parts = append(parts, fmt.Sprintf("%d requests", u.Requests))
	}
	if u.tokens() > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens in, %d out", max(u.InputTokens, 0), max(u.OutputTokens, 0)))
	}
	if u.cost() == nil {
		parts = append(parts, "cost unknown")
	} else {
		parts = append(parts, u.Cost())
	}
	return strings.Join(parts, ", ")
}

// Cost returns the cost for people: "$0.0123" if it was told, "≈ $0.37" if it is
// estimated, and "unknown". What is more than nothing is never shown as nothing.
func (u Usage) Cost() string {
	cost := u.cost()
	switch {
	case cost == nil:
		return "unknown"
	case *cost > 0 && *cost < 0.00005:
		return "< $0.0001"
	case !u.Estimated:
		return usd(*cost)
	case *cost == 0:
		return "≈ $0"
	}
	decimals := 4
	if *cost >= 0.0995 {
		decimals = 2
	} else if *cost >= 0.00995 {
		decimals = 3
	}
	return "≈ $" + strconv.FormatFloat(*cost, 'f', decimals, 64)
}

// tokens is what Limits.Tokens bounds.
func (u Usage) tokens() int64 { return addSat(max(u.InputTokens, 0), max(u.OutputTokens, 0)) }

// cost is the cost as a copy, nil if it is unknown or no amount at all.
func (u Usage) cost() *float64 {
	if u.CostUSD == nil || math.IsNaN(*u.CostUSD) || math.IsInf(*u.CostUSD, 0) || *u.CostUSD < 0 {
		return nil
	}
	return new(*u.CostUSD)
}

// estimated reports whether there is a cost that was not told.
func (u Usage) estimated() bool { return u.Estimated && u.cost() != nil }

// unpriced reports whether something was used at a cost that is not told. What has used
// nothing has cost nothing, whether that was told or not.
func (u Usage) unpriced() bool {
	u = Usage{}.Add(u)
	return u.CostUSD == nil && u != Usage{}
}

// atLeast raises each count to what the stream reported while the agent ran. A
// final cost stands, if it is known, and so does a told one before an estimate.
//
// The larger count is the right one: a stream that breaks off has no last report, and
// what was used does not become less.
func (u Usage) atLeast(live Usage) Usage {
	most := u.counts(live, func(a, b int64) int64 { return max(a, b) })
	most.CostUSD, most.Estimated = u.cost(), u.Estimated
	if most.CostUSD == nil || u.Estimated && live.cost() != nil && !live.Estimated {
		most.CostUSD, most.Estimated = live.cost(), live.estimated()
	}
	return most
}

// since is what was added to before to make u. A cost that is no higher is unknown. A
// cost of nothing for what has used tokens is one that was not told yet.
func (u Usage) since(before Usage) Usage {
	more := u.counts(before, func(a, b int64) int64 { return max(a-b, 0) })
	more.CostUSD, more.Estimated = u.cost(), u.estimated()
	if cost := before.cost(); cost != nil && more.CostUSD != nil {
		if *more.CostUSD -= *cost; *more.CostUSD <= 0 {
			more.CostUSD, more.Estimated = nil, false
		}
	}
	return more
}

// addSat adds two numbers that are not negative and stays at the largest. An overflow
// would make a spent budget negative, and so unspent.
func addSat[T int64 | time.Duration](a, b T) T {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxInt64
}
