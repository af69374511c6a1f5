package ralph_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

func TestTemplate(t *testing.T) {
	t.Parallel()
	values := map[string]string{"NAME": "shop", "PROMPT": "say {NAME} and $HOME and $&", "a b": "odd"}
	for _, tt := range []struct{ in, want string }{
		{"{NAME} {{NAME}} ${NAME}", "shop shop shop"},
		{"$NAME $HOME ${HOME} {x} {} {{}} $& $$ ${} {", "$NAME $HOME ${HOME} {x} {} {{}} $& $$ ${} {"},
		{"{{PROMPT}}", "say {NAME} and $HOME and $&"},
		{"func() { return {NAME} }", "func() { return shop }"},
		{"${{NAME}} {{{NAME}}} {{ NAME }} {{.NAME}} {a b}", "$shop {shop} {{ NAME }} {{.NAME}} odd"},
		{"", ""},
	} {
		got, err := ralph.Template(tt.in, values)
		if err != nil || got != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
	got, err := ralph.Template("one\n{{NAMES}}", values)
	if err == nil || got != "" || !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), "{{NAMES}}") || !strings.Contains(err.Error(), "NAME, PROMPT") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestTemplateBorders pins what is a placeholder and what is not.
func TestTemplateBorders(t *testing.T) {
	t.Parallel()
	values := map[string]string{"A": "1", "A B": "2", "_x9": "3", "": "never", "{": "never", "A\n": "never", "long": strings.Repeat("{A}", 3)}
	for _, tt := range []struct{ in, want string }{
		{"{A}{A}", "11"}, {"{{A}}{{A}}", "11"}, {"${A}${A}", "11"}, {"a{A}b{{A}}c${A}d", "a1b1c1d"},
		{"{{{A}}}", "{1}"}, {"{{{{A}}}}", "{{1}}"}, {"${{A}}", "$1"}, {"$${A}", "$1"}, {"{${A}}", "{1}"}, {"{{A}", "{1"}, {"{A}}", "1}"}, {"${A", "${A"},
		{"{A", "{A"}, {"{{A", "{{A"}, {"{{A}}", "1"}, {"{{A} }", "{1 }"}, {"{ A}", "{ A}"}, {"{A\n}", "{A\n}"}, {"{{A\n}}", "{{A\n}}"},
		{"{A B}", "2"}, {"{{A B}}", "2"}, {"{{A C}}", "{{A C}}"}, {"{{_x9}}", "3"}, {"{{9x}}", "{{9x}}"}, {"{{é}}", "{{é}}"}, {"{_x}", "{_x}"}, {"${_x}", "${_x}"},
		{"{}", "{}"}, {"{{}}", "{{}}"}, {"${}", "${}"}, {"{{}", "{{}"}, {"$", "$"}, {"{", "{"}, {"${", "${"}, {"$A", "$A"}, {"é{A}é", "é1é"},
		{"{long}{{long}}", "{A}{A}{A}{A}{A}{A}"},
	} {
		got, err := ralph.Template(tt.in, values)
		if err != nil || got != tt.want {
			t.Errorf("%q: %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
	for in, line := range map[string]string{"{{B}}": "line 1", "{A}\n\n{{_}} {{C}}": "line 3", "{{{B}}}": "line 1", "${{B}}": "line 1"} {
		got, err := ralph.Template(in, values)
		if err == nil || got != "" || !strings.HasPrefix(err.Error(), "ralph: template, "+line+":") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func hostileTemplates(size int) []struct{ Name, Text string } {
	of := func(s string) string { return strings.Repeat(s, size/len(s)) }
	return []struct{ Name, Text string }{
		{"{", of("{")}, {"}", of("}")}, {"$", of("$")}, {"${", of("${")}, {"{{ ", of("{{ ")}, {"{}", of("{}")}, {"{x", of("{x")}, {"{{x}", of("{{x}")}, {"a long name", "{{" + of("x")}, {"names", of("{NAME}")}, {"code", of("func() { return ${x} }\n")}, {"log", of("ok  pkg/some/thing 0.012s\n")},
	}
}

// TestTemplateIsLinear: looking for the end of each open brace in all of the rest
// would not come to an end within a test's time.
func TestTemplateIsLinear(t *testing.T) {
	t.Parallel()
	size := 16 << 20
	if race {
		size = 4 << 20
	}
	for _, c := range hostileTemplates(size) {
		if _, err := ralph.Template(c.Text, map[string]string{"NAME": "shop"}); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

// BenchmarkTemplate fills 64 MB of many kinds. The floor is a copy of the text.
func BenchmarkTemplate(b *testing.B) {
	for _, c := range hostileTemplates(64 << 20) {
		b.Run("floor/"+c.Name, func(b *testing.B) {
			b.SetBytes(int64(len(c.Text)))
			for b.Loop() {
				if strings.Clone(c.Text) == "" {
					b.Fatal("no text")
				}
			}
		})
		b.Run("fill/"+c.Name, func(b *testing.B) {
			b.SetBytes(int64(len(c.Text)))
			for b.Loop() {
				if _, err := ralph.Template(c.Text, map[string]string{"NAME": "shop"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
