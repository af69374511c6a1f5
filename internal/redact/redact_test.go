package redact_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/internal/redact"
)

// token has the form of a key, and stands in no file as scanners look for it.
func token(prefix string, n int) string {
	return prefix + strings.Repeat("aB3dE6gH9", n/9+1)[:n]
}

// TestText: what is a secret goes, with what tells its kind; the text around it,
// and what only looks like one, stays.
func TestText(t *testing.T) {
	t.Parallel()
	github, known := token("gh"+"p_", 36), "correct horse"
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"words", "the password is asked for, the token expires", "the password is asked for, the token expires"},
		{"a digest", "sha256:" + strings.Repeat("0a1b2c3d", 8), "sha256:" + strings.Repeat("0a1b2c3d", 8)},
		{"a format", "push " + github + " now", "push [redacted:github] now"},
		{"two", github + " " + github, "[redacted:github] [redacted:github]"},
		{"an assignment", "DB_PASSWORD=hunter2x\nPORT=80", "DB_PASSWORD=[redacted:password]\nPORT=80"},
		{"a value that is known", "said " + known + ".", "said [redacted:named]."},
		{"known, in a URL", "?q=correct%20horse&x", "?q=[redacted:named]&x"},
		{"known, in base64", "Y29ycmVjdCBob3JzZQ==", "[redacted:named]"},
		{"redacted before", "[redacted:github]", "[redacted:github]"},
	} {
		if diff := cmp.Diff(tt.want, redact.New([]string{known}).Text(tt.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestStream: what comes out does not depend on how the text was cut, and little is
// held.
func TestStream(t *testing.T) {
	t.Parallel()
	f := redact.New([]string{"correct horse"})
	text := "a " + token("gh"+"p_", 36) + " b correct horse c\n" + strings.Repeat("plain words\n", 500)
	want := f.Text(text)
	for _, size := range []int{1, 7, 100, len(text)} {
		s := f.Stream()
		var out []byte
		for rest := text; rest != ""; {
			piece := rest[:min(size, len(rest))]
			rest = rest[len(piece):]
			out = s.Add(out, []byte(piece), rest == "")
		}
		if diff := cmp.Diff(want, string(out)); diff != "" {
			t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
		}
		if size <= 100 && s.Held() > 64<<10 {
			t.Errorf("in pieces of %d: %d bytes are held", size, s.Held())
		}
	}
}

// TestShown: a secret that is one only to people is hidden as well.
func TestShown(t *testing.T) {
	t.Parallel()
	hide := redact.New(nil).Text
	github := token("gh"+"p_", 36)
	for text, want := range map[string]string{
		"x " + github + "!": "x [redacted:github]!",
		"x " + github[:20] + "\u200b" + github[20:] + "!":              "x [redacted:github]!",
		"x " + github[:20] + "\x1b[1m" + github[20:] + "\x1b[0m" + "!": "x [redacted:github]\x1b[0m!",
		"a family 👨\u200d👩 stays, \x1b[1mbold\x1b[0m too":              "a family 👨\u200d👩 stays, \x1b[1mbold\x1b[0m too",
	} {
		if diff := cmp.Diff(want, redact.Shown(hide, text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestBegun: what is held back for no more than that a secret may begin so may be seen;
// not what may be one, and no beginning of a value that is known.
func TestBegun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"half without an end", "d"}, {"as it se", "se"}, {"x", "x"}, {"a b. ", ""},
		{"password: hunt", ""}, {"TOKEN=a", ""}, {"the password is sw", ""}, {"ghp_0123456789", ""}, {"an end\x1b[", ""},
		{"-----BEGIN PRIVATE KEY-----\nAb", ""},
	} {
		s := redact.New([]string{"swordfish99"}).Stream()
		out := string(s.Add(nil, []byte(tt.text), false))
		if got := s.Begun(); got != tt.want {
			t.Errorf("%q: %q and %q, want %q", tt.text, out, got, tt.want)
		} else if got != "" && out+got != tt.text {
			t.Errorf("%q: %q is missing something", tt.text, out+got)
		}
	}
}
