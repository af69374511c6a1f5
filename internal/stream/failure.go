package stream

import (
	"slices"
	"strconv"
	"strings"
)

// A Kind is what a failure is about, as far as it decides what to do.
type Kind string

const (
	Unknown Kind = ""                 // may pass: retried
	Limit   Kind = "rate limit"       // passes: waited for
	Denied  Kind = "login"            // the others do not pass by themselves
	Credit  Kind = "credit"           // nothing left to pay with
	TooLong Kind = "prompt too long"  // for the model, or for the client
	NoModel Kind = "model"            // it does not exist, or not for this login
	Setup   Kind = "set-up"           // how the client is called or configured
	Command Kind = "client's command" // the prompt was taken for one
)

// Lasts reports whether trying again cannot help.
func (k Kind) Lasts() bool { return k != Unknown && k != Limit }

// A sign is what marks words as a failure of a kind: one of the texts, in lower case, of
// which … parts what stands in this order.
type sign struct {
	kind  Kind
	texts []string
}

// signs are the words of providers and clients, most telling first: the first row
// that fits decides. What is not here is retried like any fault: errors in other
// languages, of providers that nobody has met, and words that clients also use for
// what passes.
func signs() []sign {
	return []sign{
		// Google's limits of a minute and of a day have the words of others' empty accounts.
		{Limit, []string{"quota exceeded for metric", "ai.google.dev/gemini-api/docs/rate-limits", "exhausted your capacity", "exhausted your daily quota", "resource has been exhausted", "resource_exhausted"}},
		{Credit, []string{"insufficient_quota", "check your plan and billing details", "credit balance is too low", "balance is too low", "payment required",
			"requires more credits", "insufficient credits", "insufficient balance", "insufficient funds", "out of credits", "out of usage credits", "no credits left", "billing_error", "billing_not_active", "billing hard limit"}},
		{TooLong, []string{"prompt is too long", "input is too long", "context_length_exceeded", "context_too_large", "maximum context length", "model's context window", "exceeds the context window", "exceeds the model's context",
			"input token count … exceeds", "request too large", "request_too_large", "stdin input exceeds"}},
		{NoModel, []string{"model_not_found", "model not found", "issue with the selected model", "model … does not exist", "model … is not found", "is not found for api version", "model … not found on provider", "require an explicit model", "model … is not available for your", "model … is not supported when", "unknown model", "no such model", "providermodelnotfounderror", "no model configured", "no model specified", "no model was specified"}},
		{Setup, []string{"cannot be used with root", "not inside a trusted directory", "not running in a trusted directory", "unknown option", "unknown argument", "unexpected argument", "unrecognized option", "unknown flag", "unknown command",
			"printed its usage", "requires a local model provider", "error loading config", "fix the configuration file", "configuration is invalid", "config file at … is not valid", "error in … settings.json"}},
		{Denied, []string{"invalid api key", "invalid x-api-key", "incorrect api key", "api key not valid", "api_key_invalid", "no api key", "missing api key", "api key is missing", "api key required", "missing environment variable: `", "must specify the gemini_api_key",
			"please run /login", "not logged in", "not authenticated", "not signed in", "unauthorized", "authentication_error", "authentication required", "failed to authenticate", "manual authorization is required", "invalid auth method", "no authentication information", "login required", "login expired", "please log in", "oauth token revoked", "oauth token has expired", "organization has been disabled",
			"token_expired", "refresh token was already used", "access token could not be refreshed"}},
		{Limit, []string{"rate limit", "rate_limit", "rate-limit", "ratelimit", "too many requests", "throttlingexception", "request was throttled", "usage limit", "out of extra usage", "quota exceeded", "exceeded your current quota", "session limit", "hour limit", "daily limit", "weekly limit", "monthly limit",
			"hit your … limit", "limit reached … reset", "limit exceeded … try again"}},
	}
}

// KindOf reads what an error message is about. It is for error messages only, of a
// provider or a client: an agent may talk about limits for other reasons.
func KindOf(message string) Kind {
	m := plain(message)
	for _, s := range signs() {
		if slices.ContainsFunc(s.texts, func(text string) bool { return holds(m, text) }) {
			return s.kind
		}
	}
	for _, status := range []int64{402, 429, 529, 401, 403} {
		kind := statusKind(status)
		if hasNumber(m, strconv.FormatInt(status, 10), func(before, after string) bool { return kind == Limit || isStatus(before, after) }) {
			return kind
		}
	}
	return Unknown
}

// holds reports whether text holds the parts of a sign's text, one after the other.
func holds(text, parts string) bool {
	for part := range strings.SplitSeq(parts, " … ") {
		_, rest, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// plain is a message in lower case, with plain spaces and apostrophes.
func plain(message string) string { return lower(evened(message)) }

func evened(message string) string {
	return strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2009", " ", "’", "'").Replace(message)
}

// lower does not change where a letter stands, whatever else is in the text.
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// statusKind is what an HTTP status says.
func statusKind(code int64) Kind {
	return map[int64]Kind{429: Limit, 529: Limit, 401: Denied, 403: Denied, 402: Credit, 413: TooLong}[code]
}

// ExitKind is what a client's exit status says beside its words. Gemini exits with
// an HTTP status modulo 256, and has codes of its own from 41.
func ExitKind(format string, code int) Kind {
	if format != "gemini" {
		return Unknown
	}
	return map[int]Kind{
		41: Denied, 52: Setup, 55: Setup, // of its own: 52 for its configuration, 55 for a folder that it does not trust
		401 % 256: Denied, 402 % 256: Credit, 403 % 256: Denied, 429 % 256: Limit,
	}[code]
}

// isStatus reports whether a number between two texts is said to be a status: the line
// of a file, a port or a count is none, and nothing is given up for these.
func isStatus(before, after string) bool {
	bare := strings.TrimRight(before, " \t:=\"'`[(\\")
	for _, word := range []string{"status", "code", "error", "http", "http/1.1", "http/2", "failed", "returned"} {
		if strings.HasSuffix(bare, word) {
			return true
		}
	}
	return bare == "" || strings.HasSuffix(before, "(") && strings.HasPrefix(after, ")") || strings.HasPrefix(after, " forbidden")
}

// hasNumber reports whether a number stands by itself in text, not in a name, a
// path or a longer number, where fits says so of what is before and behind it.
func hasNumber(text, number string, fits func(before, after string) bool) bool {
	for at := 0; ; at++ {
		n := strings.Index(text[at:], number)
		if n < 0 {
			return false
		}
		at += n
		if before, after := text[:at], text[at+len(number):]; alone(before, after) && fits(before, after) {
			return true
		}
	}
}

// alone reports whether a number between two texts stands by itself, as at the end of a
// sentence: not in a name, in 1.429, or in 429.5.
func alone(before, after string) bool {
	named := func(c byte) bool { return c == '_' || isDigit(c) || c >= 'a' && c <= 'z' }
	joins := func(c byte) bool { return c == '.' || c == ',' || c == '/' }
	if n := len(before); n > 0 && (named(before[n-1]) || joins(before[n-1])) {
		return false
	}
	return after == "" || !named(after[0]) && !(joins(after[0]) && len(after) > 1 && isDigit(after[1]))
}
