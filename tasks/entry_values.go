package tasks

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/doc"
)

// numeric reports whether a value is a number, which as an id is taken as it is
// written: 1.10 and 1.1 are two. oneLine is a text in one line, since where the lines
// of a file end is no part of a name.
func numeric(n *doc.Node) bool   { return n.Kind == doc.Integer || n.Kind == doc.Float }
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// criteria reads a list of texts, or one text, which is one criterion however many
// lines it has.
func (p *jsonText) criteria(key string, n *doc.Node) (texts []string) {
	entries := n.Items
	switch n.Kind {
	case doc.Null, doc.List:
	case doc.Text:
		entries = []*doc.Node{n}
	default:
		p.want(key, "a list of texts", n)
	}
	for _, entry := range entries {
		texts = append(texts, p.criterion(key, entry))
	}
	return texts
}

// criterion reads a text, or an object with one, or with the three of a scenario
// (given, when, then), in the order in which they are written.
func (p *jsonText) criterion(key string, n *doc.Node) string {
	if n.Kind != doc.Map {
		return p.text(key, n)
	}
	var scenario []string
	for i, name := range n.Keys {
		value := n.Items[i]
		if value.Kind != doc.Text || value.Text == "" {
			continue
		}
		switch snake(name.Text) {
		case "text", "description", "criterion", "criteria", "step", "action", "title":
			return value.Text
		case "scenario", "given", "when", "then":
			scenario = append(scenario, name.Text+" "+value.Text)
		}
	}
	if scenario == nil {
		p.want(key, `a text, or an object with a "text"`, n)
	}
	return strings.Join(scenario, ", ")
}

// levels are the words for priorities, 1 first. They are a function's, as other tables
// here are that hold slices: no caller can change them.
func levels() [4][]string {
	return [...][]string{{"critical", "urgent", "highest"}, {"high", "must"}, {"medium", "normal", "should"}, {"low", "could", "lowest"}}
}

// priority reads 2, "2", "P2" or "high". Another word is no priority, and comes last:
// it says something that only its author knows, and no order is lost by it.
func (p *jsonText) priority(key string, n *doc.Node) float64 {
	switch {
	case n.Kind == doc.Text:
		return priorityOf(n.Text)
	case numeric(n):
		number, err := strconv.ParseFloat(n.Text, 64)
		if err != nil {
			p.fail(n, "%s: the number is too big", key)
		}
		return number
	case n.Kind != doc.Null:
		p.want(key, "a number", n)
	}
	return math.Inf(1)
}

// priorityOf is the priority that a word is, in any case; what is none is +Inf, so that
// it comes last.
func priorityOf(word string) float64 {
	word = strings.ToLower(strings.TrimSpace(word))
	for i, words := range levels() {
		if slices.Contains(words, word) {
			return float64(i + 1)
		}
	}
	if number, err := strconv.Atoi(strings.TrimPrefix(word, "p")); err == nil {
		return float64(number)
	}
	return math.Inf(1)
}

// after reads what an entry comes after: a list of texts, numbers or objects with an
// id, or one text, in which commas may separate several. All keys count, not the first
// alone: to wait for too much is safe. "none" is a word that models write for nothing.
func (p *jsonText) after(m members) (after []string) {
	// An id that is named twice holds once.
	seen := map[string]bool{"": true}
	add := func(id string) {
		if id = oneLine(id); !seen[id] && !strings.EqualFold(id, "none") {
			seen[id] = true
			after = append(after, id)
		}
	}
	for _, key := range p.keys.after {
		f, ok := m[key]
		if !ok {
			continue
		}
		if f.value.Kind == doc.Text {
			for id := range strings.SplitSeq(f.value.Text, ",") {
				add(id)
			}
		}
		if f.value.Kind != doc.List {
			continue
		}
		for _, item := range f.value.Items {
			if id := item.Get("id"); id != nil {
				item = id
			}
			if item.Kind == doc.Text || numeric(item) {
				add(item.Text)
			}
		}
	}
	return after
}
