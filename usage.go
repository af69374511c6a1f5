package ralph

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
)

// Usage is what an attempt, its verification, or a loop so far, has used. Negative counts are
// taken as 0.
type Usage struct {
	Requests     int64 `json:"requests,omitempty"` // calls to a model
	Messages     int64 `json:"messages,omitempty"` // the agent's messages
	InputTokens  int64 `json:"input_tokens,omitempty"`
	OutputTokens int64 `json:"output_tokens,omitempty"`
	// CostUSD is the cost in US dollars. Nil is unknown, which is not 0; NaN,
	// infinite and negative costs are unknown too.
	CostUSD *float64 `json:"cost_usd,omitempty"`
}

// Add returns the sum. Counts stay at the largest number rather than overflow.
// An unknown cost adds nothing and does not make the sum unknown, so the sum of
// known and unknown costs is the known part: at least that was spent. The sum
// shares nothing with u and v.
func (u Usage) Add(v Usage) Usage {
	sum := Usage{
		Requests:     addSat(max(u.Requests, 0), max(v.Requests, 0)),
		Messages:     addSat(max(u.Messages, 0), max(v.Messages, 0)),
		InputTokens:  addSat(max(u.InputTokens, 0), max(v.InputTokens, 0)),
		OutputTokens: addSat(max(u.OutputTokens, 0), max(v.OutputTokens, 0)),
		CostUSD:      u.cost(),
	}
	if cost := v.cost(); sum.CostUSD == nil {
		sum.CostUSD = cost
	} else if cost != nil {
		*sum.CostUSD = min(*sum.CostUSD+*cost, math.MaxFloat64)
	}
	return sum
}

// String returns the usage for people, as "3 requests, 1200 tokens in, 340 out,
// $0.0123". Requests and tokens that were not told are left out; a cost that is
// not known is said to be unknown.
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
	if cost := u.cost(); cost != nil {
		parts = append(parts, usd(*cost))
	} else {
		parts = append(parts, "cost unknown")
	}
	return strings.Join(parts, ", ")
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

// unpriced reports whether something was used at a cost that is not told.
func (u Usage) unpriced() bool {
	u = Usage{}.Add(u)
	return u.CostUSD == nil && u != Usage{}
}

// atLeast raises each count to what the stream reported while the agent ran. A
// final cost stands, if it is known.
func (u Usage) atLeast(live Usage) Usage {
	u.Requests = max(u.Requests, live.Requests)
	u.Messages = max(u.Messages, live.Messages)
	u.InputTokens = max(u.InputTokens, live.InputTokens)
	u.OutputTokens = max(u.OutputTokens, live.OutputTokens)
	u.CostUSD = cmp.Or(u.cost(), live.cost())
	return u
}

// since is what was added to before to make u. A cost that is no higher is unknown.
func (u Usage) since(before Usage) Usage {
	more := Usage{
		Requests:     max(u.Requests-before.Requests, 0),
		Messages:     max(u.Messages-before.Messages, 0),
		InputTokens:  max(u.InputTokens-before.InputTokens, 0),
		OutputTokens: max(u.OutputTokens-before.OutputTokens, 0),
		CostUSD:      u.cost(),
	}
	if cost := before.cost(); cost != nil && more.CostUSD != nil {
		if *more.CostUSD -= *cost; *more.CostUSD <= 0 {
			more.CostUSD = nil
		}
	}
	return more
}

// addSat adds two numbers that are not negative and stays at the largest.
func addSat[T int64 | time.Duration](a, b T) T {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxInt64
}
