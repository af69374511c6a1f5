package spec_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/ralph-loop/ralph/tasks/spec"
)

// Whatever the text: an error or a file that stays the same when it is read
// again, that writes its definitions without loss, and in which setting a status
// or a value of the metadata changes that and nothing else.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/definitions/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add("f.yaml", text)
	}
	for _, text := range []string{
		"- &a {id: A, status: 'x'}\n- {<<: *a, id: B}\n", "id: 0x1F\ntitle: >-\n  x\nmetadata: {a: 1e400, b: .inf, c: 0o7, d: +1, e: 1_0, f: 2024-01-01}\n",
		"\ufeffid: A\r\nstatus:\r\n", "? id\n: A\n? status\n: todo\n", "id: A\nstatus: !!str todo\n", "---\nid: A\n...\n---\nid: B\n",
	} {
		f.Add("f.yaml", []byte(text))
	}
	f.Add("f.json", []byte(`{"tasks": [{"id": "A", "status": null, "metadata": {"a": 1E+2, "b": -0}}, {"id": "B"}]}`))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		file, err := spec.Parse(name, text)
		if err != nil {
			return
		}
		if !bytes.Equal(file.Bytes(), text) {
			t.Fatalf("Bytes changed: %q", file.Bytes())
		}
		if err := file.Validate(); err != nil && len(err.Error()) == 0 {
			t.Fatal("an error without words")
		}
		defs := file.Definitions()
		for i, d := range defs {
			sameAgain(t, d)
			setStatus(t, name, text, defs, i)
			setMetadata(t, name, text, defs, i)
		}
		added := spec.Definition{ID: "an ID that nobody has", Title: "x: y"}
		if file.Add(added) == nil {
			if diff := cmp.Diff(append(defs, added), file.Definitions()); diff != "" {
				t.Fatalf("(-want +got):\n%s\n%q", diff, file.Bytes())
			}
		}
		if _, err := spec.ParseConfig(name, text); err != nil && len(err.Error()) == 0 {
			t.Fatal("an error without words")
		}
	})
}

// sameAgain checks that a definition survives JSON and YAML.
func sameAgain(t *testing.T, d spec.Definition) {
	t.Helper()
	var back spec.Definition
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(d, back); diff != "" {
		t.Fatalf("through JSON (-want +got):\n%s\n%s", diff, text)
	}
	text, err = yaml.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	back = spec.Definition{}
	if err := yaml.Unmarshal(text, &back); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(d, back); diff != "" {
		t.Fatalf("through YAML (-want +got):\n%s\n%s", diff, text)
	}
}

func setStatus(t *testing.T, name string, text []byte, want []spec.Definition, i int) {
	t.Helper()
	file, err := spec.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	if file.SetStatus(want[i].ID, spec.StatusDone) != nil {
		if !bytes.Equal(file.Bytes(), text) {
			t.Fatalf("refused, and yet changed: %q", file.Bytes())
		}
		return
	}
	again, err := spec.Parse(name, file.Bytes())
	if err != nil {
		t.Fatalf("%v\n%q", err, file.Bytes())
	}
	want = append([]spec.Definition{}, want...)
	want[i].Status = spec.StatusDone
	for _, got := range [][]spec.Definition{file.Definitions(), again.Definitions()} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s\n%q", diff, file.Bytes())
		}
	}
}

func setMetadata(t *testing.T, name string, text []byte, defs []spec.Definition, i int) {
	t.Helper()
	file, err := spec.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []json.RawMessage{json.RawMessage(`{"last_output":" a\n# b\n\n","n":[{}]}`), nil} {
		before := file.Bytes()
		if file.SetMetadata(defs[i].ID, "ralph", value) != nil {
			if !bytes.Equal(file.Bytes(), before) {
				t.Fatalf("refused, and yet changed: %q", file.Bytes())
			}
			return
		}
		again, err := spec.Parse(name, file.Bytes())
		if err != nil {
			t.Fatalf("%v\n%q", err, file.Bytes())
		}
		want := append([]spec.Definition{}, defs...)
		want[i].Metadata = maps.Clone(want[i].Metadata)
		if delete(want[i].Metadata, "ralph"); value != nil {
			if want[i].Metadata == nil {
				want[i].Metadata = map[string]json.RawMessage{}
			}
			want[i].Metadata["ralph"] = value
		} else if len(want[i].Metadata) == 0 {
			want[i].Metadata = nil
		}
		if diff := cmp.Diff(want, again.Definitions()); diff != "" {
			t.Fatalf("(-want +got):\n%s\n%q", diff, file.Bytes())
		}
	}
}
