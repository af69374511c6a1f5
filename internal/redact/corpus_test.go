package redact_test

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/redact"
)

var marks = regexp.MustCompile(`\[redacted:[a-z-]+\]`)

var random = regexp.MustCompile(`\{([a-zA-Z])([0-9]+)\}`)

// lines reads a file of texts. Of half of them, by a hash, a failure is not shown, and those
// of the files apart_* were written by somebody who had not seen the rules: rules are not
// mended by either. To add a format, add a line.
func lines(t testing.TB, name string) (texts []string, blind []bool) {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	letters := map[string]string{
		"d": "0123456789", "h": "0123456789abcdef", "l": "abcdefghijklmnopqrstuvwxyz",
		"U": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
	}
	letters["a"] = letters["d"] + letters["l"] + letters["U"][:26]
	letters["u"], letters["b"] = letters["a"]+"-_", letters["a"]+"+/"
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		h := fnv.New64a()
		h.Write([]byte(line))
		r := rand.New(rand.NewPCG(h.Sum64(), 1))
		line = random.ReplaceAllStringFunc(line, func(field string) string {
			of, size := letters[field[1:2]], 0
			size, _ = strconv.Atoi(field[2 : len(field)-1])
			var b strings.Builder
			for range size {
				b.WriteByte(of[r.IntN(len(of))])
			}
			return b.String()
		})
		texts = append(texts, strings.NewReplacer("^", "", "␛", "\x1b", "⏎", "\n").Replace(line))
		blind = append(blind, h.Sum64()>>32%2 == 1)
	}
	return texts, blind
}

// bytewise is what a stream makes of a text that comes byte by byte.
func bytewise(text string) string {
	s := redact.New(nil).Stream()
	var out []byte
	for i := range len(text) {
		out = s.Add(out, []byte{text[i]}, i == len(text)-1)
	}
	return string(out)
}

// leaks reports whether a part of a secret is left, of eight bytes or all that it has.
func leaks(out, secret string) bool {
	out = marks.ReplaceAllString(out, "")
	n := min(8, len(secret))
	for i := range len(secret) - n + 1 {
		if strings.Contains(out, secret[i:i+n]) {
			return true
		}
	}
	return false
}

// TestCorpus: of the secrets that others' tools know and people write, few are missed,
// and of the texts that only look like them next to none is hidden; whole, and byte by
// byte.
func TestCorpus(t *testing.T) {
	t.Parallel()
	type count struct{ of, failed int }
	check := func(name string, most count, failed func(text string) bool) {
		texts, blind := lines(t, name)
		var seen, unseen count
		for i, text := range texts {
			half, apart := &seen, blind[i] || strings.HasPrefix(name, "apart_")
			if apart {
				half = &unseen
			}
			half.of++
			if failed(text) {
				half.failed++
				if !apart {
					t.Errorf("%s: %s", name, text)
				}
			}
		}
		t.Logf("%s: %d of %d, of those that are blind %d of %d", name, seen.failed, seen.of, unseen.failed, unseen.of)
		if unseen.of < most.of || unseen.failed > most.failed {
			t.Errorf("%s: %d of %d that are blind; want %d of %d at most", name, unseen.failed, unseen.of, most.failed, most.of)
		}
	}
	hide := redact.New(nil).Text
	isMissed := func(text string) bool {
		missed := false
		plain := strings.NewReplacer("«", "", "»", "").Replace(text)
		out := hide(plain)
		if bytewise(plain) != out {
			t.Errorf("byte by byte it differs: %q", plain)
		}
		for rest := text; ; {
			_, after, ok := strings.Cut(rest, "«")
			if !ok {
				return missed
			}
			secret, more, _ := strings.Cut(after, "»")
			missed = missed || leaks(out, secret)
			rest = more
		}
	}
	isHidden := func(text string) bool { return hide(text) != text || bytewise(text) != text }
	check("secrets.txt", count{100, 6}, isMissed)
	check("harmless.txt", count{200, 1}, isHidden)
	check("apart_secrets.txt", count{146, 16}, isMissed)
	check("apart_harmless.txt", count{250, 1}, isHidden)
}
