package spec

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/doc"
)

// placeholder is what stands for the acceptance criteria in a configuration.
// White space inside the braces does not matter.
const placeholder = "acceptance_criteria"

// inject fills in the acceptance criteria wherever {{acceptance_criteria}}
// stands in a configuration: as a list where it is all of a value, as entries
// where it is all of a list's entry, and as lines with bullets inside a longer
// text. What was filled in is not looked at again.
func inject(n *doc.Node, acceptance []string) {
	switch {
	case isPlaceholder(n):
		*n = *doc.Texts(acceptance)
	case n.Kind == doc.Text:
		bullets := ""
		if len(acceptance) > 0 {
			bullets = "- " + strings.Join(acceptance, "\n- ")
		}
		n.Text = fill(n.Text, bullets)
	default:
		items := make([]*doc.Node, 0, len(n.Items))
		for _, item := range n.Items {
			own := n.Kind == doc.List && isPlaceholder(item)
			inject(item, acceptance)
			if own {
				items = append(items, item.Items...)
			} else {
				items = append(items, item)
			}
		}
		n.Items = items
	}
}

// isPlaceholder says whether the placeholder is all of a text.
func isPlaceholder(n *doc.Node) bool {
	if n.Kind != doc.Text {
		return false
	}
	before, name, after, found := cutPlaceholder(strings.TrimSpace(n.Text))
	return found && name == placeholder && before == "" && after == ""
}

// fill replaces the placeholders in a text.
func fill(text, by string) string {
	var b strings.Builder
	for {
		before, name, after, found := cutPlaceholder(text)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if name == placeholder {
			b.WriteString(by)
		} else {
			b.WriteString(text[len(before) : len(text)-len(after)])
		}
		text = after
	}
}

// cutPlaceholder cuts a text around its first {{name}}.
func cutPlaceholder(text string) (before, name, after string, found bool) {
	for from := 0; ; {
		i := strings.Index(text[from:], "{{")
		if i < 0 {
			return text, "", "", false
		}
		i += from
		inner, rest, closed := strings.Cut(text[i+2:], "}}")
		if !closed {
			return text, "", "", false
		}
		if name = strings.TrimSpace(inner); isName(name) {
			return text[:i], name, rest, true
		}
		from = i + 1
	}
}

// isName says whether a text is one word of letters, hyphens and underscores.
func isName(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return c != '_' && c != '-' && (c|0x20 < 'a' || c|0x20 > 'z')
	})
}

// hasPlaceholder says whether something is still to be filled in.
func hasPlaceholder(n *doc.Node) bool {
	return slices.Contains(placeholderNames(n.Text), placeholder) && n.Kind == doc.Text || slices.ContainsFunc(n.Items, hasPlaceholder)
}

// placeholderNames are the names in double braces in a text.
func placeholderNames(text string) []string {
	var all []string
	for {
		_, name, after, found := cutPlaceholder(text)
		if !found {
			return all
		}
		all = append(all, name)
		text = after
	}
}

// placeholders refuses misspelt placeholders. Other words in double braces
// are left alone: many programs have templates of their own.
func (r *reader) placeholders(n *doc.Node, what string) {
	if n.Kind == doc.Text {
		for _, name := range placeholderNames(n.Text) {
			if name != placeholder && Nearest(name, placeholder) != "" {
				r.refuse(n, "%s: {{%s}} is unknown; did you mean {{%s}}?", what, name, placeholder)
			}
		}
	}
	for _, item := range n.Items {
		r.placeholders(item, what)
	}
}
