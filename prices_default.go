package ralph

// PricesDate is the day on which [DefaultPrices] was compared with what the vendors
// list.
const PricesDate = "2026-11-22"

// DefaultPrices returns list prices of the models that the presets' own vendors
// (Anthropic, OpenAI, Google) offer for agents, as of [PricesDate]. Where a price
// depends on how long the prompt is, it is the one for short prompts. Prices change:
// a program lays newer ones over these, with [Prices.With].
func DefaultPrices() Prices {
	return Prices{
		"claude-opus-4-5":   {5, 25, 0.5, 6.25},
		"claude-sonnet-4-5": {3, 15, 0.3, 3.75},
		"claude-haiku-4-5":  {1, 5, 0.1, 1.25},
		"gpt-5":             {1.25, 10, 0.125, 0},
		"gemini-2.5-pro":    {1.25, 10, 0.125, 0},
		"gemini-2.5-flash":  {0.3, 2.5, 0.03, 0},
	}
}
