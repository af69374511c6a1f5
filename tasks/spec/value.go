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

// text reads text, and nothing that only looks like it: true and 1.10 are no text in
// YAML, and a person who meant text put them in quotes. What was expected and found is
// told.
func (r *reader) text(n *doc.Node, what string) string {
	if n.Kind != doc.Text {
		r.expected(n, what, "text")
		return ""
	}
	return n.Text
}

// name reads text that people like to write as a number: 007, 1.10. As numbers they
// would lose their zeros; what stands in the text is kept.
func (r *reader) name(n *doc.Node, what string) string {
	if n.Kind == doc.Integer || n.Kind == doc.Float {
		return n.Written()
	}
	return r.text(n, what)
}

// nonBlank reads text that cannot be empty: a key that is there with nothing behind it
// was left unfinished.
func (r *reader) nonBlank(n *doc.Node, what string) string {
	text := r.text(n, what)
	if n.Kind == doc.Text && strings.TrimSpace(text) == "" {
		r.refuse(n, "%s is empty", what)
	}
	return text
}

// list reads a list, each entry with read; nil only if it is no list. want says what
// was expected. An empty list stays one, for it says something else than none.
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

// texts reads a list of texts. A single text is refused: it would be a list of one by
// accident.
func (r *reader) texts(n *doc.Node, what string) []string {
	return list(r, n, what, "a list of texts", r.text)
}

// names reads a list of names, see name.
func (r *reader) names(n *doc.Node, what string) []string {
	return list(r, n, what, "a list", r.name)
}

// oneOrMore reads a text or a list of texts. It is for keys under which one is the
// usual case.
func (r *reader) oneOrMore(n *doc.Node, what string) []string {
	if n.Kind == doc.Text {
		return []string{n.Text}
	}
	return list(r, n, what, "text or a list of texts", r.text)
}

// patterns reads texts to look for; a blank one would match anything. So a check that
// was meant to be filled in later would pass everything, or reject everything.
func (r *reader) patterns(n *doc.Node, what string) []string {
	all := r.oneOrMore(n, what)
	for _, text := range all {
		if strings.TrimSpace(text) == "" {
			// One message is enough: the rest of the list is blank for the same reason.
			r.refuse(n, "%s: an entry is blank; it would match anything", what)
			break
		}
	}
	return all
}

// boolean reads true or false. "yes" and 1 are refused and not understood: YAML itself
// has changed its mind about them.
func (r *reader) boolean(n *doc.Node, what string) bool {
	if n.Kind != doc.Bool {
		r.expected(n, what, "true or false")
	}
	return n.Text == "true"
}

// not reads a boolean whose opposite is kept. A key that is left out then has the value
// that is meant by default.
func (r *reader) not(n *doc.Node, what string) bool { return !r.boolean(n, what) }

// whole reads whole numbers. One outside least and most is invalid. A number that is no
// whole one is a mistake of shape, and told at once; a range is for Validate.
func (r *reader) whole(least, most int) func(n *doc.Node, what string) int {
	return func(n *doc.Node, what string) int {
		// Of a number that is no whole one the error does not matter: the kind is asked
		// first.
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
			// Nobody is helped by a range with nineteen digits.
			if most == math.MaxInt {
				between = fmt.Sprintf("%d or more", least)
			}
			r.refuse(n, "%s: %d is out of range; it must be %s", what, i, between)
		}
		return i
	}
}

// maxTimeout bounds how long one command may take. A week is longer than any test, and
// an hour given in milliseconds is beyond it, so that slip is found.
const maxTimeout = 7 * 24 * time.Hour

// seconds reads a time as a number of seconds or as Go writes it, "5m". A bare number
// is seconds, as in most configuration files; zero is refused, because it could mean
// "none" or "at once".
func (r *reader) seconds(n *doc.Node, what string) time.Duration {
	var d time.Duration
	var err error
	switch n.Kind {
	case doc.Integer, doc.Float:
		// Out of range, unless it turns out to be within: a float of any size would
		// overflow a duration.
		d = maxTimeout + 1
		if f, err := strconv.ParseFloat(n.Text, 64); err == nil && f <= maxTimeout.Seconds() {
			d = time.Duration(max(f, -1) * float64(time.Second))
		}
	default:
		d, err = time.ParseDuration(n.Text)
	}
	switch {
	// The hint names both forms, for people who have seen only one.
	case err != nil || n.Kind == doc.List || n.Kind == doc.Map:
		r.expected(n, what, "a number of seconds, or a duration like 5m")
		return 0
	case d <= 0 || d > maxTimeout:
		r.refuse(n, "%s: %s is out of range; it must be more than 0 and at most a week", what, doc.Quote(n.Text))
	}
	return d
}

// time reads a time; one without a zone is UTC. People write times in many ways, and
// only those are taken that mean one time.
func (r *reader) time(n *doc.Node, what string) time.Time {
	if n.Kind == doc.Text {
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
			// In UTC, so that two definitions with the same moment are the same.
			if t, err := time.Parse(layout, strings.TrimSpace(n.Text)); err == nil {
				return t.UTC()
			}
		}
	}
	r.expected(n, what, "a time like 2026-01-31T12:00:00Z")
	return time.Time{}
}

// tree reads a mapping as it is; nil if it is none. It is for what somebody else will
// read.
func (r *reader) tree(n *doc.Node, what string) *doc.Node {
	if n.Kind != doc.Map {
		r.expected(n, what, "a mapping")
		return nil
	}
	return n
}

// raw reads a mapping as JSON. Numbers keep their digits.
func (r *reader) raw(n *doc.Node, what string) json.RawMessage { return r.tree(n, what).JSON() }

// values reads a mapping, each value as JSON. Null is a value there.
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

// environment reads a mapping as NAME=value. Values that are numbers or true are taken
// as they are written: an environment has only texts.
func (r *reader) environment(n *doc.Node, what string) []string {
	if n.Kind != doc.Map {
		r.expected(n, what, "a mapping of names to values")
		return nil
	}
	var env []string
	for i, key := range n.Keys {
		value := n.Items[i]
		switch {
		// Such a name would set another variable, or none.
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

// required refuses a mapping without a key without which nothing can be done. A key
// that is there and blank is told apart from one that is missing: people look for the
// wrong thing otherwise.
func (r *reader) required(n *doc.Node, key string) {
	switch at := n.Get(key); {
	case n.Kind != doc.Map:
	case at == nil:
		r.refuse(n, "%s is missing", key)
	case strings.TrimSpace(at.Text) == "" && (at.Kind == doc.Null || at.Kind == doc.Text):
		r.refuse(at, "%s is empty", key)
	}
}

// needed refuses a configuration without a key, or with nothing in it; why, which may
// be "", says what would do. What is there and of the wrong type was told already.
func (r *reader) needed(n *doc.Node, what, key string, empty bool, why string) {
	switch at := n.Get(key); {
	case at == nil:
		r.refuse(n, "%s: %s is missing", what, key)
	case empty && (at.Kind == doc.Text || at.Kind == doc.List):
		r.refuse(at, "%s is empty%s", inside(what, key), why)
	}
}
