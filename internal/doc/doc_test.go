package doc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/internal/doc"
)

// Every value knows where it stands, in YAML and in JSON.
func TestPlace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text     string
		line, column   int // of the value of the key k
		written, value string
	}{
		{"YAML", "a: 1\nk: 'x'\n", 2, 4, "x", "x"},
		{"beyond ASCII", "{ä: 日本, k: 007}\n", 1, 12, "007", "7"},
		{"an alias", "a: &x b\nk: *x\n", 2, 4, "b", "b"},
		{"JSON", "{\"a\": \"ä\",\n \"ä\": 1, \"k\": 1.50}", 2, 15, "1.50", "1.50"},
		{"JSON with BOM", "\ufeff{\"k\": true}", 1, 7, "true", "true"},
		{"CRLF", "a: 1\r\nk: 2\r\n", 2, 4, "2", "2"},
	} {
		d, err := doc.Parse("f", []byte(test.text))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		n := d.Roots[0].Get("k")
		line, column := d.Place(n)
		if line != test.line || column != test.column || n.Written() != test.written || n.Text != test.value {
			t.Errorf("%s: %d:%d %q %q", test.name, line, column, n.Written(), n.Text)
		}
		if d.JSON && string(d.Text[n.Start:n.End]) != test.value {
			t.Errorf("%s: %q stands there", test.name, d.Text[n.Start:n.End])
		}
	}
}

// Only what is to change does.
func TestSet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{"id: 1 # c\nk:   'old'  # d\n", "id: 1 # c\nk:   'new'  # d\n"},
		{"a: {id: 1, z: [ ]}\n", ""}, // no id to put it behind
		{"id: 1 # c\nz: 2\n", "id: 1 # c\nk: new\nz: 2\n"},
		{"{id: 1}\n", "{id: 1, k: new}\n"},
		{"id: &x 1\nk: &y old\nz: *y\n", ""}, // stands elsewhere too
		{`{"id":1,"k" : null }`, `{"id":1,"k" : "new" }`},
		{"{\n\t\"id\": 1,\n\t\"z\": []\n}", "{\n\t\"id\": 1,\n\t\"k\": \"new\",\n\t\"z\": []\n}"},
	} {
		d, err := doc.Parse("f", []byte(test.in))
		if err != nil {
			t.Fatal(err)
		}
		next, ok := d.Set(d.Roots[0], "id", "k", doc.String("new"))
		if ok != (test.want != "") || ok && cmp.Diff(test.want, string(next.Text)) != "" {
			t.Errorf("%q: %v %+v", test.in, ok, next)
		}
		if string(d.Text) != test.in {
			t.Errorf("%q was changed: %q", test.in, d.Text)
		}
	}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	item := doc.Mapping()
	item.Add("a", doc.Texts([]string{"b: c"}))
	for _, test := range []struct{ in, want string }{
		{"- 1 # c\n", "- 1 # c\n- a:\n    - \"b: c\"\n"},
		{"[1]\n", `[1,{"a":["b: c"]}]` + "\n"},
		{"[]", `[{"a":["b: c"]}]`},
		{"[x]\n", ""}, // YAML in brackets
	} {
		d, err := doc.Parse("f", []byte(test.in))
		if err != nil {
			t.Fatal(err)
		}
		next, ok := d.Append(d.Roots[0], item)
		if ok != (test.want != "") || ok && cmp.Diff(test.want, string(next.Text)) != "" {
			t.Errorf("%q: %v %+v", test.in, ok, next)
		}
	}
	d, err := doc.Parse("f", []byte("a: 1"))
	if err != nil {
		t.Fatal(err)
	}
	if next, ok := d.AppendDocument(item); !ok || string(next.Text) != "a: 1\n---\na:\n  - \"b: c\"\n" {
		t.Errorf("%v %+v", ok, next)
	}
}

