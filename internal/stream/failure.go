package stream

import (
	"strconv"
	"strings"
	"time"
)

// LimitText reports whether a provider's error message is about a rate limit.
// It is for error messages only: an agent may talk about limits for other
// reasons. The limits of a context or of the number of turns are others.
func LimitText(message string) bool {
	m := strings.ToLower(message)
	for _, sign := range []string{"rate limit", "rate_limit", "ratelimit", "too many requests", "usage limit", "resource_exhausted",
		"out of extra usage", "quota exceeded", "exceeded your current quota", "session limit", "hour limit", "daily limit", "weekly limit", "monthly limit"} {
		if strings.Contains(m, sign) {
			return true
		}
	}
	return hasNumber(m, "429") || hasNumber(m, "529") ||
		strings.Contains(m, "hit your") && strings.Contains(m, "limit") ||
		strings.Contains(m, "limit reached") && strings.Contains(m, "reset")
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
	return hasNumber(m, "401") || hasNumber(m, "403")
}

// hasNumber reports whether a number stands by itself in text: not in a name, a
// path or a longer number.
func hasNumber(text, number string) bool {
	for at := 0; ; at++ {
		n := strings.Index(text[at:], number)
		if n < 0 {
			return false
		}
		at += n
		if !partOfNumber(text[:at], true) && !partOfNumber(text[at+len(number):], false) {
			return true
		}
	}
}

// partOfNumber reports whether what stands before or after a number belongs to it.
func partOfNumber(text string, before bool) bool {
	if text == "" {
		return false
	}
	next, after := text[0], byte(0)
	if len(text) > 1 {
		after = text[1]
	}
	if before {
		next, after = text[len(text)-1], '0'
	}
	switch next {
	case '.', ',', '/': // 1.429, 429.5, but not the end of a sentence
		return after >= '0' && after <= '9'
	}
	return next == '_' || next >= '0' && next <= '9' || next >= 'a' && next <= 'z'
}

// maxHint is the longest wait that a message's words are believed.
const maxHint = 7 * 24 * time.Hour

// RetryHint reads "try again in 3 hours 5 minutes", "retry after 20s" and the
// like. 0 = no hint.
func RetryHint(message string) time.Duration {
	m := strings.ToLower(message)
	at := -1
	for _, lead := range []string{"try again in ", "retry after ", "retry in ", "resets in ", "reset in ", "reset after ", "retrydelay"} {
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
		rest = strings.TrimLeft(rest, ` ,:"\`)
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

// resetTime reads the time, in Unix seconds, that follows a message after a bar:
// "usage limit reached|1767225600". Zero = none.
func resetTime(message string) time.Time {
	digits := message[strings.LastIndexByte(message, '|')+1:]
	at, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || len(digits) != 10 || len(digits) == len(message) || at < 0 {
		return time.Time{}
	}
	return time.Unix(at, 0).UTC()
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
