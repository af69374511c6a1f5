package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/doc"
)

// The readers of single values. Each takes the node and its name for messages, and
// returns the zero value of what it could not read, which is reported.

// text reads text and nothing else. A number is not taken for it: 1.10 would become 1.1
// in the hands of the next program.
func (r *reader) text(n *doc.Node, what string) string {
	if n.Kind != doc.Text {
		r.expected(n, what, "text")
		return ""
	}
	return n.Text
}

// name reads text that people like to write as a number: 007, 1.10.
func (r *reader) name(n *doc.Node, what string) string {
	if n.Kind == doc.Integer || n.Kind == doc.Float {
		return n.Written()
	}
	return r.text(n, what)
}

// nonBlank reads text that means nothing if it is empty; to say nothing, leave the key
// out.
func (r *reader) nonBlank(n *doc.Node, what string) string {
	text := r.text(n, what)
	if n.Kind == doc.Text && strings.TrimSpace(text) == "" {
		r.refuse(n, "%s is empty", what)
	}
	return text
}

// list reads a list, each entry with read; nil only if it is no list, for an empty one
// is kept apart from none. want says what was expected.
func list[T any](r *reader, n *doc.Node, what, want string, read func(n *doc.Node, what string) T) []T {
	if n.Kind != doc.List {
		r.expected(n, what, want)
		return nil
	}
	all := make([]T, len(n.Items))
	for i, item := range n.Items {
		all[i] = read(item, fmt.Sprintf("%s[%d]", what, i))
	}
	return all
}

func (r *reader) texts(n *doc.Node, what string) []string {
	return list(r, n, what, "a list of texts", r.text)
}

func (r *reader) names(n *doc.Node, what string) []string {
	return list(r, n, what, "a list", r.name)
}

// oneOrMore reads a text or a list of texts: most people have one, and write it so.
func (r *reader) oneOrMore(n *doc.Node, what string) []string {
	if n.Kind == doc.Text {
		return []string{n.Text}
	}
	return list(r, n, what, "text or a list of texts", r.text)
}

// patterns reads texts to look for. A blank one is refused, for it is in every text:
// the check would always pass, or never.
func (r *reader) patterns(n *doc.Node, what string) []string {
	all := r.oneOrMore(n, what)
	for _, text := range all {
		if strings.TrimSpace(text) == "" {
			r.refuse(n, "%s: an entry is blank; it would match anything", what)
			break
		}
	}
	return all
}

// boolean takes true and false only. YAML's older words (yes, on) are text to YAML 1.2
// and JSON, so they would mean one thing here and another elsewhere.
func (r *reader) boolean(n *doc.Node, what string) bool {
	if n.Kind != doc.Bool {
		r.expected(n, what, "true or false")
	}
	return n.Text == "true"
}

// not reads a boolean whose opposite is kept.
func (r *reader) not(n *doc.Node, what string) bool { return !r.boolean(n, what) }

// whole reads whole numbers. One outside least and most is invalid, but not wrong: what
// is meant is clear, so the file loads and Validate tells.
func (r *reader) whole(least, most int) func(n *doc.Node, what string) int {
	return func(n *doc.Node, what string) int {
		i, err := strconv.Atoi(n.Text)
		switch {
		case n.Kind != doc.Integer:
			r.expected(n, what, "a whole number")
			return 0
		case err != nil:
			r.refuse(n, "%s: %s is out of range; it is too large", what, n.Text)
			return 0
		case i < least || i > most:
			between := fmt.Sprintf("between %d and %d", least, most)
			if most == math.MaxInt {
				between = fmt.Sprintf("%d or more", least)
			}
			r.refuse(n, "%s: %d is out of range; it must be %s", what, i, between)
		}
		return i
	}
}

// maxTimeout bounds how long one command may take: beyond a week the number is more
// likely in the wrong unit.
const maxTimeout = 7 * 24 * time.Hour