// Keys given twice are errors of Parse, and the caller's business in ParseJSON.
func TestRepeatedKeys(t *testing.T) {
	t.Parallel()
	const text = "{\"a\": 1,\n \"a\": 2}"
	_, err := doc.Parse("f.json", []byte(text))
	problems, ok := errors.AsType[doc.Problems](err)
	if want := (doc.Problem{"f.json", 2, 2, `the key "a" is given twice (first on line 1)`}); !ok || len(problems) != 1 || problems[0] != want {
		t.Errorf("%v", err)
	}
	d, err := doc.ParseJSON("prd", []byte(text))
	if err != nil || len(d.Roots[0].Keys) != 2 {
		t.Errorf("%v, %v", d, err)
	}
	if _, err := doc.FromJSON([]byte(text)); err == nil || err.Error() != `:0:0: the key "a" is given twice` {
		t.Errorf("%v", err)
	}
}

// Whatever is not a text of plain data is a problem with its place.
func TestBadTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: \xef\xbf\xbd\xff":               "f:1:5: the file is not UTF-8",
		"a: \x01":                           "f:1:4: there is a control character",
		"{\"a\": 1,}":                       "",
		"a: !sh id":                         `f:1:4: the tag "!sh" is not supported`,
		"a: [":                              "f:2:1: this is not YAML",
		strings.Repeat("[", 200):            "f:1:102: values are nested more than 100 deep",
		"x: " + strings.Repeat("x", 5<<20):  "f:0:0: the file has more than 4194304 bytes",
		"[1]: 2":                            "f:1:1: a list cannot be a key",
		"<<: [x]":                           `f:1:1: a merge (<<) needs a mapping, found the text "x"`,
		strings.Repeat("- {a: 1}\n", 80000): "there are too many values",
	} {
		if strings.HasPrefix(text, "[[") {
			text += strings.Repeat("]", len(text))
		}
		if _, err := doc.Parse("f", []byte(text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
	if _, err := doc.ParseJSON("f", []byte("\ufeff{\n\"a\": 1,}")); err == nil || !strings.HasPrefix(err.Error(), "f:2:8: this is not JSON") {
		t.Errorf("%v", err)
	}
}

// A mapping is written in lines where lines are around it, else in brackets.
func TestSetMapping(t *testing.T) {
	t.Parallel()
	value, err := doc.FromJSON([]byte(`{"a":"x\n\ny: #\n","b":[1,{}]}`))
	if err != nil {
		t.Fatal(err)
	}
	const lines = "k:\n  a: |\n    x\n\n    y: #\n  b:\n    - 1\n    - {}\n"
	flow := string(value.JSON())
	for _, test := range []struct{ name, in, set, removed string }{ // "" = it cannot be done; what was not there is removed again
		{"missing", "id: 1 # c\nz: 2\n", "id: 1 # c\n" + lines + "z: 2\n", "id: 1 # c\nz: 2\n"},
		{"missing at the end", "z: 2\nid: 1", "z: 2\nid: 1\n" + strings.TrimSuffix(lines, "\n"), "z: 2\nid: 1\n"},
		{"indented", "- z: 2\n  id: 1\n- y\n", "- z: 2\n  id: 1\n" + strings.ReplaceAll(strings.ReplaceAll("  "+strings.TrimSuffix(lines, "\n"), "\n", "\n  "), "\n  \n", "\n\n") + "\n- y\n", "- z: 2\n  id: 1\n- y\n"},
		{"CRLF", "id: 1\r\nz: 2\r\n", "id: 1\r\n" + strings.ReplaceAll(lines, "\n", "\r\n") + "z: 2\r\n", "id: 1\r\nz: 2\r\n"},
		{"empty", "id: 1\nk:\nz: 2\n", "id: 1\n" + lines + "z: 2\n", "id: 1\nz: 2\n"},
		{"null, first", "k: ~\nid: 1\n", lines + "id: 1\n", "id: 1\n"},
		{"lines", "id: 1\nk: # c\n  a: 1\n  # c\n\n  b: |\n    x\n\n# of z\nz: 2\n", "id: 1\n" + lines + "\n# of z\nz: 2\n", "id: 1\n\n# of z\nz: 2\n"},
		{"a list", "id: 1\nk:\n- 1\n- 2\nz: 2\n", "id: 1\n" + lines + "z: 2\n", "id: 1\nz: 2\n"},
		{"brackets among lines", "id: 1\nk: {a: 'it''s }', b: [\"]\"]} # c\nz: 2\n", "id: 1\n" + strings.TrimSuffix(lines, "\n") + " # c\nz: 2\n", "id: 1\nz: 2\n"},
		{"brackets over lines", "id: 1\nk: {\n  a: 1\n}\nz: 2\n", "id: 1\n" + lines + "z: 2\n", "id: 1\nz: 2\n"},
		{"a text in lines", "id: 1\nk: >\n  a\n\n  b\nz: 2\n", "id: 1\n" + lines + "z: 2\n", "id: 1\nz: 2\n"},
		{"the first in an item", "- k: 1\n  id: 1\n- x\n", "- " + strings.ReplaceAll(strings.ReplaceAll(lines, "\n", "\n  "), "\n  \n", "\n\n") + "id: 1\n- x\n", "- id: 1\n- x\n"},
		{"an alias", "x: &x {a: 1}\nid: 1\nk: *x\n", "x: &x {a: 1}\nid: 1\n" + lines, "x: &x {a: 1}\nid: 1\n"},
		{"an anchor in use", "id: 1\nk: &x {a: 1}\nz: *x\n", "", ""},
		{"all in brackets", "{id: 1, z: 2}\n", "{id: 1, k: " + flow + ", z: 2}\n", "{id: 1, z: 2}\n"},
		{"all in brackets, there", "{id: 1, k: [1, {a: b}], z: 2}\n", "{id: 1, k: " + flow + ", z: 2}\n", "{id: 1, z: 2}\n"},
		{"all in brackets, first", "{k: {a: b}, id: 1}\n", "{k: " + flow + ", id: 1}\n", "{id: 1}\n"},
		{"JSON", `{"id":1,"k":null,"z":2}`, `{"id":1,"k":` + flow + `,"z":2}`, `{"id":1,"z":2}`},
		{"JSON over lines", "{\n  \"id\": 1,\n  \"z\": 2\n}\n", "{\n  \"id\": 1,\n  \"k\": " + flow + ",\n  \"z\": 2\n}\n", "{\n  \"id\": 1,\n  \"z\": 2\n}\n"},
		{"JSON, first", `{"k": [], "id": 1}`, `{"k": ` + flow + `, "id": 1}`, `{"id": 1}`},
	} {
		d, err := doc.Parse("f", []byte(test.in))
		if err != nil {
			t.Fatal(test.name, err)
		}
		at := func(d *doc.Doc) *doc.Node {
			if d.Roots[0].Kind == doc.List {
				return d.Roots[0].Items[0]
			}
			return d.Roots[0]
		}
		set, ok := d.Set(at(d), "id", "k", value)
		if ok != (test.set != "") {
			t.Errorf("%s: set %t", test.name, ok)
			continue
		}
		if ok {
			if diff := cmp.Diff(test.set, string(set.Text)); diff != "" {
				t.Errorf("%s: set (-want +got):\n%s", test.name, diff)
			}
		}
		if !at(d).Has("k") {
			d = set
		}
		rest, ok := d.Remove(at(d), "k")
		if ok != (test.removed != "") {
			t.Errorf("%s: removed %t", test.name, ok)
			continue
		}
		if ok {
			if diff := cmp.Diff(test.removed, string(rest.Text)); diff != "" {
				t.Errorf("%s: removed (-want +got):\n%s", test.name, diff)
			}
		}
	}
}
