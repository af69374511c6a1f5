package spec_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/tasks/spec"
)

const (
	hookElement = `{"hooks":[{"type":"command","command":"'/opt/my ralph' hook stop"}]}`
	hookMember  = `"CAP":"0"`
)

// is tells that a value is the one that was added.
func is(value string) func([]byte) bool {
	return func(v []byte) bool { return string(v) == value }
}

// whole is a text, of which "" is none.
func whole(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

// addedAndRemoved are the texts after both.
func addedAndRemoved(text, value string, path ...string) (with, without string, err error) {
	added, err := spec.AddJSON(whole(text), value, path...)
	if err != nil {
		return "", "", err
	}
	removed, err := spec.RemoveJSON(added, is(value), path...)
	return string(added), string(removed), err
}

// TestAddJSON: what is added stands where it belongs, and nothing else changes; when it
// is taken out, the text is what it was, to the byte.
func TestAddJSON(t *testing.T) {
	t.Parallel()
	const x = hookElement
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", `{"hooks":{"Stop":[` + x + "]}}\n"},
		{"an empty object", "{}", `{ "hooks":{"Stop":[` + x + `]}}`},
		{"one with blanks", " { \n} \n", ` { "hooks":{"Stop":[` + x + "]} \n} \n"},
		{"others", `{"a":1}`, `{"a":1,"hooks":{"Stop":[` + x + `]}}`},
		{"indented", "{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\"hooks\":{\"Stop\":[" + x + "]}\n}\n"},
		{"with tabs and CRLF", "{\r\n\t\"a\": [1,\r\n2]\r\n}\r\n", "{\r\n\t\"a\": [1,\r\n2],\"hooks\":{\"Stop\":[" + x + "]}\r\n}\r\n"},
		{"empty hooks", `{"hooks": {}}`, `{"hooks": { "Stop":[` + x + `]}}`},
		{"hooks with a line", "{\"hooks\": {\n}}", "{\"hooks\": { \"Stop\":[" + x + "]\n}}"},
		{"an empty list", `{"hooks":{"Stop":[]}}`, `{"hooks":{"Stop":[ ` + x + `]}}`},
		{"an empty list beside another", `{"hooks":{"Stop":[],"A":[]}}`, `{"hooks":{"Stop":[ ` + x + `],"A":[]}}`},
		{"others' hooks", `{"hooks":{"Stop":[{"hooks":[]} ] }}`, `{"hooks":{"Stop":[{"hooks":[]},` + x + ` ] }}`},
		{"others' hooks of other events", `{"hooks":{"A":[{}]}}`, `{"hooks":{"A":[{}],"Stop":[` + x + `]}}`},
		{"nested keys of the same names", `{"a":{"hooks":{"Stop":[]}},"Stop":[]}`, `{"a":{"hooks":{"Stop":[]}},"Stop":[],"hooks":{"Stop":[` + x + `]}}`},
		{"duplicate keys", `{"hooks":{"Stop":[{}]},"hooks":{"A":1}}`, `{"hooks":{"Stop":[{}]},"hooks":{"A":1,"Stop":[` + x + `]}}`},
		{"escapes in keys", `{"\u0068ooks":{"St\u006fp":[{}]}}`, `{"\u0068ooks":{"St\u006fp":[{},` + x + `]}}`},
		{"quotes in keys", `{"a\",\"hooks\":{":{},"hooks":{"x\"Stop":[]}}`, `{"a\",\"hooks\":{":{},"hooks":{"x\"Stop":[],"Stop":[` + x + `]}}`},
		{"great numbers", `{"a":1e400,"hooks":{"b":-0.0}}`, `{"a":1e400,"hooks":{"b":-0.0,"Stop":[` + x + `]}}`},
		{"invalid UTF-8", "{\"\xff\":\"\xfe\"}", "{\"\xff\":\"\xfe\",\"hooks\":{\"Stop\":[" + x + "]}}"},
	} {
		with, without, err := addedAndRemoved(tt.text, x, "hooks", "Stop")
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff([]string{tt.want, tt.text}, []string{with, without}); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestAddJSONMember: a member is added also where there is one of its name, and the last
// one alone is taken out by who asks for that.
func TestAddJSONMember(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"", "{\"env\":{" + hookMember + "}}\n"},
		{`{"env":{}}`, `{"env":{ ` + hookMember + `}}`},
		{`{"env":{"CAP":"8"}}`, `{"env":{"CAP":"8",` + hookMember + `}}`},
		{`{"env":{"CAP":"0"}}`, `{"env":{"CAP":"0",` + hookMember + `}}`},
		{`{"env":{"a\"CAP":"0"}}`, `{"env":{"a\"CAP":"0",` + hookMember + `}}`},
	} {
		added, err := spec.AddJSON(whole(tt.text), hookMember, "env")
		if err != nil || string(added) != tt.want {
			t.Errorf("%s: got %s, %v", tt.text, added, err)
		}
		n := 0
		removed, err := spec.RemoveJSON(added, func(v []byte) bool { n++; return n == 1 && string(v) == hookMember }, "env")
		if err != nil || string(removed) != tt.text {
			t.Errorf("%s: left %s, %v", tt.text, removed, err)
		}
	}
}

