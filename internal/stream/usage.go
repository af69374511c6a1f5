package stream

import (
	"cmp"
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

// A counter adds up what one source tells of a run: its stream, or a file that the
// client writes beside it.
type counter struct {
	requests, messages int64

	cost *float64  // told; nil = not told
	paid Usage     // the tokens that it is for
	rest []portion // those whose cost was not told
	open []portion // of messages whose usage may be told again
}

// A portion is tokens of one model, "" = the run's.
type portion struct {
	id    string // of their message
	model string
	usage Usage
	odd   bool // of too many models to be told apart
}

const maxModels = 16

// plus adds tokens.
func (u Usage) plus(v Usage) Usage {
	u.InputTokens = addSat(u.InputTokens, v.InputTokens)
	u.OutputTokens = addSat(u.OutputTokens, v.OutputTokens)
	u.CacheRead = addSat(u.CacheRead, v.CacheRead)
	u.CacheWrite = addSat(u.CacheWrite, v.CacheWrite)
	return u
}

func addSat(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxInt64
}

// apart makes a usage of tokens that are told apart: the input is without those of a
// cache.
func apart(in, out, read, write int64) Usage {
	return Usage{InputTokens: addSat(in, addSat(read, write)), OutputTokens: out, CacheRead: read, CacheWrite: write}
}

// cached says how much of the input was read from and written to a cache.
func (u Usage) cached(read, write int64) Usage {
	u.CacheRead = min(read, u.InputTokens)
	u.CacheWrite = min(write, u.InputTokens-u.CacheRead)
	return u
}

// used reports whether there are tokens.
func (u Usage) used() bool { return u.InputTokens > 0 || u.OutputTokens > 0 }

// message takes over the usage of one message, which may be told again.
func (c *counter) message(id, model string, subAgent bool, u Usage) {
	if n := slices.IndexFunc(c.open, func(p portion) bool { return p.id == id }); id != "" && n >= 0 {
		c.open[n].usage = u
		return
	}
	c.requests++
	if !subAgent {
		c.messages++
	}
	if len(c.open) == maxOpen {
		c.spend(c.open[0].model, c.open[0].usage)
		c.open = slices.Delete(c.open, 0, 1)
	}
	c.open = append(c.open, portion{id: id, model: model, usage: u})
}

// spend adds tokens whose cost is not told.
func (c *counter) spend(model string, u Usage) {
	n := slices.IndexFunc(c.rest, func(p portion) bool { return p.model == model && !p.odd })
	if n < 0 && len(c.rest) == maxModels {
		n = maxModels - 1
		c.rest[n].odd = true
	}
	if n < 0 {
		n = len(c.rest)
		c.rest = append(c.rest, portion{model: model})
	}
	c.rest[n].usage = c.rest[n].usage.plus(u)
}

// total replaces the tokens so far, if any are told. Their cost is not told yet.
func (c *counter) total(parts ...portion) {
	if !slices.ContainsFunc(parts, func(p portion) bool { return p.usage.used() }) {
		return
	}
	c.cost, c.paid, c.rest, c.open = nil, Usage{}, nil, nil
	for _, p := range parts {
		c.spend(p.model, p.usage)
	}
}

// pay takes over the cost of all tokens so far.
func (c *counter) pay(usd float64) {
	c.paid = c.tokens()
	c.cost, c.rest, c.open = &usd, nil, nil
}

// tokens are all tokens so far.
func (c *counter) tokens() Usage {
	u := c.paid
	for _, parts := range [...][]portion{c.rest, c.open} {
		for _, p := range parts {
			u = u.plus(p.usage)
		}
	}
	return u
}

// usage is the usage so far. What has no told cost gets that of the prices; if a part
// has none, the cost is unknown.
func (c *counter) usage(price Pricing, model string) Usage {
	u := c.tokens()
	u.Requests, u.Messages = c.requests, c.messages
	if c.cost != nil {
		u.CostUSD = new(*c.cost)
	}
	if price == nil {
		return u
	}
	for _, p := range slices.Concat(c.rest, c.open) {
		if !p.usage.used() {
			continue
		}
		usd, ok := price(cmp.Or(p.model, model), p.usage)
		if !ok || p.odd {
			u.CostUSD, u.Estimated = nil, false
			return u
		}
		if u.CostUSD != nil {
			usd += *u.CostUSD
		}
		u.CostUSD, u.Estimated = new(min(usd, math.MaxFloat64)), true
	}
	return u
}

// A Pricing says what tokens of a model cost; not ok = that is not known.
type Pricing func(model string, u Usage) (usd float64, ok bool)

// atLeast raises u to what another source tells of the same run. A told cost stands;
// of two estimates the higher one does.
func (u Usage) atLeast(v Usage) Usage {
	u.Requests, u.Messages = max(u.Requests, v.Requests), max(u.Messages, v.Messages)
	u.InputTokens, u.OutputTokens = max(u.InputTokens, v.InputTokens), max(u.OutputTokens, v.OutputTokens)
	u.CacheRead, u.CacheWrite = max(u.CacheRead, v.CacheRead), max(u.CacheWrite, v.CacheWrite)
	u = u.cached(u.CacheRead, u.CacheWrite)
	if v.CostUSD != nil && (u.CostUSD == nil || u.Estimated && (!v.Estimated || *v.CostUSD > *u.CostUSD)) {
		u.CostUSD, u.Estimated = v.CostUSD, v.Estimated
	}
	return u
}

// using takes over the usage of one message, which may be told again; that of a
// sub-agent counts, but its messages are not the agent's.
func (d *Decoder) using(id, model string, subAgent bool, u Usage) {
	if n := slices.IndexFunc(d.early, func(p portion) bool { return p.id == id }); id != "" && n >= 0 {
		u = u.atLeast(d.early[n].usage)
	}
	d.told.message(id, model, subAgent, u)
	d.tell()
}

// amend raises the usage of a message, which may not have been told yet.
func (d *Decoder) amend(id, model string, u Usage) {
	if n := slices.IndexFunc(d.told.open, func(p portion) bool { return p.id == id }); n >= 0 {
		d.told.open[n].usage = d.told.open[n].usage.atLeast(u)
	}
	d.early = slices.DeleteFunc(d.early, func(p portion) bool { return p.id == id })
	if len(d.early) == maxOpen {
		d.early = slices.Delete(d.early, 0, 1)
	}
	d.early = append(d.early, portion{id: id, model: model, usage: u})
}

// usage is the usage so far, by all that tells of it.
func (d *Decoder) usage() Usage {
	model := cmp.Or(d.res.Model, d.model)
	u := d.told.usage(d.price, model).atLeast(d.beside.usage(d.price, model))
	last := d.last
	if !u.Estimated || !last.Estimated {
		last.CostUSD = nil // what is told takes its place, and what is unknown now was not known
	}
	return u.atLeast(last)
}

// cost takes over the cost of all tokens so far, if it is told.
func (d *Decoder) cost(v *jsonlines.Value, path ...string) {
	if f, ok := v.Number(path...); ok && f >= 0 && !(f == 0 && d.zeros && d.told.tokens().used()) {
		d.told.pay(f)
	}
}

// step takes over the tokens of a step, and its cost, if it is told.
func (d *Decoder) step(u Usage, v *jsonlines.Value, path ...string) {
	c := &d.told
	f, ok := v.Number(path...)
	if !ok || f < 0 || f == 0 && d.zeros && u.used() {
		c.spend("", u)
		return
	}
	if c.cost != nil {
		f = min(f+*c.cost, math.MaxFloat64)
	}
	c.cost, c.paid = &f, c.paid.plus(u)
}

// tell reports the usage so far.
func (d *Decoder) tell() {
	d.last = d.usage()
	if d.live != nil {
		u := d.last
		if u.CostUSD != nil {
			u.CostUSD = new(*u.CostUSD)
		}
		d.live(u)
	}
}
