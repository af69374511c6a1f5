package verify

import (
	"regexp"
	"strings"
	"testing"
)

// TestHidingInPieces: however a long text is cut, and wherever a secret lies in it,
// it is passed on as if it had been hidden in one go.
func TestHidingInPieces(t *testing.T) {
	t.Parallel()
	key := regexp.MustCompile(`(?s)-----BEGIN KEY-----.*?(-----END KEY-----|$)`)
	hide := func(text string) string {
		return key.ReplaceAllString(strings.ReplaceAll(text, "first\nsecond", "[hidden]"), "[key]")
	}
	const short, line = "first\nsecond", "a line that is no secret\n"
	long := "-----BEGIN KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEA\n", 3000) + "-----END KEY-----\n" // 50 KiB
	for name, tt := range map[string]struct{ filler, secret string }{
		"short":            {line, short},
		"long":             {line, long},
		"in endless lines": {"x", short},
		"runes":            {"\u20ac", short},
	} {
		for _, before := range []int{0, hideWindow - hideAhead - 5, hideWindow - 5, hideWindow, 2*hideWindow - hideAhead - 3} {
			text := strings.Repeat(tt.filler, before/len(tt.filler)) + tt.secret + strings.Repeat(tt.filler, 100_000/len(tt.filler)) + tt.secret
			for _, size := range []int{7, 4096, hideWindow + 1, len(text)} {
				var out strings.Builder
				w := &hiding{to: func(p []byte) { out.Write(p) }, hide: hide}
				most := 0
				for rest := text; rest != ""; {
					n := min(size, len(rest))
					w.add([]byte(rest[:n]))
					rest = rest[n:]
					most = max(most, len(w.held))
				}
				w.end()
				if want := hide(text); out.String() != want {
					t.Errorf("%s, %d bytes before it, in pieces of %d: %d bytes, want %d", name, before, size, out.Len(), len(want))
				}
				if most > hideMost {
					t.Errorf("%s: %d bytes are held", name, most)
				}
			}
		}
	}
}

// TestHidingEndless: what has no place to cut at is bounded too, and the rest of
// its line is left out, for it may belong to a secret.
func TestHidingEndless(t *testing.T) {
	t.Parallel()
	hide := func(text string) string {
		if i := strings.Index(text, "sk-"); i >= 0 {
			end := i + strings.IndexAny(text[i:]+"\n", "\n")
			return text[:i] + "[token]" + text[end:]
		}
		return text
	}
	token := "sk-" + strings.Repeat("x", 2*hideMost)
	for name, tt := range map[string]struct{ text, want string }{
		"alone":       {token, "[token] [262147 bytes left out]"},
		"in a line":   {"a\n" + token + "\nb\n", "a\n[token] [262147 bytes left out]\nb\n"},
		"two":         {token + "\n" + token + "\nc", "[token] [262147 bytes left out]\n[token] [262147 bytes left out]\nc"},
		"not so long": {"a sk-" + strings.Repeat("x", 2*hideWindow) + "\nb", "a [token]\nb"},
	} {
		var out strings.Builder
		w := &hiding{to: func(p []byte) { out.Write(p) }, hide: hide}
		for i := range len(tt.text) {
			w.add([]byte(tt.text[i : i+1]))
			if len(w.held) > hideMost+hideWindow {
				t.Fatalf("%s: %d bytes are held", name, len(w.held))
			}
		}
		w.end()
		if got := regexp.MustCompile(`\[\d+ bytes`).ReplaceAllString(out.String(), "[262147 bytes"); got != tt.want {
			t.Errorf("%s: %.200q, want %q", name, got, tt.want)
		}
	}
}
