package tasks_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks"
)

func mustParse(t *testing.T, text string) tasks.List {
	t.Helper()
	l, err := tasks.ParseList([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What people's editors leave in a file survives a tick, byte for byte.
func TestTickChangesOneByte(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, key, want string }{
		"plain":            {"- [ ] T001 a\n- [ ] T002 b\n", "T002", "- [ ] T001 a\n- [x] T002 b\n"},
		"CRLF":             {"# A\r\n- [ ] T001 a\r\n", "T001", "# A\r\n- [x] T001 a\r\n"},
		"CR":               {"# A\r- [ ] T001 a\r- [ ] T002 b\r", "T002", "# A\r- [ ] T001 a\r- [x] T002 b\r"},
		"byte order mark":  {"\ufeff- [ ] T001 a\n", "T001", "\ufeff- [x] T001 a\n"},
		"no final newline": {"- [ ] T001 a", "T001", "- [x] T001 a"},
		"tabs":             {"-\t[ ]\tT001\ta\t\n\t- [ ] T002 b", "T001", "-\t[x]\tT001\ta\t\n\t- [ ] T002 b"},
		"below a tab":      {"- [ ] T001 a\n\t- [ ] T002 b", "T002", "- [ ] T001 a\n\t- [x] T002 b"},
		"NBSP":             {"- [ ] T001 a\u00a0b\u00a0\n", "T001", "- [x] T001 a\u00a0b\u00a0\n"},
		"NUL":              {"- [ ] T001 a\x00b\n", "T001", "- [x] T001 a\x00b\n"},
		"the second":       {"- [ ] T001 a\n- [ ] T001 a\n", "T001#2", "- [ ] T001 a\n- [x] T001 a\n"},
		"no ID":            {"- [ ] a\n", "a", "- [x] a\n"},
		"optional":         {"- [ ]* 1.2 a\n", "1.2", "- [x]* 1.2 a\n"},
		"ticked already":   {"- [X] T001 a\n", "T001", "- [X] T001 a\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := []byte(tt.text)
			for _, it := range mustParse(t, tt.text).All() {
				if it.Key != tt.key {
					continue
				}
				got, err := tasks.Tick(before, it)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, string(got)); diff != "" {
					t.Error(diff)
				}
				if string(before) != tt.text {
					t.Error("Tick changed the text it was given")
				}
				return
			}
			t.Fatalf("no item %q", tt.key)
		})
	}
}

// A list that has changed since it was read is not written to at an offset that
// means something else now.
func TestTickRefusesAnotherText(t *testing.T) {
	t.Parallel()
	text := "# A\n- [ ] T001 a\n"
	it := mustParse(t, text).Items[0]
	tests := map[string]string{
		"a line above":      "# A\n\n- [ ] T001 a\n",
		"another task":      "# A\n- [ ] T002 a\n",
		"another text":      "# A\n- [ ] T001 b\n",
		"shorter":           "# A\n",
		"empty":             "",
		"ends at the box":   "# A\n- [ ]",
		"no box":            "# A\n- [y] T001 a\n",
		"nothing behind it": "# A\n- [ ]T001 a\n",
	}
	for name, now := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tasks.Tick([]byte(now), it)
			if err == nil || got != nil || !strings.Contains(err.Error(), `"T001"`) {
				t.Errorf("got %q, %v; want an error that names T001", got, err)
			}
		})
	}
	for _, offset := range []int{-1, 0, 1, len(text) - 1, len(text), 1 << 40} {
		it.Offset = offset
		if _, err := tasks.Tick([]byte(text), it); err == nil {
			t.Errorf("no error for the offset %d", offset)
		}
	}
}

func TestParseListErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"Latin-1":         {"# A\n- [ ] T001 caf\xe9\n", "line 2: not UTF-8"},
		"at the end":      {"# A\n\n\xff", "line 3: not UTF-8"},
		"UTF-16, little":  {"\xff\xfe-\x00", "line 1: not UTF-8 but, it seems, UTF-16; save the file as UTF-8"},
		"UTF-16, big":     {"\xfe\xff\x00-", "line 1: not UTF-8 but, it seems, UTF-16; save the file as UTF-8"},
		"half a sequence": {"\n- [ ] T001 \xe2\x82", "line 2: not UTF-8"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := tasks.ParseList([]byte(tt.text))
			if err == nil {
				t.Fatalf("no error, but %v", l)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseListEmpty(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\ufeff", "\n\n", "no box"} {
		if diff := cmp.Diff(tasks.List{}, mustParse(t, text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestListAll(t *testing.T) {
	t.Parallel()
	var got []string
	for _, it := range mustParse(t, "- [ ] T002 a\n- [ ] b\n- [ ] T001 c\n- [ ] d\n").All() {
		got = append(got, it.Key)
	}
	if diff := cmp.Diff([]string{"T002", "b", "T001", "d"}, got); diff != "" {
		t.Error(diff)
	}
}

// Keys are unique also where a text looks like the number of a repeated one, and
// a criterion never takes a task's key.
func TestKeysAreUnique(t *testing.T) {
	t.Parallel()
	var got []string
	for _, it := range mustParse(t, "- [ ] a\n- [ ] a\n- [ ] a#2\n- [ ] T001 x\n- [ ] T001 y\n# Success criteria\n- [ ] T001 z\n").All() {
		got = append(got, it.Key)
	}
	if diff := cmp.Diff([]string{"a", "a#2", "a#2#2", "T001", "T001#2", "T001#3"}, got); diff != "" {
		t.Error(diff)
	}
}

// Details are bounded, at the end of a character.
func TestDetailsAreBounded(t *testing.T) {
	t.Parallel()
	it := mustParse(t, "- [ ] T001 a\n  "+strings.Repeat("é", 5000)+"\n").Items[0]
	if len(it.Details) > 4<<10 || len(it.Details) < 4<<10-4 || !strings.HasSuffix(it.Details, "é…") {
		t.Errorf("%d bytes that end in %q", len(it.Details), it.Details[len(it.Details)-8:])
	}
}

// Texts that make a careless parser slow: each would take minutes if the time
// were quadratic in its size.
func TestParseListHostile(t *testing.T) {
	t.Parallel()
	const n = 1 << 19
	for _, unit := range []string{
		"<!--\n\n", "<pre>\n", "- <pre>\n", "`", "[P] ", "- [ ] T001 [P] ", "- ", "* * [ ] ", "> ", "a <!-- b\n", "- [ ] a\n", "- [ ] T001 a\n", "- [ ] T001 a\n\n  <!-- x\n",
		"```\n", "x\r", "-\n", " - a\n  ", "[a] [P] ", "(", "---\n", "a: b\n", "- [ ] a#2\n", "</", "`` ` ", "1. ", "\\", "=\n", "a\n",
	} {
		text := bytes.Repeat([]byte(unit), n/len(unit))
		deep := []byte(strings.Repeat("- ", n/8) + "a\n" + string(text[:n/2]))
		for _, text := range [][]byte{text, deep, append([]byte("- [ ] T001 "), text...), append([]byte("---\na: b\n"), text...)} {
			if _, err := tasks.ParseList(text); err != nil {
				t.Error(err)
			}
		}
	}
}
