package ralph

// PricesDate is the day on which the prices of [DefaultPrices] were looked up.
const PricesDate = "2026-11-22"

// DefaultPrices returns list prices of the models that the presets' own vendors
// (Anthropic, OpenAI, Google) offer for agents, as a client's catalogue of models had
// them on [PricesDate]: nobody has compared each with the vendors' own pages. Where a price
// depends on how long the prompt is, it is the one for short prompts, and writing to a
// cache is that for the shortest time. Prices change: a program lays newer ones over
// these, with [Prices.With].
//
// It is a fresh map each time, so callers may change it. Old models stay in it as long
// as clients offer them; a model that is missing is of unknown cost, and not free.
func DefaultPrices() Prices {
	return Prices{
		"claude-fable-5-1":  {10, 50, 0.25, 12.5},
		"claude-fable-5":    {10, 50, 1, 12.5},
		"claude-opus-5-5":   {4, 20, 0.2, 5},
		"claude-opus-5":     {5, 25, 0.5, 6.25},
		"claude-opus-4-8":   {5, 25, 0.5, 6.25},
		"claude-opus-4-7":   {5, 25, 0.5, 6.25},
		"claude-opus-4-6":   {5, 25, 0.5, 6.25},
		"claude-opus-4-5":   {5, 25, 0.5, 6.25},
		"claude-sonnet-5":   {2, 10, 0.2, 2.5},
		"claude-sonnet-4-6": {3, 15, 0.3, 3.75},
		"claude-sonnet-4-5": {3, 15, 0.3, 3.75},
		"claude-haiku-4-5":  {1, 5, 0.1, 1.25},

		"gpt-6-astra":         {10, 50, 1, 12.5},
		"gpt-6-sol":           {2, 10, 0.2, 2.5},
		"gpt-6-luna":          {0.1, 0.5, 0.01, 0.125},
		"gpt-5.6":             {4, 20, 0.4, 5},
		"gpt-5.6-sol":         {4, 20, 0.4, 5},
		"gpt-5.6-terra":       {2, 12, 0.2, 2.5},
		"gpt-5.6-luna":        {0.2, 1.2, 0.02, 0.25},
		"gpt-5.5":             {5, 30, 0.5, 0},
		"gpt-5.4":             {2.5, 15, 0.25, 0},
		"gpt-5.4-mini":        {0.75, 4.5, 0.075, 0},
		"gpt-5.4-nano":        {0.2, 1.25, 0.02, 0},
		"gpt-5.3-codex":       {1.75, 14, 0.175, 0},
		"gpt-5.3-codex-spark": {1.75, 14, 0.175, 0},
		"gpt-5.2":             {1.75, 14, 0.175, 0},
		"gpt-5.1":             {1.25, 10, 0.125, 0},
		"gpt-5":               {1.25, 10, 0.125, 0},
		"gpt-5-mini":          {0.25, 2, 0.025, 0},

		"gemini-3.8-flash":       {0.75, 3.75, 0.075, 0},
		"gemini-3.7-flash":       {0.75, 3.75, 0.075, 0},
		"gemini-3.6-flash":       {0.75, 3.75, 0.075, 0},
		"gemini-3.5-flash":       {1.5, 9, 0.15, 0},
		"gemini-3.5-flash-lite":  {0.3, 2.5, 0.03, 0},
		"gemini-3.1-pro-preview": {2, 12, 0.2, 0},
		"gemini-3.1-flash-lite":  {0.25, 1.5, 0.025, 0},
		"gemini-3-flash-preview": {0.5, 3, 0.05, 0},
		"gemini-2.5-pro":         {1.25, 10, 0.125, 0},
		"gemini-2.5-flash":       {0.3, 2.5, 0.03, 0},
		"gemini-2.5-flash-lite":  {0.1, 0.4, 0.01, 0},
	}
}
