package tasks

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// A node is a value of a YAML or JSON text that remembers where it stands, so
// that every error can point at it and one value can be changed in place.
type node struct {
	kind nodeKind
	// text is the value of a text, and the JSON literal of a number or boolean.
	text string
	// keys are the keys of a mapping; items its values, or a list's items.
	keys, items []*node

	line, column int    // from 1, in characters; 0 = only offset is known
	offset       int    // in bytes; -1 = only line and column are known
	end          int    // of a JSON value, in bytes
	raw          string // a YAML scalar as it was written, without quotes
	flow         bool   // a list or mapping in brackets
	shared       bool   // reached through an alias: it stands elsewhere
	alias        bool   // the alias itself
	merged       bool   // came into its mapping by a merge key
}

type nodeKind int

const (
	nodeNull nodeKind = iota
	nodeBool
	nodeInt
	nodeFloat
	nodeText
	nodeList
	nodeMap
)

// String is the kind in words for error messages.
func (k nodeKind) String() string {
	return [...]string{"nothing", "true or false", "a whole number", "a number", "text", "a list", "a mapping"}[k]
}

// found describes a node in an error message.
func (n *node) found() string {
	switch n.kind {
	case nodeBool, nodeInt, nodeFloat:
		return "the value " + n.text
	case nodeText:
		return "the text " + quoteShort(n.text)
	}
	return n.kind.String()
}

// get returns the value of a key of a mapping, or nil.
func (n *node) get(key string) *node {
	if i := n.index(key); i >= 0 {
		return n.items[i]
	}
	return nil
}

func (n *node) index(key string) int {
	if n == nil || n.kind != nodeMap {
		return -1
	}
	return slices.IndexFunc(n.keys, func(k *node) bool { return k.text == key })
}

// has says whether a mapping has one of the keys.
func (n *node) has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return n.index(key) >= 0 })
}

// add appends a key and its value, unless that is nil.
func (n *node) add(key string, value *node) {
	if value != nil {
		n.keys = append(n.keys, &node{kind: nodeText, text: key, offset: -1})
		n.items = append(n.items, value)
	}
}

// addText appends a key with a text, unless that is empty.
func (n *node) addText(key, text string) {
	if text != "" {
		n.add(key, textNode(text))
	}
}

// addTexts appends a key with a list, unless that is nil. An empty list stays.
func (n *node) addTexts(key string, texts []string) {
	if texts == nil {
		return
	}
	list := &node{kind: nodeList, offset: -1}
	for _, text := range texts {
		list.items = append(list.items, textNode(text))
	}
	n.add(key, list)
}

func textNode(text string) *node {
	return &node{kind: nodeText, text: strings.ToValidUTF8(text, "\uFFFD"), offset: -1}
}

// json returns the node as compact JSON, keys in their order, numbers as they
// were written, without HTML escaping.
func (n *node) json() json.RawMessage {
	var b bytes.Buffer
	n.writeJSON(&b)
	return b.Bytes()
}

func (n *node) writeJSON(b *bytes.Buffer) {
	switch n.kind {
	case nodeNull:
		b.WriteString("null")
	case nodeText:
		writeJSONText(b, n.text)
	case nodeList:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.writeJSON(b)
		}
		b.WriteByte(']')
	case nodeMap:
		b.WriteByte('{')
		for i, key := range n.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSONText(b, key.text)
			b.WriteByte(':')
			n.items[i].writeJSON(b)
		}
		b.WriteByte('}')
	default:
		b.WriteString(n.text)
	}
}

func writeJSONText(b *bytes.Buffer, text string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) == nil { // a text can always be encoded
		b.Truncate(b.Len() - len("\n"))
	}
}

// equal compares values, not places.
func (n *node) equal(o *node) bool {
	return n.kind == o.kind && n.text == o.text &&
		slices.EqualFunc(n.keys, o.keys, (*node).equal) && slices.EqualFunc(n.items, o.items, (*node).equal)
}
