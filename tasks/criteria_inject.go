package tasks

import (
	"encoding/json"
	"slices"
	"strings"
)

// placeholder is what stands for the acceptance criteria in a configuration
// (S1). White space inside the braces does not matter.
const placeholder = "acceptance_criteria"

// inject fills in the acceptance criteria wherever {{acceptance_criteria}}
// stands in a configuration: as a list where it is all of a value, as entries
// where it is all of a list's entry, and as lines with bullets inside a longer
// text. What was filled in is not looked at again.
func inject(config json.RawMessage, acceptance []string) (json.RawMessage, error) {
	if config == nil {
		return nil, nil
	}
	n, err := readJSON("verification_config", config)
	if err != nil {
		return nil, err
	}
	n.inject(acceptance)
	return n.json(), nil
}

func (n *node) inject(acceptance []string) {
	if n.kind == nodeText {
		n.injectText(acceptance)
		return
	}
	items := make([]*node, 0, len(n.items))
	for _, item := range n.items {
		if n.kind == nodeList && item.isPlaceholder() {
			for _, text := range acceptance {
				items = append(items, textNode(text))
			}
			continue
		}
		item.inject(acceptance)
		items = append(items, item)
	}
	n.items = items
}

func (n *node) injectText(acceptance []string) {
	if n.isPlaceholder() {
		n.kind, n.text = nodeList, ""
		for _, text := range acceptance {
			n.items = append(n.items, textNode(text))
		}
		return
	}
	var b strings.Builder
	rest := n.text
	for {
		before, name, after, found := cutPlaceholder(rest)
		b.WriteString(before)
		if !found {
			break
		}
		if name == placeholder {
			b.WriteString(bullets(acceptance))
		} else {
			b.WriteString(rest[len(before) : len(rest)-len(after)])
		}
		rest = after
	}
	n.text = b.String()
}

func bullets(texts []string) string {
	lines := make([]string, len(texts))
	for i, text := range texts {
		lines[i] = "- " + text
	}
	return strings.Join(lines, "\n")
}

// isPlaceholder says whether the placeholder is all of a text.
func (n *node) isPlaceholder() bool {
	if n.kind != nodeText {
		return false
	}
	before, name, after, found := cutPlaceholder(strings.TrimSpace(n.text))
	return found && name == placeholder && before == "" && after == ""
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

// texts calls f with every text in a value, names of keys left out.
func (n *node) texts(f func(*node)) {
	if n.kind == nodeText {
		f(n)
	}
	for _, item := range n.items {
		item.texts(f)
	}
}

func hasPlaceholder(n *node) bool {
	found := false
	n.texts(func(text *node) {
		found = found || slices.Contains(placeholderNames(text.text), placeholder)
	})
	return found
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
func (r *reader) placeholders(n *node, what string) {
	n.texts(func(text *node) {
		for _, name := range placeholderNames(text.text) {
			if name != placeholder && nearest(name, []string{placeholder}) != "" {
				r.refuse(text, "%s: {{%s}} is unknown; did you mean {{%s}}?", what, name, placeholder)
			}
		}
	})
}
