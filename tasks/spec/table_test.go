package spec

import (
	"os"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/doc"
)

// What the doc comment of Methods tells of the built-in methods is their table:
// each of them, with each of its keys.
func TestMethodsDocumented(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("method.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(source), "// Methods are a program's own")
	text, _, _ = strings.Cut(text, "\ntype Methods ")
	for i, b := range builtins() {
		_, own, found := strings.Cut(text, "//\t"+b.name+" ")
		if !found {
			t.Errorf("%s is not described", b.name)
			continue
		}
		if i+1 < len(builtins()) {
			own, _, _ = strings.Cut(own, "//\t"+builtins()[i+1].name+" ")
		}
		for _, key := range names(b.make().fields(&reader{})) {
			if !strings.Contains(own, key) {
				t.Errorf("%s: the key %s is not described: %s", b.name, key, own)
			}
		}
	}
}

// Each method of the table reads an empty configuration without a panic, says
// something to the agent, and is told from the others by its keys.
func TestTable(t *testing.T) {
	t.Parallel()
	for _, b := range builtins() {
		r := reader{doc: &doc.Doc{}}
		c := r.check(doc.Mapping(), doc.String(b.name), nil, "x")
		if got := c.describe(); !strings.HasPrefix(got, b.name) {
			t.Errorf("%s: described as %q", b.name, got)
		}
		all := doc.Mapping()
		for _, key := range names(b.make().fields(&reader{})) {
			all.Add(key, doc.String("x"))
		}
		if got := guessMethod(all); got != b.name {
			t.Errorf("%s: its keys are taken for those of %q", b.name, got)
		}
	}
}

// Only {{acceptance_criteria}} is filled in, wherever it stands, and what was filled
// in is not looked at again.
func TestExpand(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{{acceptance_criteria}}":                       "X",
		"a {{ acceptance_criteria }} b":                 "a X b",
		"{{{acceptance_criteria}}}":                     "{X}",
		"{{x {{acceptance_criteria}}":                   "{{x X",
		"{{acceptance_criteria":                         "{{acceptance_criteria",
		"{{x}} {{acceptance_criteria}}{{.Y}}":           "{{x}} X{{.Y}}",
		"{{" + strings.Repeat(" ", 99) + "acceptance}}": "{{" + strings.Repeat(" ", 99) + "acceptance}}",
		"": "",
	} {
		if got := expand(in, func(name string) (string, bool) { return "X", name == placeholder }); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
