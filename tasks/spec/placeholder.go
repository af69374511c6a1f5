package spec

import (
	"slices"
	"strings"
	"unicode"

	"github.com/ralph-loop/ralph/internal/doc"
)

// placeholder is what stands for the acceptance criteria in a configuration, in double
// braces. White space inside the braces does not matter. With it the requirements are
// written once, and a judge, an agent and a command all get the same list.
const placeholder = "acceptance_criteria"

// inject fills in the acceptance criteria wherever {{acceptance_criteria}} stands in a
// configuration: as a list where it is all of a value, as entries where it is all of a
// list's entry, and as lines with bullets inside a longer text.
//
// What was filled in is not looked at again: a criterion may speak of templates, and
// must then reach the verifier as it was written.
func inject(n *doc.Node, acceptance []string) {
	if n.Kind == doc.Text {
		whole := expand(strings.TrimSpace(n.Text), func(name string) (string, bool) { return "", name == placeholder })
		if whole == "" && hasPlaceholder(n) {
			*n = *doc.Texts(acceptance)
			return
		}
		bullets := strings.TrimPrefix(strings.Join(slices.Concat([]string{""}, acceptance), "\n- "), "\n")
		n.Text = expand(n.Text, func(name string) (string, bool) { return bullets, name == placeholder })
	}
	items := make([]*doc.Node, 0, len(n.Items))
	for _, item := range n.Items {
		entry := n.Kind == doc.List && item.Kind == doc.Text
		if inject(item, acceptance); entry && item.Kind == doc.List {
			items = append(items, item.Items...)
		} else {
			items = append(items, item)
		}
	}
	n.Items = items
}

// expand replaces each {{name}} in a text whose name is known; everything else, braces
// included, stays. Package text/template is no choice here: it would fail on the braces
// that other programs' templates have in their commands.
func expand(text string, value func(name string) (text string, known bool)) string {
	var b strings.Builder
	for {
		before, after, closed := strings.Cut(text, "}}")
		if !closed {
			b.WriteString(text)
			return b.String()
		}
		text = after
		if at := strings.LastIndex(before, "{{"); at >= 0 {
			if v, known := value(strings.TrimSpace(before[at+2:])); known {
				b.WriteString(before[:at] + v)
				continue
			}
		}
		b.WriteString(before + "}}")
	}
}

// hasPlaceholder says whether something is still to be filled in. A verifier must not
// be built from such a text: it would look for the words of the placeholder.
func hasPlaceholder(n *doc.Node) bool {
	found := false
	if n.Kind == doc.Text {
		expand(n.Text, func(name string) (string, bool) { found = found || name == placeholder; return "", false })
	}
	return found || slices.ContainsFunc(n.Items, hasPlaceholder)
}

// placeholders refuses misspelt placeholders. Other words in double braces
// are left alone: many programs have templates of their own.
func (r *reader) placeholders(n *doc.Node, what string) {
	if n.Kind == doc.Text {
		expand(n.Text, func(name string) (string, bool) {
			word := !strings.ContainsFunc(name, func(c rune) bool { return c != '_' && c != '-' && !unicode.IsLetter(c) })
			if word && name != placeholder && Nearest(name, placeholder) != "" {
				r.refuse(n, "%s: {{%s}} is unknown; did you mean {{%s}}?", what, name, placeholder)
			}
			return "", false
		})
	}
	for _, item := range n.Items {
		r.placeholders(item, what)
	}
}