// TestRemoveJSON: ours is found however a formatter has written it, and others' stays.
func TestRemoveJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"{\"l\": [\n  {\"a\": 1},\n  {\"ours\": true}\n]}", "{\"l\": [\n  {\"a\": 1}\n]}"},
		{"{\"l\": [\n  {\"ours\": true},\n  {\"a\": 1}\n]}", "{\"l\": [\n  \n  {\"a\": 1}\n]}"},
		{`{"l":[{"ours":true},{"ours":true}]}`, `{}`},
		{`{"l":[{"b":{"ours":true}}]}`, `{"l":[{"b":{"ours":true}}]}`},
		{`{"l":{"ours":true}}`, `{"l":{"ours":true}}`},
		{`{"l":"[{\"ours\":true}]"}`, `{"l":"[{\"ours\":true}]"}`},
		{`[{"ours":true}]`, `[{"ours":true}]`},
	} {
		got, err := spec.RemoveJSON([]byte(tt.text), is(`{"ours":true}`), "l")
		if want := tt.want; err != nil || string(got) != want && !(want == "{}" && got == nil) {
			t.Errorf("%s: got %s, %v", tt.text, got, err)
		}
	}
}

// TestAddJSONRefuses: what cannot hold the value is an error that says so.
func TestAddJSONRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"// settings\n{}":                 "not valid JSON",
		"{} {}":                           "not valid JSON",
		" ":                               "not valid JSON",
		`{"hooks":[]}`:                    `["hooks"] does not begin with {`,
		`{"hooks":null}`:                  `["hooks"] does not begin with {`,
		`{"hooks":1e400}`:                 `["hooks"] does not begin with {`,
		`{"hooks":"{\"Stop\":[]}"}`:       `["hooks"] does not begin with {`,
		`{"hooks":{"Stop":{}}}`:           `["hooks" "Stop"] does not begin with [`,
		`[]`:                              `[] does not begin with {`,
		`{"hooks":{"Stop":"[1]"}}`:        `["hooks" "Stop"] does not begin with [`,
		`{"hooks":{"Stop":[]},"hooks":1}`: `["hooks"] does not begin with {`,
	} {
		got, err := spec.AddJSON([]byte(text), hookElement, "hooks", "Stop")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	if _, err := spec.RemoveJSON([]byte("{"), is("")); err == nil {
		t.Error("no error for what is not valid")
	}
}

func FuzzAddJSON(f *testing.F) {
	for _, text := range []string{"", "{}", `{"hooks": {}}`, "{\r\n\t\"hooks\": {\"Stop\": []}\r\n}", `{"a":{"a":[{},1e400]},"a":{"\u0061":[]}}`, `{"a":{"a":{}}}`, `{"a\"":{"a":[ ]}}`} {
		f.Add(text, "hooks", "Stop", true)
		f.Add(text, "a", "a", false)
	}
	f.Fuzz(func(t *testing.T, text, outer, inner string, element bool) {
		if strings.Trim(outer+inner, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			t.Skip("the keys are those of a table")
		}
		value := map[bool]string{true: hookElement, false: hookMember}[element]
		added, removed, err := addedAndRemoved(text, value, outer, inner)
		if err != nil {
			return
		}
		n := 0
		back, err := spec.RemoveJSON([]byte(added), func(v []byte) bool { n++; return n == 1 && string(v) == value }, outer, inner)
		if err != nil || string(back) != text {
			t.Errorf("%q, %s, %s: %q, then %q, %v", text, outer, inner, added, back, err)
		}
		if !json.Valid([]byte(added)) || removed != "" && !json.Valid([]byte(removed)) {
			t.Errorf("%q: %q is not valid", text, added)
		}
		if text == "" {
			return
		}
		begin := 0
		for begin < len(text) && text[begin] == added[begin] {
			begin++
		}
		if end := len(added) - (len(text) - begin); added[end:] != text[begin:] {
			t.Errorf("%q: %q changes more than one place", text, added)
		}
		if got := tokens(t, added, outer, inner); !bytes.HasSuffix(got, []byte(value)) {
			t.Errorf("%q: %q does not end %s.%s with it, but with %s", text, added, outer, inner, got)
		}
	})
}

// tokens is what stands at a path of keys, as a program that reads it finds it, without
// its end and blanks.
func tokens(t *testing.T, text string, path ...string) []byte {
	raw := json.RawMessage(text)
	for _, key := range path {
		var in map[string]json.RawMessage
		if err := json.Unmarshal(raw, &in); err != nil && !strings.Contains(fmt.Sprint(err), "cannot unmarshal number") {
			t.Fatal(err)
		}
		raw = in[key]
	}
	var to bytes.Buffer
	if err := json.Compact(&to, raw); err != nil {
		t.Fatal(err)
	}
	return to.Bytes()[:to.Len()-1]
}
