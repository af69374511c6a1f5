package stream

import (
	"strconv"
	"strings"
	"time"
)

// LimitText reports whether a provider's error message is about a rate limit.
// It is for error messages only: an agent may talk about limits for other
// reasons.
func LimitText(message string) bool {
	m := strings.ToLower(message)
	for _, sign := range []string{"rate limit", "rate_limit", "ratelimit", "too many requests", "usage limit", "resource_exhausted",
		"out of extra usage", "quota exceeded", "exceeded your current quota", "session limit", "weekly limit", "hit your limit", "limit reached"} {
		if strings.Contains(m, sign) {
			return true
		}
	}
	return hasWord(m, "429") || hasWord(m, "529") ||
		strings.Contains(m, "hit your") && strings.Contains(m, "limit")
}

// DeniedText reports whether a provider's error message says that the agent is
// not logged in or that its key is not accepted.
func DeniedText(message string) bool {
	m := strings.ToLower(message)
	for _, sign := range []string{"invalid api key", "invalid x-api-key", "incorrect api key", "please run /login", "not logged in", "authentication_error",
		"not authenticated", "unauthorized", "login required", "please log in", "api key not valid", "no api key"} {
		if strings.Contains(m, sign) {
			return true
		}
	}
	return hasWord(m, "401") || hasWord(m, "403")
}

// hasWord reports whether a number stands by itself in text.
func hasWord(text, number string) bool {
	for at := 0; ; at++ {
		n := strings.Index(text[at:], number)
		if n < 0 {
			return false
		}
		at += n
		end := at + len(number)
		if (at == 0 || !wordByte(text[at-1])) && (end == len(text) || !wordByte(text[end])) {
			return true
		}
	}
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '_' || c == '.' || c == '/'
}

// maxHint is the longest wait that a message's words are believed.
const maxHint = 7 * 24 * time.Hour

// RetryHint reads "try again in 3 hours 5 minutes", "retry after 20s" and the
// like. 0 = no hint.
func RetryHint(message string) time.Duration {
	m := strings.ToLower(message)
	at := -1
	for _, lead := range []string{"try again in ", "retry after ", "retry in ", "resets in ", "reset in ", "reset after "} {
		if n := strings.Index(m, lead); n >= 0 {
			at = n + len(lead)
			break
		}
	}
	if at < 0 {
		return 0
	}
	var total time.Duration
	for rest := m[at:]; ; {
		rest = strings.TrimLeft(rest, " ,")
		rest = strings.TrimPrefix(rest, "and ")
		n := 0
		for n < len(rest) && (rest[n] >= '0' && rest[n] <= '9' || rest[n] == '.') {
			n++
		}
		amount, err := strconv.ParseFloat(strings.TrimRight(rest[:n], "."), 64)
		if err != nil {
			break
		}
		rest = strings.TrimLeft(rest[n:], " ")
		u := 0
		for u < len(rest) && rest[u] >= 'a' && rest[u] <= 'z' {
			u++
		}
		unit := unitOf(rest[:u])
		if unit == 0 {
			break
		}
		total += time.Duration(min(amount*float64(unit), float64(maxHint)))
		rest = rest[u:]
		if total > maxHint {
			return maxHint
		}
	}
	return total
}

func unitOf(name string) time.Duration {
	switch name {
	case "ms", "milliseconds":
		return time.Millisecond
	case "s", "sec", "secs", "second", "seconds":
		return time.Second
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour
	case "d", "day", "days":
		return 24 * time.Hour
	}
	return 0
}
