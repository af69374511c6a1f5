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

// A reader makes definitions of nodes. What is wrong with their shape (unknown keys,
// wrong types) goes to wrong and keeps a text from being loaded; what is missing or out
// of range goes to invalid, for Validate.
//
// Reading never stops at a mistake: each function returns what it could make of its
// node, the zero value if nothing, and the caller decides when all of the text was
// seen.
type reader struct {
	doc  *doc.Doc
	task string // the task being read, for messages

	wrong, invalid problems
	warnings       []string

	// methods are known besides the built-in ones; if anyMethod is set, all are.
	//
	// Values that come without a file (JSON of a database, a task's Spec) are read by
	// programs that need not know the methods: there any name will do, until a verifier
	// is built.
	methods   Methods
	anyMethod bool
}

func (r *reader) problem(n *doc.Node, format string, args ...any) *Problem {
	line, column := r.doc.Place(n)
	return &Problem{File: r.doc.Name, Line: line, Column: column, Task: r.task, Text: fmt.Sprintf(format, args...)}
}

// warn notes what stops nothing. What is more than can be read is said in one word.
func (r *reader) warn(n *doc.Node, format string, args ...any) {
	switch len(r.warnings) {
	case maxProblems + 1:
	case maxProblems:
		r.warnings = append(r.warnings, "and more")
	default:
		r.warnings = append(r.warnings, r.problem(n, format, args...).Error())
	}
}

// bad notes what keeps the text from being loaded.
func (r *reader) bad(n *doc.Node, format string, args ...any) {
	if !r.wrong.full() { // to find a place takes time
		r.wrong = append(r.wrong, r.problem(n, format, args...))
	}
}

// refuse notes what keeps the definitions from being used, though it is clear what they
// say.
func (r *reader) refuse(n *doc.Node, format string, args ...any) {
	if !r.invalid.full() {
		r.invalid = append(r.invalid, r.problem(n, format, args...))
	}
}

// problems is everything that was found.
func (r *reader) problems() error { return append(r.wrong, r.invalid...).join() }

// expected says that a value has the wrong type, and how to mend the two cases in which
// YAML reads something else than its author wrote: a word like true or 1.10 that is no
// text, and a text with a colon in it that is a mapping.
func (r *reader) expected(n *doc.Node, what, want string) {
	hint := ""
	switch {
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
// kept. A null value is as good as none. Tables of fields take the place of struct tags
// and package yaml's decoder: those know no places, and take a misspelt key for one
// that is somebody else's.
type field struct {
	name string
	read func(n *doc.Node, what string)
	from any // a pointer to what is written; nil = the key is only read
}

// key is a field that is read into a variable and written from it.
func key[T any](name string, to *T, read func(n *doc.Node, what string) T) field {
	return field{name, func(n *doc.Node, what string) { *to = read(n, what) }, to}
}

func names(fields []field) []string {
	all := make([]string, len(fields))
	for i, f := range fields {
		all[i] = f.name
	}
	return all
}

// mapping reads the fields of a mapping, in the order of the text. what names the
// mapping in messages; "" is the whole. other, which may be nil, is asked about unknown
// keys, and returns whether it has dealt with one. Every other unknown key is an error:
// a condition that is skipped in silence is a task verified by less than was asked for.
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

// inside is the name of a key in messages, as ralph.coder.client.
func inside(what, key string) string {
	if what == "" {
		return key
	}
	return what + "." + key
}

// write makes a mapping of fields. What is zero is left out, but an empty list or
// mapping is not: a list that somebody emptied is not one that nobody has thought of.
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

// valueOf is the node of a variable, nil if it is to be left out. The types are those
// that the tables of fields have. A table with another one cannot be written at all,
// which the first test that writes it shows.
func valueOf(from any) (*doc.Node, error) {
	if from == nil || reflect.ValueOf(from).Elem().IsZero() {
		return nil, nil
	}
	switch v := from.(type) {
	case *string:
		return doc.String(*v), nil
	case *int:
		return doc.Int(*v), nil
	case *bool:
		return &doc.Node{Kind: doc.Bool, Text: "true", Start: -1}, nil
	case *[]string:
		return doc.Texts(*v), nil
	case *time.Time:
		return doc.String(v.UTC().Format(time.RFC3339Nano)), nil
	case *json.RawMessage:
		return doc.FromJSON(*v)
	case **Completion:
		return (*v).node()
	case **doc.Node:
		return *v, nil
	case *map[string]json.RawMessage:
		n := doc.Mapping()
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

// toJSON and toYAML end a MarshalJSON and a MarshalYAML.
func toJSON(n *doc.Node, err error) ([]byte, error) { return n.JSON(), leaving(err) }

func toYAML(n *doc.Node, err error) (any, error) {
	if err != nil {
		return nil, leaving(err)
	}
	return n.YAML(), nil
}

// fromJSON is UnmarshalJSON for a value that read reads; what names it.
func fromJSON[T any](what string, text []byte, to *T, read func(*reader, *doc.Node) T) error {
	n, err := doc.FromJSON(text)
	return fromNode(what, n, err, to, read)
}

// fromYAML is UnmarshalYAML, as fromJSON.
func fromYAML[T any](what string, y *yaml.Node, to *T, read func(*reader, *doc.Node) T) error {
	n, err := doc.FromYAML(y)
	return fromNode(what, n, err, to, read)
}

// fromNode reads a value that stands in no file. What is invalid is not reported:
// whoever unmarshals wants the value, and Validate tells the rest.
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
