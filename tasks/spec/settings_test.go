package spec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

var insertions = []spec.Insertion{
	{Path: []string{"hooks", "Stop"}, Value: `{"command":"/bin/ours stop 9"}`, Mark: "/ours stop "},
	{Path: []string{"hooks", "End"}, Value: `{"command":"/bin/ours end 9"}`, Mark: "/ours end "},
	{Path: []string{"env"}, Value: hookMember},
}

// TestEditJSON: what was put in is there once, in its newest version, wherever a
// formatter or others have moved it; taken out, the text is what it was.
func TestEditJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []string{
		"", "{}", "{\n  \"hooks\": {},\n  \"env\": {}\n}\n", `{"hooks":{"Stop":[],"End":[{"command":"theirs end"}]}}`,
		`{"env":{"CAP":"0"}}`, `{"env":{"CAP":"0","CAP":"0"}}`, `{"env":{"CAP":"8"},"hooks":{"Stop":[{"command":"ours stop"}]}}`,
	} {
		was := whole(tt)
		put, err := spec.EditJSON(was, true, insertions...)
		if err != nil || !json.Valid(put) || strings.Count(string(put), "/bin/ours") != 2 {
			t.Errorf("%q: put %s, %v", tt, put, err)
		}
		if again, err := spec.EditJSON(put, true, insertions...); err != nil || string(again) != string(put) {
			t.Errorf("%q: twice: %s, %v", tt, again, err)
		}
		older := bytes.ReplaceAll(put, []byte("/bin/ours stop 9"), []byte("/old path/ours stop 8"))
		if newer, err := spec.EditJSON(older, true, insertions...); err != nil || strings.Contains(string(newer), "old path") || strings.Count(string(newer), "/bin/ours") != 2 {
			t.Errorf("%q: anew: %s, %v", tt, newer, err)
		}
		if left, err := spec.EditJSON(older, false, insertions...); err != nil || !bytes.Equal(left, was) {
			t.Errorf("%q: left %q, %v", tt, left, err)
		}
		if left, err := spec.EditJSON(was, false, insertions...); err != nil || !bytes.Equal(left, was) {
			t.Errorf("%q: nothing was there, and left is %q, %v", tt, left, err)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, put, "", "  "); err != nil {
			t.Fatal(err)
		}
		if left, err := spec.EditJSON(indented.Bytes(), false, insertions...); err != nil || strings.Contains(string(left), "/bin/ours") || left != nil && !json.Valid(left) {
			t.Errorf("%q: of an indented one %q is left, %v", tt, left, err)
		}
	}
}

// TestEditFile: a file is made and goes again; one that is there stays what and where it
// is, but for what is put in.
func TestEditFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link := filepath.Join(dir, "new", "settings.json"), filepath.Join(dir, "link")
	edit := func(path string, put bool) {
		t.Helper()
		if err := spec.EditFile(path, put, insertions...); err != nil {
			t.Error(err)
		}
	}
	edit(path, false)
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("to take nothing out it makes a folder")
	}
	edit(path, true)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	edit(path, false)
	if _, err := os.Lstat(path); err == nil {
		t.Error("what was made is still there")
	}
	const theirs = "{\r\n\t\"a\": 1e400}"
	if err := errors.Join(os.WriteFile(path, []byte(theirs), 0o640), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	edit(link, true)
	info, err := os.Lstat(link)
	if text, errText := os.ReadFile(path); err != nil || errText != nil || info.Mode().Type() != os.ModeSymlink || !strings.Contains(string(text), "/bin/ours") {
		t.Errorf("through a link: %v, %s, %v, %v", info, text, err, errText)
	}
	edit(link, false)
	info, err = os.Stat(path)
	if text, errText := os.ReadFile(path); err != nil || errText != nil || string(text) != theirs || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %q, %v, %v", info, text, err, errText)
	}
	for _, text := range []string{"", " ", "# no JSON"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := spec.EditFile(path, true, insertions...); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", text, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q was changed to %q, %v", text, got, err)
		}
	}
}

// TestEditJSONTogether: where somebody has put a hook of his own beside ours, his is not
// taken out with it.
func TestEditJSONTogether(t *testing.T) {
	t.Parallel()
	ours := spec.Insertion{Path: []string{"hooks", "Stop"}, Mark: "ours stop", Value: `{"hooks":[{"type":"command","command":"ours stop"}]}`}
	text := []byte(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"ours stop"},{"type":"command","command":"theirs"}]}]}}`)
	for _, put := range []bool{false, true} {
		if got, err := spec.EditJSON(text, put, ours); err == nil || !strings.Contains(err.Error(), "hooks.Stop") || !strings.Contains(string(got), "theirs") {
			t.Errorf("%s, %v", got, err)
		}
	}
}
