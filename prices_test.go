package ralph_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
)

func TestPricesFind(t *testing.T) {
	t.Parallel()
	one, two, any := ralph.Price{Input: 1}, ralph.Price{Input: 2}, ralph.Price{Input: 9}
	for _, tt := range []struct {
		model  string
		prices ralph.Prices
		want   *ralph.Price
	}{
		{"gpt-5", ralph.Prices{"gpt-5": one}, &one},
		{"GPT-5", ralph.Prices{"gpt-5": one}, &one},
		{"gpt-5", ralph.Prices{"GPT-5": one}, &one},
		{"gpt-5-2025-08-07", ralph.Prices{"gpt-5": one}, &one},
		{"gpt-5-2025-08-07", ralph.Prices{"gpt-5": one, "gpt-5-2025-08-07": two}, &two},
		{"openai/gpt-5", ralph.Prices{"gpt-5": one}, &one},
		{"a/b/gpt-5", ralph.Prices{"gpt-5": one}, &one},
		{"openai/gpt-5", ralph.Prices{"gpt-5": one, "openai/gpt-5": two}, &two},
		{"openai/gpt-5-2025-08-07", ralph.Prices{"gpt-5": one, "openai/gpt-5": two}, &two},
		{"claude-x-20250929", ralph.Prices{"claude-x": one}, &one},
		{"claude-x@20250929", ralph.Prices{"claude-x": one}, &one},
		{"claude-x-20250929[1m]", ralph.Prices{"claude-x": one}, &one},
		{"claude-x[1m]", ralph.Prices{"claude-x": one, "claude-x[1m]": two}, &two},
		{"claude-x-latest", ralph.Prices{"claude-x": one}, &one},
		{"claude-x-LATEST", ralph.Prices{"claude-x": one}, &one},
		{"gpt-5-mini", ralph.Prices{"gpt-5": one}, nil}, // another model
		{"gpt-5", ralph.Prices{"gpt-5-mini": one}, nil},
		{"gpt-5-2025080", ralph.Prices{"gpt-5": one}, nil}, // no date
		{"gpt-5-2025-08-0x", ralph.Prices{"gpt-5": one}, nil},
		{"gpt-5-mini", ralph.Prices{"gpt-5": one, "*": any}, &any},
		{"", ralph.Prices{"gpt-5": one, "": two}, nil},
		{"", ralph.Prices{"*": any}, &any},
		{"*", ralph.Prices{"*": any}, &any},
		{"a/*", ralph.Prices{"gpt-5": one}, nil},
		{"-latest", ralph.Prices{"": one}, nil},
		{"[1m]", ralph.Prices{"": one}, nil},
		{"gpt-5", nil, nil},
		{"gpt-5", ralph.Prices{"gpt-5": {Input: math.NaN()}, "*": any}, nil}, // what is wrong is not replaced by what is for others
		{"gpt-5", ralph.Prices{"gpt-5": {Output: -1}}, nil},
		{"gpt-5", ralph.Prices{"gpt-5": {CacheRead: math.Inf(1)}}, nil},
		{"gpt-5", ralph.Prices{"*": {CacheWrite: math.Inf(-1)}}, nil},
	} {
		got, ok := tt.prices.Find(tt.model)
		if ok != (tt.want != nil) || ok && got != *tt.want {
			t.Errorf("%q in %v: %v, %t", tt.model, tt.prices, got, ok)
		}
	}
}

func TestPricesCost(t *testing.T) {
	t.Parallel()
	prices := ralph.Prices{
		"a": {Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}, "plain": {Input: 2, Output: 4}, "free": {},
		"ten": {Input: 30, Output: 150, CacheRead: 3, CacheWrite: 37.5}, "huge": {Input: math.MaxFloat64, Output: math.MaxFloat64},
	}
	const million = 1_000_000
	for _, tt := range []struct {
		model string
		u     ralph.Usage
		want  float64 // negative = unknown
	}{
		{"a", ralph.Usage{InputTokens: million}, 3},
		{"a", ralph.Usage{InputTokens: million, OutputTokens: million}, 18},
		{"a", ralph.Usage{InputTokens: million, CacheRead: million}, 0.3},
		{"a", ralph.Usage{InputTokens: million, CacheWrite: million}, 3.75},
		{"a", ralph.Usage{InputTokens: 4 * million, CacheRead: 2 * million, CacheWrite: million, OutputTokens: 2 * million}, 3 + 0.6 + 3.75 + 30},
		{"ten", ralph.Usage{InputTokens: 4 * million, CacheRead: 2 * million, CacheWrite: million, OutputTokens: 2 * million}, 373.5},
		{"plain", ralph.Usage{InputTokens: 3 * million, CacheRead: million, CacheWrite: million, OutputTokens: million}, 10}, // a cache costs what input costs
		{"plain", ralph.Usage{InputTokens: million, CacheRead: 5 * million, CacheWrite: -1}, 2},                              // never more of it than input
		{"free", ralph.Usage{InputTokens: million}, 0},
		{"huge", ralph.Usage{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64}, math.MaxFloat64},
		{"a", ralph.Usage{}, -1},
		{"a", ralph.Usage{OutputTokens: million}, -1}, // the input was not told, which costs most
		{"b", ralph.Usage{InputTokens: million}, -1},
	} {
		got, ok := prices.Cost(tt.model, tt.u)
		if ok != (tt.want >= 0) || ok && math.Abs(got-tt.want) > 1e-9*tt.want {
			t.Errorf("%s, %v: %v, %t; want %v", tt.model, tt.u, got, ok, tt.want)
		}
	}
}