// seconds reads a time as a number of seconds or as Go writes it, "5m". 0 is refused:
// to some programs it means no limit, to others no time.
func (r *reader) seconds(n *doc.Node, what string) time.Duration {
	var d time.Duration
	var err error
	switch n.Kind {
	case doc.Integer, doc.Float:
		d = maxTimeout + 1
		if f, err := strconv.ParseFloat(n.Text, 64); err == nil && f <= maxTimeout.Seconds() {
			d = time.Duration(max(f, -1) * float64(time.Second))
		}
	default:
		d, err = time.ParseDuration(n.Text)
	}
	switch {
	case err != nil || n.Kind == doc.List || n.Kind == doc.Map:
		r.expected(n, what, "a number of seconds, or a duration like 5m")
		return 0
	case d <= 0 || d > maxTimeout:
		r.refuse(n, "%s: %s is out of range; it must be more than 0 and at most a week", what, doc.Quote(n.Text))
	}
	return d
}

// time reads a time; one without a zone is UTC, so that the same file means the same on
// each machine.
func (r *reader) time(n *doc.Node, what string) time.Time {
	if n.Kind == doc.Text {
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
			if t, err := time.Parse(layout, strings.TrimSpace(n.Text)); err == nil {
				return t.UTC()
			}
		}
	}
	r.expected(n, what, "a time like 2026-01-31T12:00:00Z")
	return time.Time{}
}

// tree reads a mapping as it is; nil if it is none.
func (r *reader) tree(n *doc.Node, what string) *doc.Node {
	if n.Kind != doc.Map {
		r.expected(n, what, "a mapping")
		return nil
	}
	return n
}

// raw reads a mapping as JSON.
func (r *reader) raw(n *doc.Node, what string) json.RawMessage { return r.tree(n, what).JSON() }

// values reads a mapping, each value as JSON, since nothing is known of the values but
// that they must come out as they went in.
func (r *reader) values(n *doc.Node, what string) map[string]json.RawMessage {
	if r.tree(n, what) == nil {
		return nil
	}
	m := make(map[string]json.RawMessage, len(n.Keys))
	for i, key := range n.Keys {
		m[key.Text] = n.Items[i].JSON()
	}
	return m
}

// environment reads a mapping as NAME=value. Numbers and booleans are taken as they are
// written: in an environment everything is text.
func (r *reader) environment(n *doc.Node, what string) []string {
	if n.Kind != doc.Map {
		r.expected(n, what, "a mapping of names to values")
		return nil
	}
	var env []string
	for i, key := range n.Keys {
		value := n.Items[i]
		switch {
		case key.Text == "" || strings.ContainsAny(key.Text, "=\x00"):
			r.refuse(key, "%s: %s is not the name of an environment variable", what, doc.Quote(key.Text))
		case value.Kind == doc.List || value.Kind == doc.Map:
			r.expected(value, inside(what, key.Text), "text")
		default:
			env = append(env, key.Text+"="+value.Text)
		}
	}
	return env
}

// required refuses a mapping without a key without which nothing can be done.
func (r *reader) required(n *doc.Node, key string) {
	switch at := n.Get(key); {
	case n.Kind != doc.Map:
	case at == nil:
		r.refuse(n, "%s is missing", key)
	case strings.TrimSpace(at.Text) == "" && (at.Kind == doc.Null || at.Kind == doc.Text):
		r.refuse(at, "%s is empty", key)
	}
}

// needed refuses a configuration without a key, or with nothing in it; why, which
// may be "", says what would do.
func (r *reader) needed(n *doc.Node, what, key string, empty bool, why string) {
	switch at := n.Get(key); {
	case at == nil:
		r.refuse(n, "%s: %s is missing", what, key)
	case empty && (at.Kind == doc.Text || at.Kind == doc.List):
		r.refuse(at, "%s is empty%s", inside(what, key), why)
	}
}
