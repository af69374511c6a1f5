package stream

import (
	"math"
	"slices"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// Usage is what a run has used. InputTokens counts all input, that read from
// and written to a cache included. A nil CostUSD is unknown.
type Usage struct {
	Requests, Messages, InputTokens, OutputTokens int64
	CacheRead, CacheWrite                         int64 // of InputTokens
	CostUSD                                       *float64
	Estimated                                     bool // the cost, or a part of it, was not told
}

// usageOf is the usage of one message.
type usageOf struct {
	id    string
	usage Usage
}

// using takes over the usage of one message, which may be told again; that of a
// sub-agent counts, but its messages are not the agent's.
func (d *Decoder) using(id string, subAgent bool, u Usage) {
	defer d.tell()
	if n := slices.IndexFunc(d.open, func(m usageOf) bool { return m.id == id }); id != "" && n >= 0 {
		d.open[n].usage = u
		return
	}
	d.res.Usage.Requests++
	if !subAgent {
		d.res.Usage.Messages++
	}
	if len(d.open) == maxOpen {
		d.res.Usage.InputTokens += d.open[0].usage.InputTokens
		d.res.Usage.OutputTokens += d.open[0].usage.OutputTokens
		d.open = slices.Delete(d.open, 0, 1)
	}
	d.open = append(d.open, usageOf{id, u})
}

// usage is the usage so far.
func (d *Decoder) usage() Usage {
	u := d.res.Usage
	for _, m := range d.open {
		u.InputTokens += m.usage.InputTokens
		u.OutputTokens += m.usage.OutputTokens
	}
	return u
}

// total replaces the usage so far, as far as it is told.
func (d *Decoder) total(in, out int64) {
	if in > 0 || out > 0 {
		d.open = nil
		d.res.Usage.InputTokens, d.res.Usage.OutputTokens = in, out
	}
}

// cost replaces the cost so far, if it is told.
func (d *Decoder) cost(v *jsonlines.Value, path ...string) {
	if f, ok := v.Number(path...); ok && f >= 0 && !math.IsInf(f, 0) {
		d.res.Usage.CostUSD = &f
	}
}

// addCost adds to the cost so far.
func (d *Decoder) addCost(f float64) {
	if !(f >= 0) || math.IsInf(f, 0) {
		return
	}
	if sum := d.res.Usage.CostUSD; sum != nil {
		f += *sum
	}
	d.res.Usage.CostUSD = &f
}

// tell reports the usage so far.
func (d *Decoder) tell() {
	if d.live != nil {
		d.live(d.usage())
	}
}
