package term_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/ralph-loop/ralph/internal/term"
	"github.com/ralph-loop/ralph/internal/term/termtest"
)

// TestHostile: each is made safe to show, at once and byte by byte.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, text := range termtest.Sequences() {
		if termtest.Unsafe(text) == "" {
			t.Errorf("%q is safe", text)
		}
		termtest.Check(t, "Clean", term.Clean(text))
		termtest.Check(t, "Line", term.Line(text))
		termtest.Check(t, "Strip", stripped(text, 1))
	}
}

// TestEscapeJSON: JSON may be shown and has the value that it had, and what needs
// no escape has none.
func TestEscapeJSON(t *testing.T) {
	t.Parallel()
	for _, text := range append(termtest.Sequences(), "plain", "é 日本 😀 <&>\u2028", "\\u202e \"quoted\"") {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(map[string]string{text: text}); err != nil {
			t.Fatal(err)
		}
		var want, got map[string]string
		escaped := term.EscapeJSON(b.Bytes())
		if found := termtest.Unsafe(string(escaped)); found != "" {
			t.Errorf("%q holds %s", escaped, found)
		}
		if err := json.Unmarshal(escaped, &got); err != nil {
			t.Fatalf("%s: %v", escaped, err)
		}
		if err := json.Unmarshal(b.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		for k, v := range want {
			if got[k] != v {
				t.Errorf("%q became %q", v, got[k])
			}
		}
	}
	const plain = "{\"a\":\"é 日本 😀 <&>\"}\n"
	if got := term.EscapeJSON([]byte(plain)); string(got) != plain {
		t.Errorf("%q", got)
	}
}
