package ralph

import (
	"cmp"
	"fmt"
)

// Bounds says whether a client can be held to limits of money and tokens, as far as
// that is known before it has answered. What it costs is known if it tells so, or if
// it tells tokens and its model has a price; which model that is, it may tell only
// with its first answer.
//
// The error is for limits that could never stop the loop: a CostUSD that is the only
// limit set, where the cost will not be known, and Tokens as the only limit of
// unlimited iterations, where the client tells no tokens. The error names what to set.
// The warning, "" = none, is for a limit that may bound nothing, or, with
// [Limits.Priced], stop the loop after its first answer.
//
// It runs nothing and may be called concurrently. [Command.Validate] calls it, so a
// driver sees the error in any case, and the warning only here.
func (c *Command) Bounds(l Limits) (warning string, err error) {
	tokens := c.Format.Capabilities().Tokens
	others := l.Iterations > 0 || l.Duration > 0 // can be kept whatever it tells
	if cost, why := c.costs(); l.CostUSD > 0 && cost != costAlways {
		switch {
		case cost == costPerhaps || others || l.Tokens > 0 && tokens:
			then := "a limit of cost may then bound nothing"
			if l.Priced {
				then = "the loop stops after the first answer of unknown cost"
			}
			return why + ": " + then, nil
		case tokens:
			return "", fmt.Errorf("ralph: limits: cost_usd is the only limit, and %s: set a price (--prices), tokens (--max-tokens), a duration (--max-duration) or iterations (--max)", why)
		}
		return "", fmt.Errorf("ralph: limits: cost_usd cannot be kept: %s: %s", why, setInstead)
	}
	switch {
	case l.Tokens <= 0 || tokens:
		return "", nil
	case l.Iterations < 0 && !others && l.CostUSD <= 0:
		return "", fmt.Errorf("ralph: limits: tokens is the only limit, and %s does not tell how many it uses: %s", c.name(), setInstead)
	}
	return fmt.Sprintf("%s does not tell how many tokens it uses: the limit of tokens bounds nothing", c.name()), nil
}

const setInstead = "set a duration (--max-duration) or iterations (--max)"

// A costKnown says whether it will be known what a client costs. It is not a bool:
// "perhaps" is a warning, and only "never" is an error.
type costKnown int

const (
	costNever costKnown = iota
	costPerhaps
	costAlways
)

// costs says whether it will be known what the client costs, and if not, why.
func (c *Command) costs() (known costKnown, why string) {
	name, tells := c.name(), c.Format.Capabilities()
	_, priced := c.Prices.Find(c.Model)
	switch {
	case tells.Cost && !c.Format.client().zeros, tells.Tokens && priced:
		return costAlways, ""
	case tells.Cost, tells.Tokens && len(c.Prices) > 0 && c.Model == "":
		return costPerhaps, fmt.Sprintf("it is not known yet which model %s uses, and whether that has a price", name)
	case !tells.Tokens:
		return costNever, fmt.Sprintf("%s tells neither its cost nor its tokens", name)
	case c.Model == "":
		return costNever, fmt.Sprintf("%s does not tell its cost, and there are no prices", name)
	}
	return costNever, fmt.Sprintf("%s does not tell its cost, and its model %q has no price", name, clip(c.Model, 80))
}

// name is what the client is called in messages.
func (c *Command) name() string {
	if len(c.Args) == 0 {
		return "the agent"
	}
	return clip(cmp.Or(c.Args[0], "the agent"), 80)
}
