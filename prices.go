package ralph

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A Price is what a model costs, in US dollars for a million tokens. The zero value is
// a model that costs nothing, such as one on the user's own machine.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// CacheRead and CacheWrite are for input that is read from and written to the
	// provider's cache. 0 = as Input.
	CacheRead  float64 `json:"cache_read,omitempty"`
	CacheWrite float64 `json:"cache_write,omitempty"`
}

// Prices are prices by the name of the model, as a client tells it. The name "*" is
// for every model that has no row of its own, one that is not known included.
//
// An estimate is as good as its prices, and what it is made of: taxes, discounts,
// subscriptions, surcharges for long prompts and for tools of the provider's, such as
// a search, are no part of it.
type Prices map[string]Price

// anyModel is the name of the row for all others.
const anyModel = "*"

// Find returns the price of a model: of the row with its name; else, case ignored,
// with its name without what clients and resellers add to it: a provider in front, up
// to the last "/", something in brackets behind ("[1m]"), a date or "-latest" behind;
// else of the row "*". A name that only begins like another is another model's. A
// price that is negative, infinite or NaN is none, and the row "*" does not stand in
// for it.
//
// A prefix is not enough of a likeness: "gpt-5-mini" costs a fraction of "gpt-5".
func (p Prices) Find(model string) (Price, bool) {
	for _, name := range names(model) {
		if row, ok := p.row(name); ok {
			return row, row.problem() == ""
		}
	}
	row, ok := p[anyModel]
	return row, ok && row.problem() == ""
}

// row returns the row of a name, case ignored. Of several that differ in case only it
// is the first in order, so that the same prices give the same cost each time.
func (p Prices) row(name string) (Price, bool) {
	if name == "" || name == anyModel {
		return Price{}, false
	}
	if row, ok := p[name]; ok {
		return row, true
	}
	for _, key := range slices.Sorted(maps.Keys(p)) {
		if strings.EqualFold(key, name) {
			return p[key], true
		}
	}
	return Price{}, false
}

// names are the names under which a model may have a price, the fullest first.
func names(model string) []string {
	var list []string
	for _, name := range []string{model, model[strings.LastIndexByte(model, '/')+1:]} {
		list = append(list, name)
		if at := strings.IndexByte(name, '['); at > 0 && strings.HasSuffix(name, "]") {
			name = name[:at]
			list = append(list, name)
		}
		list = append(list, undated(name))
	}
	return list
}

// undated is a model's name without "-latest", "-20250929", "@20250929" or
// "-2025-08-07" behind.
func undated(name string) string {
	const latest = "-latest"
	if n := len(name) - len(latest); n > 0 && strings.EqualFold(name[n:], latest) {
		return name[:n]
	}
	for _, shape := range []string{"-00000000", "@00000000", "-0000-00-00"} {
		if n := len(name) - len(shape); n > 0 && shaped(name[n:], shape) {
			return name[:n]
		}
	}
	return name
}

// shaped reports whether a text is like the shape, in which 0 is any digit.
func shaped(text, shape string) bool {
	for i := range len(shape) {
		if digit := text[i] >= '0' && text[i] <= '9'; digit != (shape[i] == '0') || !digit && text[i] != shape[i] {
			return false
		}
	}
	return true
}

// Cost returns what tokens cost with a model. It is not known, and ok false, if the
// model has no price or the input was not told: every call has some, and a price of
// the output alone would be a small part of the cost.
//
// Tokens that were read from a cache are part of the input, as clients report them, so
// they are taken out of it before it is priced; more of them than there is input counts
// as all of it.
func (p Prices) Cost(model string, u Usage) (usd float64, ok bool) {
	price, ok := p.Find(model)
	if !ok || u.InputTokens <= 0 {
		return 0, false
	}
	read := min(max(u.CacheRead, 0), u.InputTokens)
	written := min(max(u.CacheWrite, 0), u.InputTokens-read)
	usd = float64(u.InputTokens-read-written)*(price.Input/1e6) +
		float64(read)*(cmp.Or(price.CacheRead, price.Input)/1e6) +
		float64(written)*(cmp.Or(price.CacheWrite, price.Input)/1e6) +
		float64(max(u.OutputTokens, 0))*(price.Output/1e6)
	return min(usd, math.MaxFloat64), true
}

// With returns the prices with more's rows over them. Neither is changed. A row
// replaces one whose name differs in case only. It is how a program lays its own prices
// over [DefaultPrices].
func (p Prices) With(more Prices) Prices {
	sum := make(Prices, len(p)+len(more))
	for model, row := range p {
		if _, replaced := more.row(model); !replaced {
			sum[model] = row
		}
	}
	maps.Copy(sum, more)
	return sum
}

// Validate reports everything that is wrong with the prices, a line for each problem:
// amounts that are negative, infinite or NaN, rows without a name, and two rows for a
// model whose names differ in case only.
func (p Prices) Validate() error {
	var errs []error
	before := map[string]string{}
	for _, model := range slices.Sorted(maps.Keys(p)) {
		if strings.TrimSpace(model) == "" {
			errs = append(errs, errors.New("prices: a row names no model"))
		}
		if other, twice := before[strings.ToLower(model)]; twice {
			errs = append(errs, fmt.Errorf("prices: %q and %q are the same model", clip(other, 80), clip(model, 80)))
		}
		before[strings.ToLower(model)] = model
		if why := p[model].problem(); why != "" {
			errs = append(errs, fmt.Errorf("prices: %q: %s", clip(model, 80), why))
		}
	}
	return invalid(errs)
}

// problem is what is wrong with a price; "" = nothing.
func (p Price) problem() string {
	for _, f := range p.fields() {
		if why := amiss(*f.value); why != "" {
			return f.name + " " + why
		}
	}
	return ""
}

// amiss says why an amount is none; "" = it is one.
func amiss(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return fmt.Sprintf("is %v; it must be 0 or a positive amount, in US dollars for a million tokens", v)
	}
	return ""
}

// A priceField is a field of a price as it is written. One table of them serves reading
// and checking.
type priceField struct {
	name   string
	value  *float64
	needed bool
}

func (p *Price) fields() []priceField {
	return []priceField{
		{"input", &p.Input, true}, {"output", &p.Output, true},
		{"cache_read", &p.CacheRead, false}, {"cache_write", &p.CacheWrite, false},
	}
}