func TestPricesWith(t *testing.T) {
	t.Parallel()
	base, more := ralph.Prices{"a": {Input: 1}, "b": {Input: 2}, "*": {Input: 3}}, ralph.Prices{"B": {Input: 5}, "*": {}}
	if diff := cmp.Diff(ralph.Prices{"a": {Input: 1}, "B": {Input: 5}, "*": {}}, base.With(more)); diff != "" {
		t.Error(diff)
	}
	if len(base) != 3 || base["b"].Input != 2 || len(more) != 2 {
		t.Errorf("changed: %v, %v", base, more)
	}
	ralph.Prices(nil).With(nil)["a"] = ralph.Price{} // can be written to
}

// badPrices are texts of prices, and what of the error names the place.
var badPrices = map[string]string{
	``:                         "line 1:",
	`[]`:                       "line 1: the prices are no JSON object",
	`{"a": 3}`:                 `line 1: "a": its price is no JSON object`,
	"{\n\"a\": {\"input\":3}}": `line 2: "a": output is missing`,
	`{"a": {"output":3}}`:      `line 1: "a": input is missing`,
	"{\n\n\"a\": {\"input\":3,\"output\":1,\"cach_read\":1}}":                 `line 3: "a": there is no field "cach_read"`,
	`{"a": {"input":3,"output":"1"}}`:                                         `"a": output is no number`,
	`{"a": {"input":null,"output":1}}`:                                        `"a": input is no number`,
	`{"a": {"input":{},"output":1}}`:                                          `"a": input is no number`,
	`{"a": {"input":-3,"output":1}}`:                                          `"a": input is -3`,
	`{"a": {"input":1e999,"output":1}}`:                                       `"a": input is out of range`,
	`{"a": {"input":NaN,"output":1}}`:                                         "line 1:",
	`{"a": {"input":1,"input":2,"output":1}}`:                                 `"a": input is there twice`,
	"{\"a\": {\"input\":1,\"output\":1},\n\"A\": {\"input\":1,\"output\":1}}": `line 2: "A": the model is there twice`,
	`{"*": {"input":1,"output":1}, "*": {"input":1,"output":1}}`:              `"*": the model is there twice`,
	`{" ": {"input":1,"output":1}}`:                                           "a model has no name",
	`{"a": {"input":1,"output":1}`:                                            "line 1:",
	"{}\n{}":                                                                  "line 2: something follows the prices",
	`{} x`:                                                                    "something follows the prices",
}

func TestParsePrices(t *testing.T) {
	t.Parallel()
	got, err := ralph.ParsePrices([]byte("\xef\xbb\xbf{\"a\": {\"input\": 2.5, \"output\": 1e1, \"cache_read\": 0.25, \"cache_write\": 3},\n \"*\": {\"output\": 0, \"input\": 0}}\n"))
	if diff := cmp.Diff(ralph.Prices{"a": {Input: 2.5, Output: 10, CacheRead: 0.25, CacheWrite: 3}, "*": {}}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for text, want := range badPrices {
		got, err := ralph.ParsePrices([]byte(text))
		if err == nil || got != nil || !strings.HasPrefix(err.Error(), "ralph: prices: line ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestPricesValidate(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]ralph.Prices{
		`"a": input is NaN`:        {"a": {Input: math.NaN()}},
		`"a": output is +Inf`:      {"a": {Output: math.Inf(1)}},
		`"a": cache_read is -1`:    {"a": {CacheRead: -1}},
		`"a": cache_write is -1`:   {"a": {CacheWrite: -1}},
		"names no model":           {"": {}},
		`"A" and "a" are the same`: {"a": {}, "A": {}},
	} {
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", p, err)
		}
	}
	for _, p := range []ralph.Prices{nil, {}, {"a": {Input: 1}, "*": {}}, ralph.DefaultPrices()} {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// TestDefaultPrices: each row is whole, and what a cache read costs is less than the
// input, and the input less than the output: a table in which two columns are swapped
// is found.
func TestDefaultPrices(t *testing.T) {
	t.Parallel()
	prices := ralph.DefaultPrices()
	if len(prices) == 0 || len(prices) > 60 || len(ralph.PricesDate) != len("2026-01-02") {
		t.Errorf("%d rows, of %s", len(prices), ralph.PricesDate)
	}
	for model, p := range prices {
		if !(p.Input > 0 && p.Input < p.Output && p.CacheRead < p.Input && (p.CacheWrite == 0 || p.CacheWrite > p.Input)) {
			t.Errorf("%s: %+v", model, p)
		}
		if _, ok := prices.Find("vendor/" + model + "-2026-01-02"); !ok {
			t.Errorf("%s is not found", model)
		}
	}
	prices["x"] = ralph.Price{}
	if _, shared := ralph.DefaultPrices()["x"]; shared {
		t.Error("the table is shared")
	}
}

func FuzzParsePrices(f *testing.F) {
	for text := range badPrices {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"a": {"input": 2.5, "output": 10, "cache_read": 0.25, "cache_write": 3}, "*": {"input": 0, "output": 0}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		prices, err := ralph.ParsePrices(text)
		if err != nil {
			if prices != nil {
				t.Errorf("%v and %v", prices, err)
			}
			return
		}
		if err := prices.Validate(); err != nil {
			t.Errorf("what was read is not valid: %v", err)
		}
		again, err := json.Marshal(prices)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ralph.ParsePrices(again); err != nil || !cmp.Equal(prices, back) {
			t.Errorf("%v, then %v, %v", prices, back, err)
		}
		for model := range prices {
			if usd, ok := prices.Cost(model, ralph.Usage{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64, CacheRead: 7}); !ok || !(usd >= 0) || math.IsInf(usd, 0) {
				t.Errorf("%q: %v, %t", model, usd, ok)
			}
		}
	})
}
