package jsonlines_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// FuzzString compares a Reader's strings with those of encoding/json, which
// does not have to do it in pieces.
func FuzzString(f *testing.F) {
	for _, s := range []string{`plain`, `\u003cpromise\u003e`, `\ud83d\ude00`, `\ud83d\ud83d\ude00`, `\ud83d\n`, `\ud83dx`, `\ude00\ud83d`, `\"\\\/\b\f\n\r\t`, `é\u00e9`, "\xff\xc3", `\ud83d\\u`, `\u0000`} {
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, s []byte, size uint8) {
		line := append(append([]byte(`{"s":"`), s...), `"}`...)
		var want struct{ S *string }
		if json.Unmarshal(line, &want) != nil || want.S == nil || bytes.Contains(s, []byte("\n")) {
			return
		}
		got := ""
		r := jsonlines.Reader{Want: jsonlines.Keys("s"), Line: func(v *jsonlines.Value) { got = v.Str("s") }, Junk: func(b []byte) { t.Errorf("no JSON: %q", b) }}
		for p := line; len(p) > 0; {
			n := min(int(size)%8+1, len(p))
			r.Write(p[:n])
			p = p[n:]
		}
		r.Close()
		// A run of bad bytes is one mark for encoding/json, or several.
		if squeeze(got) != squeeze(*want.S) {
			t.Errorf("%q: %q, want %q", s, got, *want.S)
		}
	})
}

func squeeze(s string) string {
	for strings.Contains(s, "\uFFFD\uFFFD") {
		s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
	}
	return s
}
