package doc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Node is one value. Nodes that are made by hand, with [String], [Int], [Texts]
// and [Mapping], stand nowhere.
type Node struct {
	Kind Kind
	// Text is the value of a text, and the JSON literal of a number or boolean.
	Text string
	// Keys are the keys of a mapping; Items its values, or a list's items.
	Keys, Items []*Node
	// Start and End are where a JSON value stands in the text, in bytes; a key
	// too. Start is -1 for YAML and for what stands nowhere.
	Start, End int
	// Flow says that a list or mapping is written in brackets, as JSON's are.
	Flow bool

	line, column int    // of YAML
	raw          string // a YAML scalar as it was written, without quotes
	alias        bool   // stands where an alias to it stands
	merged       bool   // came into its mapping by a merge key
}

// A Kind is what a value is. What JSON has no value for (a date, binary data,
// infinity) is Text.
type Kind int

const (
	Null Kind = iota
	Bool
	Integer
	Float
	Text
	List
	Map
)

// String is the kind in words for error messages.
func (k Kind) String() string {
	return [...]string{"nothing", "true or false", "a whole number", "a number", "text", "a list", "a mapping"}[k]
}

// String makes a node of a text. What is no UTF-8 is replaced.
func String(text string) *Node {
	return &Node{Kind: Text, Text: strings.ToValidUTF8(text, "\uFFFD"), Start: -1}
}

// Int makes a node of a number.
func Int(i int) *Node { return &Node{Kind: Integer, Text: strconv.Itoa(i), Start: -1} }

// Texts makes a list.
func Texts(texts []string) *Node {
	n := &Node{Kind: List, Start: -1}
	for _, text := range texts {
		n.Items = append(n.Items, String(text))
	}
	return n
}

// Mapping makes an empty mapping; see [Node.Add].
func Mapping() *Node { return &Node{Kind: Map, Start: -1} }

// Add appends a key and its value to a mapping, unless the value is nil.
func (n *Node) Add(key string, value *Node) {
	if value != nil {
		n.Keys, n.Items = append(n.Keys, String(key)), append(n.Items, value)
	}
}

// Empty is the mapping without what is in it, where it stands.
func (n *Node) Empty() *Node {
	rest := *n
	rest.Keys, rest.Items = nil, nil
	return &rest
}

// Get returns the value of a key of a mapping, or nil.
func (n *Node) Get(key string) *Node {
	if i := n.index(key); i >= 0 {
		return n.Items[i]
	}
	return nil
}

// Key returns the node of a key of a mapping, or nil.
func (n *Node) Key(key string) *Node {
	if i := n.index(key); i >= 0 {
		return n.Keys[i]
	}
	return nil
}

func (n *Node) index(key string) int {
	if n == nil || n.Kind != Map {
		return -1
	}
	return slices.IndexFunc(n.Keys, func(k *Node) bool { return k.Text == key })
}

// Has says whether a mapping has one of the keys.
func (n *Node) Has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return n.index(key) >= 0 })
}

// Written is a scalar as it was written, without quotes: 007, which is the
// number 7.
func (n *Node) Written() string {
	if n.raw != "" {
		return n.raw
	}
	return n.Text
}

// Found describes the value in an error message.
func (n *Node) Found() string {
	switch n.Kind {
	case Bool, Integer, Float:
		return "the value " + n.Text
	case Text:
		return "the text " + Quote(n.Text)
	}
	return n.Kind.String()
}

// JSON returns the value as compact JSON, keys in their order, numbers as they
// were written, without HTML escaping; nil for a nil node.
func (n *Node) JSON() json.RawMessage {
	if n == nil {
		return nil
	}
	var b bytes.Buffer
	n.writeJSON(&b)
	return b.Bytes()
}

func (n *Node) writeJSON(b *bytes.Buffer) {
	switch n.Kind {
	case Null:
		b.WriteString("null")
	case Text:
		writeJSONText(b, n.Text)
	case List, Map:
		brackets := "[]"
		if n.Kind == Map {
			brackets = "{}"
		}
		b.WriteByte(brackets[0])
		for i, item := range n.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			if n.Kind == Map {
				writeJSONText(b, n.Keys[i].Text)
				b.WriteByte(':')
			}
			item.writeJSON(b)
		}
		b.WriteByte(brackets[1])
	default:
		b.WriteString(n.Text)
	}
}

func writeJSONText(b *bytes.Buffer, text string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) == nil { // a text can always be encoded
		b.Truncate(b.Len() - len("\n"))
	}
}

// Equal compares values, not places.
func (n *Node) Equal(o *Node) bool { return n.same(o, nil, nil) }

// same says whether n and o are the same but for one node within n, for which
// changed decides.
func (n *Node) same(o, at *Node, changed func(o *Node) bool) bool {
	if n == at {
		return changed(o)
	}
	return n.Kind == o.Kind && n.Text == o.Text && slices.EqualFunc(n.Keys, o.Keys, (*Node).Equal) &&
		slices.EqualFunc(n.Items, o.Items, func(a, b *Node) bool { return a.same(b, at, changed) })
}

// Quote quotes a text, cut to a length that fits into a message.
func Quote(text string) string {
	const most = 60
	if utf8.RuneCountInString(text) > most {
		return strconv.Quote(string([]rune(text)[:most])) + "…"
	}
	return strconv.Quote(text)
}
