package ralph_test

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// TestCommandBounds: which limits a client can be held to is told before it runs.
func TestCommandBounds(t *testing.T) {
	t.Parallel()
	some := ralph.Prices{"known": {Input: 1, Output: 2}}
	all := ralph.Prices{"*": {Input: 1, Output: 2}}
	money := ralph.Limits{CostUSD: 1}
	for _, tt := range []struct {
		name            string
		c               ralph.Command
		l               ralph.Limits
		warning, refuse string // a part; "" = none
	}{
		{"no limits", ralph.Command{Format: ralph.FormatCodex}, ralph.Limits{}, "", ""},
		{"it tells its cost", ralph.Command{Format: ralph.FormatClaude}, money, "", ""},
		{"its model has a price", ralph.Command{Format: ralph.FormatCodex, Model: "known", Prices: some}, money, "", ""},
		{"all models have", ralph.Command{Format: ralph.FormatCodex, Prices: all}, money, "", ""},
		{"its model has none", ralph.Command{Format: ralph.FormatCodex, Model: "other", Prices: some}, money, "", `cost_usd is the only limit, and x does not tell its cost, and its model "other" has no price: set a price (--prices), tokens (--max-tokens), a duration (--max-duration) or iterations (--max)`},
		{"and 10 iterations that nobody asked for", ralph.Command{Format: ralph.FormatCodex, Model: "other", Prices: some}, ralph.Limits{CostUSD: 1, Iterations: 0}, "", "only limit"},
		{"and unlimited ones", ralph.Command{Format: ralph.FormatCodex, Model: "other", Prices: some}, ralph.Limits{CostUSD: 1, Iterations: -1}, "", "only limit"},
		{"iterations beside", ralph.Command{Format: ralph.FormatCodex, Model: "other", Prices: some}, ralph.Limits{CostUSD: 1, Iterations: 3, Priced: true}, "stops after the first answer", ""},
		{"a duration beside", ralph.Command{Format: ralph.FormatCodex, Model: "other"}, ralph.Limits{CostUSD: 1, Duration: time.Hour, Priced: true}, "stops after the first answer", ""},
		{"tokens beside", ralph.Command{Format: ralph.FormatCodex, Model: "other"}, ralph.Limits{CostUSD: 1, Tokens: 9, Priced: true}, "stops after the first answer", ""},
		{"where costs need not be known", ralph.Command{Format: ralph.FormatCodex, Model: "other"}, ralph.Limits{CostUSD: 1, Tokens: 9}, "a limit of cost may then bound nothing", ""},
		{"tokens beside that it does not tell", ralph.Command{Format: ralph.FormatText, Prices: all}, ralph.Limits{CostUSD: 1, Tokens: 9}, "", "cost_usd cannot be kept: x tells neither its cost nor its tokens: set a duration (--max-duration) or iterations (--max)"},
		{"no prices", ralph.Command{Format: ralph.FormatCodex}, money, "", "there are no prices"},
		{"its model is not known yet", ralph.Command{Format: ralph.FormatCodex, Prices: some}, money, "not known yet which model", ""},
		{"its cost may be 0 for want of a price", ralph.Command{Format: ralph.FormatCline}, money, "not known yet", ""},
		{"but not where there is a price", ralph.Command{Format: ralph.FormatCline, Model: "known", Prices: some}, money, "", ""},
		{"plain text", ralph.Command{}, money, "", "cost_usd cannot be kept"},
		{"tokens", ralph.Command{Format: ralph.FormatCodex}, ralph.Limits{Tokens: 9, Iterations: -1}, "", ""},
		{"tokens that it does not tell", ralph.Command{}, ralph.Limits{Tokens: 9, Iterations: -1}, "", "tokens is the only limit, and x does not tell how many it uses: set a duration"},
		{"and iterations beside", ralph.Command{}, ralph.Limits{Tokens: 9}, "the limit of tokens bounds nothing", ""},
		{"and a duration beside", ralph.Command{}, ralph.Limits{Tokens: 9, Iterations: -1, Duration: time.Hour}, "the limit of tokens bounds nothing", ""},
	} {
		tt.c.Args = []string{"x"}
		warning, err := tt.c.Bounds(tt.l)
		refused := ""
		if err != nil {
			refused = err.Error()
		}
		if (warning == "") != (tt.warning == "") || !strings.Contains(warning, tt.warning) ||
			(refused == "") != (tt.refuse == "") || !strings.Contains(refused, tt.refuse) || refused != "" && !strings.HasPrefix(refused, "ralph: limits: ") {
			t.Errorf("%s: warning %q, error %q", tt.name, warning, refused)
		}
	}
	c := ralph.Command{Args: []string{"true"}, Format: ralph.FormatCodex}
	if err := c.Validate(ralph.Task{Prompt: "Do it.", Limits: money}); err == nil || !strings.Contains(err.Error(), "only limit") {
		t.Errorf("Validate: %v", err)
	}
}

// TestCommandValidatesPrices: a price that is no amount would leave a limit of cost
// unkept, and nobody would be told.
func TestCommandValidatesPrices(t *testing.T) {
	t.Parallel()
	for name, price := range map[string]ralph.Price{"NaN": {Input: math.NaN()}, "negative": {Output: -1}, "infinite": {CacheRead: math.Inf(1)}} {
		c := &ralph.Command{Args: []string{os.Args[0]}, Format: ralph.FormatCodex, Prices: ralph.Prices{"m": price}}
		err := c.Validate(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 3, CostUSD: 1}})
		if want := c.Prices.Validate(); err == nil || err.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}
