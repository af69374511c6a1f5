package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/ralph-loop/ralph/internal/doc"
)

// A reader makes definitions of nodes. What is wrong with their shape (unknown
// keys, wrong types) goes to wrong and keeps a text from being loaded; what is
// missing or out of range goes to invalid, for Validate.
//
// The two are apart so that a file with a missing title can be loaded, shown and
// edited, while one with a key nobody knows cannot: what stands there was meant to do
// something, and would be lost.
type reader struct {
	doc  *doc.Doc
	task string // the task being read, for messages

	wrong, invalid problems
	warnings       []string

	// methods are known besides the built-in ones; if anyMethod is set, all are.
	methods   Methods
	anyMethod bool
}

// problem is a mistake with its place and its task. Every message goes through it, so
// none is without a line where there is one.
func (r *reader) problem(n *doc.Node, format string, args ...any) *Problem {
	line, column := r.doc.Place(n)
	return &Problem{File: r.doc.Name, Line: line, Column: column, Task: r.task, Text: fmt.Sprintf(format, args...)}
}

// bad notes a mistake of shape, up to a number.
func (r *reader) bad(n *doc.Node, format string, args ...any) {
	if !r.wrong.full() { // to find a place takes time
		r.wrong = append(r.wrong, r.problem(n, format, args...))
	}
}

// refuse notes a mistake of content, up to a number.
func (r *reader) refuse(n *doc.Node, format string, args ...any) {
	if !r.invalid.full() {
		r.invalid = append(r.invalid, r.problem(n, format, args...))
	}
}

// problems is everything that was found.
func (r *reader) problems() error { return append(r.wrong, r.invalid...).join() }

// expected notes that a value has the wrong type, with a hint at the two slips that
// YAML invites: a number, or a text with a colon, that should be in quotes.
func (r *reader) expected(n *doc.Node, what, want string) {
	hint := ""
	switch {
	// Only where text was wanted do quotes help.
	case want != "text":
	case n.Kind == doc.Bool || n.Kind == doc.Integer || n.Kind == doc.Float:
		hint = "; put it in quotes"
	case n.Kind == doc.Map && !n.Flow && len(n.Keys) == 1:
		hint = "; a text with a colon and a space in it needs quotes"
	}
	if what != "" {
		what += ": "
	}
	r.bad(n, "%sexpected %s, found %s%s", what, want, n.Found(), hint)
}

// A field is a key that a mapping may have, how it is read, and where its value is
// kept. A null value is as good as none. One list of them serves reading, writing and
// the hints, so the three cannot differ.
type field struct {
	name string
	read func(n *doc.Node, what string)
	from any // a pointer to what is written; nil = the key is only read
}

// key is a field for a variable.
func key[T any](name string, to *T, read func(n *doc.Node, what string) T) field {
	return field{name, func(n *doc.Node, what string) { *to = read(n, what) }, to}
}

// names are the keys of fields, in their order.
func names(fields []field) []string {
	all := make([]string, len(fields))
	for i, f := range fields {
		all[i] = f.name
	}
	return all
}

// mapping reads the fields of a mapping. what names the mapping in messages; "" is the
// whole. other, which may be nil, is asked about unknown keys. A key that nobody knows
// is a mistake, with the nearest known one as a hint: passed over in silence, a
// misspelt criterion would not be checked.
func (r *reader) mapping(n *doc.Node, what string, fields []field, other func(key, value *doc.Node) bool) {
	if n.Kind != doc.Map {
		r.expected(n, what, "a mapping")
		return
	}
	for i, key := range n.Keys {
		value := n.Items[i]
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Text })
		switch {
		case at >= 0 && value.Kind != doc.Null:
			fields[at].read(value, inside(what, key.Text))
		// A null value is read as if the key were not there; others, such as agents'
		// names, are the caller's to know.
		case at >= 0, other != nil && other(key, value), r.wrong.full():
		default:
			in := ""
			if what != "" {
				in = " in " + what
			}
			r.bad(key, "unknown key %s%s%s", doc.Quote(key.Text), in, meant(key.Text, names(fields)))
		}
	}
}

// inside is the path of a key, as messages name it: completion.coder.promise.
func inside(what, key string) string {
	if what == "" {
		return key
	}
	return what + "." + key
}

// write makes a mapping of fields. What is zero is left out, but an empty list or
// mapping is not. So a file that is written holds no keys that nobody has set.
func write(fields []field) (*doc.Node, error) {
	n := doc.Mapping()
	for _, f := range fields {
		value, err := valueOf(f.from)
		if err != nil {
			return nil, unread(f.name, err)
		}
		n.Add(f.name, value)
	}
	return n, nil
}

// valueOf is the node of a variable, nil if it is to be left out. It is a switch over
// the few types there are, and an error for any other: reflection all the way would
// write fields that nobody has thought about.
func valueOf(from any) (*doc.Node, error) {
	// A key that is only read, such as an older name, is never written.
	if from == nil || reflect.ValueOf(from).Elem().IsZero() {
		return nil, nil
	}
	switch v := from.(type) {
	case *string:
		return doc.String(*v), nil
	case *int:
		return doc.Int(*v), nil
	// A false one is zero, and left out above.
	case *bool:
		return &doc.Node{Kind: doc.Bool, Text: "true", Start: -1}, nil
	case *[]string:
		return doc.Texts(*v), nil
	case *time.Time:
		if v.IsZero() { // in any zone
			return nil, nil
		}
		return doc.String(v.UTC().Format(time.RFC3339Nano)), nil
	case *json.RawMessage:
		return doc.FromJSON(*v)
	case **Completion:
		return (*v).node()
	case **doc.Node:
		return *v, nil
	case *map[string]json.RawMessage:
		n := doc.Mapping()
		// In order, so that the same definition always gives the same text.
		for _, key := range slices.Sorted(maps.Keys(*v)) {
			value, err := doc.FromJSON((*v)[key])
			if err != nil {
				return nil, unread(key, err)
			}
			n.Add(key, value)
		}
		return n, nil
	}
	return nil, fmt.Errorf("a %T cannot be written", from)
}

// toJSON ends a MarshalJSON.
func toJSON(n *doc.Node, err error) ([]byte, error) { return n.JSON(), leaving(err) }

// toYAML ends a MarshalYAML. What package yaml writes of it has our order of keys and
// our quoting.
func toYAML(n *doc.Node, err error) (any, error) {
	if err != nil {
		return nil, leaving(err)
	}
	return n.YAML(), nil
}

// fromJSON is UnmarshalJSON for a value that read reads; what names it. Methods are not
// looked up there: the programs that know them may be others.
func fromJSON[T any](what string, text []byte, to *T, read func(*reader, *doc.Node) T) error {
	n, err := doc.FromJSON(text)
	return fromNode(what, n, err, to, read)
}

// fromYAML is UnmarshalYAML, as fromJSON.
func fromYAML[T any](what string, y *yaml.Node, to *T, read func(*reader, *doc.Node) T) error {
	n, err := doc.FromYAML(y)
	return fromNode(what, n, err, to, read)
}

// fromNode reads a value that stands by itself. On an error nothing is taken over, so
// that half of a definition is never used.
func fromNode[T any](what string, n *doc.Node, err error, to *T, read func(*reader, *doc.Node) T) error {
	if err != nil {
		return leaving(unread(what, err))
	}
	r := reader{doc: &doc.Doc{}, anyMethod: true}
	got := read(&r, n)
	if err := r.wrong.join(); err != nil {
		return leaving(err)
	}
	*to = got
	return nil
}
