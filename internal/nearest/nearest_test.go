package nearest_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/nearest"
)

func TestOf(t *testing.T) {
	t.Parallel()
	flags := []string{"max-cost", "max-tokens", "max-duration", "verify", "verify-timeout", "log", "judge", "dry-run"}
	for _, tt := range []struct {
		word  string
		known []string
		want  string
	}{
		{"log", flags, "log"},
		{"judge", flags, "judge"},
		{"juge", flags, "judge"},
		{"judgee", flags, "judge"},
		{"jugde", flags, "judge"},       // swapped: one
		{"ujdeg", flags, ""},            // two swaps of five letters
		{"max_cost", flags, "max-cost"}, // the sign between words
		{"MaxCost", flags, "max-cost"},
		{"DRY RUN", flags, "dry-run"},
		{"verfy", flags, "verify"},
		{"verify-timeuot", flags, "verify-timeout"},
		{"lg", flags, "log"},         // one letter may always be wrong
		{"l", flags, ""},             // two of three
		{"x", []string{"y"}, ""},     // nothing in common
		{"T1", []string{"T2"}, "T2"}, // one of two
		{"zzzzzz", flags, ""},
		{"maximum", flags, ""},           // far from all
		{"max", flags, ""},               // the beginning of several
		{"max-d", flags, "max-duration"}, // and of one
		{"jud", flags, "judge"},
		{"ju", flags, ""}, // too short a beginning
		{"dry", flags, "dry-run"},
		{"cat", []string{"bat", "hat"}, "bat"}, // the first of equals
		{"abcdef", []string{"abcxyz"}, ""},     // three of six
		{"abcdef", []string{"abcdxy"}, "abcdxy"},
		{"abcd", []string{"abxyzw"}, ""},
		{"ÄHNLICH", []string{"ähnlic"}, "ähnlic"},
		{"", flags, ""},
		{"--", flags, ""},
		{"", []string{""}, ""},
		{"word", nil, ""},
		{strings.Repeat("x", 65), []string{strings.Repeat("x", 66)}, strings.Repeat("x", 66)}, // a beginning
		{strings.Repeat("x", 65), []string{strings.Repeat("x", 64)}, ""},                      // too long to be compared
		{strings.Repeat("x", 64), []string{strings.Repeat("x", 63)}, strings.Repeat("x", 63)},
	} {
		if got := nearest.Of(tt.word, tt.known); got != tt.want {
			t.Errorf("%q among %q: %q, want %q", tt.word, tt.known, got, tt.want)
		}
	}
}
